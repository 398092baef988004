//! Leaders that move, topics that go, brokers that fail.

use std::collections::BTreeSet;

use super::{rig::*, script::*};
use crate::{
    machine::{ClientRequest, Event, RequestFailure},
    messages::share_fetch::PartitionData,
    wire::{ErrorCode, Uuid},
};

fn forgotten(sent: &Sent) -> Vec<i32> {
    sent.fetch().forgotten_topics_data.iter().flat_map(|topic| topic.partitions.clone()).collect()
}

fn listed(sent: &Sent) -> Vec<i32> {
    let topics = sent.fetch().topics.iter();
    topics.flat_map(|topic| topic.partitions.iter().map(|partition| partition.partition_index)).collect()
}

// Mutation: protocol/src/machine/share_consumer/schedule.rs
// - node.ledger.fail_partition(topic_partition, error);
// +
#[test]
fn row_03_acknowledgements_for_a_leader_that_moved_fail_here_and_are_sent_to_nobody() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 9);
    let session = rig.take().session;
    rig.sleep(ms(10));
    let fetch = rig.take_session(1);
    let waiting = rig.acknowledge(session, partition(0), &[accept(0, 4)]);
    rig.respond(&fetch, moved_to(0, 2, 6));
    assert_eq!(rig.result(waiting), Err(ErrorCode::NOT_LEADER_OR_FOLLOWER));
    assert!(rig.events.iter().any(|event| matches!(event,
        Event::PartitionLost { topic_partition, error: ErrorCode::NOT_LEADER_OR_FOLLOWER, .. } if *topic_partition == partition(0))));
    let late = rig.acknowledge(session, partition(0), &[accept(5, 9)]);
    assert_eq!(rig.result(late), Err(ErrorCode::NOT_LEADER_OR_FOLLOWER));
    rig.pass(ms(100));
    assert!(rig.log.iter().all(|sent| sent.acks().is_empty()), "an acknowledgement was sent");
    assert!(rig.log.iter().any(|sent| sent.node() == Some(2) && sent.epoch() == 0), "refetched from the new leader");
}

// Mutation: protocol/src/machine/share_consumer/schedule.rs
// - self.lose_moved_partitions();
// +
#[test]
fn row_03_a_leader_that_only_metadata_tells_of_is_told_nothing_of_what_the_old_one_acquired() {
    let mut rig = Rig::joined_with(&[1], |options| options.metadata_max_age = ms(10_000));
    rig.deliver(1, 0, 0, 9);
    let session = rig.take().session;
    (rig.leaders, rig.leader_epoch) = (vec![2], 6);
    rig.sleep(ms(10_001));
    rig.answer_group();
    assert!(rig.events.iter().any(|event| matches!(event,
        Event::PartitionLost { topic_partition, error: ErrorCode::NOT_LEADER_OR_FOLLOWER, .. } if *topic_partition == partition(0))));
    let late = rig.acknowledge(session, partition(0), &[accept(0, 9)]);
    assert_eq!(rig.result(late), Err(ErrorCode::NOT_LEADER_OR_FOLLOWER));
    rig.polled();
    rig.pass(ms(1_000));
    assert!(rig.log.iter().all(|sent| sent.acks().is_empty()), "an acknowledgement was sent");
    assert!(rig.log.iter().any(|sent| sent.node() == Some(2) && sent.epoch() == 0), "refetched from the new leader");
}

// Mutation: protocol/src/machine/share_consumer/node.rs
// - || self.has_acks_of_others(now)
// +
#[test]
fn row_05_a_revoked_partition_is_forgotten_and_its_acknowledgement_does_not_bring_it_back() {
    let mut rig = Rig::joined(&[1, 1]);
    let fetch = rig.take_session(1);
    rig.respond(&fetch, fetched(vec![acquired(0, 0, 4)]));
    let session = rig.take().session;
    rig.pass(ms(5_000));
    let next = rig.take_heartbeat();
    rig.respond(&next, heartbeat(2, Some(&[(TOPIC, &[1])])));
    rig.pass(ms(50));
    // A fetch is wanted, on which it could ride.
    rig.polled();
    let ack = rig.acknowledge(session, partition(0), &[accept(0, 4)]);
    rig.pass(ms(500));
    assert_eq!(rig.result(ack), Ok(()));
    // What the broker takes for part of the session, after every fetch.
    let mut members = BTreeSet::new();
    let mut is_forgotten = false;
    for sent in rig.log.iter().filter(|sent| matches!(sent.request, ClientRequest::ShareFetch(_))) {
        members.extend(listed(sent));
        forgotten(sent).iter().for_each(|index| _ = members.remove(index));
        is_forgotten |= forgotten(sent).contains(&0);
        assert!(!is_forgotten || !members.contains(&0), "it is back: {sent:?}");
    }
    assert_eq!(members, [1].into());
    assert_eq!(rig.log.iter().filter(|sent| sent.node() == Some(1) && sent.epoch() == 0).count(), 1);
}

// Mutation: protocol/src/machine/share_consumer/responses.rs
// - if leader != node_id && self.metadata.hint(topic_partition, leader, epoch) {
// + if false {
#[test]
fn row_24_a_leader_hint_is_followed_at_once_and_the_old_node_forgets_the_partition() {
    let mut rig = Rig::joined(&[1, 1]);
    let refreshes = rig.log.len();
    let fetch = rig.take_session(1);
    rig.respond(&fetch, moved_to(0, 2, 6));
    let new = rig.take_session(2);
    assert_eq!((new.at, listed(&new)), (rig.now, vec![0]));
    let old = rig.take_session(1);
    assert_eq!((forgotten(&old), listed(&old)), (vec![0], vec![]));
    let asked = rig.log[refreshes..].iter().filter(|sent| matches!(sent.request, ClientRequest::Metadata(_))).count();
    assert_eq!(asked, 0, "no metadata is needed");
    // Metadata of a broker that lags does not undo it.
    rig.respond(&new, fetched(vec![]));
    rig.sleep(ms(300_001));
    rig.answer_group();
    rig.pass(ms(1_000));
    assert!(rig.log.iter().filter(|sent| sent.node() == Some(1)).skip(1).all(|sent| !listed(sent).contains(&0)));
}

// Mutation: protocol/src/machine/share_consumer/node.rs
// - if self.session.wanted().is_empty() && self.ledger.is_empty() {
// + if false {
#[test]
fn row_24_a_node_that_leads_nothing_any_more_is_left() {
    let mut rig = Rig::joined(&[1]);
    let fetch = rig.take_session(1);
    rig.respond(&fetch, moved_to(0, 2, 6));
    let end = rig.take_session(1);
    assert_eq!(end.epoch(), -1);
    rig.answer_well(&end);
    rig.pass(ms(2_000));
    let fetches = rig.log.iter().filter(|sent| sent.node() == Some(1)).count();
    assert_eq!(fetches, 2);
}

// Mutation: protocol/src/machine/share_consumer/node.rs
// - self.not_before = Some(now + self.backoff.next_delay());
// + self.not_before = Some(now + self.backoff.next_delay() / 1_000);
#[test]
fn row_23_an_error_of_the_whole_request_that_stays_makes_no_loop_and_is_told_once() {
    let mut rig = Rig::joined(&[1]);
    let begun = rig.now;
    let mut requests = 0;
    while rig.now < begun + ms(2_000) {
        if let Some(fetch) = rig.try_session(1) {
            requests += 1;
            rig.respond(&fetch, fetch_error(ErrorCode::GROUP_AUTHORIZATION_FAILED));
        }
        rig.sleep(ms(1));
    }
    assert!((3..=10).contains(&requests), "{requests}");
    assert!(rig.errors().len() == 1 && rig.errors()[0].to_string().contains("group"), "{:?}", rig.errors());
}

// Mutation: protocol/src/machine/metadata.rs
// - Urgency::Now => now,
// + Urgency::Now => now + self.max_age,
#[test]
fn row_23_a_leader_that_is_lost_without_a_hint_is_looked_up_at_once_and_found_within_a_second() {
    for code in [ErrorCode::NOT_LEADER_OR_FOLLOWER, ErrorCode::FENCED_LEADER_EPOCH, ErrorCode::KAFKA_STORAGE_ERROR] {
        let mut rig = Rig::joined(&[1]);
        rig.pass(ms(1_000));
        let fetch = rig.take_session(1);
        rig.respond(&fetch, fetched(vec![partition_error(0, code)]));
        let refresh = rig.sent.iter().find(|sent| matches!(sent.request, ClientRequest::Metadata(_))).unwrap();
        assert_eq!(refresh.at, rig.now);
        let refuse = |rig: &mut Rig| match rig.try_session(1) {
            Some(sent) if matches!(sent.request, ClientRequest::ShareFetch(_)) => {
                rig.respond(&sent, fetched(vec![partition_error(0, code)]));
            }
            Some(sent) => rig.answer_well(&sent),
            None => {}
        };
        // Metadata is stale for a while, then right.
        let moved_at = rig.now + ms(3_000);
        while rig.now < moved_at {
            rig.answer_group();
            refuse(&mut rig);
            rig.pass(ms(10));
        }
        let requests = rig.log.iter().filter(|sent| matches!(sent.request, ClientRequest::Metadata(_))).count();
        assert!(requests < 15, "{requests} metadata requests in 3 s");
        (rig.leaders, rig.leader_epoch) = (vec![2], 6);
        while rig.try_session(2).is_none() {
            rig.answer_group();
            refuse(&mut rig);
            rig.pass(ms(10));
            assert!(rig.now < moved_at + ms(1_000), "{code:?} not healed");
        }
    }
}

// Mutation: protocol/src/machine/metadata.rs
// - Urgency::Debounced => now + DEBOUNCE,
// + Urgency::Debounced => now,
#[test]
fn row_23_a_topic_that_seems_to_be_gone_is_looked_up_a_moment_later() {
    for code in [ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, ErrorCode::UNKNOWN_TOPIC_ID] {
        let mut rig = Rig::joined(&[1]);
        rig.pass(ms(1_000));
        let fetch = rig.take_session(1);
        rig.respond(&fetch, fetched(vec![partition_error(0, code)]));
        assert!(rig.sent.iter().all(|sent| !matches!(sent.request, ClientRequest::Metadata(_))));
        rig.sleep(ms(250));
        assert!(rig.sent.iter().any(|sent| matches!(sent.request, ClientRequest::Metadata(_))));
    }
}

// Mutation: protocol/src/machine/share_consumer/node.rs
// - self.not_before = Some(now + self.backoff.next_delay());
// + self.not_before = Some(now + self.backoff.next_delay() / 1_000);
#[test]
fn row_23_a_broker_that_cannot_be_reached_is_tried_with_backoff_while_metadata_is_asked() {
    let mut rig = Rig::joined(&[1, 2]);
    let begun = rig.now;
    let mut attempts = 0;
    while rig.now < begun + ms(2_000) {
        if let Some(fetch) = rig.try_session(1) {
            attempts += 1;
            rig.fail(&fetch, RequestFailure::Unreachable);
        }
        rig.answer_group();
        if let Some(fetch) = rig.try_session(2) {
            rig.answer_well(&fetch);
        }
        rig.sleep(ms(1));
    }
    assert!((3..=10).contains(&attempts), "{attempts}");
    let served = rig.log.iter().filter(|sent| sent.node() == Some(2)).count();
    assert!(served > 10, "the other broker goes on");
    let refreshes = rig.log.iter().filter(|sent| matches!(sent.request, ClientRequest::Metadata(_))).count();
    assert!((3..=15).contains(&refreshes), "{refreshes}");
}

// Mutation: protocol/src/machine/share_consumer/responses.rs
// - if is_unreadable && !std::mem::replace(&mut lost.unreadable, true) {
// + if is_unreadable {
#[test]
fn row_32_answers_that_cannot_be_read_are_told_once_and_make_no_loop() {
    let mut rig = Rig::joined(&[1]);
    let begun = rig.now;
    let mut fetches = 0;
    // Long enough for the partition to be tried again.
    while rig.now < begun + ms(100_000) {
        rig.polled();
        if let Some(fetch) = rig.try_session(1) {
            fetches += 1;
            // The one that opens the session is small enough.
            match fetch.epoch() {
                0 => rig.answer_well(&fetch),
                _ => rig.fail(&fetch, RequestFailure::Malformed),
            }
        }
        rig.answer_group();
        rig.sleep(ms(1));
    }
    // Each time the one that opens the session, and the one that fails.
    assert_eq!(fetches, 4);
    let errors = rig.errors();
    assert!(errors.len() == 1 && errors[0].to_string().contains("fetch.max.bytes") && !errors[0].fatal, "{errors:?}");
}

// Mutation: protocol/src/machine/share_consumer/unreadable.rs
// - pause.until = is_one.then(|| now + aside.next_delay());
// + pause.until = None;
#[test]
fn row_32_of_a_broker_whose_answer_cannot_be_read_the_partition_to_blame_is_found_and_left_alone_for_long() {
    let mut rig = Rig::joined(&[1, 1, 1]);
    let begun = rig.now;
    let mut session = BTreeSet::new();
    // When the unreadable partition was asked, with how many in all, and for how many records.
    let mut asked = Vec::new();
    let mut served = [0; 3];
    while rig.now < begun + ms(300_000) {
        while let Some(sent) = rig.try_session(1) {
            let records = match &sent.request {
                ClientRequest::ShareFetch(request) => request.max_records,
                _ => 0,
            };
            if records == 0 {
                rig.answer_well(&sent);
                continue;
            }
            if sent.epoch() == 0 {
                session.clear();
            }
            forgotten(&sent).iter().for_each(|index| _ = session.remove(index));
            session.extend(listed(&sent));
            if session.contains(&1) {
                asked.push((rig.now.duration_since(begun).as_secs(), session.len(), records));
                rig.fail(&sent, RequestFailure::Malformed);
            } else {
                session.iter().for_each(|index| served[*index as usize] += 1);
                rig.answer_well(&sent);
            }
        }
        rig.answer_group();
        if let Some(sent) = rig.try_heartbeat() {
            rig.respond(&sent, heartbeat(1, None));
        }
        rig.polled();
        rig.sleep(ms(100));
    }
    let [(0, 3, _), (1..=3, 1, 1), (45..=80, 1, 1), (140..=240, 1, 1)] = asked[..] else { panic!("{asked:?}") };
    assert!(served[0] > 1_000 && served[1] == 0 && served[2] > 1_000, "{served:?}");
    let errors = rig.errors();
    assert!(errors.len() <= 3 && errors.iter().all(|error| !error.fatal), "once a spell: {errors:?}");
}

#[test]
fn a_partition_that_can_be_read_after_all_is_fetched_with_the_others_again() {
    let mut rig = Rig::joined(&[1, 1]);
    let fetch = rig.take_session(1);
    rig.fail(&fetch, RequestFailure::Malformed);
    rig.answer_group();
    let mut alone = Vec::new();
    for _ in 0..2 {
        rig.sleep(ms(1_500));
        let fetch = rig.take_session(1);
        alone.push((listed(&fetch), fetch.fetch().max_records));
        rig.answer_well(&fetch);
        rig.answer_group();
    }
    assert_eq!(alone, [(vec![0], 1), (vec![1], 1)]);
    rig.sleep(ms(1_500));
    let fetch = rig.take_session(1);
    assert_eq!((listed(&fetch), forgotten(&fetch)), (vec![0], vec![]));
    assert!(fetch.fetch().max_records > 1);
}

#[test]
fn a_partition_with_an_error_does_not_hold_the_others_of_its_broker() {
    let mut rig = Rig::joined(&[1, 1]);
    let fetch = rig.take_session(1);
    rig.respond(&fetch, fetched(vec![partition_error(0, ErrorCode::TOPIC_AUTHORIZATION_FAILED), acquired(1, 0, 9)]));
    rig.take();
    rig.sleep(ms(10));
    let next = rig.take_session(1);
    assert_eq!((forgotten(&next), rig.acquisitions().len()), (vec![0], 1));
    let errors = rig.errors();
    assert!(errors.len() == 1 && errors[0].to_string().contains("topic topic"), "{errors:?}");
    rig.answer_well(&next);
    rig.pass(ms(200));
    assert!(
        rig.log.last().map(listed) == Some(vec![0]) || rig.log.iter().rev().take(10).any(|sent| listed(sent) == [0])
    );
}

// Mutation: protocol/src/machine/share_consumer/node.rs
// - self.not_before = Some(now + self.backoff.next_delay());
// + self.not_before = Some(now);
#[test]
fn row_33_a_broker_with_no_room_for_a_session_is_asked_again_and_holds_nobody_up() {
    let mut rig = Rig::joined(&[1, 2]);
    for _ in 0..2 {
        let fetch = rig.take_session(1);
        assert_eq!(fetch.epoch(), 0);
        rig.respond(&fetch, fetch_error(ErrorCode::SHARE_SESSION_LIMIT_REACHED));
        assert!(rig.try_session(1).is_none(), "no pause");
        let other = rig.take_session(2);
        rig.answer_well(&other);
        rig.sleep(ms(250));
    }
    let fetch = rig.take_session(1);
    assert_eq!(fetch.epoch(), 0);
    rig.respond(&fetch, fetched(vec![acquired(0, 0, 4)]));
    assert_eq!(rig.acquisitions().len(), 1);
    let errors = rig.errors();
    assert!(errors.len() == 1 && !errors[0].fatal, "told once a spell: {errors:?}");
    let text = errors[0].to_string();
    assert!(text.contains("broker h:9001 (node 1)") && text.contains("group.share.max.share.sessions"), "{text}");
}

// Mutation: protocol/src/machine/metadata.rs
// - .filter(|replaced| *replaced != id)
// + .filter(|_| false)
#[test]
fn row_26_a_topic_made_again_under_its_name_is_another_topic() {
    let old = TOPIC;
    let new = Uuid([2; 16]);
    for metadata_first in [true, false] {
        let mut rig = Rig::joined_with(&[1, 1], |options| options.max_poll_interval = ms(3_600_000));
        let fetch = rig.take_session(1);
        rig.respond(&fetch, fetched(vec![acquired(0, 0, 9)]));
        let session = rig.take().session;
        (rig.topic_id, rig.leaders) = (new, vec![1]);
        if metadata_first {
            rig.sleep(ms(300_000));
            rig.answer_group();
        }
        rig.sleep(ms(5_000));
        while let Some(next) = rig.try_heartbeat() {
            rig.respond(&next, heartbeat(2, Some(&[(new, &[0])])));
        }
        rig.answer_group();
        let late = rig.acknowledge(session, partition(0), &[accept(0, 9)]);
        assert_eq!(rig.results(late).len(), 1, "{:?}", rig.sent);
        if rig.now < rig.start + LOCK {
            assert_eq!(rig.result(late), Err(ErrorCode::UNKNOWN_TOPIC_ID));
        }
        for _ in 0..5 {
            rig.pass(ms(30));
        }
        let fetches: Vec<_> = rig
            .log
            .iter()
            .filter(|sent| matches!(sent.request, ClientRequest::ShareFetch(_)))
            .map(Sent::fetch)
            .collect();
        let is_forgotten =
            fetches.iter().any(|fetch| fetch.forgotten_topics_data.iter().any(|topic| topic.topic_id == old));
        let is_ended = rig.log.iter().any(|sent| sent.node() == Some(1) && sent.epoch() == -1);
        assert!(is_forgotten || is_ended);
        assert!(fetches.iter().any(|fetch| fetch.topics.iter().any(|topic| topic.topic_id == new)));
        let assigned = rig.last_assignment().unwrap();
        assert_eq!((assigned.len(), assigned[0].1.topic_id), (1, new));
    }
}

#[test]
fn a_fetch_after_a_leader_came_back_acknowledges_nothing_of_before() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 9);
    let session = rig.take().session;
    rig.sleep(ms(10));
    let fetch = rig.take_session(1);
    rig.fail(&fetch, RequestFailure::TimedOut);
    assert_eq!(rig.lost_sessions(), [(session, ErrorCode::NETWORK_EXCEPTION)]);
    rig.answer_group();
    rig.sleep(ms(150));
    let opening = rig.take_session(1);
    assert_eq!((opening.epoch(), opening.acks()), (0, vec![]));
    rig.respond(&opening, fetched(vec![PartitionData { ..acquired(0, 0, 9) }]));
    assert!(rig.acquisitions()[1].session > session);
}

#[test]
fn a_disconnect_that_is_told_twice_counts_once() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 9);
    rig.take();
    rig.sleep(ms(10));
    let fetch = rig.take_session(1);
    rig.disconnect(1);
    rig.fail(&fetch, RequestFailure::Disconnected);
    rig.disconnect(1);
    assert_eq!(rig.lost_sessions().len(), 1);
    rig.answer_group();
    rig.sleep(ms(150));
    assert_eq!(rig.take_session(1).epoch(), 0);
}

#[test]
fn what_waits_of_a_partition_that_its_broker_does_not_have_any_more_is_not_handed_out() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 9);
    let session = rig.take().session;
    rig.sleep(ms(10));
    let fetch = rig.take_session(1);
    let early = rig.acknowledge(session, partition(0), &[accept(0, 4)]);
    rig.commit();
    rig.respond(&fetch, fetched(vec![]));
    let sent = rig.take_session(1);
    // A broker that a reassignment took the partition from does not know it.
    rig.respond(&sent, acked(&[(0, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)]));
    assert_eq!(rig.result(early), Err(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
    let is_lost = |event: &Event| matches!(event, Event::PartitionLost { topic_partition, .. } if *topic_partition == partition(0));
    assert!(rig.events.iter().any(is_lost));
    // No later than the spacing of requests for metadata allows.
    let lost = rig.log.len();
    rig.sleep(ms(100));
    let asked = rig.log[lost..].iter().any(|sent| matches!(sent.request, ClientRequest::Metadata(_)));
    assert!(asked, "the new leader is asked for");
}

#[test]
fn the_new_leader_of_a_lost_broker_is_looked_for_while_the_caller_has_enough() {
    let looks = |rig: &Rig, since: usize| {
        rig.log[since..].iter().filter(|sent| matches!(sent.request, ClientRequest::Metadata(_))).count()
    };
    let pass = |rig: &mut Rig, milliseconds: u64| {
        for _ in 0..milliseconds {
            rig.sleep(ms(1));
            rig.answer_group();
        }
    };
    let mut rig = Rig::joined(&[1, 2]);
    rig.deliver(1, 0, 0, 999);
    let lost = rig.log.len();
    rig.disconnect(2);
    pass(&mut rig, 3_000);
    assert!((14..=18).contains(&looks(&rig, lost)), "{}", looks(&rig, lost));
    rig.leaders = vec![1, 3];
    pass(&mut rig, 200);
    let found = rig.log.len();
    pass(&mut rig, 2_000);
    assert_eq!(looks(&rig, found), 0, "it is found");
}
