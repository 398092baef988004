//! Acknowledgements of which a broker refuses some: the others take effect.

use super::{rig::*, script::*};
use crate::{
    machine::{AckRange, AckType, ClientRequest, Event},
    messages::share_fetch::PartitionData,
    wire::ErrorCode,
};

/// The broker refuses every request about partition 0 that names one of `lost`, and takes all others, until nothing is
/// sent for a while. Gives the acknowledgements of the requests.
fn refuse(rig: &mut Rig, lost: &[i64]) -> Vec<Vec<(i64, i64)>> {
    let mut requests = Vec::new();
    for _ in 0..200 {
        rig.sleep(ms(1));
        let Some(sent) = rig.try_session(1) else { continue };
        let acks = sent.acks();
        let code = match acks.iter().any(|(_, first, last, _)| lost.iter().any(|lost| first <= lost && lost <= last)) {
            true => ErrorCode::INVALID_RECORD_STATE,
            false => ErrorCode::NONE,
        };
        if !acks.is_empty() {
            requests.push(acks.iter().map(|(_, first, last, _)| (*first, *last)).collect());
        }
        match sent.request {
            ClientRequest::ShareFetch(_) if acks.is_empty() => rig.respond(&sent, fetched(vec![])),
            ClientRequest::ShareFetch(_) => {
                rig.respond(&sent, fetched(vec![PartitionData { acknowledge_error_code: code, ..Default::default() }]));
            }
            _ => rig.respond(&sent, acked(&[(0, code)])),
        }
    }
    requests
}

fn failed(rig: &Rig) -> Vec<AckRange> {
    let failed = rig.events.iter().filter_map(|event| match event {
        Event::Acknowledged { failed, .. } => Some(failed.clone()),
        _ => None,
    });
    failed.flatten().collect()
}

#[test]
fn of_what_was_refused_together_the_good_part_is_sent_again() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 99);
    let session = rig.take().session;
    rig.sleep(ms(10));
    let fetch = rig.take_session(1);
    let calls = [(0, 39), (40, 59), (60, 99)]
        .map(|(first, last)| rig.acknowledge(session, partition(0), &[accept(first, last)]));
    let commit = rig.commit();
    rig.respond(&fetch, fetched(vec![]));
    let requests = refuse(&mut rig, &[45]);
    assert_eq!(requests[0], [(0, 99)]);
    assert_eq!(calls.map(|call| rig.result(call).is_ok()), [true, false, true]);
    assert_eq!(failed(&rig), [accept(45, 45)]);
    assert_eq!(rig.committed(commit).unwrap()[0].2, Err(ErrorCode::INVALID_RECORD_STATE));
    assert!(requests.len() <= 16, "{requests:?}");
    let again = rig.acknowledge(session, partition(0), &[accept(46, 46)]);
    assert_eq!(rig.result(again), Err(ErrorCode::INVALID_RECORD_STATE), "it was accepted before");
}

#[test]
fn renewals_that_a_group_does_not_allow_take_no_other_acknowledgement_down() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 9);
    let session = rig.take().session;
    rig.sleep(ms(10));
    let fetch = rig.take_session(1);
    let ack = rig.acknowledge(session, partition(0), &[accept(0, 3)]);
    let renewal = rig.acknowledge(session, partition(0), &[range(4, 9, AckType::Renew)]);
    rig.respond(&fetch, fetched(vec![]));
    refuse(&mut rig, &[4, 5, 6, 7, 8, 9]);
    assert_eq!(rig.result(ack), Ok(()));
    assert_eq!(rig.result(renewal), Err(ErrorCode::INVALID_RECORD_STATE));
    let late = rig.acknowledge(session, partition(0), &[accept(4, 9)]);
    refuse(&mut rig, &[]);
    assert_eq!(rig.result(late), Ok(()), "the records are still held");
}

#[test]
fn the_last_word_waits_until_it_is_known_what_was_to_blame() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 9);
    let session = rig.take().session;
    let ack = rig.acknowledge(session, partition(0), &[accept(0, 9)]);
    assert_eq!(rig.sent.iter().filter(|sent| sent.acks().len() == 1).count(), 1, "it is under way");
    rig.close();
    refuse(&mut rig, &[7]);
    let ends: Vec<_> = rig.log.iter().filter(|sent| sent.node() == Some(1) && sent.epoch() == -1).collect();
    assert_eq!((ends.len(), ends[0].acks().len()), (1, 0));
    assert_eq!(failed(&rig), [accept(7, 7)]);
    assert_eq!(rig.result(ack), Err(ErrorCode::INVALID_RECORD_STATE));
}

#[test]
fn a_lost_session_ends_the_search() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 9);
    let session = rig.take().session;
    let ack = rig.acknowledge(session, partition(0), &[accept(0, 9)]);
    let fetch = rig.take_session(1);
    let code = ErrorCode::INVALID_RECORD_STATE;
    rig.respond(&fetch, fetched(vec![PartitionData { acknowledge_error_code: code, ..Default::default() }]));
    assert!(rig.results(ack).is_empty());
    rig.disconnect(1);
    assert_eq!(rig.result(ack), Err(ErrorCode::NETWORK_EXCEPTION));
}
