//! DescribeTopicPartitions: topics page by page (KIP-966).

use std::collections::BTreeSet;

use ackflow_protocol::messages::describe_topic_partitions::{
    Cursor, DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
};
use ackflow_protocol::wire::ErrorCode;

use super::{NO_NODE, NO_OPERATIONS, TOPIC_OPERATIONS};
use crate::core::Cluster;
use crate::core::dispatch::RequestContext;
use crate::core::topics::{Partition, check_name};

/// Kafka's `max.request.partition.size.limit`.
const MOST_PARTITIONS: usize = 2000;

pub(crate) fn handle(
    cluster: &mut Cluster,
    _: &RequestContext<'_>,
    request: DescribeTopicPartitionsRequest,
) -> DescribeTopicPartitionsResponse {
    let all = request.topics.is_empty();
    let mut names: BTreeSet<String> = if all {
        cluster.topics.iter().map(|topic| topic.name.to_string()).collect()
    } else {
        request.topics.iter().map(|topic| topic.name.clone()).collect()
    };
    if let Some(cursor) = &request.cursor {
        names = names.split_off(&cursor.topic_name);
        let is_asked = all || names.first() == Some(&cursor.topic_name);
        if cursor.partition_index < 0 || !is_asked {
            let refused = request.topics.into_iter().map(|topic| refused(topic.name, ErrorCode::INVALID_REQUEST));
            let topics = refused.map(|topic| DescribeTopicPartitionsResponseTopic {
                topic_authorized_operations: NO_OPERATIONS,
                ..topic
            });
            return DescribeTopicPartitionsResponse { topics: topics.collect(), ..Default::default() };
        }
    }
    let mut room = usize::try_from(request.response_partition_limit).unwrap_or_default().clamp(1, MOST_PARTITIONS);
    let mut topics = Vec::new();
    let mut next_cursor = None;
    for name in names {
        if room == 0 {
            next_cursor = Some(Cursor { topic_name: name, partition_index: 0 });
            break;
        }
        let begin = request.cursor.as_ref().filter(|cursor| cursor.topic_name == name);
        let begin = begin.map_or(0, |cursor| usize::try_from(cursor.partition_index).unwrap_or_default());
        let (topic, next) = describe(cluster, &name, begin, room);
        room -= topic.partitions.len();
        topics.push(topic);
        if let Some(partition_index) = next {
            next_cursor = Some(Cursor { topic_name: name, partition_index });
            break;
        }
    }
    DescribeTopicPartitionsResponse { topics, next_cursor, ..Default::default() }
}

/// So many of a topic's partitions at most, and where to go on where it has more.
fn describe(
    cluster: &Cluster,
    name: &str,
    begin: usize,
    room: usize,
) -> (DescribeTopicPartitionsResponseTopic, Option<i32>) {
    let Some(topic) = cluster.topics.by_name(name) else {
        let is_valid = check_name(name).is_ok();
        let code = if is_valid { ErrorCode::UNKNOWN_TOPIC_OR_PARTITION } else { ErrorCode::INVALID_TOPIC_EXCEPTION };
        return (refused(name.to_owned(), code), None);
    };
    let indexed = (0..).zip(&topic.partitions).skip(begin).take(room);
    let partitions: Vec<_> = indexed.map(|(index, partition)| partition_of(cluster, index, partition)).collect();
    let end = begin.saturating_add(partitions.len());
    let next = (end < topic.partitions.len()).then(|| i32::try_from(end).unwrap_or(i32::MAX));
    let described = DescribeTopicPartitionsResponseTopic {
        name: Some(name.to_owned()),
        topic_id: topic.id,
        partitions,
        topic_authorized_operations: TOPIC_OPERATIONS,
        ..Default::default()
    };
    (described, next)
}

fn refused(name: String, error_code: ErrorCode) -> DescribeTopicPartitionsResponseTopic {
    DescribeTopicPartitionsResponseTopic {
        error_code,
        name: Some(name),
        topic_authorized_operations: TOPIC_OPERATIONS,
        ..Default::default()
    }
}

fn partition_of(cluster: &Cluster, index: i32, partition: &Partition) -> DescribeTopicPartitionsResponsePartition {
    let (in_sync, offline) = partition.replicas.iter().partition(|replica| cluster.nodes.is_registered(**replica));
    DescribeTopicPartitionsResponsePartition {
        error_code: partition.leader.map_or(ErrorCode::LEADER_NOT_AVAILABLE, |_| ErrorCode::NONE),
        partition_index: index,
        leader_id: partition.leader.unwrap_or(NO_NODE),
        leader_epoch: partition.leader_epoch,
        replica_nodes: partition.replicas.clone(),
        isr_nodes: in_sync,
        eligible_leader_replicas: Some(Vec::new()),
        last_known_elr: Some(Vec::new()),
        offline_replicas: offline,
    }
}
