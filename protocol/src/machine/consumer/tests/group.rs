//! Joining, what heartbeats say, giving up and taking partitions, being fenced, leaving.

use super::rig::*;
use crate::{
    machine::consumer::{ConsumerFault, ConsumerRequest, ConsumerResponse, OffsetAndMetadata, Offsets},
    machine::{MachineErrorKind, RequestFailure},
    messages::consumer_group_heartbeat::ConsumerGroupHeartbeatResponse,
    wire::ErrorCode,
};

fn refused(code: ErrorCode) -> ConsumerResponse {
    ConsumerResponse::Heartbeat(ConsumerGroupHeartbeatResponse { error_code: code, ..Default::default() })
}

/// The partitions that a heartbeat says the member has.
fn held(rig: &Rig, heartbeat: usize) -> Option<Vec<i32>> {
    let topics = rig.heartbeats()[heartbeat].topic_partitions.as_ref()?;
    Some(topics.iter().flat_map(|topic| topic.partitions.clone()).collect())
}

// Mutation: protocol/src/machine/consumer/membership.rs
// - if all || self.held != self.told_held {
// + if all {
#[test]
fn the_first_heartbeat_says_everything_and_the_others_what_has_changed() {
    let mut rig = Rig::joined(&[1, 1], |options| options.client_rack = Some("r".into()));
    rig.sleep(ms(11_000));
    let heartbeats = rig.heartbeats();
    let join = heartbeats[0];
    assert_eq!((join.member_epoch, join.rebalance_timeout_ms), (0, 300_000));
    assert_eq!(join.rack_id.as_deref(), Some("r"));
    assert_eq!(join.subscribed_topic_names.as_deref(), Some(&["topic".to_owned()][..]));
    assert_eq!(join.subscribed_topic_regex, None);
    assert_eq!(held(&rig, 0), Some(Vec::new()));
    // The partitions, at once.
    assert_eq!((heartbeats[1].member_epoch, held(&rig, 1)), (1, Some(vec![0, 1])));
    for later in &heartbeats[2..] {
        assert_eq!((&later.subscribed_topic_names, &later.topic_partitions, &later.rack_id), (&None, &None, &None));
        assert_eq!(later.rebalance_timeout_ms, -1);
    }
    assert!((3..=5).contains(&heartbeats.len()), "{}", heartbeats.len());
}

#[test]
fn what_a_lost_heartbeat_said_is_said_again() {
    let mut rig = Rig::joined(&[1], |_| {});
    rig.now += ms(5_000);
    rig.drain();
    let sent = rig.take(is_heartbeat);
    rig.fail(&sent, RequestFailure::Disconnected);
    rig.sleep(ms(1_000));
    let last = rig.heartbeats().len() - 1;
    assert_eq!(rig.heartbeats()[last].member_epoch, 1);
    assert!(rig.heartbeats()[last].subscribed_topic_names.is_some());
    assert_eq!(held(&rig, last), Some(vec![0]));
}

#[test]
fn a_pattern_is_the_coordinators_affair_and_is_taken_back_by_an_empty_one() {
    let mut rig = Rig::with(&[1], |_| {});
    rig.machine.subscribe_pattern(rig.now, "top.*".into());
    rig.polled();
    rig.serve();
    let join = rig.heartbeats()[0];
    assert_eq!((join.subscribed_topic_regex.as_deref(), &join.subscribed_topic_names), (Some("top.*"), &None));
    assert!(rig.runs.contains_key(&0));
    rig.subscribe();
    rig.serve();
    let last = rig.heartbeats().pop().unwrap();
    assert_eq!(last.subscribed_topic_regex.as_deref(), Some(""));
    assert!(last.subscribed_topic_names.is_some());
}

// Mutation: protocol/src/machine/consumer/rebalance.rs
// - Some(commit) => self.rebalance = Some(Rebalance::Committing(commit, partitions)),
// + Some(_) => self.give_up(now, &partitions),
#[test]
fn partitions_are_given_up_after_the_application_and_the_commit_and_then_the_coordinator_hears_of_it() {
    let mut rig = Rig::joined(&[1, 1], |_| {});
    rig.cluster.logs[1].end = 10;
    rig.serve();
    assert_eq!(rig.take_part(1).len(), 10);
    rig.cluster.reassign(&[0]);
    rig.now += ms(5_000);
    rig.drain();
    let at = rig.sent.iter().position(|sent| is_heartbeat(&sent.request)).unwrap();
    rig.serve_at(at);
    assert_eq!(rig.steps.len(), 1);
    let before = rig.heartbeats().len();
    // The application takes its time, and the member stays one.
    rig.now += ms(5_000);
    rig.drain();
    let at = rig.sent.iter().position(|sent| is_heartbeat(&sent.request)).unwrap();
    rig.serve_at(at);
    assert_eq!(held(&rig, before), None);
    assert!(matches!(rig.confirm(), Some(Step::Revoke(_, partitions)) if partitions == [1]));
    let commit = rig.sent.iter().position(|sent| is_commit(&sent.request)).expect("a commit");
    assert!(!rig.sent.iter().any(|sent| is_heartbeat(&sent.request)), "told before the commit is answered");
    rig.serve_at(commit);
    assert_eq!(rig.cluster.committed[&1].0, 10);
    let last = rig.heartbeats().len() - 1;
    assert_eq!(held(&rig, last), Some(vec![0]));
}

#[test]
fn nothing_is_fetched_of_a_partition_that_is_being_given_up() {
    let mut rig = Rig::joined(&[1, 2], |_| {});
    rig.cluster.reassign(&[0]);
    rig.now += ms(5_000);
    rig.drain();
    let at = rig.sent.iter().position(|sent| is_heartbeat(&sent.request)).unwrap();
    rig.serve_at(at);
    let out = rig.take(|request| matches!(request, ConsumerRequest::Fetch(_)));
    let before = rig.fetches().len();
    rig.fail(&out, RequestFailure::TimedOut);
    rig.now += ms(2_000);
    rig.drain();
    // Node 2 has nothing but the partition that goes.
    let later: Vec<_> = rig.log.iter().filter(|sent| is_fetch(&sent.request)).skip(before).collect();
    assert!(later.iter().all(|sent| sent.node() != 2), "{later:?}");
}

// Mutation: protocol/src/machine/consumer/membership.rs
// - State::Stable(_) => self.state = self.join(),
// + State::Stable(_) => {}
#[test]
fn a_member_that_is_fenced_loses_everything_and_joins_again_under_its_id() {
    for code in [ErrorCode::FENCED_MEMBER_EPOCH, ErrorCode::UNKNOWN_MEMBER_ID, ErrorCode::GROUP_ID_NOT_FOUND] {
        let mut rig = Rig::joined(&[1], |_| {});
        let before = rig.runs[&0];
        rig.now += ms(5_000);
        rig.drain();
        let sent = rig.take(is_heartbeat);
        rig.answer(&sent, refused(code));
        assert_eq!(rig.steps[0], Step::Lost(vec![0]));
        let rejoin = rig.heartbeats().pop().unwrap().clone();
        assert_eq!((rejoin.member_epoch, rejoin.member_id.as_str()), (0, "member"));
        assert_eq!(rejoin.topic_partitions, Some(Vec::new()));
        rig.serve();
        assert!(rig.runs[&0] > before);
    }
}

#[test]
fn a_step_that_is_confirmed_after_everything_was_lost_does_nothing() {
    let mut rig = Rig::joined(&[1, 1], |_| {});
    rig.cluster.reassign(&[0]);
    rig.now += ms(5_000);
    rig.drain();
    let at = rig.sent.iter().position(|sent| is_heartbeat(&sent.request)).unwrap();
    rig.serve_at(at);
    rig.now += ms(5_000);
    rig.drain();
    let sent = rig.take(is_heartbeat);
    rig.answer(&sent, refused(ErrorCode::FENCED_MEMBER_EPOCH));
    assert!(matches!(rig.confirm(), Some(Step::Revoke(..))));
    assert_eq!(rig.confirm(), Some(Step::Lost(vec![0, 1])));
    rig.serve();
    assert_eq!(rig.runs.keys().copied().collect::<Vec<_>>(), [0]);
}

// Mutation: protocol/src/machine/consumer/rebalance.rs
// - lost.retain(|name| !given_up.contains(name));
// + lost.retain(|_| given_up.len() < 9);
#[test]
fn what_the_application_has_given_up_is_not_lost_though_its_commit_is_not_answered() {
    let mut rig = Rig::joined(&[1, 1], |_| {});
    rig.cluster.reassign(&[0]);
    rig.now += ms(5_000);
    rig.drain();
    let at = rig.sent.iter().position(|sent| is_heartbeat(&sent.request)).unwrap();
    rig.serve_at(at);
    let Some(Step::Revoke(id, _)) = rig.steps.pop_front() else { panic!("{:?}", rig.steps) };
    rig.machine.revoked(rig.now, id, Offsets::from([(partition(1), OffsetAndMetadata::new(7))]));
    rig.now += ms(5_000);
    rig.drain();
    let sent = rig.take(is_heartbeat);
    rig.answer(&sent, refused(ErrorCode::FENCED_MEMBER_EPOCH));
    assert_eq!(rig.steps, [Step::Lost(vec![0])]);
}

#[test]
fn errors_that_no_retry_heals_are_told_with_their_remedy_and_end_the_membership() {
    let (assignor, regex) = ("which", "(");
    for (code, said) in [
        (ErrorCode::UNSUPPORTED_ASSIGNOR, "group.remote.assignor"),
        (ErrorCode::INVALID_REGULAR_EXPRESSION, "RE2/J"),
        (ErrorCode::GROUP_ID_NOT_FOUND, "use another group.id"),
        (ErrorCode::INCONSISTENT_GROUP_PROTOCOL, "use another group.id"),
        (ErrorCode::FENCED_INSTANCE_ID, "group.instance.id"),
        (ErrorCode::GROUP_AUTHORIZATION_FAILED, "READ on the group"),
        (ErrorCode::UNSUPPORTED_VERSION, "group.version"),
    ] {
        let mut rig = Rig::with(&[1], |options| options.server_assignor = Some(assignor.into()));
        rig.machine.subscribe_pattern(rig.now, regex.into());
        rig.polled();
        rig.serve_at(0);
        rig.sent.retain(|sent| is_heartbeat(&sent.request));
        while rig.sent.is_empty() {
            rig.drain();
        }
        let sent = rig.take(is_heartbeat);
        rig.answer(&sent, refused(code));
        let error = rig.errors.last().unwrap();
        assert!(error.fatal && error.to_string().contains(said), "{error}");
        rig.now += ms(60_000);
        rig.drain();
        assert!(!rig.sent.iter().any(|sent| is_heartbeat(&sent.request)));
    }
}

#[test]
fn a_place_that_is_not_free_yet_is_told_once_and_asked_for_again() {
    for code in [ErrorCode::UNRELEASED_INSTANCE_ID, ErrorCode::GROUP_MAX_SIZE_REACHED] {
        let mut rig = Rig::with(&[1], |options| options.instance_id = Some("i".into()));
        rig.subscribe();
        rig.polled();
        while !rig.sent.iter().any(|sent| is_heartbeat(&sent.request)) {
            rig.serve_at(0);
        }
        for _ in 0..3 {
            let sent = rig.take(is_heartbeat);
            rig.answer(&sent, refused(code));
            rig.now += ms(1_500);
            rig.drain();
        }
        assert_eq!(rig.faults().len(), 1, "{:?}", rig.errors);
        rig.serve();
        assert!(rig.runs.contains_key(&0));
    }
}

#[test]
fn a_member_leaves_with_minus_one_and_a_static_one_with_minus_two() {
    for (instance, epoch) in [(None, -1), (Some("i".to_owned()), -2)] {
        let mut rig = Rig::joined(&[1], |options| {
            options.instance_id.clone_from(&instance);
            options.auto_commit = None;
        });
        rig.machine.close(rig.now, Offsets::new(), true, ms(30_000));
        rig.drain();
        let leave = rig.heartbeats().pop().unwrap();
        assert_eq!((leave.member_epoch, &leave.instance_id), (epoch, &instance));
        assert_eq!((&leave.topic_partitions, &leave.subscribed_topic_names), (&None, &None));
        assert!(!rig.closed);
        rig.serve();
        assert!(rig.closed);
    }
}

#[test]
fn closing_waits_for_nothing_where_there_is_no_group() {
    let mut rig = Rig::with(&[1], |options| options.group_id = None);
    rig.machine.close(rig.now, Offsets::new(), true, ms(30_000));
    rig.drain();
    assert!(rig.closed);
}

// Mutation: protocol/src/machine/consumer/schedule.rs
// - self.state = State::Away;
// + return None;
#[test]
fn a_member_that_is_not_polled_for_leaves_and_joins_again_with_the_next_poll() {
    let mut rig = Rig::joined(&[1], |options| options.max_poll_interval = ms(30_000));
    rig.sleep(ms(30_001));
    assert!(matches!(rig.errors[0].kind, MachineErrorKind::PollInterval { .. }), "{:?}", rig.errors);
    assert_eq!(rig.heartbeats().pop().unwrap().member_epoch, -1);
    assert!(rig.runs.is_empty());
    let id = rig.machine.commit(rig.now, Some([(partition(0), OffsetAndMetadata::new(5))].into()));
    rig.drain();
    let (answered, result) = rig.answers.pop().unwrap();
    assert_eq!(answered, id);
    let kind = result.unwrap_err().kind;
    assert!(matches!(kind, MachineErrorKind::Consumer(ConsumerFault::NotMember { .. })));
    rig.polled();
    rig.serve();
    assert!(rig.runs.contains_key(&0));
}

#[test]
fn a_coordinator_that_moves_is_looked_for_and_loses_nothing() {
    let mut rig = Rig::joined(&[1], |_| {});
    rig.now += ms(5_000);
    rig.drain();
    let sent = rig.take(is_heartbeat);
    rig.answer(&sent, refused(ErrorCode::NOT_COORDINATOR));
    rig.serve();
    let last = rig.heartbeats().pop().unwrap();
    assert_eq!(last.member_epoch, 1);
    assert!(rig.runs.contains_key(&0) && rig.errors.is_empty());
}

#[test]
fn unsubscribing_leaves_and_subscribing_joins_again() {
    let mut rig = Rig::joined(&[1], |_| {});
    rig.machine.unsubscribe(rig.now, Offsets::new());
    rig.drain();
    rig.serve();
    assert_eq!(rig.heartbeats().pop().unwrap().member_epoch, -1);
    rig.runs.clear();
    rig.subscribe();
    rig.polled();
    rig.serve();
    assert!(rig.runs.contains_key(&0));
}

#[test]
fn a_member_that_reads_partitions_of_the_callers_own_leaves_the_group() {
    let mut rig = Rig::joined(&[1], |_| {});
    rig.machine.unsubscribe(rig.now, Offsets::new());
    rig.machine.assign(rig.now, &[partition(0)], 1);
    rig.drain();
    rig.serve();
    assert_eq!(rig.heartbeats().last().unwrap().member_epoch, -1);
    rig.sleep(ms(20_000));
    assert_eq!(rig.heartbeats().last().unwrap().member_epoch, -1);
}

#[test]
fn what_was_read_as_a_member_is_committed_as_the_member_before_it_reads_partitions_of_its_own() {
    let mut rig = Rig::joined(&[1], |_| {});
    let epoch = rig.cluster.epoch;
    let said = Offsets::from([(partition(0), OffsetAndMetadata::new(7))]);
    rig.machine.unsubscribe(rig.now, said);
    rig.machine.assign(rig.now, &[partition(0)], 1);
    rig.drain();
    let commit = rig.take(is_commit);
    let ConsumerRequest::OffsetCommit(request) = &commit.request else { panic!("a commit was expected") };
    assert_eq!(request.generation_id_or_member_epoch, epoch);
    assert!(rig.heartbeats().iter().all(|heartbeat| heartbeat.member_epoch >= 0));
    let answer = rig.cluster.answer(commit.node(), &commit.request, true).unwrap();
    rig.answer(&commit, answer);
    let left = rig.heartbeats().last().unwrap().member_epoch;
    assert_eq!(left, -1);
    // As nobody, once the member is out.
    rig.machine.commit(rig.now, Some(Offsets::from([(partition(0), OffsetAndMetadata::new(8))])));
    rig.drain();
    assert!(!rig.sent.iter().any(|sent| is_commit(&sent.request)));
    rig.serve();
    assert_eq!(rig.cluster.committed.get(&0).map(|kept| kept.0), Some(8));
}
