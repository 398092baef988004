//! Groups of the classic protocol: what depends on time. What a single request is answered is compared with Kafka in the client's tests of
//! brokers.

use std::time::Duration;

use ackflow_protocol::messages::heartbeat::HeartbeatRequest;
use ackflow_protocol::messages::join_group::{JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse};
use ackflow_protocol::messages::list_groups::ListGroupsRequest;
use ackflow_protocol::messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse};
use ackflow_protocol::wire::{ErrorCode, Message, decode_response, frame::SIZE_LENGTH};
use bytes::Bytes;

use super::rig::Rig;
use crate::core::{Answer, Output};

const READERS: &str = "readers";

fn join(member: &str) -> JoinGroupRequest {
    JoinGroupRequest {
        group_id: READERS.to_owned(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 60_000,
        member_id: member.to_owned(),
        protocol_type: "consumer".to_owned(),
        protocols: vec![JoinGroupRequestProtocol { name: "range".to_owned(), metadata: Bytes::new() }],
        ..Default::default()
    }
}

/// Begins a join in the version in which members join once; gives the answer where there is one.
fn begin(rig: &mut Rig, connection: u64, member: &str) -> Option<JoinGroupResponse> {
    match rig.send(connection, 3, &join(member)) {
        Answer::Reply(frame) => Some(decode_response(frame.slice(SIZE_LENGTH..), 3).unwrap().1),
        Answer::Parked => None,
        other => panic!("{other:?}"),
    }
}

/// The answer to a request that waited.
fn heard<M: Message>(rig: &mut Rig, version: i16) -> Option<(u64, M)> {
    match rig.cluster.poll(rig.now)? {
        Output::Reply(connection, frame) => {
            Some((connection.0, decode_response(frame.slice(SIZE_LENGTH..), version).unwrap().1))
        }
        other => panic!("{other:?}"),
    }
}

fn joined(rig: &mut Rig) -> (u64, JoinGroupResponse) {
    heard(rig, 3).expect("all have joined")
}

fn sync(rig: &mut Rig, connection: u64, member: &str, generation_id: i32, to: &[&str]) -> Option<ErrorCode> {
    let assigned =
        |id: &&str| SyncGroupRequestAssignment { member_id: (*id).to_owned(), assignment: Bytes::from_static(b"work") };
    let request = SyncGroupRequest {
        group_id: READERS.to_owned(),
        generation_id,
        member_id: member.to_owned(),
        assignments: to.iter().map(assigned).collect(),
        ..Default::default()
    };
    match rig.send(connection, 5, &request) {
        Answer::Reply(frame) => {
            let (_, response) = decode_response::<SyncGroupResponse>(frame.slice(SIZE_LENGTH..), 5).unwrap();
            Some(response.error_code)
        }
        Answer::Parked => None,
        other => panic!("{other:?}"),
    }
}

fn beat(rig: &mut Rig, member: &str, generation_id: i32) -> ErrorCode {
    let (group_id, member_id) = (READERS.to_owned(), member.to_owned());
    rig.call(9, &HeartbeatRequest { group_id, generation_id, member_id, group_instance_id: None }).error_code
}

fn state(rig: &mut Rig) -> String {
    rig.call(9, &ListGroupsRequest::default()).groups.remove(0).group_state
}

/// A group of one member with its assignment.
fn group_of_one(rig: &mut Rig) -> String {
    let first = begin(rig, 1, "").expect("nobody is waited for").member_id;
    assert_eq!(sync(rig, 1, &first, 1, &[&first]), Some(ErrorCode::NONE));
    first
}

/// A rig whose groups do not wait for more members.
fn rig() -> Rig {
    Rig::with(&[("group.initial.rebalance.delay.ms", "0")], &[])
}

#[test]
fn a_new_group_waits_for_more_members_as_long_as_they_come() {
    let mut rig = Rig::new();
    assert_eq!(begin(&mut rig, 1, ""), None);
    rig.advance(Duration::from_secs(2));
    assert_eq!(begin(&mut rig, 2, ""), None);
    // 3 s after the first; one has come meanwhile, so it waits once more.
    assert_eq!(rig.next(), Duration::from_secs(1));
    assert!(heard::<JoinGroupResponse>(&mut rig, 3).is_none());
    assert_eq!(rig.next(), Duration::from_secs(3));
    let (one, two) = (joined(&mut rig).1, joined(&mut rig).1);
    assert_eq!((one.generation_id, two.generation_id, one.members.len() + two.members.len()), (1, 1, 2));
}

#[test]
fn a_member_that_says_nothing_is_lost_and_the_others_join_again() {
    let mut rig = rig();
    let first = group_of_one(&mut rig);
    assert_eq!(begin(&mut rig, 2, ""), None);
    assert_eq!(state(&mut rig), "PreparingRebalance");
    assert_eq!(beat(&mut rig, &first, 1), ErrorCode::REBALANCE_IN_PROGRESS);
    // Who waits for others is there, however long; who does not is lost after its session.
    assert_eq!(rig.next(), Duration::from_secs(10));
    let (connection, second) = joined(&mut rig);
    assert_eq!((connection, second.generation_id, second.members.len()), (2, 2, 1));
    assert_eq!(beat(&mut rig, &first, 1), ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(sync(&mut rig, 2, &second.member_id, 2, &[]), Some(ErrorCode::NONE));
    rig.advance(Duration::from_secs(10));
    assert_eq!(rig.cluster.poll(rig.now), None);
    assert_eq!(state(&mut rig), "Empty");
}

#[test]
fn a_member_that_lives_but_does_not_join_in_time_is_left_behind() {
    let mut rig = rig();
    let first = group_of_one(&mut rig);
    assert_eq!(begin(&mut rig, 2, ""), None);
    for _ in 0..11 {
        rig.advance(Duration::from_secs(5));
        assert_eq!(rig.cluster.poll(rig.now), None);
        assert_eq!(beat(&mut rig, &first, 1), ErrorCode::REBALANCE_IN_PROGRESS);
    }
    rig.advance(Duration::from_secs(5));
    assert_eq!(joined(&mut rig).1.members.len(), 1);
    assert_eq!(beat(&mut rig, &first, 1), ErrorCode::UNKNOWN_MEMBER_ID);
}

#[test]
fn a_leader_that_joins_again_has_all_join_and_who_waits_for_its_assignment_hears_so() {
    let mut rig = rig();
    let first = group_of_one(&mut rig);
    assert_eq!(begin(&mut rig, 2, ""), None);
    let first_again = begin(&mut rig, 1, &first).unwrap();
    let second = joined(&mut rig).1.member_id;
    assert_eq!((first_again.leader.as_str(), first_again.members.len()), (first.as_str(), 2));
    assert_eq!(sync(&mut rig, 2, &second, 2, &[]), None);
    let mut other = join(&first);
    other.protocols[0].metadata = Bytes::from_static(b"more");
    assert_eq!(rig.send(1, 3, &other), Answer::Parked);
    let (connection, told) = heard::<SyncGroupResponse>(&mut rig, 5).unwrap();
    assert_eq!((connection, told.error_code), (2, ErrorCode::REBALANCE_IN_PROGRESS));
}

#[test]
fn a_member_that_does_not_ask_for_its_assignment_is_left_behind() {
    let mut rig = rig();
    let first = group_of_one(&mut rig);
    assert_eq!(begin(&mut rig, 2, ""), None);
    begin(&mut rig, 1, &first).unwrap();
    let second = joined(&mut rig).1.member_id;
    assert_eq!(sync(&mut rig, 1, &first, 2, &[&first, &second]), Some(ErrorCode::NONE));
    for _ in 0..12 {
        assert_eq!((beat(&mut rig, &first, 2), beat(&mut rig, &second, 2)), (ErrorCode::NONE, ErrorCode::NONE));
        rig.advance(Duration::from_secs(5));
        assert_eq!(rig.cluster.poll(rig.now), None);
    }
    assert_eq!(beat(&mut rig, &second, 2), ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(beat(&mut rig, &first, 2), ErrorCode::REBALANCE_IN_PROGRESS);
}

#[test]
fn who_waits_is_sent_to_the_coordinator_that_takes_over() {
    let mut rig = Rig::with_nodes(2, &[("group.initial.rebalance.delay.ms", "0")], &[]);
    rig.cluster.move_coordinator(rig.now, READERS, 1).unwrap();
    let first = group_of_one(&mut rig);
    rig.advance(Duration::from_secs(9));
    assert_eq!(begin(&mut rig, 2, ""), None);
    rig.cluster.move_coordinator(rig.now, READERS, 2).unwrap();
    let (connection, told) = joined(&mut rig);
    assert_eq!((connection, told.error_code), (2, ErrorCode::NOT_COORDINATOR));
    // Its session began anew.
    rig.advance(Duration::from_secs(9));
    assert_eq!(rig.cluster.poll(rig.now), None);
    assert_eq!(begin(&mut rig, 201, &first), None);
}

#[test]
fn an_id_that_nobody_joins_with_is_forgotten() {
    let mut rig = rig();
    let asked = rig.call_version(1, 9, &join(""));
    assert_eq!(asked.error_code, ErrorCode::MEMBER_ID_REQUIRED);
    assert_eq!(rig.next(), Duration::from_secs(10));
    assert_eq!(rig.cluster.poll(rig.now), None);
    assert_eq!(rig.call_version(1, 9, &join(&asked.member_id)).error_code, ErrorCode::UNKNOWN_MEMBER_ID);
}

#[test]
fn a_member_whose_connection_ends_while_it_waits_hears_nothing() {
    let mut rig = rig();
    let first = group_of_one(&mut rig);
    assert_eq!(begin(&mut rig, 2, ""), None);
    rig.disconnect(2);
    let again = begin(&mut rig, 1, &first).unwrap();
    assert_eq!(again.members.len(), 2);
    assert_eq!(rig.cluster.poll(rig.now), None);
}
