//! Membership: joining, leaving, being fenced, not polling; and what the application hears of it.

use super::{rig::*, script::*};
use crate::{
    machine::{ClientRequest, ClientResponse, Event, MachineErrorKind, RequestFailure},
    messages::find_coordinator::FindCoordinatorResponse,
    wire::ErrorCode,
};

#[test]
fn a_new_member_finds_its_coordinator_joins_and_fetches_from_each_leader() {
    let mut rig = Rig::joined(&[1, 2]);
    for (node, index) in [(1, 0), (2, 1)] {
        let fetch = rig.take_session(node);
        assert_eq!(fetch.epoch(), 0);
        assert_eq!(fetch.fetch().topics[0].topic_id, TOPIC);
        assert_eq!(fetch.fetch().topics[0].partitions[0].partition_index, index);
        assert_eq!(fetch.fetch().max_wait_ms, 500);
    }
    let assigned: Vec<_> =
        rig.last_assignment().unwrap().into_iter().map(|(topic, id)| (topic.to_string(), id)).collect();
    assert_eq!(assigned, [("topic".into(), partition(0)), ("topic".into(), partition(1))]);
}

#[test]
fn nothing_is_acquired_before_the_first_poll() {
    let mut rig = Rig::new();
    rig.subscribe(&["topic"]);
    rig.answer_group();
    rig.join(1);
    rig.answer_group();
    rig.sleep(ms(2_000));
    assert!(rig.try_session(1).is_none());
    rig.polled();
    rig.take_session(1);
}

// Mutation: protocol/src/machine/membership.rs
// - rack_id: self.rack.clone().filter(|_| tell_all),
// + rack_id: self.rack.clone(),
#[test]
fn row_74_subscription_and_rack_are_told_on_joining_and_changes_and_after_a_rejoin_only() {
    let mut rig = Rig::with(|options| options.client_rack = Some("r1".into()));
    rig.subscribe(&["topic"]);
    rig.answer_group();
    let join = rig.take_heartbeat();
    let told = |sent: &Sent| (sent.heartbeat().rack_id.clone(), sent.heartbeat().subscribed_topic_names.clone());
    assert_eq!(told(&join), (Some("r1".into()), Some(vec!["topic".into()])));
    rig.respond(&join, heartbeat(1, Some(&[(TOPIC, &[0])])));
    for epoch in 1..4 {
        rig.sleep(ms(5_000));
        let next = rig.take_heartbeat();
        assert_eq!((next.heartbeat().member_epoch, told(&next)), (epoch, (None, None)));
        rig.respond(&next, heartbeat(epoch + 1, Some(&[(TOPIC, &[epoch])])));
    }
    rig.subscribe(&["topic", "other"]);
    let changed = rig.take_heartbeat();
    assert_eq!(changed.heartbeat().member_epoch, 4);
    assert_eq!(told(&changed), (Some("r1".into()), Some(vec!["other".into(), "topic".into()])));
    rig.respond(&changed, heartbeat_error(ErrorCode::FENCED_MEMBER_EPOCH));
    let rejoin = rig.take_heartbeat();
    assert_eq!(rejoin.heartbeat().member_epoch, 0);
    assert_eq!(told(&rejoin), (Some("r1".into()), Some(vec!["other".into(), "topic".into()])));
}

// Mutation: protocol/src/machine/membership.rs
// - self.tell_all |= rises && response.assignment.is_none();
// +
#[test]
fn an_assignment_that_may_have_been_told_to_somebody_else_is_asked_for_once() {
    let mut rig = Rig::new();
    rig.subscribe(&["topic"]);
    rig.answer_group();
    let join = rig.take_heartbeat();
    rig.respond(&join, heartbeat(1, Some(&[(TOPIC, &[0])])));
    let mut told = Vec::new();
    for _ in 0..4 {
        rig.sleep(ms(5_000));
        let next = rig.take_heartbeat();
        told.push(next.heartbeat().subscribed_topic_names.is_some());
        rig.respond(&next, heartbeat(2, None));
    }
    assert_eq!(told, [false, true, false, false]);
}

// Mutation: protocol/src/machine/share_consumer/schedule.rs
// - let Some(leader) = self.metadata.leader(*partition) else { continue };
// + let Some(leader) = self.metadata.leader(*partition).map(|_| 1) else { continue };
#[test]
fn row_74_share_fetches_go_to_the_leader_whatever_the_rack() {
    let mut rig = Rig::joined_with(&[2], |options| options.client_rack = Some("r1".into()));
    rig.take_session(2);
    assert!(rig.try_session(1).is_none());
}

#[test]
fn the_member_heartbeats_every_250_ms_while_it_has_no_assignment() {
    let mut rig = Rig::new();
    rig.subscribe(&["topic"]);
    rig.answer_group();
    let join = rig.take_heartbeat();
    rig.respond(&join, heartbeat(1, Some(&[])));
    for epoch in 1..5 {
        rig.sleep(ms(249));
        assert!(rig.try_heartbeat().is_none());
        rig.sleep(ms(1));
        let next = rig.take_heartbeat();
        rig.respond(&next, heartbeat(epoch, None));
    }
    rig.sleep(ms(250));
    let next = rig.take_heartbeat();
    rig.respond(&next, heartbeat(5, Some(&[(TOPIC, &[0])])));
    rig.sleep(ms(4_999));
    assert!(rig.try_heartbeat().is_none(), "with an assignment it is the broker's interval");
    rig.sleep(ms(1));
    rig.take_heartbeat();
}

// Mutation: protocol/src/machine/membership.rs
// - State::Stable(_) => self.state = self.join(),
// + State::Stable(_) => self.retry(now),
#[test]
fn row_28_a_fenced_or_forgotten_member_comes_back_with_its_id_and_epoch_zero_at_once() {
    for code in [ErrorCode::FENCED_MEMBER_EPOCH, ErrorCode::UNKNOWN_MEMBER_ID] {
        let mut rig = Rig::joined(&[1]);
        rig.sleep(ms(5_000));
        let next = rig.take_heartbeat();
        rig.respond(&next, heartbeat_error(code));
        assert_eq!(rig.last_assignment(), Some(vec![]));
        let rejoin = rig.take_heartbeat();
        assert_eq!(rejoin.at, rig.now);
        assert_eq!((rejoin.heartbeat().member_epoch, rejoin.heartbeat().member_id.as_str()), (0, "member"));
        assert!(rejoin.heartbeat().subscribed_topic_names.is_some());
        // Fenced again while it joins: no loop.
        rig.respond(&rejoin, heartbeat_error(code));
        assert!(rig.try_heartbeat().is_none());
        rig.sleep(ms(150));
        rig.take_heartbeat();
    }
}

// Mutation: protocol/src/machine/share_consumer/schedule.rs
// - if self.phase != Phase::Active || !self.membership.is_member() {
// + if true {
#[test]
fn row_35_a_member_whose_application_does_not_poll_leaves_and_comes_back_at_the_next_poll() {
    let mut rig = Rig::joined_with(&[1], |options| options.max_poll_interval = ms(500));
    rig.deliver(1, 0, 0, 9);
    let session = rig.take().session;
    let decided = rig.acknowledge(session, partition(0), &[accept(0, 0)]);
    rig.pass(ms(499));
    assert_eq!(rig.result(decided), Ok(()));
    assert!(rig.errors().is_empty());
    // Neither acknowledging nor committing counts as a poll.
    rig.commit();
    rig.pass(ms(50));
    assert!(matches!(rig.errors()[0].kind, MachineErrorKind::PollInterval { .. }) && !rig.errors()[0].fatal);
    let leave = rig.take_heartbeat();
    assert_eq!(leave.heartbeat().member_epoch, -1);
    rig.respond(&leave, heartbeat(-1, None));
    assert!(rig.log.iter().any(|sent| sent.node() == Some(1) && sent.epoch() == -1));
    let late = rig.acknowledge(session, partition(0), &[accept(1, 9)]);
    assert_eq!(rig.result(late), Err(ErrorCode::SHARE_SESSION_NOT_FOUND));
    rig.pass(ms(2_000));
    assert!(rig.try_session(1).is_none() && rig.try_heartbeat().is_none());

    rig.polled();
    let join = rig.take_heartbeat();
    assert_eq!(join.heartbeat().member_epoch, 0);
    rig.respond(&join, heartbeat(3, Some(&[(TOPIC, &[0])])));
    rig.answer_group();
    assert_eq!(rig.take_session(1).epoch(), 0);
}

// Mutation: protocol/src/machine/share_consumer/schedule.rs
// - match self.membership.poll(now, known) {
// + match self.membership.poll(now, known && self.demand.last_taken().is_none()) {
#[test]
fn row_35_a_busy_handler_does_not_hold_heartbeats_back() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 499);
    rig.take();
    let begun = rig.now;
    for epoch in 1..10 {
        rig.pass(ms(5_001));
        let next = rig.take_heartbeat();
        assert!(next.heartbeat().member_epoch > 0, "it has left");
        rig.respond(&next, heartbeat(epoch, None));
    }
    assert!(rig.now > begun + ms(45_000));
}

#[test]
fn a_cluster_without_share_groups_is_one_clear_fatal_error() {
    let by_heartbeat = |rig: &mut Rig| {
        let join = rig.take_heartbeat();
        rig.respond(&join, heartbeat_error(ErrorCode::UNSUPPORTED_VERSION));
    };
    let by_api = |rig: &mut Rig| {
        let join = rig.take_heartbeat();
        rig.fail(&join, RequestFailure::UnsupportedVersion(Some(1)));
    };
    let by_feature = |rig: &mut Rig| {
        rig.machine.handle_share_version(rig.now, Some(0));
        rig.machine.handle_share_version(rig.now, None);
        rig.drain();
    };
    let ways: [&dyn Fn(&mut Rig); 3] = [&by_heartbeat, &by_api, &by_feature];
    for way in ways {
        let mut rig = Rig::new();
        rig.subscribe(&["topic"]);
        rig.answer_group();
        way(&mut rig);
        rig.sleep(ms(60_000));
        let errors = rig.errors();
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].fatal && errors[0].to_string().contains("share.version"), "{}", errors[0]);
        let heartbeats = rig.log.iter().filter(|sent| matches!(sent.request, ClientRequest::Heartbeat(_))).count();
        assert_eq!(heartbeats, 1);
        rig.close();
        assert!(matches!(rig.events.last(), Some(Event::Closed)));
    }
}

#[test]
fn errors_that_no_retry_heals_end_the_membership() {
    for (code, text) in [
        (ErrorCode::GROUP_AUTHORIZATION_FAILED, "not authorized for group group"),
        (ErrorCode::INVALID_REQUEST, "INVALID_REQUEST"),
        (ErrorCode::GROUP_ID_NOT_FOUND, "use another group.id"),
        (ErrorCode(999), "error code 999"),
    ] {
        let mut rig = Rig::new();
        rig.subscribe(&["topic"]);
        rig.answer_group();
        let join = rig.take_heartbeat();
        rig.respond(&join, heartbeat_error(code));
        rig.sleep(ms(10_000));
        assert!(rig.try_heartbeat().is_none());
        let errors = rig.errors();
        assert!(errors.len() == 1 && errors[0].fatal && errors[0].to_string().contains(text), "{errors:?}");
    }
}

#[test]
fn a_full_group_is_told_once_a_spell_and_the_member_gets_in_when_another_one_leaves() {
    let mut rig = Rig::new();
    rig.subscribe(&["topic"]);
    rig.answer_group();
    for spell in 1..=2 {
        let mut pauses = Vec::new();
        for _ in 0..6 {
            let before = rig.now;
            while rig.try_heartbeat().is_none_or(|join| {
                rig.respond(&join, heartbeat_error(ErrorCode::GROUP_MAX_SIZE_REACHED));
                false
            }) {
                rig.sleep(ms(10));
            }
            pauses.push(rig.now - before);
        }
        assert!(pauses[1] >= ms(70) && pauses[5] >= ms(700), "{pauses:?}");
        let errors = rig.errors();
        assert_eq!(errors.len(), spell, "{errors:?}");
        assert!(!errors[spell - 1].fatal);
        let text = errors[spell - 1].to_string();
        assert!(text.contains("group group (group.id) is full") && text.contains("group.share.max.size"), "{text}");
        // Someone has left.
        rig.sleep(ms(1_300));
        rig.join(spell as i32);
        assert_eq!(rig.last_assignment().map(|partitions| partitions.len()), Some(1));
        // The group has forgotten the member, and is full again.
        rig.sleep(ms(5_000));
        let next = rig.take_heartbeat();
        rig.respond(&next, heartbeat_error(ErrorCode::UNKNOWN_MEMBER_ID));
    }
}

#[test]
fn a_topic_that_may_not_be_described_is_told_once_and_the_member_keeps_trying() {
    let mut rig = Rig::new();
    rig.subscribe(&["topic"]);
    rig.answer_group();
    for _ in 0..5 {
        rig.sleep(ms(1_300));
        let join = rig.take_heartbeat();
        rig.respond(&join, heartbeat_error(ErrorCode::TOPIC_AUTHORIZATION_FAILED));
    }
    let errors = rig.errors();
    assert!(errors.len() == 1 && !errors[0].fatal, "{errors:?}");
}

#[test]
fn a_coordinator_that_loads_is_asked_again_after_a_backoff() {
    let mut rig = Rig::new();
    rig.subscribe(&["topic"]);
    rig.answer_group();
    let begun = rig.now;
    let mut heartbeats = 0;
    while rig.now < begun + ms(2_000) {
        if let Some(next) = rig.try_heartbeat() {
            heartbeats += 1;
            rig.respond(&next, heartbeat_error(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS));
        }
        rig.sleep(ms(1));
    }
    assert!((3..=10).contains(&heartbeats), "{heartbeats}");
    assert!(rig.errors().is_empty());
}

#[test]
fn a_broker_that_names_itself_and_declines_is_not_asked_in_a_loop() {
    let mut rig = Rig::new();
    rig.subscribe(&["topic"]);
    let begun = rig.now;
    while rig.now < begun + ms(2_000) {
        rig.answer_group();
        while let Some(next) = rig.try_heartbeat() {
            rig.respond(&next, heartbeat_error(ErrorCode::NOT_COORDINATOR));
        }
        rig.sleep(ms(1));
    }
    let heartbeats = rig.log.iter().filter(|sent| matches!(sent.request, ClientRequest::Heartbeat(_))).count();
    assert!((3..=10).contains(&heartbeats), "{heartbeats}");
}

#[test]
fn a_coordinator_that_cannot_be_reached_is_looked_for_again() {
    let mut rig = Rig::joined(&[1]);
    rig.sleep(ms(5_000));
    let lost = rig.take_heartbeat();
    rig.fail(&lost, RequestFailure::Disconnected);
    assert!(rig.sent.iter().any(|sent| matches!(sent.request, ClientRequest::FindCoordinator(_))));
    rig.answer_group();
    rig.sleep(ms(150));
    let next = rig.take_heartbeat();
    assert_eq!(next.heartbeat().member_epoch, 1, "the membership goes on");
    assert!(next.heartbeat().subscribed_topic_names.is_some(), "what arrived is not known");
}

#[test]
fn a_coordinator_lookup_that_fails_for_now_is_tried_again_and_an_authorization_error_is_fatal() {
    let mut rig = Rig::new();
    rig.subscribe(&["topic"]);
    let answer = |rig: &mut Rig, code| {
        let at = rig.sent.iter().position(|sent| matches!(sent.request, ClientRequest::FindCoordinator(_))).unwrap();
        let find = rig.sent.remove(at).unwrap();
        let response = FindCoordinatorResponse { error_code: code, ..Default::default() };
        rig.respond(&find, ClientResponse::FindCoordinator(response));
    };
    answer(&mut rig, ErrorCode::COORDINATOR_NOT_AVAILABLE);
    rig.sleep(ms(150));
    answer(&mut rig, ErrorCode::GROUP_AUTHORIZATION_FAILED);
    assert!(rig.errors().len() == 1 && rig.errors()[0].fatal);
}

// Mutation: protocol/src/machine/membership.rs
// - if is_new && self.assignment.is_empty() {
// + if self.assignment.is_empty() {
#[test]
fn a_member_for_which_there_is_no_partition_asks_often_only_while_it_is_new() {
    let mut rig = Rig::new();
    rig.subscribe(&["topic"]);
    rig.answer_group();
    for topics in [vec!["topic"], vec!["topic", "other"]] {
        rig.subscribe(&topics);
        let mut heartbeats = [0; 2];
        for part in [0, 1] {
            for _ in 0..3_000 {
                rig.polled();
                while let Some(sent) = rig.try_heartbeat() {
                    heartbeats[part] += 1;
                    rig.respond(&sent, heartbeat(1, Some(&[])));
                }
                rig.answer_group();
                rig.sleep(ms(10));
            }
        }
        let [new, old] = heartbeats;
        assert!((40..=50).contains(&new) && (6..=7).contains(&old), "{heartbeats:?}");
    }
}
