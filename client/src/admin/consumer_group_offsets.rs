//! Offsets of consumer groups. The group's coordinator keeps them.

use std::collections::BTreeMap;

use ackflow_protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use ackflow_protocol::messages::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use ackflow_protocol::messages::offset_fetch::{OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse};
use ackflow_protocol::wire::{ApiKey, ErrorCode};

use super::leaders::{by_topic, indexes_by_topic};
use super::offsets::from_zero;
use super::routed::Asked;
use super::{Admin, IsolationLevel, OffsetSpec, Results, result};
use crate::error::ClientError;
use crate::share::TopicPartition;

/// The last version of OffsetFetch and OffsetCommit that names topics, not their ids: a group may hold offsets of topics that are gone.
const NEWEST_BY_NAME: i16 = 9;
/// The first version of OffsetFetch that asks about several groups.
const FIRST_BATCHED: i16 = 8;

/// How far a consumer group is in a partition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommittedOffset {
    /// The offset of the next record to read.
    pub offset: i64,
    /// The leader epoch of the last record that was read, where it is known.
    pub leader_epoch: Option<i32>,
    /// What the consumer keeps beside it.
    pub metadata: String,
}

impl From<i64> for CommittedOffset {
    fn from(offset: i64) -> Self {
        Self { offset, ..Self::default() }
    }
}

/// How far a consumer group is behind the end of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumerGroupLag {
    /// How far it is.
    pub committed: CommittedOffset,
    /// The offset that follows the last record.
    pub end: i64,
    /// How many offsets lie between; negative where the committed one lies behind the end.
    pub lag: i64,
}

impl Admin {
    /// The offsets that a consumer group has committed (OffsetFetch), of all its partitions. Of a group that does not exist there are none.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer, the group is of another kind, or the offset of a partition cannot be read.
    pub async fn list_consumer_group_offsets(
        &self,
        group: &str,
    ) -> Result<BTreeMap<TopicPartition, CommittedOffset>, ClientError> {
        let request = |asked: &Asked<'_>| {
            let version = asked.connection.version(ApiKey::OFFSET_FETCH);
            match version.is_some_and(|version| version >= FIRST_BATCHED) {
                true => OffsetFetchRequest {
                    groups: vec![OffsetFetchRequestGroup { group_id: group.to_owned(), ..Default::default() }],
                    ..Default::default()
                },
                false => OffsetFetchRequest { group_id: group.to_owned(), topics: None, ..Default::default() },
            }
        };
        self.at_group(group, NEWEST_BY_NAME, request, |asked, response| committed(group, asked, response)).await
    }

    /// The same, with the end of each partition (ListOffsets) and the distance.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// As [`list_consumer_group_offsets`](Self::list_consumer_group_offsets). A partition whose end is not known, as of a topic that was deleted, has an
    /// error of its own.
    pub async fn consumer_group_lag(
        &self,
        group: &str,
    ) -> Result<Results<TopicPartition, ConsumerGroupLag>, ClientError> {
        let mut offsets = self.list_consumer_group_offsets(group).await?;
        let latest = offsets.keys().map(|partition| (partition.clone(), OffsetSpec::Latest));
        let ends = self.list_offsets(latest, IsolationLevel::ReadUncommitted).await;
        let lags = ends.into_iter().filter_map(|(partition, end)| {
            let committed = offsets.remove(&partition)?;
            let lag = end.map(|end| {
                let end = end.offset.unwrap_or_default();
                let lag = end.saturating_sub(committed.offset);
                ConsumerGroupLag { committed, end, lag }
            });
            Some((partition, lag))
        });
        Ok(lags.collect())
    }

    /// Sets offsets of a consumer group that has no members (OffsetCommit); a group that does not exist is created.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer. Offsets may have been set nevertheless. By partition: UNKNOWN_MEMBER_ID where the group has members, and
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) of an offset below 0, which a broker would take for the end of what was committed.
    pub async fn alter_consumer_group_offsets<O: Into<CommittedOffset>>(
        &self,
        group: &str,
        offsets: impl IntoIterator<Item = (TopicPartition, O)>,
    ) -> Result<Results<TopicPartition, ()>, ClientError> {
        let offsets = offsets.into_iter().map(|(partition, offset)| (partition, offset.into()));
        let remedy = "choose an offset from 0, or take it away by delete_consumer_group_offsets";
        let (offsets, mut results) = from_zero(offsets, |offset: &CommittedOffset| offset.offset, remedy);
        if offsets.is_empty() {
            return Ok(results);
        }
        let partition = |(partition_index, offset): (i32, &CommittedOffset)| OffsetCommitRequestPartition {
            partition_index,
            committed_offset: offset.offset,
            committed_leader_epoch: offset.leader_epoch.unwrap_or(-1),
            committed_metadata: Some(offset.metadata.clone()),
        };
        let topic = |(name, partitions): (String, Vec<_>)| OffsetCommitRequestTopic {
            name,
            partitions: partitions.into_iter().map(partition).collect(),
            ..Default::default()
        };
        let request = |_: &Asked<'_>| OffsetCommitRequest {
            group_id: group.to_owned(),
            topics: by_topic(&offsets).into_iter().map(topic).collect(),
            ..Default::default()
        };
        let set = self.at_group(group, NEWEST_BY_NAME, request, |asked, response| {
            let codes = response.topics.iter().flat_map(|topic| {
                let key = |index| TopicPartition::new(topic.name.as_str(), index);
                topic.partitions.iter().map(move |p| (key(p.partition_index), p.error_code))
            });
            by_partition(codes, asked, &|partition| format!("setting the offset of {partition} of group {group}"))
        });
        results.append(&mut set.await?);
        Ok(results)
    }

    /// Takes offsets of partitions away from a consumer group (OffsetDelete). A partition of a topic that the group is subscribed to has the error
    /// GROUP_SUBSCRIBED_TO_TOPIC.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer or there is no such group. Offsets may have been deleted nevertheless.
    pub async fn delete_consumer_group_offsets(
        &self,
        group: &str,
        partitions: impl IntoIterator<Item = TopicPartition>,
    ) -> Result<Results<TopicPartition, ()>, ClientError> {
        let partitions: Vec<_> = partitions.into_iter().collect();
        let partition = |partition_index| OffsetDeleteRequestPartition { partition_index };
        let topic = |(name, partitions): (String, Vec<i32>)| OffsetDeleteRequestTopic {
            name,
            partitions: partitions.into_iter().map(partition).collect(),
        };
        let request = |_: &Asked<'_>| OffsetDeleteRequest {
            group_id: group.to_owned(),
            topics: indexes_by_topic(&partitions).into_iter().map(topic).collect(),
        };
        self.at_group(group, i16::MAX, request, |asked, response| {
            let doing = || format!("deleting offsets of group {group}");
            result((), doing, asked.connection, response.error_code, None)?;
            let codes = response.topics.iter().flat_map(|topic| {
                let key = |index| TopicPartition::new(topic.name.as_str(), index);
                topic.partitions.iter().map(move |p| (key(p.partition_index), p.error_code))
            });
            by_partition(codes, asked, &|partition| format!("deleting the offset of {partition} of group {group}"))
        })
        .await
    }
}

/// The result of each partition. That the coordinator is not the one, or not ready, concerns all of them.
fn by_partition(
    codes: impl Iterator<Item = (TopicPartition, ErrorCode)>,
    asked: &Asked<'_>,
    doing: &dyn Fn(&TopicPartition) -> String,
) -> Result<Results<TopicPartition, ()>, ClientError> {
    let mut results = Results::new();
    for (partition, code) in codes {
        let outcome = result((), || doing(&partition), asked.connection, code, None);
        match code {
            ErrorCode::NOT_COORDINATOR
            | ErrorCode::COORDINATOR_NOT_AVAILABLE
            | ErrorCode::COORDINATOR_LOAD_IN_PROGRESS => outcome?,
            _ => {
                results.insert(partition, outcome);
            }
        }
    }
    Ok(results)
}

fn committed(
    group: &str,
    asked: &Asked<'_>,
    response: OffsetFetchResponse,
) -> Result<BTreeMap<TopicPartition, CommittedOffset>, ClientError> {
    let doing = || format!("reading the offsets of group {group}");
    let mut found = Vec::new();
    let code = match response.groups.into_iter().find(|found| found.group_id == group) {
        Some(of_group) => {
            for topic in of_group.topics {
                for p in topic.partitions {
                    let key = TopicPartition::new(topic.name.as_str(), p.partition_index);
                    found.push((key, p.committed_offset, p.committed_leader_epoch, p.metadata, p.error_code));
                }
            }
            of_group.error_code
        }
        None => {
            for topic in response.topics {
                for p in topic.partitions {
                    let key = TopicPartition::new(topic.name.as_str(), p.partition_index);
                    found.push((key, p.committed_offset, p.committed_leader_epoch, p.metadata, p.error_code));
                }
            }
            response.error_code
        }
    };
    result((), doing, asked.connection, code, None)?;
    let mut offsets = BTreeMap::new();
    for (partition, offset, leader_epoch, metadata, code) in found {
        result((), || format!("{}, {partition}", doing()), asked.connection, code, None)?;
        // -1 says that none is committed.
        if offset >= 0 {
            let leader_epoch = Some(leader_epoch).filter(|epoch| *epoch >= 0);
            offsets.insert(partition, CommittedOffset { offset, leader_epoch, metadata: metadata.unwrap_or_default() });
        }
    }
    Ok(offsets)
}
