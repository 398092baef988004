//! `ackflow topics describe`.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use ackflow_client::Admin;
use ackflow_client::admin::{ConfigEntry, ConfigResource, PartitionDescription, ResourceKind, TopicDescription};
use serde_json::{Map, Value};

use crate::common::Common;
use crate::configs::is_own;
use crate::report::Report;
use crate::table::{Cell, Column, Table, column, joined, verbose};

const TOPICS: &[Column] = &[
    column("TOPIC", "topic"),
    column("ID", "id"),
    verbose("INTERNAL", "internal"),
    column("#PARTITIONS", "partitions"),
    column("REPLICATION-FACTOR", "replicationFactor"),
    column("CONFIGS", "configs"),
];

const PARTITIONS: &[Column] = &[
    column("TOPIC", "topic"),
    column("PARTITION", "partition"),
    column("LEADER", "leader"),
    column("REPLICAS", "replicas"),
    column("ISR", "isr"),
    verbose("LEADER-EPOCH", "leaderEpoch"),
];

#[derive(Debug, clap::Args)]
#[command(
    after_help = "CONFIGS are the topic's own settings. With --json: topics and partitions are lists of objects; leader is null where there is none.\n\n\
    Examples:\n  \
    ackflow topics describe orders --bootstrap-server localhost:9092\n  \
    ackflow topics describe --under-replicated-partitions --bootstrap-server localhost:9092"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) common: Common,

    /// The topics; all where none is named
    #[arg(value_name = "TOPIC")]
    named: Vec<String>,

    /// The same, as Kafka's tools name them; may be repeated
    #[arg(long = "topic", value_name = "TOPIC")]
    topic: Vec<String>,

    /// Leave out Kafka's own topics
    #[arg(long)]
    exclude_internal: bool,

    /// Topics that do not exist are no error
    #[arg(long)]
    if_exists: bool,

    /// Partitions alone that have fewer replicas in sync than they have replicas
    #[arg(long)]
    under_replicated_partitions: bool,

    /// Partitions alone that have no leader
    #[arg(long)]
    unavailable_partitions: bool,

    /// Topics alone that have settings of their own, without their partitions
    #[arg(long, conflicts_with_all = ["under_replicated_partitions", "unavailable_partitions"])]
    topics_with_overrides: bool,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (admin, mut report) = args.common.open()?;
    let mut names: BTreeSet<String> = args.named.iter().chain(&args.topic).cloned().collect();
    let listed = args.if_exists || names.is_empty();
    if listed {
        let mut all: BTreeSet<String> = admin.list_topics().await?.into_iter().map(|topic| topic.name).collect();
        if !names.is_empty() {
            all.retain(|name| names.contains(name));
        }
        names = all;
    }
    let mut topics = BTreeMap::new();
    if !names.is_empty() {
        for (name, described) in admin.describe_topics(names).await? {
            let described = report.take(described).filter(|topic| !(args.exclude_internal && topic.internal));
            topics.extend(described.map(|topic| (name, topic)));
        }
    }
    if !args.under_replicated_partitions && !args.unavailable_partitions {
        report_topics(&admin, &args, &topics, &mut report).await?;
    }
    if !args.topics_with_overrides {
        report.table("partitions", &partitions(&args, &topics));
    }
    report.finish()
}

async fn report_topics(
    admin: &Admin,
    args: &Args,
    topics: &BTreeMap<String, TopicDescription>,
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut configs = match topics.is_empty() {
        true => BTreeMap::new(),
        false => admin.describe_configs(topics.keys().map(ConfigResource::topic)).await?,
    };
    let mut table = Table::new(TOPICS);
    for (name, topic) in topics {
        // Who may describe a topic may not always see its settings.
        let entries = configs.remove(&ConfigResource::topic(name)).and_then(|entries| report.take(entries));
        let configs = entries.map(own);
        if args.topics_with_overrides && configs.as_ref().is_none_or(Map::is_empty) {
            continue;
        }
        let replicas = topic.partitions.iter().map(|partition| partition.replicas.len()).max();
        table.row([
            name.as_str().into(),
            topic.id.to_string().into(),
            topic.internal.into(),
            topic.partitions.len().into(),
            replicas.into(),
            configs.map_or_else(|| Value::Null.into(), settings),
        ]);
    }
    report.table("topics", &table);
    Ok(())
}

fn own(entries: BTreeMap<String, ConfigEntry>) -> Map<String, Value> {
    let own = entries.into_iter().filter(|(_, entry)| is_own(ResourceKind::Topic, entry.source));
    own.map(|(name, entry)| (name, entry.value.into())).collect()
}

/// `k=v,k=v`.
fn settings(configs: Map<String, Value>) -> Cell {
    let shown = configs.iter().map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or("<sensitive>")));
    let text = shown.collect::<Vec<_>>().join(",");
    Cell::with_text(configs, text)
}

fn partitions(args: &Args, topics: &BTreeMap<String, TopicDescription>) -> Table {
    let chosen = |partition: &PartitionDescription| {
        let under_replicated = partition.in_sync.len() < partition.replicas.len();
        let unavailable = partition.leader.is_none();
        match (args.under_replicated_partitions, args.unavailable_partitions) {
            (false, false) => true,
            (under, unavail) => under && under_replicated || unavail && unavailable,
        }
    };
    let mut table = Table::new(PARTITIONS);
    for (name, topic) in topics {
        for partition in topic.partitions.iter().filter(|partition| chosen(partition)) {
            let list = |ids: &[i32]| Cell::with_text(ids.to_vec(), joined(ids));
            table.row([
                name.as_str().into(),
                partition.partition.into(),
                partition.leader.into(),
                list(&partition.replicas),
                list(&partition.in_sync),
                Some(partition.leader_epoch).filter(|epoch| *epoch >= 0).into(),
            ]);
        }
    }
    table
}
