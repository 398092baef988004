//! Ends, times, epochs, deletion and markers of logs.

use ackflow_protocol::messages::delete_records::{DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic};
use ackflow_protocol::messages::describe_producers::{DescribeProducersRequest, TopicRequest};
use ackflow_protocol::messages::fetch::FetchRequest;
use ackflow_protocol::messages::list_offsets::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic};
use ackflow_protocol::messages::offset_for_leader_epoch::{
    OffsetForLeaderEpochRequest, OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use ackflow_protocol::messages::write_txn_markers::{
    WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest,
};
use ackflow_protocol::records::{BatchBuilder, BatchOptions};
use ackflow_protocol::wire::ErrorCode;
use bytes::Bytes;

use super::reader::{fetch, summary};
use super::rig::{Member, Rig, STARTED_MS, TOPIC, batch};

/// What ListOffsets gives for a time in partition 0: timestamp (since the start), offset, epoch.
pub(super) fn list(rig: &mut Rig, timestamp: i64, isolation_level: i8) -> Result<(i64, i64, i32), ErrorCode> {
    let partition = ListOffsetsPartition { timestamp, ..ListOffsetsPartition::default() };
    let topics = vec![ListOffsetsTopic { name: TOPIC.to_owned(), partitions: vec![partition] }];
    let request = ListOffsetsRequest { replica_id: -1, isolation_level, topics, timeout_ms: 0 };
    let found = rig.call(1, &request).topics.remove(0).partitions.remove(0);
    let timestamp = if found.timestamp < 0 { -1 } else { found.timestamp - STARTED_MS };
    if found.error_code.is_none() { Ok((timestamp, found.offset, found.leader_epoch)) } else { Err(found.error_code) }
}

pub(super) fn delete_records(rig: &mut Rig, offset: i64) -> Result<i64, ErrorCode> {
    let partitions = vec![DeleteRecordsPartition { partition_index: 0, offset }];
    let topics = vec![DeleteRecordsTopic { name: TOPIC.to_owned(), partitions }];
    let deleted = rig.call(1, &DeleteRecordsRequest { topics, timeout_ms: 0 }).topics.remove(0).partitions.remove(0);
    if deleted.error_code.is_none() { Ok(deleted.low_watermark) } else { Err(deleted.error_code) }
}

fn produce_at(rig: &mut Rig, times: &[i64]) {
    let mut builder = BatchBuilder::new(BatchOptions::default());
    for time in times {
        builder.try_append(STARTED_MS + time, None, Some(b"value"), []).unwrap();
    }
    rig.cluster.produce(rig.now, TOPIC, 0, &builder.build().unwrap()).unwrap();
}

#[test]
fn ends_and_times_are_found() {
    let mut rig = Rig::with_nodes(2, &[], &[]);
    assert_eq!(list(&mut rig, -3, 0), Ok((-1, -1, -1)));
    produce_at(&mut rig, &[10, 30, 20]);
    rig.cluster.move_leader(rig.now, TOPIC, 0, 2).unwrap();
    rig.cluster.move_leader(rig.now, TOPIC, 0, 1).unwrap();
    produce_at(&mut rig, &[30, 25]);
    for (time, expected) in [
        (-1, (-1, 5, 2)),
        (-2, (-1, 0, 0)),
        (-3, (30, 1, 0)),
        (-4, (-1, 0, 0)),
        (-5, (-1, -1, -1)),
        (-6, (-1, -1, -1)),
        (STARTED_MS, (10, 0, 0)),
        (STARTED_MS + 11, (30, 1, 0)),
        (STARTED_MS + 31, (-1, -1, -1)),
    ] {
        assert_eq!(list(&mut rig, time, 0), Ok(expected), "{time}");
    }
    assert_eq!(list(&mut rig, -7, 0), Err(ErrorCode::UNSUPPORTED_VERSION));
    rig.cluster.move_leader(rig.now, TOPIC, 0, 2).unwrap();
    assert_eq!(list(&mut rig, -1, 0), Err(ErrorCode::NOT_LEADER_OR_FOLLOWER));
}

#[test]
fn ends_of_leader_epochs_are_found() {
    let mut rig = Rig::with_nodes(2, &[], &[]);
    rig.produce(0, 5);
    for node in [2, 1, 2, 1] {
        rig.cluster.move_leader(rig.now, TOPIC, 0, node).unwrap();
    }
    rig.produce(0, 5);
    let mut end = |leader_epoch, current_leader_epoch| {
        let partitions = vec![OffsetForLeaderPartition { partition: 0, current_leader_epoch, leader_epoch }];
        let topics = vec![OffsetForLeaderTopic { topic: TOPIC.to_owned(), partitions }];
        let found =
            rig.call(1, &OffsetForLeaderEpochRequest { replica_id: -1, topics }).topics.remove(0).partitions.remove(0);
        (found.error_code, found.leader_epoch, found.end_offset)
    };
    for (epoch, expected) in [(0, (0, 5)), (2, (0, 5)), (4, (4, 10)), (5, (-1, -1)), (-1, (-1, -1))] {
        assert_eq!(end(epoch, -1), (ErrorCode::NONE, expected.0, expected.1), "{epoch}");
    }
    assert_eq!(end(0, 3).0, ErrorCode::FENCED_LEADER_EPOCH);
    assert_eq!(end(0, 5).0, ErrorCode::UNKNOWN_LEADER_EPOCH);
}

#[test]
fn deleted_records_are_read_no_more_by_anybody() {
    let mut rig = Rig::new();
    rig.produce(0, 5);
    rig.produce(0, 5);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    assert_eq!(member.fetch(&mut rig, 5), "0[0-4x1]");
    assert_eq!(delete_records(&mut rig, 11), Err(ErrorCode::OFFSET_OUT_OF_RANGE));
    assert_eq!(delete_records(&mut rig, -2), Err(ErrorCode::OFFSET_OUT_OF_RANGE));
    assert_eq!(delete_records(&mut rig, 7), Ok(7));
    assert_eq!(delete_records(&mut rig, 3), Ok(7));
    assert_eq!(list(&mut rig, -2, 0), Ok((-1, 7, 0)));
    assert_eq!(list(&mut rig, STARTED_MS, 0), Ok((0, 7, 0)));
    let request = fetch(&rig, &[(0, 6)]);
    assert_eq!(summary(&rig.call(1, &request)), "0!OFFSET_OUT_OF_RANGE");
    let request = fetch(&rig, &[(0, 7)]);
    assert_eq!(summary(&rig.call(1, &request)), "0[5-9]10/10");
    assert_eq!(rig.lag(0), Some(3));
    assert_eq!(member.ack(&mut rig, 0, 4, 2), ErrorCode::NONE);
    assert_eq!(member.fetch(&mut rig, 5), "0[7-9x1]");
    assert_eq!(delete_records(&mut rig, -1), Ok(10));
    assert_eq!(rig.lag(0), Some(0));
}

#[test]
fn records_of_a_compacted_topic_are_not_deleted() {
    let mut rig = Rig::with(&[("log.cleanup.policy", "compact")], &[]);
    assert_eq!(delete_records(&mut rig, 0), Err(ErrorCode::POLICY_VIOLATION));
}

/// A batch of a transactional producer.
fn transactional(producer_id: i64, base_sequence: i32) -> Bytes {
    let options =
        BatchOptions { transactional: true, producer_id, producer_epoch: 0, base_sequence, ..Default::default() };
    let mut builder = BatchBuilder::new(options);
    builder.try_append(STARTED_MS, None, Some(b"value"), []).unwrap();
    builder.build().unwrap()
}

pub(super) fn mark(rig: &mut Rig, producer_id: i64, transaction_result: bool, transaction_version: i8) -> ErrorCode {
    let topics = vec![WritableTxnMarkerTopic { name: TOPIC.to_owned(), partition_indexes: vec![0] }];
    let marker =
        WritableTxnMarker { producer_id, transaction_result, topics, transaction_version, ..Default::default() };
    let response = rig.call(1, &WriteTxnMarkersRequest { markers: vec![marker] });
    response.markers[0].topics[0].partitions[0].error_code
}

#[test]
fn committed_reading_ends_at_the_first_open_transaction_and_is_told_what_was_aborted() {
    let mut rig = Rig::new();
    let committed = |rig: &mut Rig, offset| {
        let request = FetchRequest { isolation_level: 1, ..fetch(rig, &[(0, offset)]) };
        summary(&rig.call(1, &request))
    };
    rig.produce(0, 1);
    for (producer, sequence) in [(7, 0), (8, 0), (7, 1)] {
        rig.cluster.produce(rig.now, TOPIC, 0, &transactional(producer, sequence)).unwrap();
    }
    assert_eq!(committed(&mut rig, 0), "0[0-0]4/1");
    assert_eq!(list(&mut rig, -1, 1), Ok((-1, 1, 0)));
    assert_eq!(list(&mut rig, -1, 0), Ok((-1, 4, 0)));
    assert_eq!(list(&mut rig, -2, 1), Ok((-1, 0, 0)));
    let uncommitted = fetch(&rig, &[(0, 3)]);
    assert_eq!(summary(&rig.call(1, &uncommitted)), "0[3-3]4/1");
    assert_eq!(committed(&mut rig, 3), "0[]4/1");

    // A fetch that waits hears of the end.
    let request = FetchRequest { isolation_level: 1, max_wait_ms: 1000, ..fetch(&rig, &[(0, 1)]) };
    assert_eq!(rig.send(2, 18, &request), crate::core::Answer::Parked);
    assert_eq!(mark(&mut rig, 7, false, 0), ErrorCode::NONE);
    assert!(rig.cluster.poll(rig.now).is_some());
    assert_eq!(committed(&mut rig, 0), "0[0-0 1-1]5/2x7@1");
    assert_eq!(mark(&mut rig, 8, true, 0), ErrorCode::NONE);
    assert_eq!(committed(&mut rig, 0), "0[0-0 1-1 2-2 3-3 4-4 5-5]6/6x7@1");
    // Behind its marker a transaction is no more.
    assert_eq!(committed(&mut rig, 5), "0[5-5]6/6");
    // A producer that is in no transaction has a marker all the same, and is not open.
    assert_eq!(mark(&mut rig, 7, false, 0), ErrorCode::NONE);
    assert_eq!(committed(&mut rig, 6), "0[6-6]7/7");
    assert_eq!(mark(&mut rig, -1, false, 0), ErrorCode::UNKNOWN_SERVER_ERROR);
    // Since version 2 each end has another epoch.
    assert_eq!(mark(&mut rig, 7, false, 2), ErrorCode::INVALID_PRODUCER_EPOCH);
}

#[test]
fn records_outside_the_transaction_of_their_producer_are_refused() {
    let mut rig = Rig::new();
    rig.cluster.produce(rig.now, TOPIC, 0, &transactional(7, 0)).unwrap();
    let options = BatchOptions { producer_id: 7, producer_epoch: 0, base_sequence: 1, ..Default::default() };
    let mut builder = BatchBuilder::new(options);
    builder.try_append(STARTED_MS, None, Some(b"value"), []).unwrap();
    let refused = rig.cluster.produce(rig.now, TOPIC, 0, &builder.build().unwrap());
    assert_eq!(refused.unwrap_err().0, ErrorCode::INVALID_TXN_STATE);
}

#[test]
fn producers_of_a_partition_are_described() {
    let mut rig = Rig::new();
    rig.cluster.produce(rig.now, TOPIC, 0, &batch(1, STARTED_MS)).unwrap();
    rig.cluster.produce(rig.now, TOPIC, 0, &transactional(7, 0)).unwrap();
    let describe = |rig: &mut Rig, partition| {
        let topics = vec![TopicRequest { name: TOPIC.to_owned(), partition_indexes: vec![partition] }];
        rig.call(1, &DescribeProducersRequest { topics }).topics.remove(0).partitions.remove(0)
    };
    let state = |rig: &mut Rig| {
        let all = describe(rig, 0).active_producers;
        assert_eq!(all.len(), 1);
        (all[0].producer_id, all[0].last_sequence, all[0].coordinator_epoch, all[0].current_txn_start_offset)
    };
    assert_eq!(state(&mut rig), (7, 0, -1, 1));
    mark(&mut rig, 7, true, 0);
    assert_eq!(state(&mut rig), (7, 0, 0, -1));
    assert_eq!(describe(&mut rig, 9).error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
}
