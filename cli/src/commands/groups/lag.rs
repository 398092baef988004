//! `ackflow groups lag`.

use std::collections::BTreeMap;
use std::process::ExitCode;

use ackflow_client::Admin;

use super::kind::Kind;
use super::named::Several;
use super::positions::positions;
use super::state::{self, Group};
use crate::common::Common;
use crate::report::Report;
use crate::table::{Column, Table, column};

const BY_TOPIC: &[Column] = &[
    column("GROUP", "group"),
    column("TYPE", "type"),
    column("TOPIC", "topic"),
    column("#PARTITIONS", "partitions"),
    column("LAG", "lag"),
    column("#UNKNOWN", "unknown"),
];

const TOTALS: &[Column] = &[
    column("GROUP", "group"),
    column("TYPE", "type"),
    column("#PARTITIONS", "partitions"),
    column("LAG", "lag"),
    column("#UNKNOWN", "unknown"),
];

#[derive(Debug, clap::Args)]
#[command(
    after_help = "The lag of a share group counts records that are still to be delivered or acknowledged, that of a consumer group the offsets \
    between the committed one and the end. #UNKNOWN counts partitions whose lag is not known, such as those of which a group has read nothing yet; \
    LAG leaves them out.\n\n\
    Examples:\n  \
    ackflow groups lag orders --bootstrap-server localhost:9092\n  \
    ackflow groups lag --all-groups --total --bootstrap-server localhost:9092 --json | jq '.lags[] | select(.lag > 1000) | .group'"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) common: Common,

    #[command(flatten)]
    groups: Several,

    /// One row a group, not one a topic
    #[arg(long)]
    total: bool,
}

/// The lag of partitions together.
#[derive(Debug, Default)]
struct Lag {
    partitions: u64,
    records: Option<i64>,
    unknown: u64,
}

impl Lag {
    fn add(&mut self, records: Option<i64>) {
        self.partitions += 1;
        self.unknown += u64::from(records.is_none());
        if let Some(records) = records {
            // A committed offset may lie behind the end of a topic that was made anew; it makes up for no other partition.
            let records = records.max(0);
            self.records = Some(self.records.unwrap_or_default().saturating_add(records));
        }
    }
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (admin, mut report) = args.common.open()?;
    let groups = args.groups.find(&admin, &mut report).await?;
    // Of a consumer group that has members they tell which partitions they read, also where nothing is committed yet.
    let consumers: Vec<_> = groups.iter().filter(|(_, kind)| *kind == Kind::Consumer).cloned().collect();
    let mut described = BTreeMap::new();
    for (group, result) in state::describe(&admin, &consumers).await {
        described.extend(report.take(result).map(|result| (group, result)));
    }
    let mut table = Table::new(if args.total { TOTALS } else { BY_TOPIC });
    for (group, kind) in groups {
        let mut topics: BTreeMap<String, Lag> = BTreeMap::new();
        let mut total = Lag::default();
        for (topic, lag) in lags(&admin, &group, kind, described.get(&group), &mut report).await {
            topics.entry(topic).or_default().add(lag);
            total.add(lag);
        }
        let name = || group.as_str().into();
        if args.total {
            let Lag { partitions, records, unknown } = total;
            table.row([name(), kind.name().into(), partitions.into(), records.into(), unknown.into()]);
            continue;
        }
        for (topic, Lag { partitions, records, unknown }) in topics {
            table.row([name(), kind.name().into(), topic.into(), partitions.into(), records.into(), unknown.into()]);
        }
    }
    report.table("lags", &table);
    report.finish()
}

/// Each partition's topic and lag.
async fn lags(
    admin: &Admin,
    name: &str,
    kind: Kind,
    group: Option<&Group>,
    report: &mut Report,
) -> Vec<(String, Option<i64>)> {
    match kind {
        Kind::Share => {
            let offsets = report.take(admin.share_group_offsets(name).await).unwrap_or_default();
            offsets.into_iter().map(|at| (at.topic, at.lag)).collect()
        }
        Kind::Consumer => {
            let positions = positions(admin, name, group, report).await;
            positions.into_iter().map(|position| (position.partition.topic.to_string(), position.lag())).collect()
        }
    }
}
