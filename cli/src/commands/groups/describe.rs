//! `ackflow groups describe`.

use std::collections::BTreeMap;
use std::process::ExitCode;

use ackflow_client::Admin;

use super::kind::Kind;
use super::named::Several;
use super::positions::positions;
use super::state::{self, Group};
use crate::common::Common;
use crate::report::Report;
use crate::table::{Cell, Column, Table, column, json_only, verbose};

const STATES: &[Column] = &[
    column("GROUP", "group"),
    column("TYPE", "type"),
    column("STATE", "state"),
    column("COORDINATOR", "coordinator"),
    column("#MEMBERS", "members"),
    verbose("ASSIGNMENT-STRATEGY", "assignor"),
    verbose("GROUP-EPOCH", "epoch"),
    verbose("TARGET-ASSIGNMENT-EPOCH", "assignmentEpoch"),
];

const MEMBERS: &[Column] = &[
    column("GROUP", "group"),
    column("CONSUMER-ID", "memberId"),
    verbose("GROUP-INSTANCE-ID", "instanceId"),
    column("HOST", "host"),
    column("CLIENT-ID", "clientId"),
    column("#PARTITIONS", "partitions"),
    column("ASSIGNMENT", "assignment"),
    verbose("TARGET-ASSIGNMENT", "targetAssignment"),
    verbose("MEMBER-EPOCH", "epoch"),
    verbose("RACK", "rack"),
    verbose("TOPICS", "subscribedTopics"),
    verbose("TOPIC-REGEX", "subscribedRegex"),
];

const SHARE_OFFSETS: &[Column] = &[
    column("GROUP", "group"),
    json_only("type"),
    column("TOPIC", "topic"),
    column("PARTITION", "partition"),
    verbose("LEADER-EPOCH", "leaderEpoch"),
    column("START-OFFSET", "startOffset"),
    column("LAG", "lag"),
];

const CONSUMER_OFFSETS: &[Column] = &[
    column("GROUP", "group"),
    json_only("type"),
    column("TOPIC", "topic"),
    column("PARTITION", "partition"),
    verbose("LEADER-EPOCH", "leaderEpoch"),
    column("CURRENT-OFFSET", "currentOffset"),
    column("LOG-END-OFFSET", "logEndOffset"),
    column("LAG", "lag"),
    column("CONSUMER-ID", "memberId"),
    column("HOST", "host"),
    column("CLIENT-ID", "clientId"),
    verbose("METADATA", "metadata"),
];

#[derive(Debug, clap::Args)]
#[command(
    after_help = "A share group has a start offset in each partition: the first that is not settled for good, as last stored, so it may be old; \
    its lag is exact. A consumer group has a committed offset.\n\
    With --json: groups, members and offsets are lists of objects, those that were asked for.\n\n\
    Examples:\n  \
    ackflow groups describe orders --bootstrap-server localhost:9092\n  \
    ackflow groups describe orders audit --bootstrap-server localhost:9092 --state --members --offsets --verbose\n  \
    ackflow groups describe --all-groups --bootstrap-server localhost:9092 --json | jq '.offsets[] | select(.lag > 1000)'"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) common: Common,

    #[command(flatten)]
    groups: Several,

    /// Show how far the groups are in each partition; this is what is shown where nothing else is asked for
    #[arg(long)]
    offsets: bool,

    /// Show the members, and the partitions that each reads
    #[arg(long)]
    members: bool,

    /// Show state and coordinator
    #[arg(long)]
    state: bool,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (admin, mut report) = args.common.open()?;
    let groups = args.groups.find(&admin, &mut report).await?;
    let mut described = BTreeMap::new();
    for (group, result) in state::describe(&admin, &groups).await {
        described.extend(report.take(result).map(|result| (group, result)));
    }
    if args.state {
        report.table("groups", &states(&described));
    }
    if args.members {
        report.table("members", &members(&described));
    }
    if args.offsets || !args.state && !args.members {
        let shares = share_offsets(&admin, &groups, &mut report).await;
        let consumers = consumer_offsets(&admin, &groups, &described, &mut report).await;
        // Of two kinds of groups there are two tables, since they have other columns.
        let has = |wanted| groups.iter().any(|(_, kind)| *kind == wanted);
        if has(Kind::Share) || !has(Kind::Consumer) {
            report.table("offsets", &shares);
        }
        if has(Kind::Consumer) {
            report.table("offsets", &consumers);
        }
    }
    report.finish()
}

fn states(described: &BTreeMap<String, Group>) -> Table {
    let mut table = Table::new(STATES);
    for (name, group) in described {
        table.row([
            name.as_str().into(),
            group.group_type.into(),
            group.state.as_str().into(),
            group.coordinator.into(),
            group.members.len().into(),
            group.assignor.as_str().into(),
            group.epoch.into(),
            group.assignment_epoch.into(),
        ]);
    }
    table
}

fn members(described: &BTreeMap<String, Group>) -> Table {
    let mut table = Table::new(MEMBERS);
    for (name, group) in described {
        for member in &group.members {
            table.row([
                name.as_str().into(),
                member.id.as_str().into(),
                member.instance.clone().into(),
                member.host.as_str().into(),
                member.client.as_str().into(),
                member.assignment.len().into(),
                Cell::partitions(&member.assignment),
                Cell::partitions(&member.target),
                member.epoch.into(),
                member.rack.clone().into(),
                member.subscribed.clone().into(),
                member.regex.clone().into(),
            ]);
        }
    }
    table
}

async fn share_offsets(admin: &Admin, groups: &[(String, Kind)], report: &mut Report) -> Table {
    let mut table = Table::new(SHARE_OFFSETS);
    for (name, _) in groups.iter().filter(|(_, kind)| *kind == Kind::Share) {
        for at in report.take(admin.share_group_offsets(name).await).unwrap_or_default() {
            table.row([
                name.as_str().into(),
                Kind::Share.name().into(),
                at.topic.into(),
                at.partition.into(),
                at.leader_epoch.into(),
                at.start_offset.into(),
                at.lag.into(),
            ]);
        }
    }
    table
}

async fn consumer_offsets(
    admin: &Admin,
    groups: &[(String, Kind)],
    described: &BTreeMap<String, Group>,
    report: &mut Report,
) -> Table {
    let mut table = Table::new(CONSUMER_OFFSETS);
    for (name, _) in groups.iter().filter(|(_, kind)| *kind == Kind::Consumer) {
        for position in positions(admin, name, described.get(name), report).await {
            let lag = position.lag();
            let committed = position.committed;
            let reader = position.reader;
            table.row([
                name.as_str().into(),
                Kind::Consumer.name().into(),
                position.partition.topic.to_string().into(),
                position.partition.partition.into(),
                committed.as_ref().and_then(|committed| committed.leader_epoch).into(),
                committed.as_ref().map(|committed| committed.offset).into(),
                position.end.into(),
                lag.into(),
                reader.map(|reader| reader.id.clone()).into(),
                reader.map(|reader| reader.host.clone()).into(),
                reader.map(|reader| reader.client.clone()).into(),
                committed.map(|committed| committed.metadata).into(),
            ]);
        }
    }
    table
}
