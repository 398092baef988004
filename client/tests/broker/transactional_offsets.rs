//! Offsets of groups as part of transactions.

use ackflow_protocol::messages::add_offsets_to_txn::AddOffsetsToTxnRequest;
use ackflow_protocol::messages::offset_fetch::OffsetFetchRequest;
use ackflow_protocol::messages::txn_offset_commit::{
    TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use ackflow_protocol::wire::{ErrorCode, Uuid};

use super::commits::{fetch, fetched};
use super::members::Member;
use super::support::eventually;
use super::transactions::Producer;
use super::{Broker, Log};

/// A commit of partition 0 outside a membership.
fn commit(producer: &Producer<'_>, group: &str, committed_offset: i64) -> TxnOffsetCommitRequest {
    let partition = TxnOffsetCommitRequestPartition {
        partition_index: 0,
        committed_offset,
        committed_leader_epoch: 0,
        committed_metadata: Some("note".to_owned()),
    };
    let (name, topic_id) = producer.topic.clone();
    TxnOffsetCommitRequest {
        transactional_id: producer.id.clone(),
        group_id: group.to_owned(),
        producer_id: producer.producer_id,
        producer_epoch: producer.epoch,
        topics: vec![TxnOffsetCommitRequestTopic { name, topic_id, partitions: vec![partition] }],
        ..Default::default()
    }
}

async fn code(producer: &Producer<'_>, version: i16, request: &TxnOffsetCommitRequest) -> ErrorCode {
    eventually("the end of the transaction before", async || {
        let response = producer.broker.call_version(version, request).await;
        let code = response.topics[0].partitions[0].error_code;
        (code != ErrorCode::CONCURRENT_TRANSACTIONS).then_some(code)
    })
    .await
}

/// Waits until no open transaction would commit anything.
async fn settle(broker: &Broker, group: &str, topic: Uuid) {
    let request = fetch(group, None, Some((topic, &[0])));
    eventually("the end", async || {
        let group = broker.call(&request).await.groups.remove(0);
        group.topics[0].partitions[0].error_code.is_none().then_some(())
    })
    .await;
}

pub(super) async fn offsets_count_when_their_transaction_is_committed(broker: &Broker) {
    let (group, mut log) = (broker.group().await, Log::default());
    let mut producer = Producer::start(broker).await;
    let topic = producer.topic.1;
    log.code("commits", code(&producer, 6, &commit(&producer, &group, 5)).await);
    let stable = fetch(&group, None, Some((topic, &[0])));
    let unstable = OffsetFetchRequest { require_stable: false, ..stable.clone() };
    fetched(broker, &mut log, "is open", &stable).await;
    fetched(broker, &mut log, "whatever is open", &unstable).await;
    fetched(broker, &mut log, "all", &fetch(&group, None, None)).await;
    log.code("ends", producer.end(true).await);
    settle(broker, &group, topic).await;
    fetched(broker, &mut log, "is committed", &stable).await;
    log.code("commits", code(&producer, 6, &commit(&producer, &group, 9)).await);
    fetched(broker, &mut log, "is open", &stable).await;
    fetched(broker, &mut log, "whatever is open", &unstable).await;
    log.code("aborts", producer.end(false).await);
    settle(broker, &group, topic).await;
    fetched(broker, &mut log, "is aborted", &stable).await;
    assert_eq!(
        log.0,
        "commits: NONE
is open: NONE [0 -1 -1 Some(\"\") UNSTABLE_OFFSET_COMMIT]
whatever is open: NONE [0 -1 -1 Some(\"\") NONE]
all: NONE
ends: NONE
is committed: NONE [0 5 0 Some(\"note\") NONE]
commits: NONE
is open: NONE [0 -1 -1 Some(\"\") UNSTABLE_OFFSET_COMMIT]
whatever is open: NONE [0 5 0 Some(\"note\") NONE]
aborts: NONE
is aborted: NONE [0 5 0 Some(\"note\") NONE]
"
    );
}

pub(super) async fn transactional_commits_that_are_refused(broker: &Broker) {
    let (group, mut log) = (broker.group().await, Log::default());
    let mut producer = Producer::start(broker).await;
    let right = commit(&producer, &group, 5);
    log.code("not added", code(&producer, 4, &right).await);
    log.code("in older words", code(&producer, 3, &right).await);
    let add = AddOffsetsToTxnRequest {
        transactional_id: producer.id.clone(),
        producer_id: producer.producer_id,
        producer_epoch: producer.epoch,
        group_id: group.clone(),
    };
    log.code("adds", broker.call(&add).await.error_code);
    log.code("is added", code(&producer, 4, &right).await);
    let fenced = AddOffsetsToTxnRequest { producer_epoch: producer.epoch + 1, ..add.clone() };
    log.code("adds later", broker.call(&fenced).await.error_code);
    log.code("adds later, in older words", broker.call_version(1, &fenced).await.error_code);
    let other = AddOffsetsToTxnRequest { producer_id: add.producer_id + 100_000, ..add.clone() };
    log.code("adds as another producer", broker.call(&other).await.error_code);

    let later = TxnOffsetCommitRequest { producer_epoch: producer.epoch + 1, ..right.clone() };
    log.code("later", code(&producer, 6, &later).await);
    let other = TxnOffsetCommitRequest { producer_id: producer.producer_id + 100_000, ..right.clone() };
    log.code("another producer", code(&producer, 6, &other).await);
    let mut unknown = right.clone();
    unknown.topics[0].topic_id = Uuid([3; 16]);
    log.code("unknown topic", code(&producer, 6, &unknown).await);
    let mut unknown = right.clone();
    unknown.topics[0].name = "nothing".to_owned();
    log.code("unknown name", code(&producer, 5, &unknown).await);
    let mut unknown = right.clone();
    unknown.topics[0].partitions[0].partition_index = 9;
    log.code("unknown partition", code(&producer, 6, &unknown).await);

    let readers = broker.group().await;
    let of = |member: &str, epoch: i32| TxnOffsetCommitRequest {
        group_id: readers.clone(),
        member_id: member.to_owned(),
        generation_id_or_member_epoch: epoch,
        ..right.clone()
    };
    log.code("member of no group", code(&producer, 6, &of("m", 1)).await);
    log.code("member of no group, in older words", code(&producer, 5, &of("m", 1)).await);
    let (name, topic) = producer.topic.clone();
    let mut member = Member::join(broker, &readers, "m", (&name, topic)).await;
    member.until(2).await;
    log.code("member", code(&producer, 6, &of("m", member.epoch)).await);
    log.code("unknown member", code(&producer, 6, &of("n", member.epoch)).await);
    log.code("later epoch", code(&producer, 6, &of("m", member.epoch + 1)).await);
    log.code("epoch of before", code(&producer, 6, &of("m", member.epoch - 1)).await);
    log.code("epoch of before, in older words", code(&producer, 5, &of("m", member.epoch - 1)).await);
    log.code("nobody", code(&producer, 6, &of("", -1)).await);
    log.code("ends", producer.end(true).await);
    assert_eq!(
        log.0,
        "not added: TRANSACTION_ABORTABLE
in older words: INVALID_TXN_STATE
adds: NONE
is added: NONE
adds later: PRODUCER_FENCED
adds later, in older words: INVALID_PRODUCER_EPOCH
adds as another producer: INVALID_PRODUCER_ID_MAPPING
later: INVALID_PRODUCER_EPOCH
another producer: INVALID_PRODUCER_ID_MAPPING
unknown topic: UNKNOWN_TOPIC_ID
unknown name: UNKNOWN_TOPIC_OR_PARTITION
unknown partition: UNKNOWN_TOPIC_OR_PARTITION
member of no group: GROUP_ID_NOT_FOUND
member of no group, in older words: ILLEGAL_GENERATION
member: NONE
unknown member: UNKNOWN_MEMBER_ID
later epoch: STALE_MEMBER_EPOCH
epoch of before: STALE_MEMBER_EPOCH
epoch of before, in older words: ILLEGAL_GENERATION
nobody: NONE
ends: NONE
"
    );
}
