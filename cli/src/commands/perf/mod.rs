//! `ackflow perf`: throughput, with the options and columns of Kafka's own tools.

mod share_consume;
mod stats;

use std::process::ExitCode;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Consume a topic through a share group, as kafka-share-consumer-perf-test does
    ShareConsume(share_consume::Args),
}

impl Command {
    /// Whether it prints its result as JSON.
    pub(crate) fn wants_json(&self) -> bool {
        let Self::ShareConsume(args) = self;
        args.json
    }
}

pub(crate) async fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::ShareConsume(args) => share_consume::run(args).await,
    }
}
