//! DescribeShareGroupOffsets: start offsets and lag (KIP-1226).

use std::collections::BTreeMap;

use ackflow_protocol::messages::describe_share_group_offsets::{
    DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsRequestGroup, DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup, DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
};
use ackflow_protocol::wire::Uuid;

use crate::core::Cluster;
use crate::core::dispatch::RequestContext;
use crate::core::topics::TopicIdPartition;

/// Stands for "not known".
const UNKNOWN: i64 = -1;

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: DescribeShareGroupOffsetsRequest,
) -> DescribeShareGroupOffsetsResponse {
    let groups = request.groups.into_iter().map(|group| describe(cluster, cx.node, group)).collect();
    DescribeShareGroupOffsetsResponse { groups, ..DescribeShareGroupOffsetsResponse::default() }
}

fn describe(
    cluster: &Cluster,
    node: i32,
    asked: DescribeShareGroupOffsetsRequestGroup,
) -> DescribeShareGroupOffsetsResponseGroup {
    let group_id = asked.group_id;
    if let Err(error_code) = cluster.check_coordinator(node, &group_id) {
        return DescribeShareGroupOffsetsResponseGroup {
            group_id,
            error_code,
            error_message: Some(error_code.meaning().to_owned()),
            ..DescribeShareGroupOffsetsResponseGroup::default()
        };
    }
    let topics: Vec<(String, Vec<i32>)> = match asked.topics {
        Some(topics) => topics.into_iter().map(|topic| (topic.topic_name, topic.partitions)).collect(),
        None => known(cluster, &group_id),
    };
    let topics = topics.into_iter().map(|(name, partitions)| topic(cluster, &group_id, name, &partitions)).collect();
    DescribeShareGroupOffsetsResponseGroup { group_id, topics, ..DescribeShareGroupOffsetsResponseGroup::default() }
}

/// All partitions that the group has to do with.
fn known(cluster: &Cluster, group_id: &str) -> Vec<(String, Vec<i32>)> {
    let mut topics: BTreeMap<String, Vec<i32>> = BTreeMap::new();
    for partition in cluster.groups.get(group_id).into_iter().flat_map(|group| group.partitions()) {
        if let Some(topic) = cluster.topics.by_id(partition.topic_id) {
            topics.entry(topic.name.to_string()).or_default().push(partition.partition);
        }
    }
    topics.into_iter().collect()
}

fn topic(
    cluster: &Cluster,
    group_id: &str,
    topic_name: String,
    partitions: &[i32],
) -> DescribeShareGroupOffsetsResponseTopic {
    let topic_id = cluster.topics.by_name(&topic_name).map_or(Uuid::ZERO, |topic| topic.id);
    let partitions = partitions
        .iter()
        .map(|&partition_index| {
            let partition = TopicIdPartition { topic_id, partition: partition_index };
            let share = cluster.share_partitions.get(group_id, partition).filter(|share| share.has_state());
            let lag = share.and_then(|_| cluster.group_lag(group_id, &topic_name, partition_index));
            DescribeShareGroupOffsetsResponsePartition {
                partition_index,
                start_offset: share.map_or(UNKNOWN, |share| share.start_offset()),
                leader_epoch: cluster.topics.partition(partition).map_or(0, |partition| partition.leader_epoch),
                lag: lag.unwrap_or(UNKNOWN),
                ..DescribeShareGroupOffsetsResponsePartition::default()
            }
        })
        .collect();
    DescribeShareGroupOffsetsResponseTopic { topic_name, topic_id, partitions }
}
