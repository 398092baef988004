//! Delivery counts, their limit, locks.

use std::time::Duration;

use ackflow_protocol::wire::ErrorCode;

use super::rig::{Member, Rig};

const RELEASE: i8 = 2;

/// Fetches and releases what came, `times` times.
fn fetch_and_release(rig: &mut Rig, member: &mut Member, times: usize) -> Vec<String> {
    (0..times)
        .map(|_| {
            let fetched = member.fetch(rig, 100);
            for range in fetched.trim_start_matches("0[").trim_end_matches(']').split_whitespace() {
                let (offsets, _) = range.split_once('x').unwrap();
                let (first, last) = offsets.split_once('-').unwrap();
                let released = member.ack(rig, first.parse().unwrap(), last.parse().unwrap(), RELEASE);
                assert_eq!(released, ErrorCode::NONE);
            }
            fetched
        })
        .collect()
}

#[test]
fn a_record_is_archived_when_its_last_attempt_ends() {
    let mut rig = Rig::with(&[], &[("share.delivery.count.limit", "2")]);
    rig.produce(0, 4);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    let fetched = fetch_and_release(&mut rig, &mut member, 3);
    assert_eq!(fetched, ["0[0-3x1]", "0[0-3x2]", ""], "with a limit of 2 nothing is delivered alone");
    assert_eq!(rig.lag(0), Some(0));
}

#[test]
fn the_last_attempt_is_delivered_alone() {
    let mut rig = Rig::with(&[], &[("share.delivery.count.limit", "3")]);
    rig.produce(0, 4);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    assert_eq!(
        fetch_and_release(&mut rig, &mut member, 7),
        ["0[0-3x1]", "0[0-3x2]", "0[0-0x3]", "0[1-1x3]", "0[2-2x3]", "0[3-3x3]", ""]
    );
}

#[test]
fn fewer_records_come_together_the_more_often_they_failed() {
    let mut rig = Rig::new();
    rig.produce(0, 16);
    rig.produce(0, 4);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    let mut expected = vec!["0[0-19x1]".to_owned(), "0[0-19x2]".to_owned(), "0[0-19x3]".to_owned()];
    expected.push("0[0-9x4]".to_owned());
    expected.extend((0..10).map(|offset| format!("0[{offset}-{offset}x5]")));
    expected.push("0[10-19x4]".to_owned());
    assert_eq!(fetch_and_release(&mut rig, &mut member, expected.len()), expected);
    assert_eq!(rig.lag(0), Some(10));
}

#[test]
fn a_record_that_fails_often_is_kept_apart_from_its_neighbours() {
    let mut rig = Rig::new();
    rig.produce(0, 16);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    assert_eq!(member.fetch(&mut rig, 100), "0[0-15x1]");
    for count in 2..5 {
        assert_eq!(member.ack(&mut rig, 8, 8, RELEASE), ErrorCode::NONE);
        assert_eq!(member.fetch(&mut rig, 100), format!("0[8-8x{count}]"));
    }
    for (first, last) in [(8, 8), (0, 7), (9, 15)] {
        assert_eq!(member.ack(&mut rig, first, last, RELEASE), ErrorCode::NONE);
    }
    rig.produce(0, 3);
    let fetched: Vec<String> = (0..5).map(|_| member.fetch(&mut rig, 100)).collect();
    assert_eq!(fetched, ["0[0-7x2]", "0[8-8x5]", "0[9-15x2 16-18x1]", "", ""]);
}

#[test]
fn a_lock_that_runs_out_ends_the_attempt() {
    let mut rig = Rig::with(
        &[("group.share.min.record.lock.duration.ms", "1000")],
        &[("share.record.lock.duration.ms", "1000"), ("share.delivery.count.limit", "2")],
    );
    rig.produce(0, 4);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    let mut other = Member::new(&rig, "m2", 2, &[0]);
    assert_eq!(member.fetch(&mut rig, 100), "0[0-3x1]");
    assert_eq!(other.fetch(&mut rig, 100), "0[]");
    assert_eq!(other.fetch_waiting(&mut rig, Duration::from_secs(5)), None);
    assert_eq!(rig.next(), Duration::from_secs(1));
    assert_eq!(rig.ready(), Some((2, "0[0-3x2]".to_owned())));
    assert_eq!(member.ack(&mut rig, 1, 1, 1), ErrorCode::INVALID_RECORD_STATE, "the lock is lost");
    assert_eq!(other.ack(&mut rig, 0, 0, 1), ErrorCode::NONE);
    rig.next();
    assert_eq!(rig.ready(), None);
    assert_eq!(rig.lag(0), Some(0), "the second attempt was the last");
}

#[test]
fn a_lower_limit_lets_one_final_attempt_pass() {
    let mut rig = Rig::new();
    rig.produce(0, 1);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    assert_eq!(fetch_and_release(&mut rig, &mut member, 3), ["0[0-0x1]", "0[0-0x2]", "0[0-0x3]"]);
    rig.cluster.group_configs.get_mut("billing").unwrap().insert("share.delivery.count.limit".into(), "2".into());
    assert_eq!(fetch_and_release(&mut rig, &mut member, 2), ["0[0-0x4]", ""]);
}
