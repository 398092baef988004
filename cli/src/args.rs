//! The command line. Flags that Kafka's own tools have carry the same names here.

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use crate::commands::{broker, conformance, consume, demo, groups, perf, produce, run, topics, wire};

/// Kafka share groups and sinks from the command line.
#[derive(Debug, Parser)]
#[command(name = "ackflow", version, about, max_term_width = 100, propagate_version = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the whole path at work: embedded broker -> share group -> sink, with a task killed on the way
    Demo(demo::Args),
    /// Run sink connectors, as Connect's standalone worker does
    Run(run::Args),
    /// Print the records of a share group as JSON lines and acknowledge them
    Consume(consume::Args),
    /// Produce records from JSON lines
    Produce(produce::Args),
    /// List groups, describe them, show their lag, reset their offsets, change their settings
    #[command(subcommand)]
    Groups(groups::Command),
    /// List topics, describe, create and delete them, change their settings, show their offsets
    #[command(subcommand)]
    Topics(topics::Command),
    /// Run the embedded broker for any Kafka client; it keeps everything in memory
    Broker(broker::Args),
    /// Find out whether a broker keeps the rules of share groups and transactions
    Conformance(conformance::Args),
    /// Look at Kafka's wire format
    #[command(subcommand)]
    Wire(wire::Command),
    /// Measure throughput with the options and columns of Kafka's own tools
    #[command(subcommand)]
    Perf(perf::Command),
}

impl Args {
    /// Reads the command line. What cannot be understood ends the program with exit code 2.
    pub(crate) fn read() -> Self {
        let args = Self::parse();
        match args.command.contradiction() {
            Some(contradiction) => clap::Error::raw(ErrorKind::ArgumentConflict, format!("{contradiction}\n")).exit(),
            None => args,
        }
    }
}

impl Command {
    /// What of it contradicts itself in a way that clap does not see.
    fn contradiction(&self) -> Option<String> {
        match self {
            Self::Groups(command) => command.contradiction(),
            Self::Topics(command) => command.contradiction(),
            _ => None,
        }
    }

    /// Whether it was asked to print its results as JSON.
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Self::Demo(args) => args.json,
            Self::Groups(command) => command.wants_json(),
            Self::Topics(command) => command.wants_json(),
            Self::Perf(command) => command.wants_json(),
            Self::Run(_)
            | Self::Consume(_)
            | Self::Produce(_)
            | Self::Broker(_)
            | Self::Conformance(_)
            | Self::Wire(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the reader of a flag gives what the field holds is seen at run time alone.
    #[test]
    fn numbers_are_of_the_kinds_that_their_fields_hold() {
        for words in [
            "demo --records 1 --tasks 3",
            "consume --bootstrap-server a:1 --topic t --max-messages 1 --timeout-ms 1",
            "broker --share-version 1",
            "wire decode --api Fetch --api-version 17 -",
            "perf share-consume --bootstrap-server a:1 --topic t --num-records 1 --timeout 1 --threads 1 --reporting-interval 1",
            "groups offsets g --bootstrap-server a:1 --all-topics --to-offset 1",
            "groups offsets g --bootstrap-server a:1 --all-topics --shift-by -1",
            "topics create t --bootstrap-server a:1 --partitions 1 --replication-factor 1",
            "topics partitions t --bootstrap-server a:1 --partitions 2",
        ] {
            let parsed = Args::try_parse_from(std::iter::once("ackflow").chain(words.split(' ')));
            assert!(parsed.is_ok(), "{words}: {parsed:?}");
        }
    }
}
