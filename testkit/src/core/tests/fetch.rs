//! Fetch: sessions, waiting, limits, epochs.

use std::time::Duration;

use ackflow_protocol::messages::fetch::{FetchPartition, FetchRequest, FetchTopic, ForgottenTopic};
use ackflow_protocol::wire::{Uuid, decode_response, frame::SIZE_LENGTH};

use super::reader::{fetch, summary, topic};
use super::rig::{Rig, TOPIC, batch};
use crate::core::{Answer, Output};

fn read(rig: &mut Rig, request: &FetchRequest) -> String {
    summary(&rig.call(1, request))
}

#[test]
fn records_come_from_the_batch_that_holds_the_offset() {
    let mut rig = Rig::new();
    rig.produce(0, 3);
    rig.produce(0, 2);
    for (offset, expected) in [
        (0, "0[0-2 3-4]5/5"),
        (1, "0[0-2 3-4]5/5"),
        (3, "0[3-4]5/5"),
        (5, "0[]5/5"),
        (6, "0!OFFSET_OUT_OF_RANGE"),
        (-1, "0!OFFSET_OUT_OF_RANGE"),
    ] {
        let request = fetch(&rig, &[(0, offset)]);
        assert_eq!(read(&mut rig, &request), expected, "from {offset}");
    }
    let request = fetch(&rig, &[(3, 0)]);
    assert_eq!(read(&mut rig, &request), "3!UNKNOWN_TOPIC_OR_PARTITION");
}

#[test]
fn topics_that_are_not_there_are_refused_by_the_name_that_they_were_asked_by() {
    let mut rig = Rig::new();
    let mut request = fetch(&rig, &[(0, 0)]);
    (request.topics[0].topic, request.topics[0].topic_id) = ("nothing".to_owned(), Uuid([7; 16]));
    assert_eq!(read(&mut rig, &request), "0!UNKNOWN_TOPIC_ID");
    assert_eq!(summary(&rig.call_version(1, 12, &request)), "0!UNKNOWN_TOPIC_OR_PARTITION");
}

#[test]
fn bytes_are_limited_but_for_the_first_batch_and_the_last_one_is_cut() {
    let mut rig = Rig::new();
    let size = i32::try_from(batch(10, 0).len()).unwrap();
    for partition in [0, 0, 1] {
        rig.produce(partition, 10);
    }
    let limited = |max_bytes, partition_max_bytes| {
        let mut request = FetchRequest { max_bytes, ..fetch(&rig, &[(0, 0), (1, 0)]) };
        request.topics[0].partitions[0].partition_max_bytes = partition_max_bytes;
        request
    };
    let cases = [
        (limited(1, 1), "0[0-9]20/20 1[]10/10"),
        (limited(size, size), "0[0-9]20/20 1[]10/10"),
        (limited(1 << 20, size + 30), "0[0-9 ~]20/20 1[0-9]10/10"),
        (limited(3 * size - 1, 1 << 20), "0[0-9 10-19]20/20 1[]10/10"),
        (limited(3 * size, 1 << 20), "0[0-9 10-19]20/20 1[0-9]10/10"),
        (limited(0, 0), "0[0-9]20/20 1[]10/10"),
        (limited(-1, -1), "0[0-9]20/20 1[]10/10"),
    ];
    for (request, expected) in cases {
        assert_eq!(read(&mut rig, &request), expected, "{request:?}");
    }
}

/// Parks a fetch that has to wait, and gives what becomes of it at `poll`.
fn park(rig: &mut Rig, request: &FetchRequest) {
    assert_eq!(rig.send(1, 18, request), Answer::Parked);
    assert_eq!(rig.cluster.poll(rig.now), None);
}

fn ready(rig: &mut Rig) -> Option<String> {
    match rig.cluster.poll(rig.now)? {
        Output::Reply(_, frame) => Some(summary(&decode_response(frame.slice(SIZE_LENGTH..), 18).unwrap().1)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_fetch_waits_for_bytes_and_no_longer_than_it_says() {
    let mut rig = Rig::new();
    let size = i32::try_from(batch(10, 0).len()).unwrap();
    let request = FetchRequest { max_wait_ms: 500, min_bytes: 2 * size, ..fetch(&rig, &[(0, 0), (1, 0)]) };
    park(&mut rig, &request);
    rig.produce(0, 10);
    assert_eq!(ready(&mut rig), None);
    rig.produce(1, 10);
    assert_eq!(ready(&mut rig).unwrap(), "0[0-9]10/10 1[0-9]10/10");

    let request = FetchRequest { max_wait_ms: 500, ..fetch(&rig, &[(2, 0)]) };
    park(&mut rig, &request);
    assert_eq!(rig.next(), Duration::from_millis(500));
    assert_eq!(ready(&mut rig).unwrap(), "2[]0/0");
    // What is wrong is told at once.
    let request = FetchRequest { max_wait_ms: 500, ..fetch(&rig, &[(2, 0), (2, 9)]) };
    assert_eq!(read(&mut rig, &request), "2[]0/0 2!OFFSET_OUT_OF_RANGE");
}

#[test]
fn a_fetch_that_waits_hears_of_a_topic_that_is_deleted_and_of_a_leader_that_moves() {
    let mut rig = Rig::with_nodes(2, &[("default.replication.factor", "1")], &[]);
    let mut request = FetchRequest { max_wait_ms: 500, ..fetch(&rig, &[(0, 0)]) };
    request.topics[0].partitions[0].current_leader_epoch = 0;
    park(&mut rig, &request);
    rig.cluster.move_leader(rig.now, TOPIC, 0, 2).unwrap();
    assert_eq!(ready(&mut rig).unwrap(), "0!FENCED_LEADER_EPOCH");
    request.topics[0].partitions[0].current_leader_epoch = 1;
    assert_eq!(rig.send(200, 18, &request), Answer::Parked);
    rig.cluster.delete_topic(rig.now, TOPIC).unwrap();
    assert_eq!(ready(&mut rig).unwrap(), "0!UNKNOWN_TOPIC_OR_PARTITION");
    assert_eq!(summary(&rig.call(200, &request)), "0!UNKNOWN_TOPIC_ID");
}

#[test]
fn leader_epochs_are_checked_and_a_follower_serves_consumers_that_may_read_there() {
    let mut rig = Rig::with_nodes(2, &[], &[]);
    rig.produce(0, 1);
    rig.cluster.move_leader(rig.now, TOPIC, 0, 2).unwrap();
    rig.produce(0, 1);
    let with_epoch = |rig: &Rig, current_leader_epoch| {
        let mut request = fetch(rig, &[(0, 0)]);
        request.topics[0].partitions[0].current_leader_epoch = current_leader_epoch;
        request
    };
    for (epoch, expected) in
        [(0, "0!FENCED_LEADER_EPOCH"), (1, "0[0-0 1-1]2/2"), (-1, "0[0-0 1-1]2/2"), (2, "0!UNKNOWN_LEADER_EPOCH")]
    {
        let request = with_epoch(&rig, epoch);
        assert_eq!(summary(&rig.call(200, &request)), expected);
        assert_eq!(summary(&rig.call(1, &request)), expected);
    }
    let request = with_epoch(&rig, -1);
    assert_eq!(summary(&rig.call_version(1, 10, &request)), "0!NOT_LEADER_OR_FOLLOWER");
    let request = with_epoch(&rig, 0);
    let fenced = rig.call(1, &request);
    assert_eq!(fenced.responses[0].partitions[0].current_leader.leader_id, 2);
    assert_eq!(fenced.node_endpoints[0].node_id, 2);
}

#[test]
fn a_reader_whose_last_epoch_does_not_fit_is_told_where_the_logs_part() {
    let mut rig = Rig::with_nodes(2, &[], &[]);
    rig.produce(0, 5);
    rig.cluster.move_leader(rig.now, TOPIC, 0, 2).unwrap();
    rig.cluster.move_leader(rig.now, TOPIC, 0, 1).unwrap();
    rig.produce(0, 5);
    for (last, offset, expected) in [
        (0, 5, "0[5-9]10/10"),
        (0, 6, "0[]10/10<0@5"),
        // Nothing was written in it.
        (1, 5, "0[]10/10<0@5"),
        (2, 8, "0[5-9]10/10"),
        (3, 8, "0!OFFSET_OUT_OF_RANGE"),
    ] {
        let mut request = fetch(&rig, &[(0, offset)]);
        request.topics[0].partitions[0].last_fetched_epoch = last;
        assert_eq!(read(&mut rig, &request), expected, "epoch {last}, offset {offset}");
    }
}

fn open(rig: &mut Rig, partitions: &[(i32, i64)]) -> i32 {
    let request = FetchRequest { session_epoch: 0, ..fetch(rig, partitions) };
    rig.call(1, &request).session_id
}

fn go_on(session_id: i32, session_epoch: i32, topics: Vec<FetchTopic>) -> FetchRequest {
    FetchRequest { session_id, session_epoch, max_bytes: 1 << 20, min_bytes: 1, topics, ..FetchRequest::default() }
}

#[test]
fn a_session_tells_only_what_is_new() {
    let mut rig = Rig::new();
    rig.produce(0, 2);
    let session = open(&mut rig, &[(0, 2), (1, 0), (2, 0)]);
    assert!(session > 0);
    assert_eq!(read(&mut rig, &go_on(session, 1, Vec::new())), "");
    rig.produce(1, 1);
    assert_eq!(read(&mut rig, &go_on(session, 2, Vec::new())), "1[0-0]1/1");
    // What is read on is said again.
    let topics = vec![topic(&rig, &[(1, 1)])];
    assert_eq!(read(&mut rig, &go_on(session, 3, topics)), "");
    rig.produce(0, 1);
    rig.produce(1, 1);
    rig.produce(2, 1);
    // What had records last is read last.
    assert_eq!(read(&mut rig, &go_on(session, 4, Vec::new())), "0[2-2]3/3 2[0-0]1/1 1[1-1]2/2");
    let forgotten = ForgottenTopic { topic: TOPIC.to_owned(), topic_id: rig.topic_id(TOPIC), partitions: vec![0, 1] };
    let mut request = go_on(session, 5, Vec::new());
    request.forgotten_topics_data = vec![forgotten];
    assert_eq!(read(&mut rig, &request), "2[0-0]1/1");
    // The last partition of a session ends it.
    request.forgotten_topics_data[0].partitions = vec![2];
    request.session_epoch = 6;
    let response = rig.call(1, &request);
    assert_eq!((summary(&response).as_str(), response.session_id), ("", 0));
    assert_eq!(read(&mut rig, &go_on(session, 7, Vec::new())), "FETCH_SESSION_ID_NOT_FOUND");
}

#[test]
fn an_error_in_a_session_is_told_until_it_is_gone_and_then_the_partition_is() {
    let mut rig = Rig::new();
    rig.produce(0, 2);
    let session = open(&mut rig, &[(0, 9)]);
    assert_eq!(read(&mut rig, &go_on(session, 1, Vec::new())), "0!OFFSET_OUT_OF_RANGE");
    let topics = vec![topic(&rig, &[(0, 2)])];
    assert_eq!(read(&mut rig, &go_on(session, 2, topics)), "0[]2/2");
    assert_eq!(read(&mut rig, &go_on(session, 3, Vec::new())), "");
}

#[test]
fn a_session_remembers_the_name_of_a_topic_that_is_deleted() {
    let mut rig = Rig::new();
    let session = open(&mut rig, &[(0, 0)]);
    rig.cluster.delete_topic(rig.now, TOPIC).unwrap();
    assert_eq!(read(&mut rig, &go_on(session, 1, Vec::new())), "0!UNKNOWN_TOPIC_OR_PARTITION");
}

#[test]
fn sessions_are_refused_by_epoch_id_and_the_way_topics_are_named() {
    let mut rig = Rig::new();
    let session = open(&mut rig, &[(0, 0)]);
    assert_eq!(read(&mut rig, &go_on(session, 2, Vec::new())), "INVALID_FETCH_SESSION_EPOCH");
    assert_eq!(read(&mut rig, &go_on(session + 1, 1, Vec::new())), "FETCH_SESSION_ID_NOT_FOUND");
    let by_name = rig.call_version(1, 12, &go_on(session, 1, Vec::new()));
    assert_eq!(summary(&by_name), "FETCH_SESSION_TOPIC_ID_ERROR");
    // A request of its own that names a session ends it.
    let request = FetchRequest { session_id: session, ..fetch(&rig, &[(0, 0)]) };
    assert_eq!(rig.call(1, &request).session_id, 0);
    assert_eq!(read(&mut rig, &go_on(session, 1, Vec::new())), "FETCH_SESSION_ID_NOT_FOUND");
}

#[test]
fn a_broker_without_room_for_a_session_answers_without_one() {
    let mut rig = Rig::with(&[("max.incremental.fetch.session.cache.slots", "1")], &[]);
    let first = open(&mut rig, &[(0, 0)]);
    assert_eq!(open(&mut rig, &[(0, 0)]), 0);
    // One that nobody uses gives way.
    rig.advance(Duration::from_secs(121));
    let second = open(&mut rig, &[(0, 0)]);
    assert!(second > 0);
    assert_eq!(read(&mut rig, &go_on(first, 1, Vec::new())), "FETCH_SESSION_ID_NOT_FOUND");
    rig.cluster.kill_node(rig.now, 1, Duration::ZERO).unwrap();
    rig.cluster.start_node(rig.now, 1).unwrap();
    rig.disconnect(1);
    assert_eq!(read(&mut rig, &go_on(second, 1, Vec::new())), "FETCH_SESSION_ID_NOT_FOUND");
}

#[test]
fn a_partition_that_is_named_twice_is_answered_twice() {
    let mut rig = Rig::new();
    let again = FetchPartition { partition_max_bytes: 1 << 20, ..FetchPartition::default() };
    let mut request = fetch(&rig, &[(0, 0)]);
    request.topics[0].partitions.push(again);
    assert_eq!(read(&mut rig, &request), "0[]0/0 0[]0/0");
}
