//! What a record costs a share consumer where there are few or many partitions, records and members: CPU time and memory.
//!
//! `fill` writes a topic in batches of one size; `consume` reads it through a group with some members in this process, accepts everything,
//! and prints one JSON line. What is measured begins with the first record and ends when the last one is accepted.

mod consume;
mod fill;
mod usage;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Measure what a record costs.
#[derive(Parser)]
struct Args {
    /// Addresses of the cluster.
    #[arg(long)]
    bootstrap_server: String,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write a topic.
    Fill(fill::Args),
    /// Consume it, with groups of their own.
    Consume(consume::Args),
}

/// One thread, so that members do not wake each other's.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let args = Args::parse();
    match args.command {
        Command::Fill(fill) => fill::run(&args.bootstrap_server, fill).await,
        Command::Consume(consume) => consume::run(&args.bootstrap_server, consume).await,
    }
}
