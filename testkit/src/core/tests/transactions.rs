//! Transactions: what depends on time, on nodes and on the ends of numbers. What a single request is answered is compared with Kafka in the
//! client's tests of brokers.

use std::time::Duration;

use ackflow_protocol::messages::api_versions::ApiVersionsRequest;
use ackflow_protocol::messages::describe_transactions::DescribeTransactionsRequest;
use ackflow_protocol::messages::end_txn::{EndTxnRequest, EndTxnResponse};
use ackflow_protocol::messages::fetch::FetchRequest;
use ackflow_protocol::messages::init_producer_id::InitProducerIdRequest;
use ackflow_protocol::messages::offset_fetch::{OffsetFetchRequest, OffsetFetchRequestGroup};
use ackflow_protocol::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use ackflow_protocol::messages::txn_offset_commit::{
    TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use ackflow_protocol::records::{BatchBuilder, BatchOptions};
use ackflow_protocol::wire::ErrorCode;

use super::reader::{fetch, summary};
use super::rig::{GROUP, Member, Rig, STARTED_MS, TOPIC};
use crate::core::transactions::Producer;

const ID: &str = "tx";

fn init(rig: &mut Rig, expected: Option<Producer>) -> Result<Producer, ErrorCode> {
    let Producer { id, epoch } = expected.unwrap_or(Producer { id: -1, epoch: -1 });
    let request = InitProducerIdRequest {
        transactional_id: Some(ID.to_owned()),
        transaction_timeout_ms: 60_000,
        producer_id: id,
        producer_epoch: epoch,
        ..Default::default()
    };
    let response = rig.call(1, &request);
    let producer = Producer { id: response.producer_id, epoch: response.producer_epoch };
    if response.error_code.is_none() { Ok(producer) } else { Err(response.error_code) }
}

/// Writes so many records to a partition, from this sequence number on.
fn write(rig: &mut Rig, producer: Producer, partition: i32, sequence: i32, records: usize) -> ErrorCode {
    let options = BatchOptions {
        transactional: true,
        producer_id: producer.id,
        producer_epoch: producer.epoch,
        base_sequence: sequence,
        ..Default::default()
    };
    let mut builder = BatchBuilder::new(options);
    for _ in 0..records {
        builder.try_append(STARTED_MS, None, Some(b"value"), []).unwrap();
    }
    let partition_data = vec![PartitionProduceData { index: partition, records: Some(builder.build().unwrap()) }];
    let topic_id = rig.topic_id(TOPIC);
    let request = ProduceRequest {
        transactional_id: Some(ID.to_owned()),
        acks: -1,
        timeout_ms: 1000,
        topic_data: vec![TopicProduceData { name: TOPIC.to_owned(), topic_id, partition_data }],
    };
    let node = rig.cluster.leader(TOPIC, partition).unwrap().unwrap();
    let connection = u64::try_from(node).unwrap() * 100;
    rig.call(connection, &request).responses[0].partition_responses[0].error_code
}

fn end(rig: &mut Rig, version: i16, producer: Producer, committed: bool) -> EndTxnResponse {
    let Producer { id, epoch } = producer;
    let request = EndTxnRequest { transactional_id: ID.to_owned(), producer_id: id, producer_epoch: epoch, committed };
    rig.call_version(1, version, &request)
}

/// Ends a transaction as newer producers do, and gives who the producer is then.
fn commit(rig: &mut Rig, producer: Producer) -> Producer {
    let ended = end(rig, 5, producer, true);
    assert_eq!(ended.error_code, ErrorCode::NONE);
    Producer { id: ended.producer_id, epoch: ended.producer_epoch }
}

fn state(rig: &mut Rig) -> String {
    let request = DescribeTransactionsRequest { transactional_ids: vec![ID.to_owned()] };
    rig.call(1, &request).transaction_states.remove(0).transaction_state
}

fn committed(rig: &mut Rig, partition: i32) -> String {
    let request = FetchRequest { isolation_level: 1, ..fetch(rig, &[(partition, 0)]) };
    summary(&rig.call(1, &request))
}

#[test]
fn a_transaction_that_is_open_for_too_long_is_aborted_and_its_producer_fenced() {
    let mut rig = Rig::new();
    let producer = init(&mut rig, None).unwrap();
    assert_eq!(write(&mut rig, producer, 0, 0, 2), ErrorCode::NONE);
    rig.advance(Duration::from_millis(59_999));
    assert_eq!(rig.cluster.poll(rig.now), None);
    assert_eq!((state(&mut rig).as_str(), committed(&mut rig, 0).as_str()), ("Ongoing", "0[]2/0"));
    rig.advance(Duration::from_millis(1));
    assert_eq!(rig.cluster.poll(rig.now), None);
    assert_eq!(state(&mut rig), "CompleteAbort");
    assert_eq!(committed(&mut rig, 0), "0[0-1 2-2]3/3x0@0");
    assert_eq!(write(&mut rig, producer, 0, 2, 1), ErrorCode::INVALID_PRODUCER_EPOCH);
    assert_eq!(end(&mut rig, 5, producer, true).error_code, ErrorCode::INVALID_TXN_STATE);
    assert_eq!(end(&mut rig, 4, producer, true).error_code, ErrorCode::PRODUCER_FENCED);
    assert_eq!(init(&mut rig, Some(producer)), Err(ErrorCode::PRODUCER_FENCED));
    assert_eq!(init(&mut rig, None).unwrap().epoch, 2);
}

#[test]
fn a_transaction_has_its_own_time_each() {
    let mut rig = Rig::new();
    let mut producer = init(&mut rig, None).unwrap();
    for partition in 0..3 {
        assert_eq!(write(&mut rig, producer, partition, 0, 1), ErrorCode::NONE);
        rig.advance(Duration::from_secs(50));
        assert_eq!(rig.cluster.poll(rig.now), None);
        producer = commit(&mut rig, producer);
    }
    assert_eq!((producer.epoch, state(&mut rig).as_str()), (3, "CompleteCommit"));
}

#[test]
fn the_last_epoch_is_followed_by_another_producer_id() {
    let mut rig = Rig::new();
    let first = init(&mut rig, None).unwrap();
    let last = Producer { epoch: i16::MAX - 1, ..first };
    let far = |rig: &mut Rig| rig.cluster.transactions.get_mut(ID).unwrap().set_epoch(last.epoch);
    far(&mut rig);
    assert_eq!(write(&mut rig, last, 0, 0, 1), ErrorCode::NONE);
    let next = commit(&mut rig, last);
    assert_eq!((next.id, next.epoch), (first.id + 1, 0));
    // It has not heard of that.
    assert_eq!(commit(&mut rig, last), next);
    assert_eq!(write(&mut rig, next, 0, 0, 1), ErrorCode::NONE);
    let next = commit(&mut rig, next);
    assert_eq!(next.epoch, 1);

    // And where a producer comes back.
    let last = Producer { epoch: i16::MAX - 1, ..next };
    rig.cluster.transactions.get_mut(ID).unwrap().set_epoch(last.epoch);
    let after = init(&mut rig, Some(last)).unwrap();
    assert_eq!((after.id, after.epoch), (next.id + 1, 0));
    assert_eq!(init(&mut rig, Some(last)), Ok(after));
    // One that is aborted has a marker of the epoch behind the last.
    let last = Producer { epoch: i16::MAX - 1, ..after };
    rig.cluster.transactions.get_mut(ID).unwrap().set_epoch(last.epoch);
    assert_eq!(write(&mut rig, last, 1, 0, 1), ErrorCode::NONE);
    assert_eq!(init(&mut rig, None), Err(ErrorCode::CONCURRENT_TRANSACTIONS));
    assert_eq!(committed(&mut rig, 1), format!("1[0-0 1-1]2/2x{}@0", last.id));
    assert_eq!(init(&mut rig, None).unwrap().id, last.id + 1);
}

#[test]
fn a_transaction_ends_when_all_its_partitions_have_leaders_again() {
    let mut rig = Rig::with_nodes(2, &[("default.replication.factor", "1")], &[]);
    // Partition 1 of the topic lives on node 2 alone.
    let coordinator = rig.cluster.transaction_coordinator(ID).unwrap();
    assert_eq!(coordinator, 1, "the test wants the coordinator to live on");
    let producer = init(&mut rig, None).unwrap();
    assert_eq!(write(&mut rig, producer, 0, 0, 1), ErrorCode::NONE);
    assert_eq!(write(&mut rig, producer, 1, 0, 1), ErrorCode::NONE);
    rig.cluster.kill_node(rig.now, 2, Duration::from_secs(1)).unwrap();
    let next = commit(&mut rig, producer);
    assert_eq!(state(&mut rig), "PrepareCommit");
    assert_eq!(committed(&mut rig, 0), "0[0-0 1-1]2/2");
    assert_eq!(end(&mut rig, 5, producer, true).error_code, ErrorCode::CONCURRENT_TRANSACTIONS);
    assert_eq!(end(&mut rig, 5, producer, false).error_code, ErrorCode::INVALID_TXN_STATE);
    assert_eq!(end(&mut rig, 5, next, true).error_code, ErrorCode::PRODUCER_FENCED);
    assert_eq!(init(&mut rig, None), Err(ErrorCode::CONCURRENT_TRANSACTIONS));
    assert_eq!(write(&mut rig, next, 0, 0, 1), ErrorCode::CONCURRENT_TRANSACTIONS);
    rig.advance(Duration::from_secs(2));
    while rig.cluster.poll(rig.now).is_some() {}
    assert_eq!(state(&mut rig), "PrepareCommit");
    rig.cluster.start_node(rig.now, 2).unwrap();
    assert_eq!(state(&mut rig), "CompleteCommit");
    assert_eq!(write(&mut rig, next, 0, 0, 1), ErrorCode::NONE);
}

#[test]
fn what_is_deleted_holds_no_transaction_open() {
    let mut rig = Rig::new();
    let producer = init(&mut rig, None).unwrap();
    assert_eq!(write(&mut rig, producer, 0, 0, 1), ErrorCode::NONE);
    rig.cluster.delete_topic(rig.now, TOPIC).unwrap();
    commit(&mut rig, producer);
    assert_eq!(state(&mut rig), "CompleteCommit");
}

#[test]
fn levels_of_the_feature_are_told_and_those_below_2_keep_epochs_where_they_abort() {
    let mut rig = Rig::new();
    let level = |rig: &mut Rig| {
        let (client_software_name, client_software_version) = ("ackflow".to_owned(), "1".to_owned());
        let request = ApiVersionsRequest { client_software_name, client_software_version, ..Default::default() };
        let features = rig.call(1, &request).finalized_features;
        features
            .into_iter()
            .find(|feature| feature.name == "transaction.version")
            .map(|feature| feature.max_version_level)
    };
    assert_eq!(level(&mut rig), Some(2));
    rig.cluster.transaction_version = 1;
    assert_eq!(level(&mut rig), Some(1));
    rig.cluster.transaction_version = 0;
    assert_eq!(level(&mut rig), None);
}

#[test]
fn offsets_of_a_transaction_that_timed_out_do_not_count() {
    let mut rig = Rig::new();
    let producer = init(&mut rig, None).unwrap();
    let partition = TxnOffsetCommitRequestPartition { committed_offset: 7, ..Default::default() };
    let topic = TxnOffsetCommitRequestTopic {
        topic_id: rig.topic_id(TOPIC),
        partitions: vec![partition],
        ..Default::default()
    };
    let request = TxnOffsetCommitRequest {
        transactional_id: ID.to_owned(),
        group_id: "readers".to_owned(),
        producer_id: producer.id,
        producer_epoch: producer.epoch,
        topics: vec![topic],
        ..Default::default()
    };
    assert_eq!(rig.call(1, &request).topics[0].partitions[0].error_code, ErrorCode::NONE);
    rig.advance(Duration::from_secs(60));
    assert_eq!(rig.cluster.poll(rig.now), None);
    let group = OffsetFetchRequestGroup { group_id: "readers".to_owned(), ..Default::default() };
    let request = OffsetFetchRequest { groups: vec![group], require_stable: true, ..Default::default() };
    assert_eq!(rig.call(1, &request).groups[0].topics, []);
}

#[test]
fn a_share_group_that_reads_committed_gets_what_is_decided_and_not_what_was_aborted() {
    for (level, open) in [("read_committed", "0[0-0x1]"), ("read_uncommitted", "0[0-2x1]")] {
        let mut rig = Rig::with(&[], &[("share.isolation.level", level)]);
        let producer = init(&mut rig, None).unwrap();
        rig.produce(0, 1);
        assert_eq!(write(&mut rig, producer, 0, 0, 2), ErrorCode::NONE);
        let mut member = Member::new(&rig, "m1", 1, &[0]);
        assert_eq!(member.fetch(&mut rig, 100), open);
        if level == "read_uncommitted" {
            continue;
        }
        assert!(member.fetch_waiting(&mut rig, Duration::from_secs(1)).is_none());
        let ended = end(&mut rig, 5, producer, false);
        // The fetch that waits gets the marker, which is nothing to hand out: Kafka's clients tell it apart.
        assert_eq!(rig.ready(), Some((1, "0[3-3x1]".to_owned())));
        let producer = Producer { id: ended.producer_id, epoch: ended.producer_epoch };
        assert_eq!(write(&mut rig, producer, 0, 0, 2), ErrorCode::NONE);
        assert_eq!(rig.cluster.group_lag(GROUP, TOPIC, 0), Some(4));
        assert_eq!(member.fetch(&mut rig, 100), "");
        commit(&mut rig, producer);
        assert_eq!(member.fetch(&mut rig, 100), "0[4-6x1]");
    }
}
