//! How far consumer groups are, partition by partition.

use std::collections::{BTreeMap, BTreeSet};

use ackflow_client::Admin;
use ackflow_client::admin::{CommittedOffset, IsolationLevel, OffsetSpec, TopicPartition};

use super::state::{Group, Member};
use crate::report::Report;

/// How far a consumer group is in a partition, and who reads it.
#[derive(Debug)]
pub(crate) struct Position<'a> {
    pub(crate) partition: TopicPartition,
    /// None where a member reads the partition and has committed nothing yet.
    pub(crate) committed: Option<CommittedOffset>,
    pub(crate) end: Option<i64>,
    pub(crate) reader: Option<&'a Member>,
}

impl Position<'_> {
    /// Negative where the committed offset lies behind the end, as in a topic that was made anew; Kafka's tool shows it so too.
    pub(crate) fn lag(&self) -> Option<i64> {
        let committed = self.committed.as_ref()?;
        Some(self.end?.saturating_sub(committed.offset))
    }
}

/// The positions of a group, in all partitions of which it has an offset or which a member reads.
pub(crate) async fn positions<'a>(
    admin: &Admin,
    name: &str,
    group: Option<&'a Group>,
    report: &mut Report,
) -> Vec<Position<'a>> {
    let committed = admin.list_consumer_group_offsets(name).await;
    let Some(mut committed) = report.take(committed) else { return Vec::new() };
    let readers = readers(group);
    let partitions: BTreeSet<_> = committed.keys().chain(readers.keys().copied()).cloned().collect();
    let latest = partitions.iter().map(|partition| (partition.clone(), OffsetSpec::Latest));
    let mut ends = admin.list_offsets(latest, IsolationLevel::ReadUncommitted).await;
    let mut positions = Vec::new();
    for partition in partitions {
        positions.push(Position {
            committed: committed.remove(&partition),
            end: ends.remove(&partition).and_then(|end| report.take(end)).and_then(|end| end.offset),
            reader: readers.get(&partition).copied(),
            partition,
        });
    }
    positions
}

/// Who reads each partition. In a consumer group that is one member.
fn readers(group: Option<&Group>) -> BTreeMap<&TopicPartition, &Member> {
    let members = group.into_iter().flat_map(|group| &group.members);
    members.flat_map(|member| member.assignment.iter().map(move |partition| (partition, member))).collect()
}
