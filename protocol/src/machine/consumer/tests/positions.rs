//! Where partitions are read from.

use super::{cluster::*, rig::*};
use crate::machine::{
    RequestFailure,
    consumer::{ConsumerFault, ConsumerRequest, ConsumerResponse, OffsetReset, Position, SeekTo},
};

#[test]
fn what_the_group_has_counts_before_the_policy() {
    let mut rig = Rig::with(&[1, 1], |_| {});
    rig.cluster.logs[0].end = 30;
    rig.cluster.logs[1].end = 30;
    rig.cluster.committed.insert(0, (25, 5));
    rig.subscribe();
    rig.polled();
    rig.serve();
    assert_eq!(rig.take_part(0), [25, 26, 27, 28, 29]);
    assert_eq!(rig.take_part(1)[0], 0);
}

#[test]
fn each_policy_begins_where_it_says() {
    for (reset, first) in [
        (OffsetReset::Earliest, Some(3)),
        (OffsetReset::Latest, None),
        // It is 1,000,000 ms now, and a record's time is its offset.
        (OffsetReset::ByDuration(ms(1_000_000 - 17)), Some(17)),
        (OffsetReset::ByDuration(ms(1)), None),
    ] {
        let mut rig = Rig::with(&[1], |options| options.offset_reset = reset);
        (rig.cluster.logs[0].start, rig.cluster.logs[0].end) = (3, 30);
        rig.subscribe();
        rig.polled();
        rig.serve();
        assert_eq!(rig.take_part(0).first().copied(), first, "{reset:?}");
        rig.cluster.logs[0].end = 31;
        rig.serve();
        let id = rig.machine.position(rig.now, partition(0));
        rig.drain();
        assert_eq!(rig.answers.last().unwrap().0, id);
    }
}

#[test]
fn without_a_policy_no_offset_is_an_error_and_a_seek_goes_on() {
    let mut rig = Rig::joined(&[1], |options| options.offset_reset = OffsetReset::None);
    rig.cluster.logs[0].end = 10;
    assert_eq!(rig.faults(), [&ConsumerFault::NoOffset { partition: partition(0) }]);
    rig.seek(0, SeekTo::Beginning);
    rig.serve();
    assert_eq!(rig.take_part(0).len(), 10);
}

// Mutation: protocol/src/machine/consumer/positions.rs
// - && partition.is_drained()
// + && partition.position.is_some()
#[test]
fn an_offset_that_is_gone_counts_once_what_was_fetched_is_handed_out() {
    let mut rig = Rig::joined(&[1], |_| {});
    rig.cluster.logs[0].end = 10;
    rig.serve();
    (rig.cluster.logs[0].start, rig.cluster.logs[0].end) = (50, 60);
    let out = rig.sent.iter().position(|sent| is_fetch(&sent.request)).unwrap();
    rig.serve_at(out);
    rig.serve();
    let asked =
        |rig: &Rig| rig.log.iter().filter(|sent| matches!(sent.request, ConsumerRequest::ListOffsets(_))).count();
    assert_eq!(asked(&rig), 1, "for where to begin, and not yet for where to go on");
    assert_eq!(rig.take_part(0), (0..10).collect::<Vec<_>>());
    assert_eq!(asked(&rig), 2);
    rig.serve();
    assert_eq!(rig.take_part(0), (50..60).collect::<Vec<_>>());
}

#[test]
fn a_new_leader_is_asked_whether_it_has_what_was_read() {
    let mut rig = Rig::joined(&[1], |_| {});
    rig.cluster.logs[0].end = 30;
    rig.serve();
    (0..3).for_each(|_| _ = rig.take_part(0));
    rig.cluster.logs[0] = Log { leader: 2, epoch: 6, start: 0, end: 28, cut: Some((5, 20)) };
    let out = rig.sent.iter().position(|sent| is_fetch(&sent.request)).unwrap();
    rig.serve_at(out);
    rig.sleep(ms(1_000));
    assert!(rig.log.iter().any(|sent| matches!(sent.request, ConsumerRequest::OffsetForLeaderEpoch(_))));
    assert_eq!(rig.take_part(0)[0], 20, "on from where the logs differ");
}

#[test]
fn without_a_policy_a_truncated_log_is_an_error_that_says_where() {
    let mut rig = Rig::with(&[1], |options| options.offset_reset = OffsetReset::None);
    rig.cluster.committed.insert(0, (30, 5));
    rig.cluster.logs[0] = Log { leader: 1, epoch: 6, start: 0, end: 28, cut: Some((5, 20)) };
    rig.subscribe();
    rig.polled();
    rig.serve();
    let expected = ConsumerFault::Truncated { partition: partition(0), offset: 30, diverged: Some(20) };
    assert_eq!(rig.faults(), [&expected]);
    assert!(rig.fetches().is_empty());
}

#[test]
fn a_seek_drops_what_was_fetched_and_what_is_under_way() {
    let mut rig = Rig::joined(&[1], |_| {});
    rig.cluster.logs[0].end = 100;
    let out = rig.take(is_fetch);
    rig.seek(0, SeekTo::Position(Position { offset: 55, leader_epoch: None }));
    let response = rig.cluster.answer(1, &out.request, true).unwrap();
    rig.answer(&out, response);
    rig.serve();
    assert_eq!(rig.take_part(0), [55, 56, 57, 58, 59]);
    rig.seek(0, SeekTo::End);
    rig.serve();
    assert_eq!(rig.take_part(0), [] as [i64; 0]);
    rig.seek(0, SeekTo::Beginning);
    // The broker holds a fetch from the end.
    rig.sleep(ms(500));
    assert_eq!(rig.take_part(0)[0], 0);
}

#[test]
fn partitions_of_the_callers_own_are_read_without_a_group() {
    let mut rig = Rig::with(&[1, 2], |options| options.group_id = None);
    rig.cluster.logs[1].end = 10;
    rig.machine.assign(rig.now, &[partition(1)], 7);
    rig.runs.insert(1, crate::machine::consumer::Run { assignment: 7, seeks: 0 });
    rig.polled();
    rig.serve();
    assert_eq!(rig.take_part(1).len(), 10);
    assert!(rig.heartbeats().is_empty());
    rig.machine.assign(rig.now, &[partition(0), partition(1)], 8);
    rig.runs.insert(0, crate::machine::consumer::Run { assignment: 8, seeks: 0 });
    rig.cluster.logs[0].end = 10;
    rig.cluster.logs[1].end = 20;
    rig.drain();
    rig.serve();
    assert_eq!((rig.take_part(0)[0], rig.take_part(1)[0]), (0, 10), "what was read goes on");
}

fn is_epoch_question(request: &ConsumerRequest) -> bool {
    matches!(request, ConsumerRequest::OffsetForLeaderEpoch(_))
}

#[test]
fn a_leader_too_old_to_say_where_epochs_end_is_not_asked_again() {
    let mut rig = Rig::with(&[1], |_| {});
    (rig.cluster.logs[0].end, rig.cluster.logs[0].epoch) = (30, 5);
    rig.cluster.committed.insert(0, (25, 5));
    rig.subscribe();
    rig.polled();
    while !rig.sent.iter().any(|sent| is_epoch_question(&sent.request)) {
        while rig.confirm().is_some() {}
        let at = rig.sent.iter().position(|sent| !is_epoch_question(&sent.request)).unwrap();
        rig.serve_at(at);
        while rig.confirm().is_some() {}
    }
    let question = rig.take(is_epoch_question);
    rig.fail(&question, RequestFailure::UnsupportedVersion(None));
    assert!(!rig.sent.iter().any(|sent| is_epoch_question(&sent.request)));
    rig.serve();
    assert_eq!(rig.take_part(0), [25, 26, 27, 28, 29]);
}

#[test]
fn a_question_that_failed_after_a_seek_holds_nothing_up() {
    let mut rig = Rig::joined(&[1], |_| {});
    rig.cluster.logs[0].end = 30;
    rig.seek(0, SeekTo::Beginning);
    let question = rig.take(|request| matches!(request, ConsumerRequest::ListOffsets(_)));
    rig.seek(0, SeekTo::End);
    rig.fail(&question, RequestFailure::Disconnected);
    let questions = rig.sent.iter().filter(|sent| matches!(sent.request, ConsumerRequest::ListOffsets(_)));
    assert_eq!(questions.count(), 1);
    rig.sleep(ms(90));
    assert_eq!(rig.log.iter().filter(|sent| matches!(sent.request, ConsumerRequest::ListOffsets(_))).count(), 3);
}

#[test]
fn what_the_group_had_before_the_partition_went_and_came_back_does_not_count() {
    let is_question = |request: &ConsumerRequest| matches!(request, ConsumerRequest::OffsetFetch(_));
    let mut rig = Rig::with(&[1], |_| {});
    rig.cluster.logs[0].end = 30;
    rig.cluster.committed.insert(0, (5, -1));
    rig.subscribe();
    rig.polled();
    let ask = |rig: &mut Rig| {
        while !rig.sent.iter().any(|sent| is_question(&sent.request)) {
            rig.serve_at(0);
            while rig.confirm().is_some() {}
        }
        rig.take(is_question)
    };
    let before = ask(&mut rig);
    let late = rig.cluster.answer(before.node(), &before.request, true).unwrap();
    rig.machine.unsubscribe(rig.now, Default::default());
    rig.drain();
    rig.serve();
    rig.cluster.committed.insert(0, (20, -1));
    rig.subscribe();
    rig.polled();
    let after = ask(&mut rig);
    rig.answer(&before, late);
    let ConsumerResponse::OffsetFetch(now) = rig.cluster.answer(after.node(), &after.request, true).unwrap() else {
        panic!("an answer was expected")
    };
    rig.answer(&after, ConsumerResponse::OffsetFetch(now));
    rig.serve();
    assert_eq!(rig.take_part(0).first(), Some(&20));
}
