//! Bytes that no client sends.

use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::wire::{ApiKey, Message, RequestHeader};
use bytes::Bytes;
use proptest::prelude::*;

use super::rig::{Member, Rig};
use crate::core::Answer;
use crate::core::dispatch::served;

fn handle(rig: &mut Rig, key: ApiKey, version: i16, body: Bytes) -> Answer {
    let header = RequestHeader {
        request_api_key: key,
        request_api_version: version,
        correlation_id: 1,
        client_id: Some("hostile".to_owned()),
    };
    let connection = rig.connect(1);
    rig.cluster.handle(rig.now, connection, &header, body)
}

#[test]
fn what_is_not_served_closes_the_connection() {
    let mut rig = Rig::new();
    for (key, version) in [
        (ApiKey::FETCH, 19),
        (ApiKey(-1), 0),
        (ApiKey(9999), 0),
        (ApiKey::SHARE_FETCH, 0),
        (ApiKey::SHARE_FETCH, 3),
        (ApiKey::PRODUCE, 2),
        (ApiKey::METADATA, -1),
    ] {
        assert!(matches!(handle(&mut rig, key, version, Bytes::new()), Answer::Close(_)), "{key:?} {version}");
    }
}

#[test]
fn acknowledgements_over_all_offsets_cost_nothing() {
    let mut rig = Rig::new();
    rig.produce(0, 10);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    member.fetch(&mut rig, 100);
    for (first, last) in [(0, i64::MAX), (i64::MIN, i64::MAX), (i64::MAX, i64::MAX), (i64::MIN, -1)] {
        let acks: &[(i64, i64, &[i8])] = &[(first, last, &[1])];
        let request = member.acknowledgement(0, acks);
        rig.call(1, &request);
    }
    assert_eq!(rig.lag(0), Some(10));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 300 } else { 3000 }))]

    #[test]
    fn random_bodies_are_answered_or_close_the_connection(body in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut rig = Rig::new();
        for (key, versions) in served() {
            for version in versions {
                handle(&mut rig, key, version, Bytes::from(body.clone()));
            }
        }
    }

    #[test]
    fn a_share_fetch_with_changed_bytes_never_panics(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        first in any::<i64>(), length in any::<i64>(), kind in any::<i8>(),
    ) {
        let mut rig = Rig::new();
        rig.produce(0, 10);
        let mut member = Member::new(&rig, "m1", 1, &[0]);
        member.fetch(&mut rig, 5);
        let request: ShareFetchRequest = member.request_with(7, &[(first, first.wrapping_add(length), kind), (3, 5, 2)]);
        let mut bytes = request.to_bytes(2).unwrap().to_vec();
        handle(&mut rig, ApiKey::SHARE_FETCH, 2, Bytes::from(bytes.clone()));
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        handle(&mut rig, ApiKey::SHARE_FETCH, 2, Bytes::from(bytes));
        while rig.ready().is_some() {}
    }
}
