//! What the application asks.

use std::collections::BTreeMap;

use super::rig::*;
use crate::machine::{
    MachineErrorKind, RequestFailure,
    consumer::{Answer, ConsumerFault, ConsumerRequest, OffsetAndMetadata, Offsets},
};

#[test]
fn committed_offsets_are_those_of_the_group_and_none_where_it_has_none() {
    let mut rig = Rig::with(&[1, 1], |_| {});
    rig.cluster.committed.insert(1, (17, 5));
    rig.machine.committed(rig.now, vec![partition(0), partition(1)]);
    rig.drain();
    rig.serve();
    let Ok(Answer::Kept(kept)) = rig.answers.pop().unwrap().1 else { panic!("an answer was expected") };
    assert_eq!(kept[&partition(0)], None);
    assert_eq!(kept[&partition(1)].as_ref().map(|kept| (kept.offset, kept.leader_epoch)), Some((17, Some(5))));
    assert!(rig.heartbeats().is_empty());
}

#[test]
fn times_and_ends_are_asked_of_each_leader() {
    let mut rig = Rig::with(&[1, 2], |options| options.group_id = None);
    (rig.cluster.logs[0].start, rig.cluster.logs[0].end, rig.cluster.logs[1].end) = (3, 30, 40);
    let times = BTreeMap::from([(partition(0), -2), (partition(1), 1_000)]);
    rig.machine.offsets_for_times(rig.now, times);
    rig.drain();
    rig.serve();
    let Ok(Answer::Found(found)) = rig.answers.pop().unwrap().1 else { panic!("an answer was expected") };
    assert_eq!(found[&partition(0)].map(|found| found.offset), Some(3));
    assert_eq!(found[&partition(1)], None);
}

#[test]
fn a_leader_that_does_not_answer_is_asked_again() {
    let mut rig = Rig::with(&[1], |options| options.group_id = None);
    rig.machine.offsets_for_times(rig.now, BTreeMap::from([(partition(0), -1)]));
    rig.drain();
    rig.serve_at(0);
    let out = rig.take(|request| matches!(request, ConsumerRequest::ListOffsets(_)));
    rig.fail(&out, RequestFailure::Disconnected);
    rig.sleep(ms(1_000));
    assert!(matches!(rig.answers.pop(), Some((_, Ok(Answer::Found(_))))));
}

#[test]
fn a_question_that_is_never_answered_ends_with_its_time() {
    let mut rig = Rig::with(&[1], |_| {});
    let id = rig.machine.committed(rig.now, vec![partition(0)]);
    rig.drain();
    rig.now += ms(60_000);
    rig.drain();
    let (ended, result) = rig.answers.pop().unwrap();
    assert_eq!(ended, id);
    assert!(matches!(result.unwrap_err().kind, MachineErrorKind::Consumer(ConsumerFault::TimedOut { .. })));
}

#[test]
fn a_position_is_told_once_it_is_known_and_refused_for_what_is_not_assigned() {
    let mut rig = Rig::with(&[1], |_| {});
    rig.subscribe();
    rig.machine.position(rig.now, partition(0));
    rig.drain();
    let kind = rig.answers.pop().unwrap().1.unwrap_err().kind;
    assert_eq!(kind, MachineErrorKind::Consumer(ConsumerFault::NotAssigned { partition: partition(0) }));
    rig.cluster.committed.insert(0, (4, 5));
    rig.cluster.logs[0].end = 10;
    rig.serve();
    rig.machine.position(rig.now, partition(0));
    rig.drain();
    assert!(matches!(rig.answers.pop(), Some((_, Ok(Answer::Position(position)))) if position.offset == 4));
}

#[test]
fn what_is_asked_of_a_consumer_that_closes_is_refused() {
    let mut rig = Rig::joined(&[1], |_| {});
    for closed in [false, true] {
        rig.machine.close(rig.now, Offsets::new(), true, ms(30_000));
        let said = Offsets::from([(partition(0), OffsetAndMetadata::new(7))]);
        let asked = [
            rig.machine.position(rig.now, partition(0)),
            rig.machine.committed(rig.now, vec![partition(0)]),
            rig.machine.commit(rig.now, Some(said)),
        ];
        rig.drain();
        for (id, (ended, result)) in asked.into_iter().zip(std::mem::take(&mut rig.answers)) {
            assert_eq!(ended, id);
            assert!(matches!(result.unwrap_err().kind, MachineErrorKind::Consumer(ConsumerFault::Closed)));
        }
        rig.serve();
        assert!(rig.closed, "closed before: {closed}");
    }
}

#[test]
fn commits_that_closing_drops_are_answered() {
    let mut rig = Rig::joined(&[1], |_| {});
    let said = Offsets::from([(partition(0), OffsetAndMetadata::new(7))]);
    let asked = [rig.machine.commit(rig.now, Some(said.clone())), rig.machine.commit(rig.now, Some(said))];
    rig.drain();
    rig.machine.close(rig.now, Offsets::new(), false, ms(30_000));
    rig.drain();
    rig.serve();
    let answers: Vec<_> = rig.answers.iter().map(|(id, result)| (*id, result.is_ok())).collect();
    assert_eq!(answers, [(asked[1], false), (asked[0], true)]);
    assert!(rig.closed);
}
