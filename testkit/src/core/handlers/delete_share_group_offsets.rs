//! DeleteShareGroupOffsets: lets a share group without members forget topics (KIP-932).

use ackflow_protocol::messages::delete_share_group_offsets::{
    DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsResponse, DeleteShareGroupOffsetsResponseTopic,
};
use ackflow_protocol::wire::{ErrorCode, Uuid};

use super::NOT_HOSTED;
use crate::core::Cluster;
use crate::core::dispatch::RequestContext;

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: DeleteShareGroupOffsetsRequest,
) -> DeleteShareGroupOffsetsResponse {
    let group = &request.group_id;
    if let Err((error_code, message)) = cluster.check_empty_share_group(cx.node, group) {
        let error_message = Some(message);
        return DeleteShareGroupOffsetsResponse {
            error_code,
            error_message,
            ..DeleteShareGroupOffsetsResponse::default()
        };
    }
    let responses = request.topics.into_iter().map(|topic| {
        let (topic_id, message) = match cluster.topics.by_name(&topic.topic_name).map(|topic| topic.id) {
            None => (Uuid::ZERO, Some(NOT_HOSTED)),
            Some(id) if cluster.groups.forget_topic(group, id) => {
                cluster.share_partitions.forget_topic(group, id);
                (id, None)
            }
            Some(_) => (Uuid::ZERO, Some("There is no offset information to delete.")),
        };
        DeleteShareGroupOffsetsResponseTopic {
            topic_name: topic.topic_name,
            topic_id,
            error_code: message.map_or(ErrorCode::NONE, |_| ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
            error_message: message.map(str::to_owned),
        }
    });
    DeleteShareGroupOffsetsResponse { responses: responses.collect(), ..DeleteShareGroupOffsetsResponse::default() }
}
