//! ConsumerGroupDescribe: groups of the consumer protocol, and their members.

use std::collections::BTreeMap;

use ackflow_protocol::messages::consumer_group_describe::{
    Assignment, ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, DescribedGroup, Member, TopicPartitions,
};
use ackflow_protocol::wire::{ErrorCode, Uuid};

use super::{GROUP_OPERATIONS, operations};
use crate::core::Cluster;
use crate::core::dispatch::RequestContext;
use crate::core::groups::consumer::ConsumerGroup;
use crate::core::groups::consumer::member;
use crate::core::topics::TopicIdPartition;

/// A member of the consumer protocol.
const CONSUMER_MEMBER: i8 = 1;

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: ConsumerGroupDescribeRequest,
) -> ConsumerGroupDescribeResponse {
    let asked = request.include_authorized_operations;
    let groups = request.group_ids.into_iter().map(|id| describe(cluster, cx.node, id, asked)).collect();
    ConsumerGroupDescribeResponse { groups, ..ConsumerGroupDescribeResponse::default() }
}

fn describe(cluster: &Cluster, node: i32, group_id: String, operations_asked: bool) -> DescribedGroup {
    let refused = |group_id, error_code, error_message| DescribedGroup {
        error_code,
        error_message,
        group_id,
        ..DescribedGroup::default()
    };
    if group_id.is_empty() {
        return refused(group_id, ErrorCode::INVALID_GROUP_ID, None);
    }
    if let Err(code) = cluster.check_group_coordinator(node, &group_id) {
        return refused(group_id, code, None);
    }
    let Some(group) = cluster.consumers.consumer.get(&group_id) else {
        let message = match cluster.group_kind(&group_id) {
            None => format!("Group {group_id} not found."),
            Some(_) => format!("Group {group_id} is not a consumer group."),
        };
        return refused(group_id, ErrorCode::GROUP_ID_NOT_FOUND, Some(message));
    };
    DescribedGroup {
        group_id,
        group_state: group.state().to_owned(),
        group_epoch: group.epoch,
        assignment_epoch: group.assignment_epoch,
        assignor_name: group.assignor().to_owned(),
        members: group.members.iter().map(|(id, member)| describe_member(cluster, group, id, member)).collect(),
        authorized_operations: operations(operations_asked, GROUP_OPERATIONS),
        ..DescribedGroup::default()
    }
}

fn describe_member(cluster: &Cluster, group: &ConsumerGroup, id: &str, member: &member::Member) -> Member {
    Member {
        member_id: id.to_owned(),
        instance_id: member.instance_id.clone(),
        rack_id: member.rack_id.clone(),
        member_epoch: member.epoch,
        client_id: member.client_id.clone(),
        client_host: member.client_host.clone(),
        subscribed_topic_names: member.topics.iter().cloned().collect(),
        subscribed_topic_regex: Some(member.pattern.as_ref().map_or_else(String::new, |p| p.text.clone())),
        assignment: named(cluster, member.assigned.keys()),
        target_assignment: named(cluster, group.target(id).into_iter().flatten()),
        member_type: CONSUMER_MEMBER,
    }
}

/// Partitions by the topics that there still are.
fn named<'a>(cluster: &Cluster, partitions: impl Iterator<Item = &'a TopicIdPartition>) -> Assignment {
    let mut topics: BTreeMap<Uuid, Vec<i32>> = BTreeMap::new();
    for partition in partitions {
        topics.entry(partition.topic_id).or_default().push(partition.partition);
    }
    let named = topics.into_iter().filter_map(|(topic_id, partitions)| {
        let topic_name = cluster.topics.by_id(topic_id)?.name.to_string();
        Some(TopicPartitions { topic_id, topic_name, partitions })
    });
    Assignment { topic_partitions: named.collect() }
}
