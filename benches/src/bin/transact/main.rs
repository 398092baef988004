//! Our side of `cargo xtask prove txn-real`: producers of transactions that keep a journal, and may be killed at any moment.

mod journal;
mod pause;
mod run;
mod transaction;

use anyhow::Result;
use clap::Parser;

/// Produce transactions.
#[derive(Parser)]
enum Command {
    Run(run::Args),
    Pause(pause::Args),
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    match Command::parse() {
        Command::Run(args) => run::run(args).await,
        Command::Pause(args) => pause::run(args).await,
    }
}
