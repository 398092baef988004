//! `ackflow topics partitions`.

use std::process::ExitCode;

use ackflow_client::admin::NewPartitions;
use anyhow::bail;

use super::create::{Assignment, replica_assignment};
use super::named::One;
use crate::common::Common;
use crate::numbers::within;
use crate::table::{Column, Table, column};

const COLUMNS: &[Column] = &[column("TOPIC", "topic"), column("BEFORE", "before"), column("#PARTITIONS", "partitions")];

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Kafka takes no partition away, and moves no record: keys may be in other partitions from then on.\n\
    With --json: topics is a list of objects.\n\n\
    Example: ackflow topics partitions orders --partitions 12 --bootstrap-server localhost:9092"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) common: Common,

    #[command(flatten)]
    topic: One,

    /// How many it is to have, those that it has included
    #[arg(long, value_name = "COUNT", value_parser = within(1..=i32::MAX), allow_negative_numbers = true)]
    partitions: i32,

    /// The brokers that hold each new partition, the preferred leader first: 1:2,2:3 for two of them
    #[arg(long, value_name = "ID:ID,..", value_parser = replica_assignment)]
    replica_assignment: Option<Assignment>,

    /// A topic that does not exist is no error
    #[arg(long)]
    if_exists: bool,

    /// Let the broker check it, and create nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (admin, mut report) = args.common.open()?;
    let mut table = Table::new(COLUMNS);
    let (topic, total) = (args.topic.name(), args.partitions);
    let exists = !args.if_exists || admin.list_topics().await?.iter().any(|listed| listed.name == topic);
    if exists {
        let Some(described) = admin.describe_topics([topic]).await?.remove(topic) else {
            bail!("the broker does not say anything of topic {topic}");
        };
        let before = described?.partitions.len();
        if usize::try_from(total).is_ok_and(|total| total <= before) {
            bail!("--partitions {total}: topic {topic} has {before} partitions; give more, for none is taken away");
        }
        let assignments = args.replica_assignment.map(|assignment| assignment.0).unwrap_or_default();
        let new = [(topic, NewPartitions { total, assignments })];
        let results = match args.dry_run {
            true => admin.validate_partitions(new).await?,
            false => admin.create_partitions(new).await?,
        };
        for (topic, result) in results {
            if report.take(result).is_some() {
                table.row([topic.into(), before.into(), total.into()]);
            }
        }
        if args.dry_run {
            report.remark("this is a dry run: nothing was changed");
        }
    }
    report.table("topics", &table);
    report.finish()
}
