//! Brokers that throttle this client (KIP-219).

use super::{rig::*, script::*};
use crate::{
    machine::{ClientResponse, Event},
    wire::ErrorCode,
};

/// The same answer, which throttles the client for so long.
fn throttled(response: ClientResponse, milliseconds: i32) -> ClientResponse {
    match response {
        ClientResponse::ShareFetch(mut response) => {
            response.throttle_time_ms = milliseconds;
            ClientResponse::ShareFetch(response)
        }
        ClientResponse::ShareAcknowledge(mut response) => {
            response.throttle_time_ms = milliseconds;
            ClientResponse::ShareAcknowledge(response)
        }
        other => other,
    }
}

// Mutation: protocol/src/machine/share_consumer/node.rs
// - self.throttled_until = Some(now + Duration::from_millis(milliseconds));
// +
#[test]
fn nothing_goes_to_a_broker_that_throttles_until_it_is_over_and_what_is_decided_goes_then() {
    let mut rig = Rig::joined(&[1, 2]);
    let fetch = rig.take_session(1);
    rig.respond(&fetch, throttled(fetched(vec![acquired(0, 0, 9)]), 10_000));
    let held = rig.take();
    let ack = rig.acknowledge(held.session, partition(0), &[accept(0, 9)]);
    rig.commit();
    for _ in 0..99 {
        rig.sleep(ms(100));
        assert!(rig.try_session(1).is_none(), "{:?}", rig.now - rig.start);
        if let Some(other) = rig.try_session(2) {
            rig.answer_well(&other);
        }
    }
    rig.sleep(ms(110));
    let request = rig.take_session(1);
    assert_eq!(request.acks(), [(0, 0, 9, vec![1])]);
    rig.respond(&request, throttled(acked(&[(0, ErrorCode::NONE)]), 5_000));
    assert_eq!(rig.result(ack), Ok(()));
    rig.polled();
    rig.sleep(ms(4_900));
    assert!(rig.try_session(1).is_none(), "an acknowledgement throttles as well");
    rig.sleep(ms(200));

    // The lock counts from when the fetch could go.
    let fetch = rig.take_session(1);
    assert!(fetch.at - rig.start >= ms(15_000));
    rig.respond(&fetch, fetched(vec![acquired(0, 10, 19)]));
    assert_eq!(rig.acquisitions().last().unwrap().lock_deadline, fetch.at + LOCK);
}

#[test]
fn the_connection_is_throttled_and_not_the_broker() {
    let mut rig = Rig::joined(&[1]);
    let fetch = rig.take_session(1);
    rig.respond(&fetch, throttled(fetched(vec![]), 60_000));
    rig.sleep(ms(1_000));
    assert!(rig.try_session(1).is_none());
    rig.disconnect(1);
    rig.answer_group();
    rig.sleep(ms(1_000));
    assert_eq!(rig.take_session(1).epoch(), 0, "a new session over another connection");
}

#[test]
fn closing_waits_for_a_throttle_where_something_is_decided_and_else_not() {
    for is_decided in [true, false] {
        let mut rig = Rig::joined(&[1]);
        let fetch = rig.take_session(1);
        rig.respond(&fetch, throttled(fetched(vec![acquired(0, 0, 9)]), 10_000));
        let held = rig.take();
        let ack = is_decided.then(|| rig.acknowledge(held.session, partition(0), &[accept(0, 4)]));
        rig.close();
        if let Some(ack) = ack {
            assert!(rig.try_heartbeat().is_none() && rig.try_session(1).is_none());
            rig.sleep(ms(10_000));
            let end = rig.take_session(1);
            assert_eq!((end.epoch(), end.acks()), (-1, vec![(0, 0, 4, vec![1])]));
            rig.respond(&end, acked(&[(0, ErrorCode::NONE)]));
            assert_eq!(rig.result(ack), Ok(()));
        }
        let leave = rig.take_heartbeat();
        rig.respond(&leave, heartbeat(-1, None));
        assert!(matches!(rig.events.last(), Some(Event::Closed)));
    }
}
