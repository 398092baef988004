//! Acknowledgements: what goes out, when, and how each ends exactly once.

use super::{rig::*, script::*};
use crate::{machine::AckType, messages::share_fetch::PartitionData, wire::ErrorCode};

// Mutation: protocol/src/machine/ack_ledger/partition.rs
// - let Some(isolation) = self.isolation.take() else {
// + self.to_send = RangeMap::default(); self.sent.append(&mut self.waiting); let Some(isolation) = self.isolation.take() else {
#[test]
fn row_01_acknowledgements_made_while_a_fetch_is_out_ride_on_the_next_one() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 4);
    let acquisition = rig.take();
    let session = acquisition.session;
    let first = rig.acknowledge(session, partition(0), &[accept(0, 0)]);
    let fetch = rig.take_session(1);
    assert_eq!(fetch.acks(), [(0, 0, 0, vec![1])]);
    let rest: Vec<_> = (1..5).map(|offset| rig.acknowledge(session, partition(0), &[accept(offset, offset)])).collect();
    rig.respond(&fetch, fetched(vec![PartitionData { partition_index: 0, ..Default::default() }]));
    assert_eq!(rig.result(first), Ok(()));
    assert!(rest.iter().all(|id| rig.results(*id).is_empty()));
    rig.sleep(ms(20));
    let next = rig.take_session(1);
    assert_eq!(next.acks(), [(0, 1, 4, vec![1])]);
    rig.answer_well(&next);
    rest.iter().for_each(|id| assert_eq!(rig.result(*id), Ok(())));
}

// Mutation: protocol/src/machine/share_consumer/node.rs
// - self.session.id() == session && self.session.is_open()
// + self.session.id() == session
#[test]
fn row_02_acknowledgements_never_travel_with_epoch_zero() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 9);
    let session = rig.take().session;
    let carried = rig.acknowledge(session, partition(0), &[accept(5, 9)]);
    let fetch = rig.take_session(1);
    assert_eq!((fetch.epoch(), fetch.acks().len()), (1, 1));
    rig.respond(&fetch, fetch_error(ErrorCode::SHARE_SESSION_NOT_FOUND));
    assert_eq!(rig.result(carried), Err(ErrorCode::SHARE_SESSION_NOT_FOUND));
    assert_eq!(rig.lost_sessions(), [(session, ErrorCode::SHARE_SESSION_NOT_FOUND)]);

    let late = rig.acknowledge(session, partition(0), &[accept(0, 4)]);
    assert_eq!(rig.result(late), Err(ErrorCode::SHARE_SESSION_NOT_FOUND));
    rig.sleep(ms(150));
    let opening = rig.take_session(1);
    assert_eq!((opening.epoch(), opening.acks().len(), opening.fetch().topics.len()), (0, 0, 1));
    rig.respond(&opening, fetched(vec![acquired(0, 0, 9)]));
    let again = rig.acquisitions().pop().unwrap();
    assert_ne!(again.session, session);
    let old = rig.acknowledge(session, partition(0), &[accept(0, 4)]);
    assert_eq!(
        rig.result(old),
        Err(ErrorCode::SHARE_SESSION_NOT_FOUND),
        "the old session cannot acknowledge for the new one"
    );
}

// Mutation: protocol/src/machine/share_consumer/ends.rs
// - node.ledger.fail_all(code);
// +
#[test]
fn row_02_where_the_partition_has_no_leader_meanwhile_the_new_session_opens_later_and_carries_nothing() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 9);
    let session = rig.take().session;
    rig.sleep(ms(10));
    let fetch = rig.take_session(1);
    let waiting = rig.acknowledge(session, partition(0), &[accept(0, 4)]);
    rig.respond(&fetch, fetch_error(ErrorCode::SHARE_SESSION_NOT_FOUND));
    assert_eq!(rig.result(waiting), Err(ErrorCode::SHARE_SESSION_NOT_FOUND));
    rig.sleep(ms(150));
    let opening = rig.take_session(1);
    (rig.leaders, rig.leader_epoch) = (vec![-1], 6);
    rig.respond(&opening, fetched(vec![partition_error(0, ErrorCode::NOT_LEADER_OR_FOLLOWER)]));
    let begun = rig.now;
    while rig.now < begun + ms(3_000) {
        rig.answer_group();
        let late = rig.acknowledge(session, partition(0), &[accept(5, 9)]);
        assert_eq!(rig.result(late), Err(ErrorCode::SHARE_SESSION_NOT_FOUND));
        rig.pass(ms(100));
    }
    (rig.leaders, rig.leader_epoch) = (vec![1], 7);
    let mut again = None;
    while again.is_none() {
        rig.answer_group();
        rig.sleep(ms(10));
        again = rig.try_session(1);
        assert!(rig.now < begun + ms(5_000), "no fetch goes out");
    }
    assert_eq!(again.map(|fetch| fetch.epoch()), Some(0));
    let carrying = rig.log.iter().filter(|sent| !sent.acks().is_empty()).count();
    assert_eq!(carrying, 0, "what failed was sent all the same");
}

// Mutation: protocol/src/machine/share_consumer/mod.rs
// - self.lose_session(node, ErrorCode::NETWORK_EXCEPTION);
// +
#[test]
fn row_04_a_connection_that_ends_while_idle_ends_the_session_and_fails_what_is_held() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 4);
    let session = rig.take().session;
    rig.sleep(ms(10));
    let fetch = rig.take_session(1);
    rig.respond(&fetch, fetched(vec![]));
    let decided = rig.acknowledge(session, partition(0), &[accept(0, 1)]);
    rig.try_session(1);
    rig.disconnect(1);
    assert_eq!(rig.result(decided), Err(ErrorCode::NETWORK_EXCEPTION));
    assert_eq!(rig.lost_sessions(), [(session, ErrorCode::NETWORK_EXCEPTION)]);
    let late = rig.acknowledge(session, partition(0), &[accept(2, 4)]);
    assert_eq!(rig.result(late), Err(ErrorCode::NETWORK_EXCEPTION));
    let commit = rig.commit();
    let lost = (partition(0), "topic".into(), Err(ErrorCode::NETWORK_EXCEPTION));
    assert_eq!(rig.committed(commit), Some(vec![lost]));
    rig.answer_group();
    rig.sleep(ms(150));
    assert_eq!(rig.take_session(1).epoch(), 0);
}

// Mutation: protocol/src/machine/acquisition/mod.rs
// - self.content.settle(range.first, range.last, AckType::Gap);
// +
#[test]
fn row_06_gap_only_batches_are_acknowledged() {
    let mut rig = Rig::joined(&[1]);
    let fetch = rig.take_session(1);
    let mut control = acquired(0, 0, 0);
    control.records = Some(fixture("control_abort").into());
    control.acquired_records[0].first_offset = 30;
    control.acquired_records[0].last_offset = 30;
    rig.respond(&fetch, fetched(vec![control]));
    assert!(rig.acquisitions().is_empty(), "no record to hand out");
    assert_eq!(rig.take_session(1).acks(), [(0, 30, 30, vec![0])]);
}

// Mutation: protocol/src/machine/acquisition/mod.rs
// - self.content.settle(range.first, range.last, AckType::Gap);
// +
#[test]
fn row_06_offsets_that_compaction_took_are_acknowledged_as_gaps() {
    let mut rig = Rig::joined(&[1]);
    let fetch = rig.take_session(1);
    let mut compacted = acquired(0, 0, 0);
    compacted.records = Some(fixture("compacted_tail").into());
    compacted.acquired_records[0].first_offset = 20;
    compacted.acquired_records[0].last_offset = 29;
    rig.respond(&fetch, fetched(vec![compacted]));
    let acquisition = rig.take();
    assert_eq!((acquisition.ranges[0].first, acquisition.ranges[0].last, acquisition.records), (23, 23, 1));
    assert_eq!(rig.take_session(1).acks(), [(0, 20, 22, vec![0]), (0, 24, 29, vec![0])]);
}

// Mutation: protocol/src/machine/share_consumer/node.rs
// - if self.in_flight.is_some() {
// + if false {
#[test]
fn row_07_one_request_is_out_at_a_time_and_both_kinds_share_the_epoch() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 9);
    let session = rig.take().session;
    let mut commits = Vec::new();
    for offset in 0..5 {
        rig.acknowledge(session, partition(0), &[accept(offset, offset)]);
        commits.push(rig.commit());
    }
    rig.polled();
    let mut epochs = Vec::new();
    for _ in 0..4 {
        rig.sleep(ms(200));
        let request = rig.take_session(1);
        assert!(rig.try_session(1).is_none(), "two requests out");
        epochs.push(request.epoch());
        rig.answer_well(&request);
    }
    assert_eq!(epochs, [1, 2, 3, 4]);
    commits.iter().for_each(|commit| assert!(rig.committed(*commit).is_some()));
}

// Mutation: protocol/src/machine/share_consumer/commits.rs
// - self.waiting.push(commit);
// + self.waiting = vec![commit];
#[test]
fn row_08_a_commit_that_is_slow_takes_nothing_from_the_next_one() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 9);
    let session = rig.take().session;
    let first = rig.acknowledge(session, partition(0), &[accept(0, 3)]);
    // The fetch goes first, so the commit waits behind it.
    let fetch = rig.take_session(1);
    let slow = rig.commit();
    let second = rig.acknowledge(session, partition(0), &[accept(4, 6)]);
    let commit = rig.commit();
    rig.sleep(ms(300));
    assert!(rig.committed(commit).is_none());
    rig.respond(&fetch, fetched(vec![PartitionData::default()]));
    let request = rig.take_session(1);
    assert_eq!(request.acknowledge().topics.len(), 1, "a commit does not wait for a fetch");
    let third = rig.acknowledge(session, partition(0), &[accept(7, 7)]);
    rig.close();
    rig.respond(&request, acked(&[(0, ErrorCode::NONE)]));
    assert_eq!(rig.committed(commit).unwrap().len(), 1);
    let end = rig.take_session(1);
    assert_eq!((end.epoch(), end.acks()), (-1, vec![(0, 7, 7, vec![1])]));
    rig.respond(&end, acked(&[(0, ErrorCode::NONE)]));
    [first, second, third].iter().for_each(|id| assert_eq!(rig.result(*id), Ok(())));
    assert_eq!(rig.committed(slow).unwrap().len(), 1);
}

// Mutation: protocol/src/machine/share_consumer/responses.rs
// - if !data.acknowledge_error_code.is_none() {
// + if !data.acknowledge_error_code.is_none() { node.ledger.fail_all(data.acknowledge_error_code);
#[test]
fn row_10_acknowledgements_of_a_deleted_topic_fail_at_once_and_take_no_other_down() {
    for code in [ErrorCode::UNKNOWN_TOPIC_ID, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION] {
        let mut rig = Rig::joined(&[1, 1]);
        let fetch = rig.take_session(1);
        rig.respond(&fetch, fetched(vec![acquired(0, 0, 4), acquired(1, 0, 4)]));
        let session = rig.take().session;
        rig.taken(5);
        let gone = rig.acknowledge(session, partition(0), &[accept(0, 4)]);
        let fetch = rig.take_session(1);
        let good = rig.acknowledge(session, partition(1), &[accept(0, 4)]);
        rig.commit();
        rig.respond(&fetch, fetched(vec![PartitionData { acknowledge_error_code: code, ..Default::default() }]));
        assert_eq!(rig.result(gone), Err(code));
        let request = rig.take_session(1);
        assert_eq!(request.acks(), [(1, 0, 4, vec![1])]);
        rig.respond(&request, acked(&[(1, ErrorCode::NONE)]));
        assert_eq!(rig.result(good), Ok(()));
    }
}

// Mutation: protocol/src/machine/share_consumer/responses.rs
// - node.ledger.answered(now, topic_partition, code, lock_deadline, policy);
// + node.ledger.answered_rest(now, code, policy);
#[test]
fn row_10_the_same_in_an_acknowledgement_that_goes_by_itself() {
    for code in [ErrorCode::UNKNOWN_TOPIC_ID, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION] {
        let mut rig = Rig::joined(&[1, 1]);
        let fetch = rig.take_session(1);
        rig.respond(&fetch, fetched(vec![acquired(0, 0, 4), acquired(1, 0, 4)]));
        let session = rig.take().session;
        rig.taken(5);
        rig.sleep(ms(10));
        let fetch = rig.take_session(1);
        let gone = rig.acknowledge(session, partition(0), &[accept(0, 4)]);
        let good = rig.acknowledge(session, partition(1), &[accept(0, 4)]);
        rig.commit();
        rig.respond(&fetch, fetched(vec![]));
        let request = rig.take_session(1);
        assert_eq!(request.acknowledge().topics[0].partitions.len(), 2);
        rig.respond(&request, acked(&[(0, code), (1, ErrorCode::NONE)]));
        assert_eq!((rig.result(gone), rig.result(good)), (Err(code), Ok(())));
        rig.pass(ms(1_000));
        assert!(rig.log.iter().filter(|sent| !sent.acks().is_empty()).count() == 1, "it was tried again");
    }
}

// Mutation: protocol/src/machine/ack_ledger/mod.rs
// - | ErrorCode::UNKNOWN_TOPIC_ID
// +
#[test]
fn row_10_an_unknown_topic_as_the_error_of_the_whole_request_is_final_for_its_acknowledgements() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 4);
    let session = rig.take().session;
    let ack = rig.acknowledge(session, partition(0), &[accept(0, 4)]);
    let fetch = rig.take_session(1);
    rig.respond(&fetch, fetch_error(ErrorCode::UNKNOWN_TOPIC_ID));
    assert_eq!(rig.result(ack), Err(ErrorCode::UNKNOWN_TOPIC_ID));
    assert!(rig.lost_sessions().is_empty(), "the session goes on");
    rig.sleep(ms(150));
    assert_eq!(rig.take_session(1).epoch(), 2);
}

// Mutation: protocol/src/machine/ack_ledger/partition.rs
// - Some(previous) if previous.ack == ack && previous.last + 1 == first => previous.last = last,
// + Some(previous) if previous.last + 1 == first => previous.last = last,
#[test]
fn row_11_acknowledgements_in_any_order_go_out_sorted_and_disjoint() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 9);
    let session = rig.take().session;
    // A request is out, so they gather.
    rig.sleep(ms(10));
    let fetch = rig.take_session(1);
    for (offset, ack) in
        [(9, AckType::Accept), (3, AckType::Accept), (4, AckType::Accept), (5, AckType::Release), (1, AckType::Accept)]
    {
        rig.acknowledge(session, partition(0), &[range(offset, offset, ack)]);
    }
    rig.respond(&fetch, fetched(vec![]));
    rig.sleep(ms(20));
    assert_eq!(rig.take_session(1).acks(), [(0, 1, 1, vec![1]), (0, 3, 5, vec![1, 1, 2]), (0, 9, 9, vec![1])]);
}

#[test]
fn what_the_broker_does_not_mention_has_failed() {
    let mut rig = Rig::joined(&[1, 1]);
    let fetch = rig.take_session(1);
    rig.respond(&fetch, fetched(vec![acquired(0, 0, 4), acquired(1, 0, 4)]));
    let session = rig.take().session;
    rig.taken(5);
    rig.sleep(ms(10));
    let fetch = rig.take_session(1);
    let mentioned = rig.acknowledge(session, partition(0), &[accept(0, 4)]);
    let silent = rig.acknowledge(session, partition(1), &[accept(0, 4)]);
    let commit = rig.commit();
    rig.respond(&fetch, fetched(vec![]));
    let request = rig.take_session(1);
    rig.respond(&request, acked(&[(0, ErrorCode::NONE)]));
    assert_eq!(rig.result(mentioned), Ok(()));
    assert_eq!(rig.result(silent), Err(ErrorCode::INVALID_RECORD_STATE));
    let results: Vec<_> = rig
        .committed(commit)
        .unwrap()
        .into_iter()
        .map(|(partition, _, result)| (partition.partition, result))
        .collect();
    assert_eq!(results, [(0, Ok(())), (1, Err(ErrorCode::INVALID_RECORD_STATE))]);
}

#[test]
fn the_acknowledge_error_of_a_partition_is_independent_of_its_fetch_error() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 4, 4);
    let session = rig.take().session;
    let ack = rig.acknowledge(session, partition(0), &[accept(4, 4)]);
    let fetch = rig.take_session(1);
    let data = PartitionData { acknowledge_error_code: ErrorCode::INVALID_RECORD_STATE, ..acquired(0, 5, 9) };
    rig.respond(&fetch, fetched(vec![data]));
    assert_eq!(rig.result(ack), Err(ErrorCode::INVALID_RECORD_STATE));
    assert_eq!(rig.acquisitions().len(), 2, "the fetch went well");

    let second = rig.take();
    let ack = rig.acknowledge(second.session, partition(0), &[accept(5, 9)]);
    rig.sleep(ms(6));
    let fetch = rig.take_session(1);
    rig.respond(&fetch, fetched(vec![partition_error(0, ErrorCode::KAFKA_STORAGE_ERROR)]));
    assert_eq!(rig.result(ack), Ok(()), "the acknowledgement went well");
}

#[test]
fn a_passing_error_is_tried_again_until_the_api_timeout() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 4);
    let session = rig.take().session;
    let ack = rig.acknowledge(session, partition(0), &[accept(0, 4)]);
    let begun = rig.now;
    let code = ErrorCode::COORDINATOR_NOT_AVAILABLE;
    let mut tries = 0;
    while rig.results(ack).is_empty() {
        if let Some(sent) = rig.try_session(1) {
            tries += u32::from(!sent.acks().is_empty());
            match sent.request {
                crate::machine::ClientRequest::ShareFetch(_) => rig.respond(
                    &sent,
                    fetched(vec![PartitionData { acknowledge_error_code: code, ..Default::default() }]),
                ),
                _ => rig.respond(&sent, acked(&[(0, code)])),
            }
        }
        rig.sleep(ms(20));
        assert!(rig.now < begun + ms(61_000));
    }
    assert!((20..60).contains(&tries), "{tries} tries");
    assert_eq!(rig.result(ack), Err(ErrorCode::INVALID_RECORD_STATE), "its lock ended first");
}

#[test]
fn an_acknowledgement_after_the_deadline_is_refused_and_takes_no_other_down() {
    let mut rig = Rig::joined(&[1]);
    let fetched_at = rig.now;
    rig.deliver(1, 0, 0, 4);
    let acquisition = rig.take();
    assert_eq!(acquisition.lock_deadline, fetched_at + LOCK, "it counts from when the fetch was written");
    rig.pass(LOCK);
    let late = rig.acknowledge(acquisition.session, partition(0), &[accept(0, 4)]);
    assert_eq!(rig.result(late), Err(ErrorCode::INVALID_RECORD_STATE));
}

#[test]
fn acknowledgements_that_no_fetch_carries_go_by_themselves_after_a_moment() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 499);
    // Nothing was taken over, so no further fetch is wanted.
    assert!(rig.try_session(1).is_none());
    let session = rig.acquisitions()[0].session;
    rig.acknowledge(session, partition(0), &[accept(0, 9)]);
    assert!(rig.try_session(1).is_none());
    rig.sleep(ms(4));
    rig.acknowledge(session, partition(0), &[accept(10, 19)]);
    rig.sleep(ms(1));
    assert_eq!(rig.take_session(1).acknowledge().topics.len(), 1);
}

#[test]
fn a_failure_that_came_before_a_commit_is_told_by_it_and_by_no_later_one() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 9);
    let session = rig.take().session;
    rig.disconnect(1);
    rig.acknowledge(session, partition(0), &[accept(0, 9)]);
    let commits = [rig.commit(), rig.commit()].map(|commit| rig.committed(commit).unwrap().len());
    assert_eq!(commits, [1, 0]);
}
