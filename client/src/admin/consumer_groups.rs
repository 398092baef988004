//! Consumer groups of both protocols, and their members. The group's coordinator knows them.

use ackflow_protocol::messages::consumer_group_describe::{
    Assignment, ConsumerGroupDescribeRequest, DescribedGroup, Member,
};
use ackflow_protocol::wire::ErrorCode;

use super::leaders::sorted;
use super::{Admin, Results, result};
use crate::error::{ClientError, ErrorKind};
use crate::share::TopicPartition;

/// A consumer group and its members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumerGroupDescription {
    /// Whether the group is of the classic protocol, not of the one of KIP-848.
    pub classic: bool,
    /// Such as `Stable`, `Empty` or `Reconciling`.
    pub state: String,
    /// Counts the changes of members and subscriptions; `None` of a classic group.
    pub epoch: Option<i32>,
    /// The epoch that the assignment was made for; `None` of a classic group.
    pub assignment_epoch: Option<i32>,
    /// What makes the assignment, such as `uniform`.
    pub assignor: String,
    /// The broker that coordinates the group.
    pub coordinator: i32,
    /// The members, by id.
    pub members: Vec<ConsumerGroupMember>,
}

/// A member of a consumer group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumerGroupMember {
    /// Its id.
    pub member_id: String,
    /// Its `group.instance.id`.
    pub instance_id: Option<String>,
    /// Its `client.id`.
    pub client_id: String,
    /// Where it connects from.
    pub host: String,
    /// Its `client.rack`; `None` also of a classic group.
    pub rack: Option<String>,
    /// The epoch that it has reached; `None` of a classic group.
    pub epoch: Option<i32>,
    /// The topics that it subscribes to by name.
    pub subscribed: Vec<String>,
    /// The regular expression that it subscribes to.
    pub subscribed_regex: Option<String>,
    /// The partitions that it reads.
    pub assignment: Vec<TopicPartition>,
    /// The partitions that it is to read in the end; of a classic group the same as `assignment`.
    pub target_assignment: Vec<TopicPartition>,
}

impl Admin {
    /// Describes consumer groups: those of KIP-848 by ConsumerGroupDescribe, those of the classic protocol by DescribeGroups, as the coordinator says
    /// which they are.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// None for the whole call: a group that cannot be described has an error of its own.
    pub async fn describe_consumer_groups<S: Into<String>>(
        &self,
        groups: impl IntoIterator<Item = S>,
    ) -> Results<String, ConsumerGroupDescription> {
        let mut results = self
            .at_groups(
                groups,
                |group_ids| ConsumerGroupDescribeRequest { group_ids, ..Default::default() },
                |asked, response| {
                    let outcome = |group: DescribedGroup| {
                        let id = group.group_id.clone();
                        let doing = || format!("describing consumer group {id}");
                        let (code, message) = (group.error_code, group.error_message.clone());
                        let described = described(group, asked.node);
                        let outcome = result(described, doing, asked.connection, code, message.as_deref());
                        (id, outcome)
                    };
                    response.groups.into_iter().map(outcome).collect()
                },
            )
            .await;
        let may_be_classic = |result: &Result<_, ClientError>| {
            let error = result.as_ref().err();
            error.is_some_and(|error| match error.kind() {
                ErrorKind::UnsupportedVersion => true,
                kind => {
                    kind == ErrorKind::Broker(ErrorCode::GROUP_ID_NOT_FOUND)
                        || kind == ErrorKind::Broker(ErrorCode::UNSUPPORTED_VERSION)
                }
            })
        };
        let classic: Vec<_> =
            results.iter().filter(|(_, result)| may_be_classic(result)).map(|(group, _)| group.clone()).collect();
        results.extend(self.describe_classic_groups(classic).await);
        results
    }
}

fn described(group: DescribedGroup, coordinator: i32) -> ConsumerGroupDescription {
    let mut members: Vec<_> = group.members.into_iter().map(member).collect();
    members.sort_by(|a, b| a.member_id.cmp(&b.member_id));
    ConsumerGroupDescription {
        classic: false,
        state: group.group_state,
        epoch: Some(group.group_epoch),
        assignment_epoch: Some(group.assignment_epoch),
        assignor: group.assignor_name,
        coordinator,
        members,
    }
}

fn member(member: Member) -> ConsumerGroupMember {
    ConsumerGroupMember {
        member_id: member.member_id,
        instance_id: member.instance_id,
        client_id: member.client_id,
        host: member.client_host,
        rack: member.rack_id,
        epoch: Some(member.member_epoch),
        subscribed: member.subscribed_topic_names,
        subscribed_regex: member.subscribed_topic_regex.filter(|regex| !regex.is_empty()),
        assignment: partitions(&member.assignment),
        target_assignment: partitions(&member.target_assignment),
    }
}

fn partitions(assignment: &Assignment) -> Vec<TopicPartition> {
    sorted(assignment.topic_partitions.iter().map(|topic| (topic.topic_name.as_str(), &topic.partitions[..])))
}
