//! Fetches and their sessions, what is fetched ahead, leaders and replicas.

use super::{cluster::*, rig::*};
use crate::{
    machine::{
        RequestFailure,
        consumer::{ConsumerResponse, IsolationLevel, SeekTo},
    },
    messages::fetch::{FetchResponse, FetchableTopicResponse, LeaderIdAndEpoch, NodeEndpoint, PartitionData},
    wire::ErrorCode,
};

fn answered(data: PartitionData) -> FetchResponse {
    let responses = vec![FetchableTopicResponse { topic_id: TOPIC, partitions: vec![data], ..Default::default() }];
    FetchResponse { session_id: 101, responses, ..Default::default() }
}

fn drain_all(rig: &mut Rig, index: i32) -> Vec<i64> {
    let mut all = Vec::new();
    loop {
        let part = rig.take_part(index);
        if part.is_empty() {
            return all;
        }
        all.extend(part);
        rig.serve();
    }
}

#[test]
fn records_come_in_order_once_each_from_leaders_side_by_side() {
    let mut rig = Rig::joined(&[1, 2, 3], |options| options.client_rack = Some("r".into()));
    (0..3).for_each(|index| rig.cluster.logs[index].end = 95);
    rig.serve();
    for index in 0..3 {
        assert_eq!(drain_all(&mut rig, index), (0..95).collect::<Vec<_>>());
    }
    let nodes: Vec<i32> = rig.sent.iter().filter(|sent| is_fetch(&sent.request)).map(Sent::node).collect();
    assert_eq!(nodes.len(), 3, "one a broker: {nodes:?}");
    assert!(rig.fetches().iter().all(|fetch| fetch.rack_id == "r"));
    // Opened once: later requests say what changed.
    assert_eq!(rig.fetches().iter().filter(|fetch| fetch.session_epoch == 0).count(), 3);
}

// Mutation: protocol/src/machine/consumer/fetching.rs
// - if partition.buffered_bytes >= self.options.partition_fetch_bytes.unsigned_abs() as usize {
// + if partition.buffered_bytes == usize::MAX {
#[test]
fn what_is_fetched_ahead_is_bounded() {
    let mut rig = Rig::joined(&[1], |options| options.partition_fetch_bytes = 300);
    rig.cluster.logs[0].end = 10_000;
    rig.serve();
    let ahead = rig.waiting[&0].len();
    assert!((2..=4).contains(&ahead), "{ahead} parts of about 170 bytes");
    rig.take_part(0);
    rig.take_part(0);
    rig.serve();
    assert!(rig.waiting[&0].len() >= 2, "on with it as soon as there is room");
}

#[test]
fn all_that_is_fetched_ahead_is_bounded_too() {
    let mut rig = Rig::joined(&[1, 2, 3], |options| options.fetch_max_bytes = 400);
    (0..3).for_each(|index| rig.cluster.logs[index].end = 10_000);
    rig.serve();
    let parts: usize = rig.waiting.values().map(std::collections::VecDeque::len).sum();
    assert!(parts <= 6, "{parts} parts of about 170 bytes");
}

#[test]
fn a_paused_partition_is_not_fetched_and_goes_on_where_it_was() {
    let mut rig = Rig::joined(&[1], |_| {});
    rig.machine.pause(rig.now, &[partition(0)], true);
    rig.drain();
    rig.cluster.logs[0].end = 40;
    // The fetch that was under way brings one part.
    rig.serve();
    assert_eq!(rig.waiting[&0].len(), 1);
    rig.machine.pause(rig.now, &[partition(0)], false);
    rig.drain();
    rig.serve();
    assert_eq!(drain_all(&mut rig, 0), (0..40).collect::<Vec<_>>());
}

#[test]
fn a_new_leader_that_is_named_is_asked_at_once() {
    let mut rig = Rig::joined(&[1], |_| {});
    let out = rig.take(is_fetch);
    rig.cluster.logs[0].leader = 2;
    rig.cluster.logs[0].epoch = 6;
    rig.cluster.logs[0].end = 10;
    let metadata = rig.log.len();
    let data = PartitionData {
        error_code: ErrorCode::NOT_LEADER_OR_FOLLOWER,
        current_leader: LeaderIdAndEpoch { leader_id: 2, leader_epoch: 6 },
        ..Default::default()
    };
    let node_endpoints = vec![NodeEndpoint { node_id: 2, host: "h".into(), port: 9002, rack: None }];
    rig.answer(&out, ConsumerResponse::Fetch(FetchResponse { node_endpoints, ..answered(data) }));
    assert_eq!(rig.log[metadata..].iter().map(Sent::node).collect::<Vec<_>>(), [2], "a fetch or an epoch, from it");
    rig.serve();
    assert_eq!(drain_all(&mut rig, 0).len(), 10);
}

#[test]
fn a_replica_that_is_nearer_is_read_from_until_it_cannot_be() {
    let mut rig = Rig::joined(&[1], |options| options.client_rack = Some("r".into()));
    let out = rig.take(is_fetch);
    rig.answer(
        &out,
        ConsumerResponse::Fetch(answered(PartitionData { preferred_read_replica: 3, ..Default::default() })),
    );
    let out = rig.take(is_fetch);
    assert_eq!(out.to, crate::machine::Destination::Session(Rig::address(3)));
    let data = PartitionData { error_code: ErrorCode::OFFSET_OUT_OF_RANGE, ..Default::default() };
    rig.answer(&out, ConsumerResponse::Fetch(answered(data)));
    assert_eq!(rig.take(is_fetch).node(), 1, "the leader knows");
}

#[test]
fn a_session_that_the_broker_does_not_know_is_opened_again_at_once() {
    for code in [ErrorCode::FETCH_SESSION_ID_NOT_FOUND, ErrorCode::INVALID_FETCH_SESSION_EPOCH] {
        let mut rig = Rig::joined(&[1], |_| {});
        let out = rig.take(is_fetch);
        rig.answer(&out, ConsumerResponse::Fetch(FetchResponse { error_code: code, ..Default::default() }));
        let fetch = rig.fetches().pop().unwrap();
        assert_eq!((fetch.session_epoch, fetch.topics.len()), (0, 1));
        rig.cluster.logs[0].end = 10;
        rig.serve();
        assert_eq!(drain_all(&mut rig, 0).len(), 10);
    }
}

#[test]
fn a_fetch_without_an_answer_is_asked_again_in_another_session() {
    let mut rig = Rig::joined(&[1], |_| {});
    let out = rig.take(is_fetch);
    rig.fail(&out, RequestFailure::Disconnected);
    assert!(!rig.sent.iter().any(|sent| is_fetch(&sent.request)), "not at once");
    rig.cluster.logs[0].end = 10;
    rig.sleep(ms(1_000));
    assert_eq!(drain_all(&mut rig, 0).len(), 10);
}

#[test]
fn a_broker_that_throttles_is_left_alone() {
    let mut rig = Rig::joined(&[1], |_| {});
    let out = rig.take(is_fetch);
    let response = FetchResponse { throttle_time_ms: 700, session_id: 101, ..Default::default() };
    rig.answer(&out, ConsumerResponse::Fetch(response));
    assert!(!rig.sent.iter().any(|sent| is_fetch(&sent.request)));
    rig.now += ms(701);
    rig.drain();
    assert!(rig.sent.iter().any(|sent| is_fetch(&sent.request)));
}

#[test]
fn a_batch_that_cannot_be_read_stops_its_partition_until_a_seek() {
    let mut rig = Rig::joined(&[1], |_| {});
    let out = rig.take(is_fetch);
    let mut bad = batch(10, 19, 5).to_vec();
    *bad.last_mut().unwrap() ^= 1;
    let records = [batch(0, 9, 5).to_vec(), bad].concat().into();
    rig.cluster.logs[0].end = 40;
    rig.answer(&out, ConsumerResponse::Fetch(answered(PartitionData { records: Some(records), ..Default::default() })));
    let part = &rig.waiting[&0][0];
    let error = part.error.as_ref().unwrap();
    assert_eq!((part.next.offset, error.first, error.last), (10, 10, 10));
    rig.serve();
    assert!(!rig.sent.iter().any(|sent| is_fetch(&sent.request)));
    rig.seek(0, SeekTo::Position(crate::machine::consumer::Position { offset: 20, leader_epoch: None }));
    rig.serve();
    assert_eq!(rig.take_part(0)[0], 20);
}

#[test]
fn an_error_that_no_retry_heals_is_told_once_and_the_partition_asked_again() {
    let mut rig = Rig::joined(&[1], |_| {});
    for _ in 0..3 {
        let out = rig.take(is_fetch);
        let data = PartitionData { error_code: ErrorCode::TOPIC_AUTHORIZATION_FAILED, ..Default::default() };
        rig.answer(&out, ConsumerResponse::Fetch(answered(data)));
        rig.now += ms(1_300);
        rig.drain();
    }
    assert_eq!(rig.errors.len(), 1, "{:?}", rig.errors);
    assert!(rig.sent.iter().any(|sent| is_fetch(&sent.request)));
}

#[test]
fn the_isolation_level_is_said() {
    let rig = Rig::joined(&[1], |options| options.isolation = IsolationLevel::ReadCommitted);
    assert_eq!(rig.fetches()[0].isolation_level, 1);
}

#[test]
fn nothing_is_fetched_before_the_first_poll() {
    let mut rig = Rig::with(&[1], |options| options.group_id = None);
    rig.machine.assign(rig.now, &[partition(0)], 1);
    rig.drain();
    rig.serve();
    assert!(rig.fetches().is_empty());
}
