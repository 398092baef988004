//! TxnShareAcknowledge (draft of KIP-1289, generation C): acknowledgements that count when a producer's transaction is committed.

use std::sync::Arc;

use ackflow_protocol::messages::txn_share_acknowledge::{
    AcknowledgePartition, AcknowledgementBatch, PartitionData, TxnShareAcknowledgeRequest, TxnShareAcknowledgeResponse,
    TxnShareAcknowledgeTopicResponse,
};
use ackflow_protocol::wire::ErrorCode;

use super::acknowledgements::{check, refusal};
use super::share_group_heartbeat::is_member_id;
use crate::core::Cluster;
use crate::core::dispatch::RequestContext;
use crate::core::share::fetch::AcknowledgeOutcome;
use crate::core::share::partition::AcknowledgementRange;
use crate::core::topics::TopicIdPartition;
use crate::core::transactions::Producer;

/// The level of `share.version` that has it.
pub(crate) const SHARE_VERSION: i16 = 3;
/// The level of `transaction.version` that it takes: without epochs of its own for each transaction (KIP-890), one that comes late would count in the next.
const TRANSACTION_VERSION: i16 = 2;

/// The types that transactions take: gap, accept, reject.
const KINDS: [i8; 3] = [0, 1, 3];

impl<'a> From<&'a AcknowledgementBatch> for AcknowledgementRange<'a> {
    fn from(batch: &'a AcknowledgementBatch) -> Self {
        Self { first: batch.first_offset, last: batch.last_offset, types: &batch.acknowledge_types }
    }
}

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: TxnShareAcknowledgeRequest,
) -> TxnShareAcknowledgeResponse {
    match stage(cluster, cx, request) {
        Ok(responses) => TxnShareAcknowledgeResponse { responses, ..Default::default() },
        Err(error_code) => TxnShareAcknowledgeResponse { error_code, ..Default::default() },
    }
}

fn stage(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: TxnShareAcknowledgeRequest,
) -> Result<Vec<TxnShareAcknowledgeTopicResponse>, ErrorCode> {
    if cluster.share_version < SHARE_VERSION || cluster.transaction_version < TRANSACTION_VERSION {
        return Err(ErrorCode::UNSUPPORTED_VERSION);
    }
    let id = request.transactional_id.as_deref().filter(|id| !id.is_empty());
    let Some(id) = id.filter(|_| !request.group_id.is_empty() && is_member_id(&request.member_id)) else {
        return Err(ErrorCode::INVALID_REQUEST);
    };
    if cluster.transaction_coordinator(id).is_none() {
        return Err(ErrorCode::COORDINATOR_NOT_AVAILABLE);
    }
    let group: Arc<str> = request.group_id.as_str().into();
    let producer = Producer { id: request.producer_id, epoch: request.producer_epoch };
    let partitions = request.topics.iter().flat_map(|topic| {
        let id = |asked: &AcknowledgePartition| TopicIdPartition {
            topic_id: topic.topic_id,
            partition: asked.partition_index,
        };
        topic.partitions.iter().map(id)
    });
    cluster.add_shares_to_transaction(cx.now, id, producer, &group, partitions)?;
    check_member(cluster, &request)?;
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|asked| {
            let partition = TopicIdPartition { topic_id: topic.topic_id, partition: asked.partition_index };
            let outcome = stage_in(cluster, cx, &group, (&request.member_id, producer), partition, asked);
            let (error_code, error_message) = outcome.err().unwrap_or_default();
            PartitionData { partition_index: asked.partition_index, error_code, error_message }
        });
        TxnShareAcknowledgeTopicResponse { topic_id: topic.topic_id, partitions: partitions.collect() }
    });
    Ok(topics.collect())
}

/// Whether the member is one of the group, in this very epoch. Once its acknowledgements wait for the transaction, nobody asks for it again.
fn check_member(cluster: &Cluster, request: &TxnShareAcknowledgeRequest) -> Result<(), ErrorCode> {
    let group = cluster.groups.get(&request.group_id).ok_or(ErrorCode::GROUP_ID_NOT_FOUND)?;
    let member = group.members.get(&request.member_id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
    match request.member_epoch {
        epoch if epoch < member.epoch => Err(ErrorCode::STALE_MEMBER_EPOCH),
        epoch if epoch > member.epoch => Err(ErrorCode::FENCED_MEMBER_EPOCH),
        _ => Ok(()),
    }
}

fn stage_in(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    group: &Arc<str>,
    by: (&str, Producer),
    partition: TopicIdPartition,
    asked: &AcknowledgePartition,
) -> AcknowledgeOutcome {
    if let Some(code) = cx.refused.acknowledgements() {
        return Err((code, None));
    }
    cluster.topics.log(partition).map_err(|code| (code, None))?;
    let ranges: Vec<AcknowledgementRange<'_>> = asked.acknowledgement_batches.iter().map(Into::into).collect();
    check(&ranges, |kind| KINDS.contains(&kind))?;
    if !cluster.topics.is_led_by(partition, cx.node) {
        return Err((ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, None));
    }
    let limits = cluster.group_config(group).limits();
    let entry = cluster.share_partitions.get_mut(group, partition);
    let entry = entry.ok_or((ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, None))?;
    entry.partition.stage(cx.now, &limits, by, &ranges).map_err(refusal)
}
