//! Another process that lives and was given the same member id.

use super::{rig::*, script::*};
use crate::{
    machine::{AcquireMode, Event, MachineErrorKind},
    wire::ErrorCode,
};

const OTHER_EPOCH: ErrorCode = ErrorCode::INVALID_SHARE_SESSION_EPOCH;

#[test]
fn whose_session_another_process_has_opened_stops_with_an_error_and_tells_no_broker() {
    let mut rig = Rig::joined(&[1, 2]);
    rig.deliver(1, 0, 0, 9);
    rig.deliver(2, 1, 0, 9);
    let (first, second) = (rig.acquisitions()[0].session, rig.acquisitions()[1].session);
    rig.polled();
    rig.taken(20);
    let ack = rig.acknowledge(first, partition(0), &[accept(0, 4)]);
    let other_ack = rig.acknowledge(second, partition(1), &[accept(0, 4)]);
    let fetch = rig.take_session(1);
    rig.respond(&fetch, fetch_error(OTHER_EPOCH));
    assert!(rig.errors().is_empty() && rig.lost_sessions().is_empty());
    rig.sleep(ms(150));
    let again = rig.take_session(1);
    assert_eq!((again.epoch(), again.acks()), (fetch.epoch(), fetch.acks()), "the same is said again");
    rig.respond(&again, fetch_error(OTHER_EPOCH));

    let errors = rig.errors();
    assert!(
        matches!(&errors[..], [error] if error.fatal && matches!(error.kind, MachineErrorKind::MemberTaken { .. }))
    );
    let text = errors[0].to_string();
    assert!(text.contains("member (ackflow.member.id) of group group") && text.contains("an id of its own"), "{text}");
    assert_eq!(rig.lost_sessions(), [(first, OTHER_EPOCH), (second, OTHER_EPOCH)]);
    assert_eq!((rig.result(ack), rig.result(other_ack)), (Err(OTHER_EPOCH), Err(OTHER_EPOCH)));
    let sent = rig.log.len();
    rig.polled();
    rig.sleep(ms(60_000));
    rig.close();
    assert!(matches!(rig.events.last(), Some(Event::Closed)), "{:?}", rig.events.last());
    assert_eq!(rig.log.len(), sent, "neither the group nor a session is left");
}

#[test]
fn an_epoch_that_is_refused_once_costs_nothing() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 9);
    let session = rig.take().session;
    let ack = rig.acknowledge(session, partition(0), &[accept(0, 4)]);
    for _ in 0..5 {
        let fetch = rig.take_session(1);
        rig.respond(&fetch, fetch_error(OTHER_EPOCH));
        rig.sleep(ms(1_200));
        let again = rig.take_session(1);
        assert_eq!(again.epoch(), fetch.epoch());
        rig.respond(&again, fetched(vec![partition_error(0, ErrorCode::NONE)]));
        rig.sleep(ms(30));
    }
    assert_eq!(rig.result(ack), Ok(()));
    assert!(rig.errors().is_empty() && rig.lost_sessions().is_empty());
}

#[test]
fn who_may_have_lost_count_opens_the_session_anew() {
    let mut rig = Rig::joined_with(&[1], |options| options.acquire_mode = AcquireMode::BatchOptimized);
    rig.deliver(1, 0, 0, 9);
    for _ in 0..3 {
        rig.sleep(ms(1_200));
        let fetch = rig.take_session(1);
        rig.respond(&fetch, fetch_error(ErrorCode::UNKNOWN_SERVER_ERROR));
        rig.sleep(ms(1_200));
        let next = rig.take_session(1);
        assert_eq!(next.epoch(), fetch.epoch() + 1);
        rig.respond(&next, fetch_error(OTHER_EPOCH));
        rig.sleep(ms(1_200));
        let opening = rig.take_session(1);
        assert_eq!(opening.epoch(), 0);
        rig.respond(&opening, fetched(vec![partition_error(0, ErrorCode::NONE)]));
    }
    assert_eq!(rig.lost_sessions().len(), 3);
    assert!(rig.errors().iter().all(|error| !error.fatal), "{:?}", rig.errors());
}
