//! `ackflow groups delete-offsets`.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use ackflow_client::admin::TopicPartition;
use anyhow::bail;

use super::kind::Kind;
use super::named::{One, not_there};
use crate::common::Common;
use crate::report::Report;
use crate::scope::{TopicScope, topic_scope};
use crate::table::{Column, Table, column};

const COLUMNS: &[Column] = &[column("GROUP", "group"), column("TOPIC", "topic"), column("PARTITION", "partition")];

#[derive(Debug, clap::Args)]
#[command(
    after_help = "A share group forgets whole topics, and must have no members; a consumer group may forget partitions, and must have no members that \
    subscribe to them. If the group reads them again, it begins as a new group does.\n\
    With --json: deleted is a list of objects; partition is null where it stands for all.\n\n\
    Example: ackflow groups delete-offsets orders --topic orders --bootstrap-server localhost:9092"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) common: Common,

    #[command(flatten)]
    group: One,

    /// A topic, or partitions of it; may be repeated
    #[arg(long, required = true, value_name = "TOPIC[:0,1,..]", value_parser = topic_scope)]
    topic: Vec<TopicScope>,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (admin, mut report) = args.common.open()?;
    let group = args.group.id();
    let mut table = Table::new(COLUMNS);
    match Kind::find(&admin, group).await? {
        None => bail!("{}", not_there(group)),
        Some(Kind::Share) => {
            if let Some(scope) = args.topic.iter().find(|scope| scope.partitions.is_some()) {
                let topic = &scope.topic;
                bail!(
                    "--topic {topic}:..: group {group} is a share group, which forgets whole topics; use --topic {topic}"
                );
            }
            let topics: BTreeSet<&String> = args.topic.iter().map(|scope| &scope.topic).collect();
            for (topic, result) in admin.delete_share_group_offsets(group, topics).await? {
                if report.take(result).is_some() {
                    table.row([group.into(), topic.into(), Option::<i32>::None.into()]);
                }
            }
        }
        Some(Kind::Consumer) => {
            let has = admin.list_consumer_group_offsets(group).await?;
            let partitions = committed(&args.topic, has.keys(), group, &mut report);
            if !partitions.is_empty() {
                for (partition, result) in admin.delete_consumer_group_offsets(group, partitions).await? {
                    if report.take(result).is_some() {
                        table.row([group.into(), partition.topic.to_string().into(), partition.partition.into()]);
                    }
                }
            }
        }
    }
    report.table("deleted", &table);
    report.finish()
}

/// The partitions of the scopes of which the group has an offset: also of topics that are gone, which is what one deletes offsets for.
fn committed<'a>(
    scopes: &[TopicScope],
    has: impl Iterator<Item = &'a TopicPartition>,
    group: &str,
    report: &mut Report,
) -> BTreeSet<TopicPartition> {
    let mut topics: BTreeMap<&str, BTreeSet<i32>> = BTreeMap::new();
    for partition in has {
        topics.entry(&partition.topic).or_default().insert(partition.partition);
    }
    let mut found = BTreeSet::new();
    for TopicScope { topic, partitions } in scopes {
        let Some(has) = topics.get(topic.as_str()) else {
            report.failed(format!("--topic {topic}: group {group} has no offset in it"));
            continue;
        };
        for index in partitions.as_ref().unwrap_or(has) {
            match has.contains(index) {
                true => _ = found.insert(TopicPartition::new(topic.as_str(), *index)),
                false => report.failed(format!("--topic {topic}:{index}: group {group} has no offset in it")),
            }
        }
    }
    found
}
