//! What a member leaves to others, and to its own acknowledgements.
//!
//! First a slow and a fast member share a partition whose records lie in large batches: how long does the fast one wait for records that the slow
//! one could have kept to itself? Then one member commits after every poll while its fetches ahead are full: how long does a commit take?

mod commits;
mod members;
mod stage;

use std::time::Duration;

use clap::Parser;
use serde_json::{Value, json};

/// Measure how long a fast member waits beside a slow one, and how long commits take beside full fetches ahead.
#[derive(Parser)]
struct Args {
    /// Addresses of the cluster.
    #[arg(long)]
    bootstrap_server: String,
    /// Seconds of each of the two measurements.
    #[arg(long, default_value_t = 30)]
    seconds: u64,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let period = Duration::from_secs(args.seconds);
    let (waits, slow, fast) = members::measure(&args.bootstrap_server, period).await?;
    println!("waits of the fast member  {}; {fast} records, beside {slow} of the slow one", text(&waits));
    let commits = commits::measure(&args.bootstrap_server, period).await?;
    println!("commit_sync               {}", text(&commits));
    let fair = json!({"slow_records": slow, "fast_records": fast});
    println!("{}", json!({"waits": figures(&waits), "commit_sync": figures(&commits), "members": fair}));
    Ok(())
}

/// The smallest duration that so many percent do not exceed, in milliseconds.
fn percentile(sorted: &[Duration], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    (sorted[rank - 1].as_secs_f64() * 100_000.0).round() / 100.0
}

fn figures(sorted: &[Duration]) -> Value {
    let [p50, p99, max] = [50, 99, 100].map(|percent| percentile(sorted, percent));
    json!({"p50_ms": p50, "p99_ms": p99, "max_ms": max, "count": sorted.len()})
}

fn text(sorted: &[Duration]) -> String {
    let [p50, p99, max] = [50, 99, 100].map(|percent| percentile(sorted, percent));
    format!("p50 {p50} ms  p99 {p99} ms  max {max} ms  of {}", sorted.len())
}
