//! Unsubscribing and closing.

use super::{rig::*, script::*};
use crate::{
    machine::{AckType, ClientRequest, Event},
    messages::share_fetch::PartitionData,
    wire::ErrorCode,
};

// Mutation: protocol/src/machine/share_consumer/schedule.rs
// - MembershipEvent::CoordinatorLost => self.coordinator.lost(now),
// + MembershipEvent::CoordinatorLost => {}
#[test]
fn row_28_a_leave_is_sent_again_to_the_new_coordinator() {
    let mut rig = Rig::joined(&[1]);
    let fetch = rig.take_session(1);
    rig.respond(&fetch, fetched(vec![]));
    rig.sleep(ms(20));
    rig.close();
    let leave = rig.take_heartbeat();
    assert_eq!(leave.heartbeat().member_epoch, -1);
    rig.respond(&leave, heartbeat_error(ErrorCode::NOT_COORDINATOR));
    let at = rig.sent.iter().position(|sent| matches!(sent.request, ClientRequest::FindCoordinator(_))).unwrap();
    let find = rig.sent.remove(at).unwrap();
    let moved = rig.coordinator(3);
    rig.respond(&find, moved);
    let leave = rig.take_heartbeat();
    assert_eq!(leave.heartbeat().member_epoch, -1);
    assert!(matches!(&leave.to, crate::machine::Destination::Coordinator(address) if address.node == 3));
    rig.respond(&leave, heartbeat_error(ErrorCode::UNKNOWN_MEMBER_ID));
    assert!(matches!(rig.events.last(), Some(Event::Closed)), "a member that is not known has left");
}

// Mutation: protocol/src/machine/membership.rs
// - self.state = if rejoin { self.join() } else { self.left() };
// + self.state = self.left();
#[test]
fn row_27_a_leave_that_is_answered_after_the_next_subscribe_does_not_spoil_the_join() {
    let mut rig = Rig::joined(&[1]);
    rig.subscribe(&[]);
    let leave = rig.take_heartbeat();
    assert_eq!(leave.heartbeat().member_epoch, -1);
    rig.subscribe(&["topic"]);
    rig.sleep(ms(200));
    assert!(rig.try_heartbeat().is_none(), "one heartbeat at a time");
    rig.respond(&leave, heartbeat(-1, None));
    let join = rig.take_heartbeat();
    assert_eq!(join.heartbeat().member_epoch, 0);
    assert_eq!(join.heartbeat().subscribed_topic_names, Some(vec!["topic".into()]));
    rig.respond(&join, heartbeat(7, None));
    rig.sleep(ms(300));
    assert_eq!(rig.take_heartbeat().heartbeat().member_epoch, 7);
}

// Mutation: protocol/src/machine/membership.rs
// - (State::Leaving { .. }, ErrorCode::NONE) if response.member_epoch >= 0 => {
// + (State::Leaving { .. }, ErrorCode::NONE) if false => {
#[test]
fn row_27_a_heartbeat_that_is_answered_after_the_unsubscribe_does_not_keep_the_member() {
    let mut rig = Rig::joined(&[1]);
    rig.sleep(ms(5_000));
    let stale = rig.take_heartbeat();
    rig.subscribe(&[]);
    rig.respond(&stale, heartbeat(2, Some(&[(TOPIC, &[0])])));
    assert_eq!(rig.last_assignment(), Some(vec![]));
    assert_eq!(rig.take_heartbeat().heartbeat().member_epoch, -1);
}

#[test]
fn unsubscribing_ends_the_sessions_and_loses_what_is_undecided() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 9);
    let session = rig.take().session;
    let decided = rig.acknowledge(session, partition(0), &[accept(0, 4)]);
    let fetch = rig.take_session(1);
    rig.subscribe(&[]);
    rig.answer_well(&fetch);
    assert_eq!(rig.result(decided), Ok(()));
    let end = rig.take_session(1);
    assert_eq!(end.epoch(), -1);
    rig.answer_well(&end);
    assert_eq!(rig.lost_sessions(), [(session, ErrorCode::SHARE_SESSION_NOT_FOUND)]);
    let late = rig.acknowledge(session, partition(0), &[accept(5, 9)]);
    assert_eq!(rig.result(late), Err(ErrorCode::SHARE_SESSION_NOT_FOUND));
    rig.sleep(ms(1_000));
    assert!(rig.try_session(1).is_none());
}

#[test]
fn what_a_fetch_acquires_after_unsubscribing_is_left_to_the_end_of_the_session() {
    let mut rig = Rig::joined(&[1]);
    let fetch = rig.take_session(1);
    rig.subscribe(&[]);
    rig.respond(&fetch, fetched(vec![acquired(0, 0, 9)]));
    assert!(rig.acquisitions().is_empty());
    let end = rig.take_session(1);
    assert_eq!((end.epoch(), end.acks()), (-1, vec![]));
}

// Mutation: protocol/src/machine/share_consumer/responses.rs
// - let lists = |node: &&mut Node| node.session.lists(topic_partition);
// + let lists = |node: &&mut Node| node.session.lists(topic_partition) && !node.ending;
#[test]
fn a_word_that_was_refused_is_not_said_again_of_records_that_are_acquired_anew_while_leaving() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 9);
    let session = rig.take().session;
    rig.sleep(ms(10));
    let fetch = rig.take_session(1);
    let word = rig.acknowledge(session, partition(0), &[accept(0, 9)]);
    rig.sleep(ms(20));
    rig.respond(&fetch, fetched(vec![]));
    let fetch = rig.take_session(1);
    assert_eq!(fetch.acks(), [(0, 0, 9, vec![1])]);
    rig.close();
    let acknowledge_error_code = ErrorCode::INVALID_RECORD_STATE;
    rig.respond(&fetch, fetched(vec![PartitionData { acknowledge_error_code, ..acquired(0, 0, 9) }]));
    assert_eq!(rig.result(word), Err(ErrorCode::INVALID_RECORD_STATE));
    let end = rig.take_session(1);
    assert_eq!((end.epoch(), end.acks()), (-1, vec![]));
}

// Mutation: protocol/src/machine/ack_ledger/partition.rs
// - if self.isolation.is_some() && self.in_flight.is_empty() && !self.has_to_send() {
// + if false {
#[test]
fn a_renewal_that_waits_for_its_retry_when_the_member_leaves_fails_though_nothing_else_is_sent() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 9);
    let session = rig.take().session;
    rig.sleep(ms(10));
    let fetch = rig.take_session(1);
    let renewal = rig.acknowledge(session, partition(0), &[range(0, 9, AckType::Renew)]);
    rig.respond(&fetch, fetched(vec![]));
    let request = rig.take_session(1);
    rig.respond(&request, acked(&[(0, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS)]));
    rig.close();
    assert_eq!(rig.result(renewal), Err(ErrorCode::SHARE_SESSION_NOT_FOUND));
    let end = rig.take_session(1);
    assert_eq!((end.epoch(), end.acks()), (-1, vec![]));
}

// Mutation: protocol/src/machine/share_consumer/schedule.rs
// - true => node.ledger.take_last(now, ErrorCode::SHARE_SESSION_NOT_FOUND),
// + true => Vec::new(),
#[test]
fn row_18_what_was_decided_before_the_close_goes_out_with_the_end_of_the_session() {
    let mut rig = Rig::joined(&[1, 2]);
    rig.deliver(1, 0, 0, 4);
    rig.deliver(2, 1, 0, 4);
    let first = rig.take();
    rig.taken(5);
    let second = rig.acquisitions()[1].clone();
    for node in [1, 2] {
        if let Some(fetch) = rig.try_session(node) {
            rig.respond(&fetch, fetched(vec![]));
        }
    }
    let acks = [
        rig.acknowledge(first.session, partition(0), &[accept(0, 2)]),
        rig.acknowledge(second.session, partition(1), &[range(0, 4, AckType::Release)]),
    ];
    for node in [1, 2] {
        if let Some(fetch) = rig.try_session(node) {
            rig.respond(&fetch, fetched(vec![PartitionData { partition_index: node - 1, ..Default::default() }]));
        }
    }
    let undecided = rig.acknowledge(first.session, partition(0), &[accept(3, 3)]);
    rig.close();
    let ends = [rig.take_session(1), rig.take_session(2)];
    assert!(ends.iter().all(|end| end.epoch() == -1), "{ends:?}");
    assert!(rig.try_heartbeat().is_none(), "the member leaves after its sessions");
    rig.respond(&ends[0], acked(&[(0, ErrorCode::NONE)]));
    rig.respond(&ends[1], acked(&[(1, ErrorCode::NONE)]));
    let leave = rig.take_heartbeat();
    assert_eq!(leave.heartbeat().member_epoch, -1);
    assert!(!rig.events.iter().any(|event| matches!(event, Event::Closed)));
    rig.respond(&leave, heartbeat(-1, None));
    assert!(matches!(rig.events.last(), Some(Event::Closed)));
    acks.iter().for_each(|id| assert_eq!(rig.results(*id).len(), 1));
    assert_eq!(rig.result(undecided), Ok(()));
    let late = rig.acknowledge(first.session, partition(0), &[accept(4, 4)]);
    assert_eq!(rig.result(late), Err(ErrorCode::SHARE_SESSION_NOT_FOUND));
}

#[test]
fn closing_does_not_wait_for_a_fetch_that_an_idle_broker_holds() {
    let mut rig = Rig::joined(&[1]);
    let fetch = rig.take_session(1);
    assert_eq!(fetch.fetch().max_wait_ms, 500);
    rig.respond(&fetch, fetched(vec![]));
    rig.sleep(ms(20));
    let idle = rig.take_session(1);
    assert_eq!(idle.fetch().max_wait_ms, 500);
    rig.close();
    let leave = rig.take_heartbeat();
    rig.respond(&leave, heartbeat(-1, None));
    assert!(matches!(rig.events.last(), Some(Event::Closed)));
    rig.respond(&idle, fetched(vec![acquired(0, 0, 4)]));
    assert!(rig.acquisitions().is_empty());
}

#[test]
fn who_subscribes_again_while_a_session_ends_opens_the_next_one_at_once() {
    let mut rig = Rig::joined(&[1]);
    let opening = rig.take_session(1);
    rig.answer_well(&opening);
    rig.sleep(ms(30));
    let fetch = rig.take_session(1);
    rig.subscribe(&[]);
    rig.subscribe(&["topic"]);
    let leave = rig.take_heartbeat();
    rig.respond(&leave, heartbeat(-1, None));
    rig.join(1);
    rig.answer_group();
    rig.answer_well(&fetch);
    let end = rig.take_session(1);
    assert_eq!(end.epoch(), -1);
    rig.answer_well(&end);
    assert_eq!(rig.take_session(1).epoch(), 0);
}
