//! Acknowledgements: what they do, what refuses them.

use std::time::Duration;

use ackflow_protocol::messages::share_acknowledge::ShareAcknowledgeRequest;
use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::wire::{ErrorCode, Uuid};

use super::rig::{Member, Rig, partition_error};

const ACCEPT: i8 = 1;
const RELEASE: i8 = 2;
const REJECT: i8 = 3;
const RENEW: i8 = 4;
const GAP: i8 = 0;

/// A member that holds offsets 0 to 29 in three batches.
fn holder(configs: &[(&str, &str)]) -> (Rig, Member) {
    let mut rig = Rig::with(&[("group.share.min.record.lock.duration.ms", "1000")], configs);
    for _ in 0..3 {
        rig.produce(0, 10);
    }
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    assert_eq!(member.fetch(&mut rig, 30), "0[0-29x1]");
    (rig, member)
}

#[test]
fn accepted_rejected_and_gap_records_are_done_and_released_ones_come_again() {
    let (mut rig, mut member) = holder(&[]);
    assert_eq!(member.ack(&mut rig, 0, 9, ACCEPT), ErrorCode::NONE);
    assert_eq!(member.ack(&mut rig, 10, 14, REJECT), ErrorCode::NONE);
    assert_eq!(member.ack(&mut rig, 15, 19, GAP), ErrorCode::NONE);
    assert_eq!(member.ack(&mut rig, 20, 24, RELEASE), ErrorCode::NONE);
    assert_eq!(rig.lag(0), Some(10));
    assert_eq!(member.fetch(&mut rig, 100), "0[20-24x2]");
}

#[test]
fn one_type_an_offset_is_applied_offset_by_offset() {
    let (mut rig, mut member) = holder(&[]);
    assert_eq!(member.ack_all(&mut rig, &[(0, 4, &[1, 2, 3, 2, 0])]), ErrorCode::NONE);
    assert_eq!(member.fetch(&mut rig, 100), "0[1-1x2 3-3x2]");
}

#[test]
fn what_is_below_the_start_is_done_whoever_says_so_again() {
    let (mut rig, mut member) = holder(&[]);
    assert_eq!(member.ack(&mut rig, 0, 3, ACCEPT), ErrorCode::NONE);
    assert_eq!(member.ack(&mut rig, 0, 3, ACCEPT), ErrorCode::NONE);
    assert_eq!(member.ack(&mut rig, 5, 5, ACCEPT), ErrorCode::NONE);
    assert_eq!(member.ack(&mut rig, 5, 5, ACCEPT), ErrorCode::INVALID_RECORD_STATE, "5 is above the start");
}

#[test]
fn the_acknowledgements_of_a_partition_are_applied_all_or_none() {
    let (mut rig, mut member) = holder(&[]);
    assert_eq!(member.ack(&mut rig, 5, 5, ACCEPT), ErrorCode::NONE);
    let both: &[(i64, i64, &[i8])] = &[(4, 4, &[ACCEPT]), (5, 5, &[ACCEPT])];
    assert_eq!(member.ack_all(&mut rig, both), ErrorCode::INVALID_RECORD_STATE);
    assert_eq!(rig.lag(0), Some(29), "4 is as it was");
    assert_eq!(member.ack(&mut rig, 4, 4, ACCEPT), ErrorCode::NONE);
}

#[test]
fn a_bad_partition_does_not_touch_another() {
    let mut rig = Rig::new();
    rig.produce(0, 5);
    rig.produce(1, 5);
    let mut member = Member::new(&rig, "m1", 1, &[0, 1]);
    member.fetch(&mut rig, 100);
    let mut request = member.acknowledgement(0, &[(0, 9, &[ACCEPT])]);
    let good = member.acknowledgement(1, &[(0, 4, &[ACCEPT])]).topics.remove(0).partitions.remove(0);
    request.topics[0].partitions.push(good);
    let response = rig.call(1, &request);
    let codes: Vec<ErrorCode> = response.responses[0].partitions.iter().map(|p| p.error_code).collect();
    assert_eq!(codes, [ErrorCode::INVALID_REQUEST, ErrorCode::NONE]);
    assert_eq!((rig.lag(0), rig.lag(1)), (Some(5), Some(0)));
}

#[test]
fn malformed_ranges_are_refused() {
    let (mut rig, mut member) = holder(&[]);
    let malformed: &[&[(i64, i64, &[i8])]] = &[
        &[(9, 8, &[ACCEPT])],
        &[(9, 9, &[ACCEPT]), (8, 8, &[ACCEPT])],
        &[(9, 9, &[])],
        &[(7, 9, &[ACCEPT, ACCEPT])],
        &[(9, 9, &[5])],
        &[(9, 9, &[-1])],
        &[(-2, 9, &[ACCEPT])],
        &[(i64::MIN, i64::MAX, &[ACCEPT, ACCEPT])],
        &[(25, 40, &[ACCEPT])],
        &[(100, 140, &[ACCEPT])],
        &[(0, i64::MAX, &[ACCEPT])],
    ];
    for acks in malformed {
        let refused = member.ack_all(&mut rig, acks);
        assert_eq!(refused, ErrorCode::INVALID_REQUEST, "{acks:?}");
    }
    // A range may begin where the one before ends; the state of that offset decides.
    let touching: &[(i64, i64, &[i8])] = &[(9, 9, &[ACCEPT]), (9, 9, &[ACCEPT])];
    assert_eq!(member.ack_all(&mut rig, touching), ErrorCode::INVALID_RECORD_STATE);
    assert_eq!(rig.lag(0), Some(30));
}

#[test]
fn records_of_another_member_cannot_be_acknowledged() {
    let (mut rig, _) = holder(&[]);
    let mut other = Member::new(&rig, "m2", 2, &[0]);
    assert_eq!(other.fetch(&mut rig, 30), "0[]");
    assert_eq!(other.ack(&mut rig, 0, 29, ACCEPT), ErrorCode::INVALID_RECORD_STATE);
    assert_eq!(other.ack(&mut rig, 3, 3, ACCEPT), ErrorCode::INVALID_RECORD_STATE);
}

#[test]
fn unknown_topics_and_partitions_are_named_by_their_own_codes() {
    let (mut rig, mut member) = holder(&[]);
    let mut request = member.acknowledgement(0, &[(0, 0, &[ACCEPT])]);
    request.topics[0].topic_id = Uuid([9; 16]);
    assert_eq!(partition_error(&rig.call(1, &request)), ErrorCode::UNKNOWN_TOPIC_ID);
    let request = member.acknowledgement(9, &[(0, 0, &[ACCEPT])]);
    assert_eq!(partition_error(&rig.call(1, &request)), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    let request = member.acknowledgement(2, &[(0, 0, &[ACCEPT])]);
    assert_eq!(partition_error(&rig.call(1, &request)), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, "never fetched from");
}

#[test]
fn acknowledgements_ride_on_a_fetch_and_have_an_error_of_their_own() {
    let (mut rig, mut member) = holder(&[]);
    let request = member.request_with(100, &[(0, 8, ACCEPT), (9, 9, RELEASE)]);
    assert_eq!(member.send(&mut rig, &request), "0[9-9x2]", "acknowledged first, fetched then");
    let request = member.request_with(100, &[(12, 12, RELEASE), (40, 40, ACCEPT)]);
    assert_eq!(member.send(&mut rig, &request), "0[]?INVALID_REQUEST");
    assert_eq!(rig.lag(0), Some(21));
}

#[test]
fn renewal_restarts_the_lock_and_counts_no_delivery() {
    let (mut rig, mut member) = holder(&[("share.record.lock.duration.ms", "1000")]);
    for _ in 0..4 {
        rig.advance(Duration::from_millis(600));
        assert_eq!(member.ack(&mut rig, 0, 1, RENEW), ErrorCode::NONE);
        while rig.ready().is_some() {}
    }
    assert_eq!(member.fetch(&mut rig, 100), "0[2-29x2]");
    rig.advance(Duration::from_millis(999));
    while rig.ready().is_some() {}
    assert_eq!(member.ack(&mut rig, 0, 1, ACCEPT), ErrorCode::NONE, "held to the last millisecond");
}

#[test]
fn renewal_on_a_fetch_wants_the_flag_and_no_records() {
    let (mut rig, mut member) = holder(&[]);
    let asks = |request: ShareFetchRequest| ShareFetchRequest { is_renew_ack: true, min_bytes: 0, ..request };
    let request = asks(member.request_with(0, &[(0, 2, RENEW)]));
    assert_eq!(member.send(&mut rig, &request), "INVALID_REQUEST", "max_bytes is not 0");
    member.epoch -= 1;
    let request = ShareFetchRequest { max_bytes: 0, ..asks(member.request_with(0, &[(0, 2, RENEW), (3, 3, ACCEPT)])) };
    assert_eq!(member.send(&mut rig, &request), "0[]");
    let request = member.request_with(1, &[(0, 2, RENEW)]);
    assert_eq!(member.send(&mut rig, &request), "0[]?INVALID_REQUEST", "not declared");
    let mut request = member.acknowledgement(0, &[(0, 2, &[RENEW])]);
    request.is_renew_ack = false;
    assert_eq!(partition_error(&rig.call(1, &request)), ErrorCode::INVALID_REQUEST);
}

#[test]
fn renewal_does_not_exist_in_version_1_and_can_be_switched_off() {
    let (mut rig, mut member) = holder(&[("share.renew.acknowledge.enable", "false")]);
    assert_eq!(member.ack(&mut rig, 0, 1, RENEW), ErrorCode::INVALID_RECORD_STATE);
    assert_eq!(member.ack(&mut rig, 0, 29, RENEW), ErrorCode::INVALID_RECORD_STATE);
    let request = ShareAcknowledgeRequest { is_renew_ack: false, ..member.acknowledgement(0, &[(0, 1, &[RENEW])]) };
    assert_eq!(partition_error(&rig.call_version(1, 1, &request)), ErrorCode::INVALID_REQUEST);
}

#[test]
fn the_answer_names_the_lock_duration_from_version_2() {
    let (mut rig, mut member) = holder(&[("share.record.lock.duration.ms", "20000")]);
    let request = member.acknowledgement(0, &[(0, 1, &[ACCEPT])]);
    assert_eq!(rig.call(1, &request).acquisition_lock_timeout_ms, 20_000);
    let request = member.request(1);
    assert_eq!(rig.call(1, &request).acquisition_lock_timeout_ms, 20_000);
}
