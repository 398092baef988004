//! OffsetForLeaderEpoch: where a leader epoch ends.

use ackflow_protocol::messages::offset_for_leader_epoch::{
    EpochEndOffset, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
};
use ackflow_protocol::wire::ErrorCode;

use crate::core::Cluster;
use crate::core::dispatch::RequestContext;

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: OffsetForLeaderEpochRequest,
) -> OffsetForLeaderEpochResponse {
    let topics = request.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|asked| {
            let (error_code, (leader_epoch, end_offset)) = match find(cluster, cx.node, &topic.topic, asked) {
                Ok(found) => (ErrorCode::NONE, found.unwrap_or((-1, -1))),
                Err(code) => (code, (-1, -1)),
            };
            EpochEndOffset { error_code, partition: asked.partition, leader_epoch, end_offset }
        });
        OffsetForLeaderTopicResult { partitions: partitions.collect(), topic: topic.topic }
    });
    OffsetForLeaderEpochResponse { topics: topics.collect(), ..OffsetForLeaderEpochResponse::default() }
}

fn find(
    cluster: &Cluster,
    node: i32,
    topic: &str,
    asked: &OffsetForLeaderPartition,
) -> Result<Option<(i32, i64)>, ErrorCode> {
    let id = cluster.led(node, topic, asked.partition, asked.current_leader_epoch)?;
    let log = &cluster.topics.partition(id)?.log;
    Ok(log.epochs().end_of(asked.leader_epoch, log.end_offset()))
}
