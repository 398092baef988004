//! What is committed, when, and what becomes of it.

use super::rig::*;
use crate::{
    machine::{
        MachineErrorKind, RequestFailure,
        consumer::{
            Answer, ConsumerFault, ConsumerRequest, ConsumerResponse, OffsetAndMetadata, Offsets, TopicPartition,
        },
    },
    messages::{
        consumer_group_heartbeat::ConsumerGroupHeartbeatResponse,
        find_coordinator::FindCoordinatorResponse,
        offset_commit::{
            OffsetCommitRequest, OffsetCommitResponse, OffsetCommitResponsePartition, OffsetCommitResponseTopic,
        },
    },
    wire::{ErrorCode, Uuid},
};

fn refused(code: ErrorCode) -> ConsumerResponse {
    let partitions = vec![OffsetCommitResponsePartition { partition_index: 0, error_code: code }];
    let topic_id = super::cluster::TOPIC;
    let topics = vec![OffsetCommitResponseTopic { topic_id, name: String::new(), partitions }];
    ConsumerResponse::OffsetCommit(OffsetCommitResponse { topics, ..Default::default() })
}

/// A heartbeat of one that is no member any more.
fn fenced() -> ConsumerResponse {
    let error_code = ErrorCode::FENCED_MEMBER_EPOCH;
    ConsumerResponse::Heartbeat(ConsumerGroupHeartbeatResponse { error_code, ..Default::default() })
}

fn said(sent: &Sent) -> &OffsetCommitRequest {
    match &sent.request {
        ConsumerRequest::OffsetCommit(request) => request,
        request => panic!("a commit was expected: {request:?}"),
    }
}

/// A member that has taken ten records and committed nothing.
fn rig(auto: bool) -> Rig {
    let mut rig = Rig::joined(&[1], |options| options.auto_commit = auto.then(|| ms(5_000)));
    rig.cluster.logs[0].end = 30;
    rig.serve();
    assert_eq!(rig.take_part(0).len(), 10);
    rig
}

#[test]
fn a_commit_is_of_what_was_handed_out_with_its_leader_epoch_as_the_member() {
    let mut rig = rig(false);
    let id = rig.machine.commit(rig.now, None);
    rig.drain();
    let sent = rig.sent.iter().find(|sent| is_commit(&sent.request)).unwrap();
    let request = said(sent);
    assert_eq!((request.generation_id_or_member_epoch, request.member_id.as_str()), (1, "member"));
    let partition = &request.topics[0].partitions[0];
    assert_eq!((partition.committed_offset, partition.committed_leader_epoch), (10, 5));
    rig.serve();
    let (answered, result) = rig.answers.pop().unwrap();
    assert_eq!(answered, id);
    assert!(matches!(result, Ok(Answer::Committed(offsets)) if offsets.len() == 1));
}

// Mutation: protocol/src/machine/consumer/mod.rs
// - self.commit_by_itself(now);
// + _ = &self.auto_commit_at;
#[test]
fn what_is_committed_by_itself_is_what_earlier_polls_handed_out() {
    let mut rig = rig(true);
    rig.now += ms(6_000);
    rig.drain();
    assert!(!rig.sent.iter().any(|sent| is_commit(&sent.request)), "the application may be at work on it");
    rig.polled();
    rig.take_part(0);
    let commit = rig.take(is_commit);
    assert_eq!(said(&commit).topics[0].partitions[0].committed_offset, 10);
}

#[test]
fn what_was_committed_is_not_committed_by_itself_again() {
    let mut rig = rig(true);
    rig.sleep(ms(6_000));
    rig.polled();
    rig.serve();
    let before = rig.log.iter().filter(|sent| is_commit(&sent.request)).count();
    rig.sleep(ms(6_000));
    rig.polled();
    rig.serve();
    assert_eq!(before, 1);
    assert_eq!(rig.log.iter().filter(|sent| is_commit(&sent.request)).count(), before);
}

#[test]
fn a_stale_epoch_is_tried_again_with_the_one_of_the_next_heartbeat() {
    let mut rig = rig(false);
    rig.machine.commit(rig.now, None);
    rig.drain();
    rig.cluster.reassign(&[0]);
    rig.cluster.epoch = 6;
    while rig.cluster.epoch == 6 {
        if rig.sent.iter().any(|sent| is_commit(&sent.request)) {
            let commit = rig.take(is_commit);
            rig.answer(&commit, refused(ErrorCode::STALE_MEMBER_EPOCH));
        }
        rig.now = rig.wait.unwrap();
        rig.drain();
        if let Some(at) = rig.sent.iter().position(|sent| is_heartbeat(&sent.request)) {
            rig.serve_at(at);
        }
    }
    rig.sleep(ms(5_000));
    let last = rig.log.iter().rev().find(|sent| is_commit(&sent.request)).unwrap();
    assert_eq!(said(last).generation_id_or_member_epoch, 7);
    assert!(rig.answers.pop().unwrap().1.is_ok());
}

#[test]
fn a_commit_of_a_member_that_is_none_any_more_is_an_error_that_says_so() {
    let mut rig = rig(false);
    rig.machine.commit(rig.now, None);
    rig.drain();
    let commit = rig.take(is_commit);
    rig.answer(&commit, refused(ErrorCode::UNKNOWN_MEMBER_ID));
    let kind = rig.answers.pop().unwrap().1.unwrap_err().kind;
    assert!(matches!(kind, MachineErrorKind::Consumer(ConsumerFault::NotMember { .. })));
}

#[test]
fn what_the_coordinator_refuses_for_good_names_the_partition() {
    let mut rig = rig(false);
    rig.machine.commit(rig.now, None);
    rig.drain();
    let commit = rig.take(is_commit);
    rig.answer(&commit, refused(ErrorCode::OFFSET_METADATA_TOO_LARGE));
    let kind = rig.answers.pop().unwrap().1.unwrap_err().kind;
    let expected = ConsumerFault::Commit { partition: partition(0), code: ErrorCode::OFFSET_METADATA_TOO_LARGE };
    assert_eq!(kind, MachineErrorKind::Consumer(expected));
}

#[test]
fn commits_are_sent_one_after_the_other_and_tried_again_until_their_time_is_over() {
    let mut rig = rig(false);
    let first = rig.machine.commit(rig.now, None);
    let second = rig.machine.commit(rig.now, Some([(partition(0), OffsetAndMetadata::new(3))].into()));
    rig.drain();
    for _ in 0..3 {
        let commit = rig.take(is_commit);
        assert_eq!(said(&commit).topics[0].partitions[0].committed_offset, 10);
        rig.fail(&commit, RequestFailure::TimedOut);
        rig.sent.retain(|sent| !is_commit(&sent.request));
        while !rig.sent.iter().any(|sent| is_commit(&sent.request)) {
            rig.now = rig.wait.unwrap();
            rig.drain();
            if let Some(at) = rig.sent.iter().position(|sent| !is_commit(&sent.request) && !is_fetch(&sent.request)) {
                rig.serve_at(at);
            }
        }
    }
    rig.serve();
    let ended: Vec<_> = rig.answers.iter().map(|(id, result)| (*id, result.is_ok())).collect();
    assert_eq!(ended, [(first, true), (second, true)]);
    assert_eq!(rig.cluster.committed[&0].0, 3);
}

#[test]
fn a_commit_that_is_never_answered_ends_with_its_time() {
    let mut rig = rig(false);
    rig.machine.commit(rig.now, None);
    rig.drain();
    let commit = rig.take(is_commit);
    rig.now += ms(59_000);
    rig.fail(&commit, RequestFailure::TimedOut);
    rig.now += ms(2_000);
    rig.drain();
    let kind = rig.answers.pop().unwrap().1.unwrap_err().kind;
    assert!(matches!(kind, MachineErrorKind::Consumer(ConsumerFault::TimedOut { .. })), "{kind}");
}

#[test]
fn closing_commits_before_it_leaves() {
    let mut rig = rig(true);
    rig.machine.close(rig.now, Offsets::new(), true, ms(30_000));
    rig.drain();
    assert!(rig.heartbeats().iter().all(|heartbeat| heartbeat.member_epoch >= 0));
    rig.serve();
    assert!(rig.closed);
    assert_eq!(rig.cluster.committed[&0].0, 10);
    assert_eq!(rig.heartbeats().pop().unwrap().member_epoch, -1);
}

// Mutation: protocol/src/machine/consumer/commits.rs
// - if self.give_up_what_is_gone(now) {
// + if deadline <= now && self.give_up_what_is_gone(now) {
#[test]
fn closing_does_not_wait_for_offsets_of_a_topic_that_was_deleted() {
    let mut rig = rig(true);
    rig.cluster.topic = None;
    rig.machine.close(rig.now, Offsets::new(), true, ms(30_000));
    rig.drain();
    rig.sleep(ms(5_000));
    assert!(rig.closed);
    assert_eq!(rig.heartbeats().pop().unwrap().member_epoch, -1);
    let faults = rig.faults();
    assert_eq!(faults, [&ConsumerFault::NoTopic { topic: "topic".into() }]);
}

// Mutation: protocol/src/machine/consumer/mod.rs
// - self.commits.end_by(now, now + timeout * 3 / 4);
// + _ = timeout;
#[test]
fn closing_leaves_in_time_though_a_commit_is_refused_over_and_over() {
    let mut rig = rig(true);
    rig.machine.close(rig.now, Offsets::new(), true, ms(4_000));
    rig.drain();
    let end = rig.now + ms(4_000);
    while !rig.closed && rig.now < end {
        if rig.sent.iter().any(|sent| is_commit(&sent.request)) {
            let commit = rig.take(is_commit);
            rig.answer(&commit, refused(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS));
        }
        if let Some(at) = rig.sent.iter().position(|sent| is_heartbeat(&sent.request)) {
            rig.serve_at(at);
        }
        rig.now = rig.wait.unwrap_or(end);
        rig.drain();
    }
    assert!(rig.closed);
    assert_eq!(rig.heartbeats().pop().unwrap().member_epoch, -1);
    assert!(matches!(rig.faults()[..], [ConsumerFault::TimedOut { of: Some(_), .. }]), "{:?}", rig.errors);
}

#[test]
fn a_commit_of_a_deleted_topic_holds_back_those_behind_it_for_a_moment_only() {
    let mut rig = rig(false);
    let none = TopicPartition::new("gone", 0);
    let gone = rig.machine.commit(rig.now, Some([(none, OffsetAndMetadata::new(3))].into()));
    let next = rig.machine.commit(rig.now, None);
    rig.drain();
    rig.sleep(ms(3_000));
    let (first, result) = rig.answers.remove(0);
    assert_eq!((first, result.unwrap_err().kind), (gone, no_topic("gone")));
    assert!(matches!(&rig.answers[..], [(id, Ok(Answer::Committed(_)))] if *id == next), "{:?}", rig.answers);
}

// Mutation: protocol/src/machine/consumer/commits.rs
// - let topic_id = left.topic_id.or_else(|| self.id_of(partition).map(|id| id.topic_id));
// + let topic_id = self.metadata.topic_id(&partition.topic).or(left.topic_id);
#[test]
fn an_offset_is_not_committed_to_another_topic_that_got_the_name() {
    let mut rig = rig(false);
    let id = rig.machine.commit(rig.now, None);
    rig.cluster.topic = Some(Uuid([2; 16]));
    rig.machine.unsubscribe(rig.now, Offsets::new());
    rig.drain();
    rig.sleep(ms(3_000));
    let (answered, result) = rig.answers.pop().unwrap();
    assert_eq!((answered, result.unwrap_err().kind), (id, no_topic("topic")));
    assert!(rig.cluster.committed.is_empty());
}

// Mutation: protocol/src/machine/consumer/commits.rs
// - lacks.then_some(ConsumerFault::Commit { partition, code })
// + (lacks && partition.partition < 0).then_some(ConsumerFault::Commit { partition, code })
#[test]
fn of_a_commit_with_a_partition_that_does_not_exist_the_rest_is_kept() {
    let mut rig = rig(false);
    let offsets = [0, 99].map(|index| (partition(index), OffsetAndMetadata::new(5)));
    rig.machine.commit(rig.now, Some(offsets.into()));
    rig.drain();
    rig.sleep(ms(3_000));
    let code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    let expected = ConsumerFault::Commit { partition: partition(99), code };
    assert_eq!(rig.answers.pop().unwrap().1.unwrap_err().kind, MachineErrorKind::Consumer(expected));
    assert_eq!(rig.cluster.committed[&0].0, 5);
}

fn no_topic(topic: &str) -> MachineErrorKind {
    MachineErrorKind::Consumer(ConsumerFault::NoTopic { topic: topic.into() })
}

#[test]
fn closing_without_a_commit_leaves_the_group_as_it_was() {
    let mut rig = rig(true);
    rig.machine.close(rig.now, Offsets::new(), false, ms(30_000));
    rig.drain();
    rig.serve();
    assert!(rig.closed && rig.cluster.committed.is_empty());
}

#[test]
fn without_a_membership_offsets_are_committed_as_nobody() {
    let mut rig = Rig::with(&[1], |_| {});
    rig.machine.assign(rig.now, &[partition(0)], 1);
    rig.machine.commit(rig.now, Some([(partition(0), OffsetAndMetadata::new(3))].into()));
    rig.drain();
    rig.serve();
    let sent = rig.log.iter().find(|sent| is_commit(&sent.request)).unwrap();
    assert_eq!((said(sent).generation_id_or_member_epoch, said(sent).member_id.as_str()), (-1, ""));
    assert_eq!(rig.cluster.committed[&0].0, 3);
    assert!(rig.heartbeats().is_empty());
}

#[test]
fn without_a_group_nothing_can_be_committed() {
    let mut rig = Rig::with(&[1], |options| options.group_id = None);
    rig.machine.assign(rig.now, &[partition(0)], 1);
    // Nothing was handed out, nothing is said, or something is.
    for offsets in [None, Some(Offsets::new()), Some([(partition(0), OffsetAndMetadata::new(3))].into())] {
        let id = rig.machine.commit(rig.now, offsets);
        rig.drain();
        let (answered, result) = rig.answers.pop().unwrap();
        let kind = result.unwrap_err().kind;
        assert_eq!((answered, kind), (id, MachineErrorKind::Consumer(ConsumerFault::NoGroup)));
    }
}

// Mutation: protocol/src/machine/consumer/commits.rs
// - said.retain(|_, said| said.offset >= 0);
// + said.retain(|_, said| said.offset >= i64::MIN);
#[test]
fn what_is_below_zero_is_refused_and_keeps_nothing_from_being_committed() {
    let mut rig = rig(false);
    let said = Offsets::from([(partition(0), OffsetAndMetadata::new(-5))]);
    let id = rig.machine.commit(rig.now, Some(said.clone()));
    rig.drain();
    let below_zero = ConsumerFault::BelowZero { partition: partition(0), offset: -5 };
    let (answered, result) = rig.answers.pop().unwrap();
    assert_eq!((answered, result.unwrap_err().kind), (id, MachineErrorKind::Consumer(below_zero.clone())));
    // The same of a listener, while the member closes.
    rig.machine.close(rig.now, said, true, ms(30_000));
    rig.drain();
    rig.serve();
    assert_eq!(rig.faults(), [&below_zero]);
    assert!(rig.closed && rig.cluster.committed.is_empty());
}

#[test]
fn a_listener_that_commits_below_zero_gives_its_partitions_up_all_the_same() {
    let mut rig = Rig::joined(&[1, 1], |options| options.auto_commit = None);
    rig.cluster.reassign(&[0]);
    rig.now += ms(5_000);
    rig.drain();
    let at = rig.sent.iter().position(|sent| is_heartbeat(&sent.request)).unwrap();
    rig.serve_at(at);
    let Some(Step::Revoke(id, _)) = rig.steps.pop_front() else { panic!("{:?}", rig.steps) };
    let said = Offsets::from([(partition(1), OffsetAndMetadata::new(-1))]);
    rig.machine.revoked(rig.now, id, said);
    rig.drain();
    rig.serve();
    assert_eq!(rig.faults(), [&ConsumerFault::BelowZero { partition: partition(1), offset: -1 }]);
    let held = rig.heartbeats().pop().unwrap().topic_partitions.clone().expect("it tells what it holds");
    assert_eq!(held[0].partitions, [0]);
}

#[test]
fn a_late_answer_says_nothing_of_the_commit_after_it() {
    let mut rig = Rig::with(&[1], |_| {});
    rig.machine.assign(rig.now, &[partition(0)], 1);
    rig.drain();
    rig.serve();
    let offsets = || Some(Offsets::from([(partition(0), OffsetAndMetadata::new(7))]));
    rig.machine.commit(rig.now, offsets());
    rig.machine.committed(rig.now, vec![partition(0)]);
    rig.drain();
    let late = rig.take(is_commit);
    // The coordinator moves, and the group may not be used any more: all commits fail.
    let question = rig.take(|request| matches!(request, ConsumerRequest::OffsetFetch(_)));
    rig.fail(&question, RequestFailure::Disconnected);
    while !rig.sent.iter().any(|sent| matches!(sent.request, ConsumerRequest::FindCoordinator(_))) {
        rig.now = rig.wait.unwrap();
        rig.drain();
    }
    let question = rig.take(|request| matches!(request, ConsumerRequest::FindCoordinator(_)));
    let error_code = ErrorCode::GROUP_AUTHORIZATION_FAILED;
    let refusal = FindCoordinatorResponse { error_code, ..Default::default() };
    rig.answer(&question, ConsumerResponse::FindCoordinator(refusal));
    assert!(rig.answers.pop().unwrap().1.is_err());
    rig.machine.commit(rig.now, offsets());
    rig.drain();
    let answer = rig.cluster.answer(late.node(), &late.request, true).unwrap();
    rig.answer(&late, answer);
    assert!(rig.answers.is_empty(), "{:?}", rig.answers);
}

// Mutation: protocol/src/machine/consumer/kept.rs
// - let settled = unknown.iter().filter(|name| !committing.contains(name));
// + let settled = unknown.iter().filter(|name| name.partition >= 0 || committing.is_empty());
#[test]
fn a_member_that_comes_back_at_once_goes_on_behind_its_last_commit() {
    let mut rig = rig(true);
    rig.machine.unsubscribe(rig.now, Offsets::new());
    rig.runs.clear();
    rig.subscribe();
    rig.polled();
    let commit = rig.take(is_commit);
    rig.serve();
    let answer = rig.cluster.answer(commit.node(), &commit.request, true).unwrap();
    rig.answer(&commit, answer);
    rig.sleep(ms(2_000));
    assert_eq!(rig.take_part(0).first(), Some(&10));
}

// Mutation: protocol/src/machine/consumer/commits.rs
// - for (partition, left) in commit.left.extract_if(.., |name, _| !failed.contains_key(name)) {
// + for (partition, left) in commit.left.extract_if(.., |_, _| failed.is_empty()) {
#[test]
fn what_of_a_commit_went_well_is_not_said_again_with_the_rest() {
    let mut rig = Rig::joined(&[1, 1], |options| options.auto_commit = None);
    let offsets = Offsets::from([0, 1].map(|index| (partition(index), OffsetAndMetadata::new(5))));
    let id = rig.machine.commit(rig.now, Some(offsets.clone()));
    rig.drain();
    let commit = rig.take(is_commit);
    rig.answer(&commit, refused(ErrorCode::UNKNOWN_TOPIC_ID));
    rig.sleep(ms(1_000));
    let last = rig.log.iter().rfind(|sent| is_commit(&sent.request)).unwrap();
    let again: Vec<i32> = said(last).topics[0].partitions.iter().map(|said| said.partition_index).collect();
    assert_eq!(again, [0]);
    let (answered, result) = rig.answers.pop().unwrap();
    assert_eq!(answered, id);
    assert!(matches!(result, Ok(Answer::Committed(all)) if all == offsets));
}

#[test]
fn what_was_not_committed_when_the_member_is_lost_is_not_committed_later() {
    let mut rig = rig(false);
    let id = rig.machine.commit(rig.now, None);
    rig.drain();
    let commit = rig.take(is_commit);
    rig.now += ms(5_000);
    rig.drain();
    let heartbeat = rig.take(is_heartbeat);
    rig.answer(&heartbeat, fenced());
    rig.answer(&commit, refused(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS));
    rig.serve();
    let (answered, result) = rig.answers.pop().unwrap();
    assert_eq!(answered, id);
    assert!(result.is_err());
}
