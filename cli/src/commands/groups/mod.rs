//! `ackflow groups`: groups of all kinds, as kafka-groups.sh, kafka-share-groups.sh and kafka-consumer-groups.sh show and change them.

mod csv;
mod delete;
mod delete_offsets;
mod describe;
mod kind;
mod lag;
mod list;
mod named;
mod offsets;
mod positions;
mod state;

use std::process::ExitCode;

use ackflow_client::admin::ConfigResource;
use clap::Subcommand;

use crate::common::Common;
use crate::configs;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List groups of all kinds, or those of some types and states
    List(list::Args),
    /// Show how far groups are in each partition, their members, and their state
    Describe(describe::Args),
    /// Show by topic how many records groups are behind
    Lag(lag::Args),
    /// Reset offsets of a share or consumer group; shows what would be done unless --execute is given
    Offsets(offsets::Args),
    /// Have a share or consumer group forget its offsets of topics
    DeleteOffsets(delete_offsets::Args),
    /// Delete groups that have no members, their offsets included
    Delete(delete::Args),
    /// Show and change the settings of a group, which need not exist yet
    Configs(Configs),
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without a change the group's own settings are shown; --all shows those that it has from the brokers too.\n\n\
    Examples:\n  \
    ackflow groups configs orders --bootstrap-server localhost:9092 --all\n  \
    ackflow groups configs orders --bootstrap-server localhost:9092 --set share.auto.offset.reset=earliest \
    --set share.isolation.level=read_committed\n  \
    ackflow groups configs orders --bootstrap-server localhost:9092 --unset share.auto.offset.reset"
)]
pub(crate) struct Configs {
    #[command(flatten)]
    common: Common,

    #[command(flatten)]
    group: named::One,

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
            Self::Lag(args) => &args.common,
            Self::Offsets(args) => &args.common,
            Self::DeleteOffsets(args) => &args.common,
            Self::Delete(args) => &args.common,
            Self::Configs(args) => &args.common,
        };
        common.wants_json()
    }
}

pub(crate) async fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::List(args) => list::run(args).await,
        Command::Describe(args) => describe::run(args).await,
        Command::Lag(args) => lag::run(args).await,
        Command::Offsets(args) => offsets::run(args).await,
        Command::DeleteOffsets(args) => delete_offsets::run(args).await,
        Command::Delete(args) => delete::run(args).await,
        Command::Configs(args) => {
            let (admin, report) = args.common.open()?;
            let group = ConfigResource::group(args.group.id());
            configs::run(&admin, group, &args.changes, report).await
        }
    }
}
