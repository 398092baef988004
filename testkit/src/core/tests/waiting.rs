//! Fetches that wait.

use std::time::Duration;

use ackflow_protocol::messages::share_fetch::ShareFetchRequest;

use super::rig::{Member, Rig, STARTED_MS, TOPIC, batch};
use crate::core::Answer;

const WAIT: Duration = Duration::from_millis(500);

fn waiting(rig: &mut Rig, id: &str, connection: u64) -> Member {
    let mut member = Member::new(rig, id, connection, &[0]);
    member.fetch(rig, 0);
    assert_eq!(member.fetch_waiting(rig, WAIT), None);
    member
}

#[test]
fn a_fetch_without_records_is_answered_when_the_wait_is_over() {
    let mut rig = Rig::new();
    waiting(&mut rig, "m1", 1);
    assert_eq!(rig.ready(), None);
    assert_eq!(rig.next(), WAIT);
    assert_eq!(rig.ready(), Some((1, String::new())));
    assert_eq!(rig.cluster.next_deadline(), None);
}

#[test]
fn new_records_wake_the_longest_waiting_member_first() {
    let mut rig = Rig::new();
    waiting(&mut rig, "m1", 1);
    waiting(&mut rig, "m2", 2);
    rig.produce(0, 3);
    assert_eq!(rig.ready(), Some((1, "0[0-2x1]".to_owned())));
    assert_eq!(rig.ready(), None, "the other finds nothing and waits on");
    rig.produce(0, 3);
    assert_eq!(rig.ready(), Some((2, "0[3-5x1]".to_owned())));
}

#[test]
fn a_release_wakes_and_so_does_a_closed_session() {
    let mut rig = Rig::new();
    rig.produce(0, 3);
    let mut holder = Member::new(&rig, "m0", 9, &[0]);
    holder.fetch(&mut rig, 10);
    waiting(&mut rig, "m1", 1);
    holder.ack(&mut rig, 1, 1, 2);
    assert_eq!(rig.ready(), Some((1, "0[1-1x2]".to_owned())));
    waiting(&mut rig, "m2", 2);
    holder.close(&mut rig);
    assert_eq!(rig.ready(), Some((2, "0[0-0x2 2-2x2]".to_owned())));
}

#[test]
fn an_accept_that_makes_room_wakes() {
    let mut rig = Rig::with(&[], &[("share.partition.max.record.locks", "100")]);
    for _ in 0..11 {
        rig.produce(0, 10);
    }
    let mut holder = Member::new(&rig, "m0", 9, &[0]);
    assert_eq!(holder.fetch(&mut rig, 500), "0[0-99x1]");
    waiting(&mut rig, "m1", 1);
    holder.ack(&mut rig, 0, 49, 1);
    assert_eq!(rig.ready(), Some((1, "0[100-109x1]".to_owned())));
}

#[test]
fn records_in_other_partitions_wake_nobody() {
    let mut rig = Rig::new();
    waiting(&mut rig, "m1", 1);
    rig.produce(1, 3);
    assert_eq!(rig.ready(), None);
}

#[test]
fn min_bytes_are_waited_for() {
    let mut rig = Rig::new();
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    member.fetch(&mut rig, 1);
    let size = i32::try_from(batch(10, STARTED_MS).len()).unwrap();
    let request = ShareFetchRequest { max_wait_ms: 500, min_bytes: 2 * size, ..member.request(100) };
    assert_eq!(rig.send(1, 2, &request), Answer::Parked);
    rig.produce(0, 10);
    assert_eq!(rig.ready(), None);
    rig.produce(0, 10);
    assert_eq!(rig.ready(), Some((1, "0[0-19x1]".to_owned())));
    let request = ShareFetchRequest { max_wait_ms: 500, min_bytes: 2 * size, ..member.request(100) };
    assert_eq!(rig.send(1, 2, &request), Answer::Parked);
    rig.produce(0, 10);
    rig.next();
    assert_eq!(rig.ready(), Some((1, "0[20-29x1]".to_owned())), "at the end of the wait it gets what there is");
}

#[test]
fn acknowledgements_of_a_waiting_fetch_are_applied_at_once_and_answered_with_it() {
    let mut rig = Rig::new();
    rig.produce(0, 3);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    member.fetch(&mut rig, 10);
    let request = ShareFetchRequest { max_wait_ms: 500, ..member.request_with(100, &[(0, 2, 1)]) };
    assert_eq!(rig.send(1, 2, &request), Answer::Parked);
    assert_eq!(rig.lag(0), Some(0));
    assert_eq!(rig.next(), WAIT);
    assert_eq!(rig.ready(), Some((1, "0[]".to_owned())));
}

#[test]
fn a_waiting_fetch_ends_with_its_connection() {
    let mut rig = Rig::new();
    waiting(&mut rig, "m1", 1);
    rig.disconnect(1);
    rig.produce(0, 3);
    assert_eq!(rig.ready(), None);
    // What is due is to look for records that are too old, five minutes after the first was written.
    assert!(rig.next() > Duration::from_secs(60));
    let mut other = Member::new(&rig, "m2", 2, &[0]);
    assert_eq!(other.fetch(&mut rig, 10), "0[0-2x1]", "nothing was acquired for it");
}

#[test]
fn a_deleted_topic_ends_the_wait() {
    let mut rig = Rig::new();
    let mut member = waiting(&mut rig, "m1", 1);
    let topic_id = rig.topic_id(TOPIC);
    let request = ackflow_protocol::messages::delete_topics::DeleteTopicsRequest {
        topics: vec![ackflow_protocol::messages::delete_topics::DeleteTopicState { name: None, topic_id }],
        ..Default::default()
    };
    assert_eq!(rig.call(2, &request).responses[0].name.as_deref(), Some(TOPIC));
    assert_eq!(rig.ready(), Some((1, "0[]!UNKNOWN_TOPIC_OR_PARTITION".to_owned())));
    let mut again = Member::new_for(topic_id, "m1", 1, &[0]);
    assert_eq!(again.fetch(&mut rig, 1), "0[]!UNKNOWN_TOPIC_ID");
    assert_eq!(member.fetch(&mut rig, 1), "INVALID_SHARE_SESSION_EPOCH");
}
