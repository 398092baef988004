//! OffsetDelete: forgets offsets of topics that the group does not read.

use ackflow_protocol::messages::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteResponse, OffsetDeleteResponsePartition, OffsetDeleteResponseTopic,
};
use ackflow_protocol::wire::ErrorCode;

use crate::core::Cluster;
use crate::core::dispatch::RequestContext;
use crate::core::groups::GroupKind;

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: OffsetDeleteRequest,
) -> OffsetDeleteResponse {
    let group = &request.group_id;
    let checked = cluster.check_group_coordinator(cx.node, group).and_then(|()| match cluster.group_kind(group) {
        None | Some(GroupKind::Share) => Err(ErrorCode::GROUP_ID_NOT_FOUND),
        Some(GroupKind::Classic) => match cluster.consumers.classic.get(group) {
            // Nobody knows what others than consumers do.
            Some(group) if !group.members.is_empty() && !group.has_consumers() => Err(ErrorCode::NON_EMPTY_GROUP),
            _ => Ok(()),
        },
        Some(GroupKind::Consumer) => Ok(()),
    });
    if let Err(error_code) = checked {
        return OffsetDeleteResponse { error_code, ..OffsetDeleteResponse::default() };
    }
    let topics = request.topics.into_iter().map(|topic| {
        let is_read = cluster.consumers.consumer.get(group).is_some_and(|group| group.is_subscribed_to(&topic.name))
            || cluster.consumers.classic.get(group).is_some_and(|group| group.is_subscribed_to(&topic.name));
        let error_code = if cluster.topics.by_name(&topic.name).is_none() {
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
        } else if is_read {
            ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC
        } else {
            ErrorCode::NONE
        };
        let partitions = topic.partitions.into_iter().map(|asked| {
            if error_code.is_none()
                && let Some(offsets) = cluster.consumers.offsets.get_mut(group)
            {
                offsets.delete(&(topic.name.clone(), asked.partition_index));
            }
            OffsetDeleteResponsePartition { partition_index: asked.partition_index, error_code }
        });
        OffsetDeleteResponseTopic { partitions: partitions.collect(), name: topic.name.clone() }
    });
    OffsetDeleteResponse { topics: topics.collect(), ..OffsetDeleteResponse::default() }
}
