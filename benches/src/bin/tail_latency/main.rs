//! How late the slowest are on a quiet topic: `commit_sync`, and from `send` to a sink's `put`.
//!
//! Each topic gets ten records a second. First a share consumer polls and commits each record by itself; then a sink
//! worker takes them. The first record that comes through begins a measurement, so joining the group is no part of it.

mod commit;
mod paced;
mod put;
mod summary;

use std::time::Duration;

use clap::Parser;
use serde_json::json;

/// Measure the tail latency of commit_sync and of produce-to-put on a topic of ten records a second.
#[derive(Parser)]
struct Args {
    /// Addresses of the cluster.
    #[arg(long)]
    bootstrap_server: String,
    /// An empty topic for the first measurement.
    #[arg(long)]
    commit_topic: String,
    /// An empty topic for the second one.
    #[arg(long)]
    put_topic: String,
    /// Seconds of each of the two measurements.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let period = Duration::from_secs(args.seconds);
    let commit = commit::measure(&args.bootstrap_server, &args.commit_topic, period).await?;
    println!("commit_sync     {commit}");
    let put = put::measure(&args.bootstrap_server, &args.put_topic, period).await?;
    println!("produce to put  {put}");
    println!("{}", json!({"commit_sync": commit.to_json(), "produce_to_put": put.to_json()}));
    Ok(())
}
