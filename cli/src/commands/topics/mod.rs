//! `ackflow topics`: topics, as kafka-topics.sh, kafka-configs.sh and kafka-get-offsets.sh show and change them.

mod create;
mod delete;
mod describe;
mod list;
mod named;
mod offsets;
mod partitions;

use std::process::ExitCode;

use ackflow_client::admin::ConfigResource;
use clap::Subcommand;

use crate::common::Common;
use crate::configs;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List topics
    List(list::Args),
    /// Show topics and their partitions: leaders, replicas, which of them are in sync
    Describe(describe::Args),
    /// Create topics
    Create(create::Args),
    /// Delete topics, their records included
    Delete(delete::Args),
    /// Give a topic more partitions
    Partitions(partitions::Args),
    /// Show and change the settings of a topic
    Configs(Configs),
    /// Show the first and the next offset of each partition, or the offset of a time
    Offsets(offsets::Args),
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without a change the topic's own settings are shown; --all shows those that it has from the brokers too.\n\n\
    Examples:\n  \
    ackflow topics configs orders --bootstrap-server localhost:9092 --all\n  \
    ackflow topics configs orders --bootstrap-server localhost:9092 --set retention.ms=86400000 --unset cleanup.policy"
)]
pub(crate) struct Configs {
    #[command(flatten)]
    common: Common,

    #[command(flatten)]
    topic: named::One,

    #[command(flatten)]
    changes: configs::Changes,
}

impl Command {
    /// What of it contradicts itself.
    pub(crate) fn contradiction(&self) -> Option<String> {
        match self {
            Self::Configs(args) => args.changes.contradiction(),
            _ => None,
        }
    }

    /// Whether it prints JSON.
    pub(crate) fn wants_json(&self) -> bool {
        let common = match self {
            Self::List(args) => &args.common,
            Self::Describe(args) => &args.common,
            Self::Create(args) => &args.common,
            Self::Delete(args) => &args.common,
            Self::Partitions(args) => &args.common,
            Self::Configs(args) => &args.common,
            Self::Offsets(args) => &args.common,
        };
        common.wants_json()
    }
}

pub(crate) async fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::List(args) => list::run(args).await,
        Command::Describe(args) => describe::run(args).await,
        Command::Create(args) => create::run(args).await,
        Command::Delete(args) => delete::run(args).await,
        Command::Partitions(args) => partitions::run(args).await,
        Command::Offsets(args) => offsets::run(args).await,
        Command::Configs(args) => {
            let (admin, report) = args.common.open()?;
            let topic = ConfigResource::topic(args.topic.name());
            configs::run(&admin, topic, &args.changes, report).await
        }
    }
}
