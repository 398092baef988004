//! One broker asked at a time: the limit is exact, and no broker that has nothing keeps the caller from another's records.

use super::{rig::*, script::*};
use crate::machine::{AcquireMode, ClientRequest};

/// A member of this limit, with a partition at each broker.
fn limited(leaders: &[i32], max_poll_records: u32) -> Rig {
    Rig::joined_with(leaders, |options| {
        options.acquire_mode = AcquireMode::RecordLimit;
        options.max_poll_records = max_poll_records;
    })
}

/// Which brokers were asked for records so far, and how long each was allowed to wait for some.
fn asked(rig: &Rig) -> Vec<(i32, i32)> {
    let fetches = rig.log.iter().filter_map(|sent| match &sent.request {
        ClientRequest::ShareFetch(fetch) if fetch.max_records > 0 => Some((sent.node()?, fetch.max_wait_ms)),
        _ => None,
    });
    fetches.collect()
}

/// Has each broker that is asked say that it has nothing: at once, or when it has waited.
fn have_nothing(rig: &mut Rig, nodes: &[i32]) {
    for node in nodes {
        let is_due =
            |sent: &&Sent| sent.node() == Some(*node) && sent.at + ms(sent.fetch().max_wait_ms as u64) <= rig.now;
        if rig.sent.iter().find(is_due).is_some() {
            let fetch = rig.take_session(*node);
            rig.respond(&fetch, fetched(vec![]));
        }
    }
}

#[test]
fn record_limit_never_holds_more_than_max_poll_records_and_asks_one_broker_at_a_time() {
    let mut rig = limited(&[1, 2], 10);
    let fetch = rig.take_session(1);
    assert_eq!((fetch.fetch().max_records, fetch.fetch().share_acquire_mode), (10, 1));
    assert!(rig.try_session(2).is_none());
    rig.respond(&fetch, fetched(vec![]));
    let fetch = rig.take_session(2);
    assert!(rig.try_session(1).is_none());
    rig.respond(&fetch, fetched(vec![acquired(1, 0, 6)]));
    let acquisition = rig.take();
    rig.sleep(ms(100));
    assert!(rig.try_session(1).is_none() && rig.try_session(2).is_none(), "nothing ahead of the caller");
    rig.polled();
    let fetch = rig.take_session(1);
    assert_eq!(fetch.fetch().max_records, 3);
    rig.respond(&fetch, fetched(vec![acquired(0, 0, 2)]));
    rig.polled();
    rig.taken(3);
    rig.polled();
    rig.sleep(ms(100));
    assert!(rig.try_session(1).is_none() && rig.try_session(2).is_none(), "ten are undecided");
    rig.acknowledge(acquisition.session, partition(1), &[accept(0, 6)]);
    // Its own broker or the other: seven may be asked for.
    rig.sleep(ms(6));
    let asked: Vec<i32> = rig
        .sent
        .iter()
        .filter_map(|sent| match &sent.request {
            ClientRequest::ShareFetch(request) => Some(request.max_records),
            _ => None,
        })
        .collect();
    assert_eq!(asked, [7]);
}

#[test]
fn brokers_without_records_take_no_turns_from_the_one_that_has_some() {
    let mut rig = limited(&[1, 2, 3], 1);
    let begun = rig.now;
    for offset in 0..200 {
        while rig.sent.iter().all(|sent| sent.node() != Some(2)) {
            have_nothing(&mut rig, &[3, 1]);
            assert!(rig.now < begun + ms(1_000), "record {offset} is not fetched: {:?}", rig.sent);
            if rig.sent.iter().all(|sent| sent.node() != Some(2)) {
                rig.sleep(ms(1));
            }
        }
        rig.sleep(ms(1));
        rig.deliver(2, 1, offset, offset);
        let acquisition = rig.acquisitions().pop().unwrap();
        rig.taken(1);
        rig.acknowledge(acquisition.session, partition(1), &[accept(offset, offset)]);
        rig.polled();
    }
    assert!(rig.now <= begun + ms(210), "200 records of a ms each took {:?}", rig.now - begun);
    let looks = |node| asked(&rig).iter().filter(|(at, _)| *at == node).count();
    for other in [1, 3] {
        assert!((9..=12).contains(&looks(other)), "broker {other} is asked now and then: {}", looks(other));
    }
}

#[test]
fn where_no_broker_has_anything_they_hold_the_fetch_in_turn() {
    let mut rig = limited(&[1, 2], 1);
    let begun = rig.now;
    while rig.now < begun + ms(5_000) {
        have_nothing(&mut rig, &[1, 2]);
        assert!(rig.sent.iter().filter(|sent| sent.node().is_some()).count() <= 1, "{:?}", rig.sent);
        rig.sleep(ms(1));
    }
    let asked = asked(&rig);
    assert_eq!(asked[..4], [(1, 0), (2, 0), (1, 250), (2, 0)], "half of the longest wait each");
    let held = asked.iter().filter(|(_, wait)| *wait == 250).count();
    assert!((19..=20).contains(&held) && asked.len() <= 2 * held + 2, "{asked:?}");
}

#[test]
fn a_broker_alone_holds_the_fetch_at_once() {
    let rig = limited(&[1, 1], 1);
    assert_eq!(asked(&rig), [(1, 500)]);
}

#[test]
fn no_broker_holds_a_fetch_for_long_while_records_of_another_are_undecided() {
    let mut rig = limited(&[1, 2], 10);
    rig.deliver(1, 0, 0, 4);
    rig.take();
    rig.polled();
    have_nothing(&mut rig, &[2]);
    let waits: Vec<_> = asked(&rig).into_iter().skip(1).collect();
    assert_eq!(waits, [(2, 0), (2, 20)], "what is decided at the first may make room there");
}
