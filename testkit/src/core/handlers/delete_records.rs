//! DeleteRecords: lets logs begin later.

use ackflow_protocol::messages::delete_records::{
    DeleteRecordsPartition, DeleteRecordsPartitionResult, DeleteRecordsRequest, DeleteRecordsResponse,
    DeleteRecordsTopicResult,
};
use ackflow_protocol::wire::ErrorCode;

use crate::core::Cluster;
use crate::core::configs::topic::is_deleted_from;
use crate::core::dispatch::RequestContext;

/// Stands for the end of the log.
const HIGH_WATERMARK: i64 = -1;

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: DeleteRecordsRequest,
) -> DeleteRecordsResponse {
    let topics = request.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|asked| {
            let (error_code, low_watermark) = match delete(cluster, cx.node, &topic.name, asked) {
                Ok(start) => (ErrorCode::NONE, start),
                Err(code) => (code, -1),
            };
            DeleteRecordsPartitionResult { partition_index: asked.partition_index, low_watermark, error_code }
        });
        DeleteRecordsTopicResult { partitions: partitions.collect(), name: topic.name }
    });
    DeleteRecordsResponse { topics: topics.collect(), ..DeleteRecordsResponse::default() }
}

fn delete(cluster: &mut Cluster, node: i32, topic: &str, asked: &DeleteRecordsPartition) -> Result<i64, ErrorCode> {
    let id = cluster.led(node, topic, asked.partition_index, -1)?;
    let configs = cluster.topics.by_id(id.topic_id).map(|topic| &topic.configs);
    if !configs.is_some_and(|configs| is_deleted_from(configs, &cluster.config)) {
        return Err(ErrorCode::POLICY_VIOLATION);
    }
    let log = cluster.topics.log(id)?;
    let offset = if asked.offset == HIGH_WATERMARK { log.end_offset() } else { asked.offset };
    if !(0..=log.end_offset()).contains(&offset) {
        return Err(ErrorCode::OFFSET_OUT_OF_RANGE);
    }
    cluster.delete_before(id, offset);
    Ok(cluster.topics.log(id)?.start_offset())
}
