//! Offsets of share groups. The group's coordinator keeps them.

use ackflow_protocol::messages::alter_share_group_offsets::{
    AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsRequestPartition, AlterShareGroupOffsetsRequestTopic,
};
use ackflow_protocol::messages::delete_share_group_offsets::{
    DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsRequestTopic,
};
use ackflow_protocol::messages::describe_share_group_offsets::{
    DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsRequestGroup, DescribeShareGroupOffsetsResponsePartition,
};
use ackflow_protocol::wire::Uuid;

use super::leaders::by_topic;
use super::offsets::from_zero;
use super::routed::Asked;
use super::{Admin, Results, result};
use crate::error::{ClientError, ErrorKind};
use crate::net::Connection;
use crate::share::TopicPartition;

/// How far a share group is in a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharePartitionOffset {
    /// The topic.
    pub topic: String,
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partition.
    pub partition: i32,
    /// The first offset that is not settled for good, as last stored: it may be old. `None` where the group has
    /// acknowledged nothing of the partition yet.
    pub start_offset: Option<i64>,
    /// The epoch of the partition's leader when the start offset was stored; `None` where there is none or the broker does not know.
    pub leader_epoch: Option<i32>,
    /// How many records are still to be delivered or acknowledged (KIP-1226); `None` where the broker does not know, as
    /// while the start offset is not known.
    pub lag: Option<i64>,
}

impl Admin {
    /// How far a share group is in each partition that it reads or has read (DescribeShareGroupOffsets), by topic and
    /// partition. Of a group that does not exist there is nothing.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer, the group is of another kind, or a partition cannot be described.
    pub async fn share_group_offsets(&self, group: &str) -> Result<Vec<SharePartitionOffset>, ClientError> {
        let all_topics = || DescribeShareGroupOffsetsRequestGroup { group_id: group.to_owned(), topics: None };
        let request = |_: &Asked<'_>| DescribeShareGroupOffsetsRequest { groups: vec![all_topics()] };
        let doing = || format!("reading the offsets of share group {group}");
        self.at_group(group, i16::MAX, request, |asked, response| {
            let found = response.groups.into_iter().find(|found| found.group_id == group);
            let found = found.ok_or_else(|| left_out(doing(), asked.connection))?;
            result((), doing, asked.connection, found.error_code, found.error_message.as_deref())?;
            let mut offsets = Vec::new();
            for topic in found.topics {
                for partition in topic.partitions {
                    let doing = || format!("{}, {}-{}", doing(), topic.topic_name, partition.partition_index);
                    let message = partition.error_message.as_deref();
                    result((), doing, asked.connection, partition.error_code, message)?;
                    offsets.push(offset(&topic.topic_name, topic.topic_id, &partition));
                }
            }
            offsets.sort_by(|a, b| (&a.topic, a.partition).cmp(&(&b.topic, b.partition)));
            Ok(offsets)
        })
        .await
    }

    /// Has a share group that has no members go on at these offsets (AlterShareGroupOffsets); a group that does not exist is created.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer, or the coordinator refuses the whole call, as where the group has members. Offsets may have been set
    /// nevertheless. By partition: [`ErrorKind::Invalid`] of an offset below 0.
    pub async fn alter_share_group_offsets(
        &self,
        group: &str,
        offsets: impl IntoIterator<Item = (TopicPartition, i64)>,
    ) -> Result<Results<TopicPartition, ()>, ClientError> {
        let remedy = "choose an offset from 0, or have the group forget the topic by delete_share_group_offsets";
        let (offsets, mut results) = from_zero(offsets, |offset: &i64| *offset, remedy);
        if offsets.is_empty() {
            return Ok(results);
        }
        let partition = |(partition_index, start_offset): (i32, &i64)| AlterShareGroupOffsetsRequestPartition {
            partition_index,
            start_offset: *start_offset,
        };
        let topic = |(topic_name, partitions): (String, Vec<_>)| AlterShareGroupOffsetsRequestTopic {
            topic_name,
            partitions: partitions.into_iter().map(partition).collect(),
        };
        let request = |_: &Asked<'_>| AlterShareGroupOffsetsRequest {
            group_id: group.to_owned(),
            topics: by_topic(&offsets).into_iter().map(topic).collect(),
        };
        let set = self.at_group(group, i16::MAX, request, |asked, response| {
            let doing = || format!("setting offsets of share group {group}");
            result((), doing, asked.connection, response.error_code, response.error_message.as_deref())?;
            let mut results = Results::new();
            for topic in response.responses {
                for partition in topic.partitions {
                    let key = TopicPartition::new(topic.topic_name.as_str(), partition.partition_index);
                    let doing = || format!("setting the offset of {key} of share group {group}");
                    let message = partition.error_message.as_deref();
                    let outcome = result((), doing, asked.connection, partition.error_code, message);
                    results.insert(key, outcome);
                }
            }
            Ok(results)
        });
        results.append(&mut set.await?);
        Ok(results)
    }

    /// Has a share group that has no members forget topics (DeleteShareGroupOffsets): if it reads them again, it begins as a new group does.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer, or the coordinator refuses the whole call, as where the group has members or does not exist. Offsets may
    /// have been deleted nevertheless.
    pub async fn delete_share_group_offsets<S: Into<String>>(
        &self,
        group: &str,
        topics: impl IntoIterator<Item = S>,
    ) -> Result<Results<String, ()>, ClientError> {
        let topics: Vec<String> = topics.into_iter().map(Into::into).collect();
        let topic = |topic: &String| DeleteShareGroupOffsetsRequestTopic { topic_name: topic.clone() };
        let request = |_: &Asked<'_>| DeleteShareGroupOffsetsRequest {
            group_id: group.to_owned(),
            topics: topics.iter().map(topic).collect(),
        };
        self.at_group(group, i16::MAX, request, |asked, response| {
            let doing = || format!("deleting offsets of share group {group}");
            result((), doing, asked.connection, response.error_code, response.error_message.as_deref())?;
            let outcomes = response.responses.into_iter().map(|topic| {
                let doing = || format!("deleting the offsets of topic {} of share group {group}", topic.topic_name);
                let outcome = result((), doing, asked.connection, topic.error_code, topic.error_message.as_deref());
                (topic.topic_name, outcome)
            });
            Ok(outcomes.collect())
        })
        .await
    }
}

fn offset(topic: &str, topic_id: Uuid, partition: &DescribeShareGroupOffsetsResponsePartition) -> SharePartitionOffset {
    // -1 says that the broker does not know.
    let known = |offset: i64| Some(offset).filter(|offset| *offset >= 0);
    SharePartitionOffset {
        topic: topic.to_owned(),
        topic_id,
        partition: partition.partition_index,
        start_offset: known(partition.start_offset),
        leader_epoch: Some(partition.leader_epoch).filter(|epoch| *epoch >= 0 && partition.start_offset >= 0),
        lag: known(partition.lag),
    }
}

fn left_out(doing: String, connection: &Connection) -> ClientError {
    ClientError::new(ErrorKind::Malformed, doing, "the answer leaves the group out").at(connection.broker().to_owned())
}
