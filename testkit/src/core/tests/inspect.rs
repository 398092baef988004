//! What only a test can see and do.

use std::time::Duration;

use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::wire::ErrorCode;

use super::rig::{GROUP, Member, Rig, TOPIC};
use crate::core::{FailedAttempt, GroupChange, RecordEvent, ShareRecordState};

/// A history in short: offsets, delivery count and what happened.
fn history(rig: &mut Rig) -> Vec<String> {
    let line = |GroupChange { change, partition, .. }: GroupChange| {
        let what = match change.what {
            RecordEvent::Failed { cause, archived } => {
                let cause = match cause {
                    FailedAttempt::Released => "released",
                    FailedAttempt::LockExpired => "expired",
                    FailedAttempt::SessionEnded => "ended",
                    #[cfg(feature = "unstable-kip-1289")]
                    FailedAttempt::TransactionAborted => "aborted",
                };
                format!("{cause}{}", if archived { " archived" } else { "" })
            }
            other => format!("{other:?}").to_lowercase(),
        };
        format!("{partition}@{}-{}x{} {} {what}", change.first, change.last, change.delivery_count, change.member)
    };
    rig.cluster.take_history().into_iter().map(line).collect()
}

#[test]
fn the_history_tells_all_that_happens_to_records() {
    let mut rig = Rig::with_nodes(2, &[], &[("share.delivery.count.limit", "2")]);
    rig.cluster.keep_history();
    rig.produce(0, 8);
    let mut member = Member::new(&rig, "m1", 101, &[0]);
    member.fetch(&mut rig, 100);
    assert_eq!(history(&mut rig), ["0@0-7x1 m1 acquired"]);
    member.ack_all(&mut rig, &[(0, 0, &[1]), (1, 1, &[3]), (2, 2, &[0]), (3, 4, &[2]), (5, 5, &[4])]);
    let acknowledged =
        ["0@0-0x1 m1 accepted", "0@1-1x1 m1 rejected", "0@2-2x1 m1 gap", "0@3-4x1 m1 released", "0@5-5x1 m1 renewed"];
    assert_eq!(history(&mut rig), acknowledged);
    assert_eq!(member.fetch(&mut rig, 100), "0[3-4x2]");
    rig.cluster.move_leader(rig.now, TOPIC, 0, 2).unwrap();
    assert_eq!(history(&mut rig), ["0@3-4x2 m1 acquired", "0@3-4x2 m1 forgotten", "0@5-7x1 m1 forgotten"]);
    let mut member = Member::new(&rig, "m2", 201, &[0]);
    assert_eq!(member.fetch(&mut rig, 100), "0[3-4x2 5-7x1]");
    rig.cluster.expire_group_locks(rig.now, GROUP);
    let taken = ["0@3-4x2 m2 acquired", "0@5-7x1 m2 acquired", "0@3-4x2 m2 expired archived", "0@5-7x1 m2 expired"];
    assert_eq!(history(&mut rig), taken);
    assert_eq!(member.fetch(&mut rig, 100), "0[5-7x2]");
    rig.disconnect(201);
    assert_eq!(history(&mut rig), ["0@5-7x2 m2 acquired", "0@5-7x2 m2 ended archived"]);
    assert_eq!(rig.lag(0), Some(0));
}

#[test]
fn the_records_in_flight_can_be_seen() {
    let mut rig = Rig::new();
    rig.produce(0, 6);
    assert!(rig.cluster.share_records(GROUP, TOPIC, 0).is_empty());
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    member.fetch(&mut rig, 100);
    member.ack_all(&mut rig, &[(0, 0, &[1]), (2, 2, &[1]), (3, 3, &[2])]);
    let seen: Vec<(i64, i64, String, i16)> = rig
        .cluster
        .share_records(GROUP, TOPIC, 0)
        .into_iter()
        .map(|records| {
            let state = match records.state {
                ShareRecordState::Acquired { member, deadline } => {
                    format!("{member} {:?}", deadline.duration_since(rig.now))
                }
                other => format!("{other:?}"),
            };
            (records.first, records.last, state, records.delivery_count)
        })
        .collect();
    let held = "m1 30s".to_owned();
    let expected = [
        (1, 1, held.clone(), 1),
        (2, 2, "Acknowledged".to_owned(), 1),
        (3, 3, "Available".to_owned(), 1),
        (4, 5, held, 1),
    ];
    assert_eq!(seen, expected);
    assert_eq!(rig.cluster.end_offset(TOPIC, 0), Ok(6));
}

#[test]
fn expired_locks_wake_a_member_that_waits() {
    let mut rig = Rig::new();
    rig.produce(0, 2);
    let mut first = Member::new(&rig, "m1", 1, &[0]);
    first.fetch(&mut rig, 100);
    let mut second = Member::new(&rig, "m2", 2, &[0]);
    assert_eq!(second.fetch(&mut rig, 100), "0[]");
    assert_eq!(second.fetch_waiting(&mut rig, Duration::from_secs(5)), None);
    rig.cluster.expire_group_locks(rig.now, GROUP);
    assert_eq!(rig.ready(), Some((2, "0[0-1x2]".to_owned())));
    assert_eq!(first.ack(&mut rig, 0, 1, 1), ErrorCode::INVALID_RECORD_STATE);
}

#[test]
fn a_topic_that_is_deleted_and_created_again_is_another_one() {
    let mut rig = Rig::new();
    rig.produce(0, 2);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    member.fetch(&mut rig, 100);
    rig.cluster.delete_topic(rig.now, TOPIC).unwrap();
    assert!(rig.cluster.delete_topic(rig.now, TOPIC).is_err());
    assert_eq!(member.ack(&mut rig, 0, 1, 1), ErrorCode::UNKNOWN_TOPIC_ID);
    let before = rig.cluster.topic_id(TOPIC);
    rig.cluster.create_topic(TOPIC, 1).unwrap();
    assert_ne!(rig.cluster.topic_id(TOPIC), before);
    assert_eq!(member.fetch(&mut rig, 100), "0[]!UNKNOWN_TOPIC_OR_PARTITION");
    rig.produce(0, 3);
    let mut again = Member::new(&rig, "m1", 2, &[0]);
    assert_eq!(again.fetch(&mut rig, 100), "0[0-2x1]");
    rig.cluster.create_partitions(TOPIC, 2).unwrap();
    assert_eq!(rig.cluster.leader(TOPIC, 1), Ok(Some(1)));
    assert!(rig.cluster.create_partitions(TOPIC, 2).is_err());
    let close = ShareFetchRequest { share_session_epoch: -1, topics: Vec::new(), ..again.request(0) };
    assert_eq!(again.send(&mut rig, &close), "");
}
