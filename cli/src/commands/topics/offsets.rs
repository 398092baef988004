//! `ackflow topics offsets`.

use std::process::ExitCode;

use ackflow_client::Admin;
use ackflow_client::admin::{IsolationLevel, ListedOffset, OffsetSpec, Results, TopicPartition};

use crate::common::Common;
use crate::scope::{self, TopicScope, topic_scope};
use crate::table::{Cell, Column, Table, column, verbose};
use crate::times;

const ENDS: &[Column] = &[
    column("TOPIC", "topic"),
    column("PARTITION", "partition"),
    column("EARLIEST", "earliest"),
    column("LATEST", "latest"),
];

const AT: &[Column] = &[
    column("TOPIC", "topic"),
    column("PARTITION", "partition"),
    column("OFFSET", "offset"),
    column("TIMESTAMP", "timestamp"),
    verbose("LEADER-EPOCH", "leaderEpoch"),
];

#[derive(Debug, clap::Args)]
#[command(
    after_help = "With --json: offsets is a list of objects; an offset is null where there is no such record, a timestamp is in milliseconds since 1970.\n\n\
    Examples:\n  \
    ackflow topics offsets orders --bootstrap-server localhost:9092\n  \
    ackflow topics offsets orders:0,1 --time 2026-11-30T12:00:00.000 --bootstrap-server localhost:9092\n  \
    ackflow topics offsets orders --time max-timestamp --bootstrap-server localhost:9092 --json"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) common: Common,

    #[command(flatten)]
    topics: Topics,

    /// Instead of both ends the offset of this: earliest, latest, max-timestamp, earliest-local, latest-tiered, or the first record of a time
    /// or later, which is YYYY-MM-DDThh:mm:ss.sss or milliseconds since 1970
    #[arg(long, value_name = "WHAT", value_parser = what, allow_negative_numbers = true)]
    time: Option<OffsetSpec>,

    /// End partitions where the first open transaction begins, as readers of committed records see them
    #[arg(long)]
    read_committed: bool,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = true)]
struct Topics {
    /// The topics, or partitions of them
    #[arg(value_name = "TOPIC[:0,1,..]", value_parser = topic_scope)]
    named: Vec<TopicScope>,

    /// The same, as Kafka's tools name them; may be repeated
    #[arg(long = "topic", value_name = "TOPIC[:0,1,..]", value_parser = topic_scope)]
    topic: Vec<TopicScope>,
}

/// Reads what kafka-get-offsets.sh takes, its numbers included.
fn what(text: &str) -> Result<OffsetSpec, String> {
    Ok(match text {
        "latest" | "-1" => OffsetSpec::Latest,
        "earliest" | "-2" => OffsetSpec::Earliest,
        "max-timestamp" | "-3" => OffsetSpec::MaxTimestamp,
        "earliest-local" | "-4" => OffsetSpec::EarliestLocal,
        "latest-tiered" | "-5" => OffsetSpec::LatestTiered,
        "earliest-pending-upload" | "-6" => OffsetSpec::EarliestPendingUpload,
        millis if !millis.is_empty() && millis.bytes().all(|byte| byte.is_ascii_digit()) => {
            OffsetSpec::Timestamp(millis.parse().map_err(|_| "no time is so late".to_owned())?)
        }
        text => OffsetSpec::Timestamp(times::datetime(text).map_err(|reason| {
            format!("{reason}; or milliseconds, earliest, latest, max-timestamp, earliest-local, latest-tiered")
        })?),
    })
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (admin, mut report) = args.common.open()?;
    let scopes: Vec<_> = args.topics.named.iter().chain(&args.topics.topic).cloned().collect();
    let partitions: Vec<_> = scope::partitions(&admin, &scopes, &mut report).await?.into_iter().collect();
    let isolation = match args.read_committed {
        true => IsolationLevel::ReadCommitted,
        false => IsolationLevel::ReadUncommitted,
    };
    let name =
        |partition: &TopicPartition| -> [Cell; 2] { [partition.topic.to_string().into(), partition.partition.into()] };
    if let Some(what) = args.time {
        let mut table = Table::new(AT);
        for (partition, found) in find(&admin, &partitions, what, isolation).await {
            let Some(found) = report.take(found) else { continue };
            let timestamp = found.timestamp.map(|time| Cell::with_text(time, times::text(time)));
            let [topic, index] = name(&partition);
            let timestamp = timestamp.unwrap_or_else(|| Option::<i64>::None.into());
            table.row([topic, index, found.offset.into(), timestamp, found.leader_epoch.into()]);
        }
        report.table("offsets", &table);
        return report.finish();
    }
    let earliest = find(&admin, &partitions, OffsetSpec::Earliest, isolation).await;
    let mut latest = find(&admin, &partitions, OffsetSpec::Latest, isolation).await;
    let mut table = Table::new(ENDS);
    for (partition, first) in earliest {
        // One that has no leader fails twice for one reason.
        let Some(first) = report.take(first) else { continue };
        let Some(end) = latest.remove(&partition).and_then(|end| report.take(end)) else { continue };
        let [topic, index] = name(&partition);
        table.row([topic, index, first.offset.into(), end.offset.into()]);
    }
    report.table("offsets", &table);
    report.finish()
}

async fn find(
    admin: &Admin,
    partitions: &[TopicPartition],
    what: OffsetSpec,
    isolation: IsolationLevel,
) -> Results<TopicPartition, ListedOffset> {
    admin.list_offsets(partitions.iter().map(|partition| (partition.clone(), what)), isolation).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_kafka_get_offsets() {
        assert_eq!(what("latest"), Ok(OffsetSpec::Latest));
        assert_eq!(what("-3"), Ok(OffsetSpec::MaxTimestamp));
        assert_eq!(what("1500"), Ok(OffsetSpec::Timestamp(1500)));
        assert_eq!(what("1970-01-01T00:00:01.500"), Ok(OffsetSpec::Timestamp(1500)));
        for wrong in ["", "-7", "now", "99999999999999999999"] {
            assert!(what(wrong).is_err(), "{wrong}");
        }
    }
}
