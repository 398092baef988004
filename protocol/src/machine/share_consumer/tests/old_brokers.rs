//! Brokers that are too old for what is asked of them.

use super::{rig::*, script::*};
use crate::{
    machine::{
        AckType, AcquireMode, AutoRenew, Feature, KeepEnd, MachineErrorKind, RequestFailure, ShareConsumerOptions,
    },
    wire::ErrorCode,
};

const TOO_OLD: RequestFailure = RequestFailure::UnsupportedVersion(Some(1));

fn record_limit(options: &mut ShareConsumerOptions) {
    options.acquire_mode = AcquireMode::RecordLimit;
    options.max_poll_records = 10;
}

#[test]
fn record_limit_is_refused_by_name_once_a_spell_and_other_brokers_go_on() {
    let mut rig = Rig::joined_with(&[1, 2], record_limit);
    let mut refusals = Vec::new();
    for _ in 0..12 {
        if let Some(fetch) = rig.try_session(1) {
            assert_eq!((fetch.epoch(), fetch.least_version), (0, 2));
            refusals.push(rig.now);
            rig.fail(&fetch, TOO_OLD);
            assert!(rig.try_session(1).is_none(), "no pause");
        }
        if let Some(fetch) = rig.try_session(2) {
            rig.answer_well(&fetch);
        }
        rig.sleep(ms(300));
    }
    assert!((3..=8).contains(&refusals.len()), "{refusals:?}");
    let errors = rig.errors();
    let [error] = &errors[..] else { panic!("once: {errors:?}") };
    let MachineErrorKind::OldBroker { offered: Some(1), least: 2, feature: Feature::RecordLimit, .. } = error.kind
    else {
        panic!("{error:?}")
    };
    assert!(!error.fatal);
    for part in
        ["share.acquire.mode=record_limit", "h:9001", "ShareFetch version 2", "version 1", "Kafka 4.2", "batch_"]
    {
        assert!(error.to_string().contains(part), "{part}: {error}");
    }

    // The broker is replaced by a newer one, and that by an old one.
    while rig.try_session(1).is_none_or(|fetch| {
        rig.respond(&fetch, fetched(vec![acquired(0, 0, 4)]));
        false
    }) {
        let other = rig.try_session(2);
        other.inspect(|fetch| rig.answer_well(fetch));
        rig.sleep(ms(100));
    }
    let held = rig.take();
    rig.disconnect(1);
    rig.acknowledge(held.session, partition(0), &[accept(0, 4)]);
    while rig.try_session(1).is_none_or(|fetch| {
        rig.fail(&fetch, TOO_OLD);
        false
    }) {
        let other = rig.try_session(2);
        other.inspect(|fetch| rig.answer_well(fetch));
        rig.answer_group();
        rig.polled();
        rig.sleep(ms(100));
    }
    assert_eq!(rig.errors().len(), 2, "another spell");
}

#[test]
fn what_is_acquired_of_other_brokers_outlives_the_refusal_of_one() {
    let mut rig = Rig::joined_with(&[1, 2], record_limit);
    let first = rig.take_session(1);
    rig.answer_well(&first);
    rig.deliver(2, 1, 0, 9);
    let held = rig.take();
    rig.disconnect(1);
    rig.answer_group();
    rig.sleep(ms(300));
    let ack = rig.acknowledge(held.session, partition(1), &[accept(0, 4)]);
    rig.pass(ms(50));
    assert_eq!(rig.result(ack), Ok(()));
    rig.polled();
    let old = loop {
        if let Some(old) = rig.try_session(1) {
            break old;
        }
        let other = rig.take_session(2);
        rig.answer_well(&other);
        rig.sleep(ms(50));
    };
    rig.fail(&old, TOO_OLD);
    assert_eq!(rig.errors().len(), 1);
    let rest = rig.acknowledge(held.session, partition(1), &[accept(5, 9)]);
    rig.pass(ms(50));
    assert_eq!(rig.result(rest), Ok(()));
    assert!(rig.lost_sessions().iter().all(|(session, _)| session.node == 1));
}

#[test]
fn batch_optimized_takes_no_new_broker_though_it_prefers_one() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 9);
    rig.take();
    rig.pass(ms(1_000));
    assert!(rig.log.iter().any(|sent| sent.node() == Some(1) && sent.fetch().share_acquire_mode == 1), "a hint");
    assert!(rig.log.iter().all(|sent| sent.least_version == 0));
}

#[test]
fn renewals_are_refused_by_name_once_a_spell_and_the_records_stay() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 9);
    let acquisition = rig.take();
    let kept = rig.keep(&acquisition, AutoRenew::default()).unwrap();
    rig.sleep(ms(10));
    let fetch = rig.take_session(1);
    rig.respond(&fetch, fetched(vec![]));
    for round in 0..3 {
        let renewal = rig.acknowledge(acquisition.session, partition(0), &[range(0, 4, AckType::Renew)]);
        let request = loop {
            match rig.take_session(1) {
                request if request.least_version == 2 => break request,
                other => rig.answer_well(&other),
            }
            rig.sleep(ms(20));
        };
        assert!(request.acknowledge().is_renew_ack);
        rig.fail(&request, TOO_OLD);
        assert_eq!(rig.result(renewal), Err(ErrorCode::UNSUPPORTED_VERSION));
        assert_eq!(rig.errors().len(), 1, "round {round}");
        rig.pass(ms(200));
    }
    // By itself, at half of the lock.
    rig.pass(ms(14_000));
    rig.sleep(ms(1_000));
    let request = rig.take_session(1);
    assert_eq!((request.least_version, request.acknowledge().is_renew_ack), (2, true));
    rig.fail(&request, TOO_OLD);
    assert_eq!(rig.keep_end(kept), Some(KeepEnd::Refused(ErrorCode::UNSUPPORTED_VERSION)));
    let errors = rig.errors();
    let [error] = &errors[..] else { panic!("once: {errors:?}") };
    for part in ["RENEW", "ackflow.renew.enable", "h:9001", "ShareAcknowledge version 2", "version 1", "Kafka 4.2"] {
        assert!(error.to_string().contains(part), "{part}: {error}");
    }
    let ack = rig.acknowledge(acquisition.session, partition(0), &[accept(0, 9)]);
    rig.pass(ms(200));
    assert_eq!(rig.result(ack), Ok(()));
}
