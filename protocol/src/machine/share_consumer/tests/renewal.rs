//! Renewed locks.

use super::{rig::*, script::*};
use crate::{
    machine::{AckType, Event, RequestFailure},
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
// - self.held.remove(first, last);
// +
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
    rig.fail(&request, RequestFailure::UnsupportedVersion);
    assert_eq!(rig.result(renewal), Err(ErrorCode::UNSUPPORTED_VERSION));
    rig.sleep(ms(25));
    let request = rig.take_session(1);
    assert_eq!((request.epoch(), request.acks()), (epoch, vec![(0, 0, 3, vec![1])]));
    assert!(rig.results(ack).is_empty());
    let late = rig.acknowledge(session, partition(0), &[accept(4, 9)]);
    assert!(rig.results(late).is_empty(), "the records are still held");
}
