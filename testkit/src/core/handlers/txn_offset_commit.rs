//! TxnOffsetCommit: keeps offsets of a group that count when a transaction is committed.

use ackflow_protocol::messages::txn_offset_commit::{
    TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic, TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};
use ackflow_protocol::wire::{ErrorCode, Uuid};

use crate::core::Cluster;
use crate::core::dispatch::RequestContext;
use crate::core::groups::GroupKind;
use crate::core::groups::classic::ClassicGroup;
use crate::core::groups::offsets::Committed;
use crate::core::topics::TopicIdPartition;
use crate::core::transactions::{Part, Producer};

/// Since this version topics are named by id.
const BY_ID_SINCE: i16 = 6;
/// Since this version the offsets become part of the transaction by themselves (KIP-890).
const ADDS_SINCE: i16 = 5;
/// Since this version clients know TRANSACTION_ABORTABLE.
const ABORTABLE_SINCE: i16 = 4;

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: TxnOffsetCommitRequest,
) -> TxnOffsetCommitResponse {
    let found: Vec<Result<(Uuid, String), ErrorCode>> =
        request.topics.iter().map(|topic| topic_of(cluster, cx.version, topic)).collect();
    // Without any topic that exists, nothing is asked of the transaction.
    let any = found.iter().any(Result::is_ok);
    let refused = if any { check(cluster, cx, &request).err() } else { None };
    let topics = request.topics.iter().zip(&found).map(|(topic, found)| {
        let partitions = topic.partitions.iter().map(|asked| {
            let committed = match (found, refused) {
                (Err(code), _) => Err(*code),
                (_, Some(code)) => Err(code),
                (Ok((id, name)), None) => commit(cluster, &request, *id, name, asked),
            };
            let error_code = committed.err().unwrap_or(ErrorCode::NONE);
            TxnOffsetCommitResponsePartition { partition_index: asked.partition_index, error_code }
        });
        TxnOffsetCommitResponseTopic {
            partitions: partitions.collect(),
            name: topic.name.clone(),
            topic_id: topic.topic_id,
        }
    });
    TxnOffsetCommitResponse { topics: topics.collect(), ..TxnOffsetCommitResponse::default() }
}

fn topic_of(cluster: &Cluster, version: i16, topic: &TxnOffsetCommitRequestTopic) -> Result<(Uuid, String), ErrorCode> {
    let found = if version >= BY_ID_SINCE {
        cluster.topics.by_id(topic.topic_id).ok_or(ErrorCode::UNKNOWN_TOPIC_ID)
    } else {
        cluster.topics.by_name(&topic.name).ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)
    };
    found.map(|topic| (topic.id, topic.name.to_string()))
}

/// Whether group and transaction take commits of this member and producer.
fn check(cluster: &mut Cluster, cx: &RequestContext<'_>, request: &TxnOffsetCommitRequest) -> Result<(), ErrorCode> {
    cluster.check_group_coordinator(cx.node, &request.group_id)?;
    let producer = Producer { id: request.producer_id, epoch: request.producer_epoch };
    let part = Part::Group(request.group_id.clone());
    let checked = if cx.version >= ADDS_SINCE {
        cluster.add_to_transaction(cx.now, &request.transactional_id, producer, &[part])
    } else {
        cluster.check_in_transaction(&request.transactional_id, producer, &part)
    };
    checked.map_err(|code| match code {
        ErrorCode::PRODUCER_FENCED => ErrorCode::INVALID_PRODUCER_EPOCH,
        ErrorCode::TRANSACTION_ABORTABLE if cx.version < ABORTABLE_SINCE => ErrorCode::INVALID_TXN_STATE,
        other => other,
    })?;
    check_member(cluster, request).map_err(|code| match code {
        // What clients of before KIP-1319 hear of both.
        ErrorCode::STALE_MEMBER_EPOCH | ErrorCode::GROUP_ID_NOT_FOUND if cx.version < BY_ID_SINCE => {
            ErrorCode::ILLEGAL_GENERATION
        }
        other => other,
    })
}

fn check_member(cluster: &Cluster, request: &TxnOffsetCommitRequest) -> Result<(), ErrorCode> {
    let epoch = request.generation_id_or_member_epoch;
    let is_anonymous = epoch < 0 && request.member_id.is_empty() && request.group_instance_id.is_none();
    match cluster.group_kind(&request.group_id) {
        _ if is_anonymous => Ok(()),
        None if epoch < 0 => Ok(()),
        None | Some(GroupKind::Share) => Err(ErrorCode::GROUP_ID_NOT_FOUND),
        Some(GroupKind::Classic) => {
            let instance = request.group_instance_id.as_deref();
            match cluster.consumers.classic.get(&request.group_id) {
                Some(group) => group.check_commit(&request.member_id, instance, epoch, true),
                None => ClassicGroup::default().check_commit(&request.member_id, instance, epoch, true),
            }
        }
        Some(GroupKind::Consumer) => {
            let group = cluster.consumers.consumer.get(&request.group_id).ok_or(ErrorCode::GROUP_ID_NOT_FOUND)?;
            if epoch < 0 && group.members.is_empty() {
                return Ok(());
            }
            group.check_member(&request.member_id, epoch, None)
        }
    }
}

fn commit(
    cluster: &mut Cluster,
    request: &TxnOffsetCommitRequest,
    topic_id: Uuid,
    topic: &str,
    asked: &TxnOffsetCommitRequestPartition,
) -> Result<(), ErrorCode> {
    cluster.topics.partition(TopicIdPartition { topic_id, partition: asked.partition_index })?;
    let metadata = asked.committed_metadata.clone().unwrap_or_default();
    cluster.check_metadata(&metadata)?;
    let (offset, leader_epoch) = (asked.committed_offset, asked.committed_leader_epoch);
    let committed = Committed { offset, leader_epoch, metadata };
    let offsets = cluster.consumers.offsets.entry(request.group_id.clone()).or_default();
    offsets.commit_later(request.producer_id, (topic.to_owned(), asked.partition_index), committed);
    Ok(())
}
