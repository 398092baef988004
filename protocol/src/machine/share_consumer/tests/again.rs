//! Records that are acquired again in the session that had them before: a word about the first acquisition is none about the
//! second.

use super::{rig::*, script::*};
use crate::{
    machine::{AckType, Acquisition},
    wire::ErrorCode,
};

/// The broker gives the records again, and the application takes them.
fn take_again(rig: &mut Rig) -> Acquisition {
    rig.deliver(1, 0, 0, 4);
    let again = rig.acquisitions().pop().unwrap();
    rig.polled();
    rig.taken(again.records);
    again
}

#[test]
fn a_word_about_records_whose_lock_was_lost_does_not_decide_about_them_when_they_came_again() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 4);
    let first = rig.take();
    rig.polled();
    rig.sleep(ms(20));
    let fetch = rig.take_session(1);
    rig.pass(LOCK);
    rig.answer_well(&fetch);
    let again = take_again(&mut rig);
    assert_eq!((again.session, &again.ranges), (first.session, &first.ranges));
    let late = rig.acknowledge_of(first.id(), partition(0), &[range(0, 4, AckType::Release)]);
    assert_eq!(rig.result(late), Err(ErrorCode::INVALID_RECORD_STATE));
    let accepted = rig.acknowledge_of(again.id(), partition(0), &[accept(0, 4)]);
    let fetch = rig.take_session(1);
    assert_eq!(fetch.acks(), [(0, 0, 4, vec![1])]);
    rig.answer_well(&fetch);
    assert_eq!(rig.result(accepted), Ok(()));
}

#[test]
fn a_word_that_was_not_sent_when_its_records_came_again_has_failed() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 4);
    let first = rig.take();
    rig.polled();
    rig.sleep(ms(20));
    let fetch = rig.take_session(1);
    assert!(fetch.acks().is_empty());
    let unsent = rig.acknowledge_of(first.id(), partition(0), &[range(0, 4, AckType::Reject)]);
    // The leader moved away and back: it has forgotten who held them.
    rig.respond(&fetch, fetched(vec![acquired(0, 0, 4)]));
    assert_eq!(rig.result(unsent), Err(ErrorCode::INVALID_RECORD_STATE));
    let again = rig.acquisitions().pop().unwrap();
    let accepted = rig.acknowledge_of(again.id(), partition(0), &[accept(0, 4)]);
    let fetch = rig.take_session(1);
    assert_eq!(fetch.acks(), [(0, 0, 4, vec![1])]);
    rig.answer_well(&fetch);
    assert_eq!(rig.result(accepted), Ok(()));
}

#[test]
fn letting_go_of_records_whose_lock_was_lost_keeps_what_came_again() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 4);
    let first = rig.take();
    rig.polled();
    rig.sleep(ms(20));
    let fetch = rig.take_session(1);
    rig.pass(LOCK);
    rig.answer_well(&fetch);
    let again = take_again(&mut rig);
    rig.machine.dropped(rig.now, &first);
    let accepted = rig.acknowledge_of(again.id(), partition(0), &[accept(0, 4)]);
    let fetch = rig.take_session(1);
    rig.answer_well(&fetch);
    assert_eq!(rig.result(accepted), Ok(()));
}
