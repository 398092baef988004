//! AlterShareGroupOffsets: where a share group without members goes on (KIP-932).

use ackflow_protocol::messages::alter_share_group_offsets::{
    AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsRequestPartition, AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition, AlterShareGroupOffsetsResponseTopic,
};
use ackflow_protocol::wire::{ErrorCode, Uuid};

use super::NOT_HOSTED;
use crate::core::Cluster;
use crate::core::dispatch::RequestContext;
use crate::core::topics::TopicIdPartition;

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: AlterShareGroupOffsetsRequest,
) -> AlterShareGroupOffsetsResponse {
    let group = &request.group_id;
    let checked = match cluster.check_empty_share_group(cx.node, group) {
        // It will be made.
        Err((ErrorCode::GROUP_ID_NOT_FOUND, _)) if cluster.group_kind(group).is_none() => Ok(()),
        checked => checked,
    };
    if let Err((error_code, message)) = checked {
        let error_message = Some(message);
        return AlterShareGroupOffsetsResponse {
            error_code,
            error_message,
            ..AlterShareGroupOffsetsResponse::default()
        };
    }
    let responses = request.topics.into_iter().map(|topic| {
        let id = cluster.topics.by_name(&topic.topic_name).map(|topic| topic.id);
        if id.is_some() {
            cluster.groups.ensure(group);
        }
        let partitions = topic.partitions.iter().map(|asked| alter(cluster, group, id, asked)).collect();
        AlterShareGroupOffsetsResponseTopic {
            partitions,
            topic_name: topic.topic_name,
            topic_id: id.unwrap_or(Uuid::ZERO),
        }
    });
    AlterShareGroupOffsetsResponse { responses: responses.collect(), ..AlterShareGroupOffsetsResponse::default() }
}

fn alter(
    cluster: &mut Cluster,
    group: &str,
    topic_id: Option<Uuid>,
    asked: &AlterShareGroupOffsetsRequestPartition,
) -> AlterShareGroupOffsetsResponsePartition {
    let partition_index = asked.partition_index;
    let partition = topic_id.map(|topic_id| TopicIdPartition { topic_id, partition: partition_index });
    let Some(partition) = partition.filter(|partition| cluster.topics.partition(*partition).is_ok()) else {
        let error_code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
        let error_message = Some(NOT_HOSTED.to_owned());
        return AlterShareGroupOffsetsResponsePartition { partition_index, error_code, error_message };
    };
    cluster.groups.initialized(group, partition);
    cluster.share_partitions.set_start(group, partition, asked.start_offset);
    AlterShareGroupOffsetsResponsePartition { partition_index, ..AlterShareGroupOffsetsResponsePartition::default() }
}
