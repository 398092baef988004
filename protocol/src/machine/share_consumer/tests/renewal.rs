//! Renewed locks.

use super::{rig::*, script::*};
use crate::{
    machine::{AckType, AutoRenew, ClientRequest, Event, KeepEnd, RequestFailure},
    wire::ErrorCode,
};

// Mutation: protocol/src/machine/share_consumer/wire.rs
// - range.ack == AckType::Renew));
// + range.ack == AckType::Gap));
#[test]
fn row_12_a_renewal_goes_alone_with_its_flag_and_moves_the_deadline() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 4);
    let acquisition = rig.take();
    let session = acquisition.session;
    rig.pass(ms(10_000));
    // By now nothing is fetched ahead any more, so that no fetch is in the way.
    let renewal = rig.acknowledge(session, partition(0), &[range(0, 4, AckType::Renew)]);
    let renewed_at = rig.now;
    let request = rig.take_session(1);
    assert!(request.acknowledge().is_renew_ack);
    assert_eq!(request.acks(), [(0, 0, 4, vec![4])]);
    rig.respond(&request, acked(&[(0, ErrorCode::NONE)]));
    let deadline = rig.events.iter().find_map(|event| match event {
        Event::Acknowledged { id, lock_deadline, .. } if *id == renewal => *lock_deadline,
        _ => None,
    });
    assert_eq!(deadline, Some(renewed_at + LOCK));
    // Past the first deadline it is still held, and has to be acknowledged.
    rig.pass(LOCK - ms(5_000));
    assert!(rig.now > acquisition.lock_deadline);
    let ack = rig.acknowledge(session, partition(0), &[accept(0, 4)]);
    rig.pass(ms(50));
    assert_eq!(rig.result(ack), Ok(()));
}

// Mutation: protocol/src/machine/ack_ledger/partition.rs
// - if ack.is_terminal() {
// + if *ack == AckType::Gap {
#[test]
fn row_12_a_renewal_that_is_not_sent_yet_gives_way_to_what_is_said_after_it() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 9);
    let session = rig.take().session;
    rig.sleep(ms(10));
    let fetch = rig.take_session(1);
    let renewal = rig.acknowledge(session, partition(0), &[range(0, 9, AckType::Renew)]);
    let ack = rig.acknowledge(session, partition(0), &[accept(0, 3)]);
    rig.respond(&fetch, fetched(vec![]));
    let request = rig.take_session(1);
    assert_eq!(request.acks(), [(0, 0, 9, vec![1, 1, 1, 1, 4, 4, 4, 4, 4, 4])]);
    rig.respond(&request, acked(&[(0, ErrorCode::NONE)]));
    assert_eq!((rig.result(renewal), rig.result(ack)), (Ok(()), Ok(())));
    let rest = rig.acknowledge(session, partition(0), &[accept(4, 9)]);
    assert!(rig.results(rest).is_empty());
    let twice = rig.acknowledge(session, partition(0), &[accept(0, 3)]);
    assert_eq!(rig.result(twice), Err(ErrorCode::INVALID_RECORD_STATE));
}

// Mutation: protocol/src/machine/ack_ledger/partition.rs
// - rest.retain(|decision| decision.ack != AckType::Renew);
// + rest.retain(|_| false);
#[test]
fn row_12_a_broker_without_renewal_fails_the_renewal_alone() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 9);
    let session = rig.take().session;
    rig.sleep(ms(10));
    let fetch = rig.take_session(1);
    let ack = rig.acknowledge(session, partition(0), &[accept(0, 3)]);
    let renewal = rig.acknowledge(session, partition(0), &[range(4, 9, AckType::Renew)]);
    rig.respond(&fetch, fetched(vec![]));
    let request = rig.take_session(1);
    let epoch = request.epoch();
    rig.fail(&request, RequestFailure::UnsupportedVersion(Some(1)));
    assert_eq!(rig.result(renewal), Err(ErrorCode::UNSUPPORTED_VERSION));
    rig.sleep(ms(25));
    let request = rig.take_session(1);
    assert_eq!((request.epoch(), request.acks()), (epoch, vec![(0, 0, 3, vec![1])]));
    assert!(rig.results(ack).is_empty());
    let late = rig.acknowledge(session, partition(0), &[accept(4, 9)]);
    assert!(rig.results(late).is_empty(), "the records are still held");
}

/// What the broker was asked to renew, and when.
fn renewals(rig: &Rig) -> Vec<(std::time::Duration, Vec<(i64, i64)>)> {
    let renewals = rig.log.iter().filter_map(|sent| match &sent.request {
        ClientRequest::ShareAcknowledge(request) if request.is_renew_ack => {
            let renewed = sent.acks().into_iter().filter(|(.., types)| types.contains(&4));
            Some((sent.at - rig.start, renewed.map(|(_, first, last, _)| (first, last)).collect()))
        }
        _ => None,
    });
    renewals.collect()
}

#[test]
fn what_is_kept_is_renewed_at_half_its_lock_until_it_is_settled() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 9);
    let acquisition = rig.take();
    let kept = rig.keep(&acquisition, AutoRenew::default()).unwrap();
    rig.pass(ms(40_000));
    let part = rig.acknowledge(acquisition.session, partition(0), &[accept(3, 9)]);
    rig.pass(ms(15_000));
    let rest = rig.acknowledge(acquisition.session, partition(0), &[accept(0, 2)]);
    assert_eq!(rig.keep_end(kept), Some(KeepEnd::Settled));
    rig.pass(ms(60_000));
    assert_eq!((rig.result(part), rig.result(rest)), (Ok(()), Ok(())));
    let renewed = renewals(&rig);
    let what: Vec<_> = renewed.iter().map(|(_, offsets)| offsets.clone()).collect();
    assert_eq!(what, [vec![(0, 9)], vec![(0, 9)], vec![(0, 2)]]);
    for ((at, _), seconds) in renewed.iter().zip([15, 30, 45]) {
        assert!(at.abs_diff(ms(seconds * 1_000)) < ms(1_500), "{at:?} for {seconds} s");
    }
    assert_eq!(rig.renewals(kept).len(), 3);
}

#[test]
fn the_limits_of_renewal_let_go_of_the_lock() {
    for (renew, expected) in [
        (AutoRenew { max_renewals: 2, ..AutoRenew::default() }, 2),
        (AutoRenew { max_time: ms(20_000), ..AutoRenew::default() }, 1),
        (AutoRenew { at_percent: 90, max_time: ms(60_000), ..AutoRenew::default() }, 2),
    ] {
        let mut rig = Rig::joined(&[1]);
        rig.deliver(1, 0, 0, 9);
        let acquisition = rig.take();
        let kept = rig.keep(&acquisition, renew).unwrap();
        rig.pass(ms(100_000));
        assert_eq!((renewals(&rig).len(), rig.keep_end(kept)), (expected, Some(KeepEnd::Limit)), "{renew:?}");
        let late = rig.acknowledge(acquisition.session, partition(0), &[accept(0, 9)]);
        assert_eq!(rig.result(late), Err(ErrorCode::INVALID_RECORD_STATE));
    }
}

#[test]
fn renewals_that_are_due_together_go_together() {
    let mut rig = Rig::joined(&[1, 1]);
    let fetch = rig.take_session(1);
    rig.respond(&fetch, fetched(vec![acquired(0, 0, 9), acquired(1, 0, 4)]));
    for acquisition in rig.acquisitions() {
        rig.taken(acquisition.records);
        rig.keep(&acquisition, AutoRenew::default()).unwrap();
    }
    rig.pass(ms(20_000));
    let renewed: Vec<_> = renewals(&rig).into_iter().map(|(_, offsets)| offsets).collect();
    assert_eq!(renewed, [vec![(0, 9), (0, 4)]]);
}

#[test]
fn what_is_kept_ends_with_its_session_and_where_the_broker_refuses() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 9);
    let acquisition = rig.take();
    let kept = rig.keep(&acquisition, AutoRenew::default()).unwrap();
    rig.disconnect(1);
    assert_eq!(rig.keep_end(kept), Some(KeepEnd::Lost));
    assert_eq!(rig.keep(&acquisition, AutoRenew::default()), None, "nothing of it is held");

    for refuses_as_unknown in [true, false] {
        let mut rig = Rig::joined(&[1]);
        rig.deliver(1, 0, 0, 0);
        let acquisition = rig.take();
        let kept = rig.keep(&acquisition, AutoRenew::default()).unwrap();
        // By then nothing is fetched any more.
        rig.pass(ms(14_900));
        rig.sleep(ms(200));
        let request = rig.take_session(1);
        let code = if refuses_as_unknown {
            rig.fail(&request, RequestFailure::UnsupportedVersion(Some(1)));
            ErrorCode::UNSUPPORTED_VERSION
        } else {
            rig.respond(&request, acked(&[(0, ErrorCode::INVALID_RECORD_STATE)]));
            ErrorCode::INVALID_RECORD_STATE
        };
        assert_eq!(rig.keep_end(kept), Some(KeepEnd::Refused(code)));
        let ack = rig.acknowledge(acquisition.session, partition(0), &[accept(0, 0)]);
        rig.pass(ms(100));
        assert_eq!(rig.result(ack), Ok(()), "it is held until its lock ends");
    }
}

#[test]
fn no_renewal_travels_with_the_end_of_a_session() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 9);
    let session = rig.take().session;
    rig.sleep(ms(10));
    let fetch = rig.take_session(1);
    let renewal = rig.acknowledge(session, partition(0), &[range(0, 4, AckType::Renew)]);
    let ack = rig.acknowledge(session, partition(0), &[accept(5, 9)]);
    rig.close();
    rig.respond(&fetch, fetched(vec![]));
    let end = rig.take_session(1);
    assert!(!end.acknowledge().is_renew_ack);
    assert_eq!((end.epoch(), end.acks()), (-1, vec![(0, 5, 9, vec![1])]));
    rig.respond(&end, acked(&[(0, ErrorCode::NONE)]));
    assert_eq!((rig.result(renewal), rig.result(ack)), (Err(ErrorCode::SHARE_SESSION_NOT_FOUND), Ok(())));
}
