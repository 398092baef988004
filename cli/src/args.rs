//! The command line. Flags that Kafka's own tools have carry the same names here.

use clap::{Parser, Subcommand};

use crate::commands::{broker, consume, demo, groups, perf, produce, run, topics, wire};

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
    /// Look at Kafka's wire format
    #[command(subcommand)]
    Wire(wire::Command),
    /// Measure throughput with the options and columns of Kafka's own tools
    #[command(subcommand)]
    Perf(perf::Command),
}
