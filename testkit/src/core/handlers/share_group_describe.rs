//! ShareGroupDescribe: members and assignments.

use std::collections::BTreeMap;

use ackflow_protocol::messages::share_group_describe::{
    Assignment, DescribedGroup, Member, ShareGroupDescribeRequest, ShareGroupDescribeResponse, TopicPartitions,
};
use ackflow_protocol::wire::{ErrorCode, Uuid};

use super::{GROUP_OPERATIONS, operations};
use crate::core::Cluster;
use crate::core::dispatch::RequestContext;
use crate::core::share::group::{self, ShareGroup};
use crate::core::topics::Topics;

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: ShareGroupDescribeRequest,
) -> ShareGroupDescribeResponse {
    let asked = request.include_authorized_operations;
    let groups = request.group_ids.into_iter().map(|id| describe(cluster, cx.node, id, asked)).collect();
    ShareGroupDescribeResponse { groups, ..ShareGroupDescribeResponse::default() }
}

fn describe(cluster: &Cluster, node: i32, group_id: String, operations_asked: bool) -> DescribedGroup {
    let refused = |group_id, error_code, error_message| DescribedGroup {
        error_code,
        error_message,
        group_id,
        ..DescribedGroup::default()
    };
    if cluster.share_version == 0 {
        return refused(group_id, ErrorCode::UNSUPPORTED_VERSION, None);
    }
    if group_id.is_empty() {
        return refused(group_id, ErrorCode::INVALID_GROUP_ID, None);
    }
    if let Err(error_code) = cluster.check_coordinator(node, &group_id) {
        return refused(group_id, error_code, None);
    }
    let Some(group) = cluster.groups.get(&group_id) else {
        let message = format!("Group {group_id} not found.");
        return refused(group_id, ErrorCode::GROUP_ID_NOT_FOUND, Some(message));
    };
    DescribedGroup {
        group_id,
        group_state: group.state().to_owned(),
        group_epoch: group.epoch,
        assignment_epoch: group.assignment_epoch,
        assignor_name: "simple".to_owned(),
        members: members(&cluster.topics, group),
        authorized_operations: operations(operations_asked, GROUP_OPERATIONS),
        ..DescribedGroup::default()
    }
}

fn members(topics: &Topics, group: &ShareGroup) -> Vec<Member> {
    group
        .members
        .iter()
        .map(|(id, member)| Member {
            member_id: id.clone(),
            rack_id: member.rack_id.clone(),
            member_epoch: member.epoch,
            client_id: member.client_id.clone(),
            client_host: member.client_host.clone(),
            subscribed_topic_names: member.topics.iter().cloned().collect(),
            assignment: assignment(topics, member),
        })
        .collect()
}

fn assignment(topics: &Topics, member: &group::Member) -> Assignment {
    let mut by_topic: BTreeMap<Uuid, Vec<i32>> = BTreeMap::new();
    for partition in &member.assignment {
        by_topic.entry(partition.topic_id).or_default().push(partition.partition);
    }
    let topic_partitions = by_topic
        .into_iter()
        .filter_map(|(topic_id, partitions)| {
            // A topic that was deleted since has no name any more.
            let topic_name = topics.by_id(topic_id)?.name.to_string();
            Some(TopicPartitions { topic_id, topic_name, partitions })
        })
        .collect();
    Assignment { topic_partitions }
}
