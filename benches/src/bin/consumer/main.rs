//! Our side of `cargo xtask prove consumer`: a member that keeps a journal, a producer that trickles, a reader of a whole topic, and a measurement.

#[path = "../../../../protocol/tests/support/counting.rs"]
mod counting;
mod member;
mod read;
mod throughput;
mod trickle;

use anyhow::Result;
use clap::Parser;

/// Consume through a consumer group, or produce for it.
#[derive(Parser)]
enum Command {
    Member(member::Args),
    Read(read::Args),
    Throughput(throughput::Args),
    Trickle(trickle::Args),
}

/// One thread: the allocator counts all that it does, and every member is a process of its own.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    match Command::parse() {
        Command::Member(args) => member::run(args).await,
        Command::Read(args) => read::run(args).await,
        Command::Throughput(args) => throughput::run(args).await,
        Command::Trickle(args) => trickle::run(args).await,
    }
}
