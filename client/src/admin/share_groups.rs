//! Share groups: members and offsets. Both are answered by the group's coordinator.

use ackflow_protocol::messages::describe_share_group_offsets::{
    DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsRequestGroup, DescribeShareGroupOffsetsResponsePartition,
};
use ackflow_protocol::messages::share_group_describe::{DescribedGroup, Member, ShareGroupDescribeRequest};
use ackflow_protocol::wire::Uuid;

use super::{Admin, Results, result};
use crate::error::{ClientError, ErrorKind};
use crate::net::Connection;

/// A share group and its members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareGroupDescription {
    /// `Empty`, `Stable` or `Dead`.
    pub state: String,
    /// Counts the changes of members and subscriptions.
    pub epoch: i32,
    /// The epoch that the assignment was made for.
    pub assignment_epoch: i32,
    /// What makes the assignment, such as `simple`.
    pub assignor: String,
    /// The broker that coordinates the group.
    pub coordinator: i32,
    /// The members, by id.
    pub members: Vec<ShareGroupMember>,
}

/// A member of a share group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareGroupMember {
    /// Its id, made by the member.
    pub member_id: String,
    /// Its `client.id`.
    pub client_id: String,
    /// Where it connects from.
    pub host: String,
    /// Its `client.rack`.
    pub rack: Option<String>,
    /// The epoch that it has reached.
    pub epoch: i32,
    /// The topics that it subscribes to.
    pub subscribed: Vec<String>,
    /// The partitions that it reads, which it may share with other members.
    pub assignment: Vec<(String, i32)>,
}

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
    /// How many records are still to be delivered or acknowledged (KIP-1226); `None` where the broker does not know, as
    /// while the start offset is not known.
    pub lag: Option<i64>,
}

impl Admin {
    /// Describes share groups (ShareGroupDescribe).
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// None for the whole call: a group that cannot be described has an error of its own.
    pub async fn describe_share_groups<S: Into<String>>(
        &self,
        groups: impl IntoIterator<Item = S>,
    ) -> Results<String, ShareGroupDescription> {
        let mut results = Results::new();
        for group in groups.into_iter().map(Into::into) {
            let described = self.describe_share_group(&group).await;
            results.insert(group, described);
        }
        results
    }

    async fn describe_share_group(&self, group: &str) -> Result<ShareGroupDescription, ClientError> {
        let request = ShareGroupDescribeRequest { group_ids: vec![group.to_owned()], ..Default::default() };
        let doing = || format!("describing share group {group}");
        let mut retries = self.retries();
        loop {
            let attempt = async {
                let (node, connection) = self.coordinator(group).await?;
                let response = connection.call(&request, self.request_timeout()).await?;
                let found = response.groups.into_iter().find(|found| found.group_id == group);
                let found = found.ok_or_else(|| left_out(doing(), &connection))?;
                result((), doing, &connection, found.error_code, found.error_message.as_deref())?;
                Ok(described(found, node))
            };
            if let Some(described) = retries.attempt(attempt).await? {
                return Ok(described);
            }
        }
    }

    /// How far a share group is in each partition that it reads or has read (DescribeShareGroupOffsets), by topic and
    /// partition. Of a group that does not exist there is nothing.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer, the group is of another kind, or a partition cannot be described.
    pub async fn share_group_offsets(&self, group: &str) -> Result<Vec<SharePartitionOffset>, ClientError> {
        let all_topics = DescribeShareGroupOffsetsRequestGroup { group_id: group.to_owned(), topics: None };
        let request = DescribeShareGroupOffsetsRequest { groups: vec![all_topics] };
        let doing = || format!("reading the offsets of share group {group}");
        let mut retries = self.retries();
        loop {
            let attempt = async {
                let (_, connection) = self.coordinator(group).await?;
                let response = connection.call(&request, self.request_timeout()).await?;
                let found = response.groups.into_iter().find(|found| found.group_id == group);
                let found = found.ok_or_else(|| left_out(doing(), &connection))?;
                result((), doing, &connection, found.error_code, found.error_message.as_deref())?;
                let mut offsets = Vec::new();
                for topic in found.topics {
                    for partition in topic.partitions {
                        let doing = || format!("{}, {}-{}", doing(), topic.topic_name, partition.partition_index);
                        let message = partition.error_message.as_deref();
                        result((), doing, &connection, partition.error_code, message)?;
                        offsets.push(offset(&topic.topic_name, topic.topic_id, &partition));
                    }
                }
                offsets.sort_by(|a, b| (&a.topic, a.partition).cmp(&(&b.topic, b.partition)));
                Ok(offsets)
            };
            if let Some(offsets) = retries.attempt(attempt).await? {
                return Ok(offsets);
            }
        }
    }
}

fn described(group: DescribedGroup, coordinator: i32) -> ShareGroupDescription {
    let member = |member: Member| ShareGroupMember {
        member_id: member.member_id,
        client_id: member.client_id,
        host: member.client_host,
        rack: member.rack_id,
        epoch: member.member_epoch,
        subscribed: member.subscribed_topic_names,
        assignment: member
            .assignment
            .topic_partitions
            .iter()
            .flat_map(|topic| topic.partitions.iter().map(|partition| (topic.topic_name.clone(), *partition)))
            .collect(),
    };
    let mut members: Vec<_> = group.members.into_iter().map(member).collect();
    members.sort_by(|a, b| a.member_id.cmp(&b.member_id));
    ShareGroupDescription {
        state: group.group_state,
        epoch: group.group_epoch,
        assignment_epoch: group.assignment_epoch,
        assignor: group.assignor_name,
        coordinator,
        members,
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
        lag: known(partition.lag),
    }
}

fn left_out(doing: String, connection: &Connection) -> ClientError {
    ClientError::new(ErrorKind::Malformed, doing, "the answer leaves the group out").at(connection.broker().to_owned())
}
