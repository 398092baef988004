//! `ackflow topics create`.

use std::process::ExitCode;

use ackflow_client::admin::NewTopic;
use ackflow_protocol::wire::ErrorCode;

use super::named::Several;
use crate::common::Common;
use crate::connection::key_value;
use crate::numbers::within;
use crate::table::{Column, Table, column};

const COLUMNS: &[Column] = &[
    column("TOPIC", "topic"),
    column("ID", "id"),
    column("#PARTITIONS", "partitions"),
    column("REPLICATION-FACTOR", "replicationFactor"),
];

#[derive(Debug, clap::Args)]
#[command(after_help = "What is not given is the broker's: num.partitions, default.replication.factor.\n\
    With --json: created is a list of objects.\n\n\
    Examples:\n  \
    ackflow topics create orders --partitions 6 --replication-factor 3 --bootstrap-server localhost:9092\n  \
    ackflow topics create audit --if-not-exists --config cleanup.policy=compact --bootstrap-server localhost:9092")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) common: Common,

    #[command(flatten)]
    topics: Several,

    /// How many partitions each has
    #[arg(long, value_name = "COUNT", value_parser = within(1..=i32::MAX), allow_negative_numbers = true)]
    partitions: Option<i32>,

    /// How many replicas each partition has
    #[arg(long, value_name = "COUNT", value_parser = within(1..=i16::MAX), allow_negative_numbers = true)]
    replication_factor: Option<i16>,

    /// The brokers that hold each partition, the preferred leader first: 1:2,2:3 for two partitions
    #[arg(long, value_name = "ID:ID,..", value_parser = replica_assignment,
          conflicts_with_all = ["partitions", "replication_factor"])]
    replica_assignment: Option<Assignment>,

    /// A setting that differs from the broker's; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    config: Vec<(String, String)>,

    /// A topic that exists is no error, and stays as it is
    #[arg(long)]
    if_not_exists: bool,

    /// Let the broker check it, and create nothing
    #[arg(long)]
    dry_run: bool,
}

/// By partition, brokers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Assignment(pub(super) Vec<Vec<i32>>);

/// Reads `1:2,2:3`.
pub(super) fn replica_assignment(text: &str) -> Result<Assignment, String> {
    let wrong = |part: &str| format!("{part:?} names no brokers: expected ids such as 1:2,2:3");
    let brokers = |part: &str| {
        let ids = part.split(':').map(|id| id.trim().parse().ok().filter(|id: &i32| *id >= 0));
        ids.collect::<Option<Vec<_>>>().ok_or_else(|| wrong(part))
    };
    let assignment: Vec<_> = text.split(',').map(brokers).collect::<Result<_, _>>()?;
    if assignment.iter().any(|brokers| brokers.len() != assignment[0].len()) {
        return Err("each partition needs the same number of brokers".to_owned());
    }
    Ok(Assignment(assignment))
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (admin, mut report) = args.common.open()?;
    let topic = |name| NewTopic {
        name,
        partitions: args.partitions,
        replication_factor: args.replication_factor,
        assignments: args.replica_assignment.as_ref().map(|assignment| assignment.0.clone()).unwrap_or_default(),
        configs: args.config.iter().cloned().collect(),
    };
    let topics = args.topics.names().into_iter().map(topic);
    let results = match args.dry_run {
        true => admin.validate_topics(topics).await?,
        false => admin.create_topics(topics).await?,
    };
    let mut table = Table::new(COLUMNS);
    for (name, result) in results {
        match result {
            Err(error) if args.if_not_exists && error.code() == Some(ErrorCode::TOPIC_ALREADY_EXISTS) => {
                report.remark(format!("topic {name} exists, and stays as it is"));
            }
            result => {
                let Some(created) = report.take(result) else { continue };
                let id = (!args.dry_run).then(|| created.id.to_string());
                let partitions = Some(created.partitions).filter(|count| *count >= 0);
                let replicas = Some(created.replication_factor).filter(|count| *count >= 0);
                table.row([name.into(), id.into(), partitions.into(), replicas.into()]);
            }
        }
    }
    if args.dry_run {
        report.remark("this is a dry run: nothing was created");
    }
    report.table("created", &table);
    report.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignments_name_as_many_brokers_for_each_partition() {
        assert_eq!(replica_assignment("1:2,2:3"), Ok(Assignment(vec![vec![1, 2], vec![2, 3]])));
        assert_eq!(replica_assignment("1"), Ok(Assignment(vec![vec![1]])));
        for wrong in ["", "1:", "a", "1:2,3", "-1", "1,"] {
            assert!(replica_assignment(wrong).is_err(), "{wrong}");
        }
    }
}
