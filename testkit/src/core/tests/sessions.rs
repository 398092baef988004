//! Share sessions: epochs, the connection they are bound to, their partitions.

use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::wire::ErrorCode;
use std::time::Duration;

use super::rig::{Member, Rig, summary};

#[test]
fn fetches_and_acknowledgements_share_one_epoch() {
    let mut rig = Rig::new();
    rig.produce(0, 4);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    assert_eq!(member.fetch(&mut rig, 10), "0[0-3x1]");
    assert_eq!(member.ack(&mut rig, 0, 0, 1), ErrorCode::NONE);
    assert_eq!(member.fetch(&mut rig, 10), "");
    for wrong in [2, 9, 4] {
        let request = ShareFetchRequest { share_session_epoch: wrong, ..member.request(10) };
        assert_eq!(member.send(&mut rig, &request), "INVALID_SHARE_SESSION_EPOCH");
    }
    member.epoch = 3;
    assert_eq!(member.ack(&mut rig, 9, 9, 1), ErrorCode::INVALID_REQUEST);
    assert_eq!(member.epoch, 4);
    assert_eq!(member.fetch(&mut rig, 10), "", "a partition's error advances the epoch all the same");
}

#[test]
fn a_request_without_its_session_is_refused() {
    let mut rig = Rig::new();
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    let request = ShareFetchRequest { share_session_epoch: 1, ..member.request(10) };
    assert_eq!(member.send(&mut rig, &request), "SHARE_SESSION_NOT_FOUND");
    for (epoch, code) in [
        (0, ErrorCode::INVALID_SHARE_SESSION_EPOCH),
        (1, ErrorCode::SHARE_SESSION_NOT_FOUND),
        (-1, ErrorCode::SHARE_SESSION_NOT_FOUND),
    ] {
        member.epoch = epoch;
        let request = member.acknowledgement(0, &[(0, 0, &[1])]);
        assert_eq!(rig.call(1, &request).error_code, code);
    }
}

#[test]
fn an_opening_fetch_carries_no_acknowledgements() {
    let mut rig = Rig::new();
    rig.produce(0, 4);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    let request = member.request_with(10, &[(0, 0, 1)]);
    assert_eq!(member.send(&mut rig, &request), "INVALID_REQUEST");
}

#[test]
fn member_and_group_ids_are_checked() {
    let mut rig = Rig::new();
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    let good = member.request(10);
    let long = "m".repeat(37);
    for (group, id) in [(None, Some("m1")), (Some(""), Some("m1")), (Some("g"), None), (Some("g"), Some(long.as_str()))]
    {
        let request =
            ShareFetchRequest { group_id: group.map(str::to_owned), member_id: id.map(str::to_owned), ..good.clone() };
        assert_eq!(member.send(&mut rig, &request), "INVALID_REQUEST");
    }
}

#[test]
fn the_epoch_after_the_largest_is_one() {
    let mut rig = Rig::new();
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    member.fetch(&mut rig, 10);
    let key = crate::core::share::session::SessionKey { group: "billing".into(), member: "m1".into() };
    rig.cluster.nodes.sessions(1).set_epoch(&key, i32::MAX);
    let request = ShareFetchRequest { share_session_epoch: i32::MAX, ..member.request(10) };
    assert_eq!(member.send(&mut rig, &request), "");
    member.epoch = 1;
    assert_eq!(member.fetch(&mut rig, 10), "");
}

#[test]
fn closing_releases_what_is_held_and_counts_the_attempt() {
    let mut rig = Rig::new();
    rig.produce(0, 4);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    member.fetch(&mut rig, 10);
    let mut last = member.request_with(10, &[(0, 0, 1)]);
    last.share_session_epoch = -1;
    assert_eq!(member.send(&mut rig, &last), "0[]", "acknowledged, and nothing fetched");
    let mut other = Member::new(&rig, "m2", 2, &[0]);
    assert_eq!(other.fetch(&mut rig, 10), "0[1-3x2]");
    assert_eq!(member.close(&mut rig), "SHARE_SESSION_NOT_FOUND");
}

#[test]
fn a_final_acknowledgement_closes_as_well() {
    let mut rig = Rig::new();
    rig.produce(0, 4);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    member.fetch(&mut rig, 10);
    member.epoch = -1;
    assert_eq!(member.ack(&mut rig, 0, 1, 1), ErrorCode::NONE);
    let mut other = Member::new(&rig, "m2", 2, &[0]);
    assert_eq!(other.fetch(&mut rig, 10), "0[2-3x2]");
}

#[test]
fn the_end_of_the_connection_releases_at_once() {
    let mut rig = Rig::new();
    rig.produce(0, 4);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    let mut other = Member::new(&rig, "m2", 2, &[0]);
    member.fetch(&mut rig, 10);
    other.fetch(&mut rig, 10);
    assert_eq!(other.fetch_waiting(&mut rig, Duration::from_secs(60)), None);
    rig.disconnect(1);
    assert_eq!(rig.ready(), Some((2, "0[0-3x2]".to_owned())));
    assert_eq!(member.fetch(&mut rig, 10), "SHARE_SESSION_NOT_FOUND");
}

#[test]
fn a_session_opened_on_another_connection_outlives_the_first() {
    let mut rig = Rig::new();
    rig.produce(0, 4);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    let mut other = Member::new(&rig, "m2", 9, &[0]);
    member.fetch(&mut rig, 10);
    let mut again = Member::new(&rig, "m1", 2, &[0]);
    assert_eq!(again.fetch(&mut rig, 10), "0[]", "its own locks still stand");
    rig.disconnect(1);
    assert_eq!(other.fetch(&mut rig, 10), "0[]");
    assert_eq!(again.ack(&mut rig, 0, 0, 1), ErrorCode::NONE, "the member owns the records, not the session");
    rig.disconnect(2);
    assert_eq!(other.fetch(&mut rig, 10), "0[1-3x2]");
}

#[test]
fn of_two_sessions_on_one_connection_only_the_later_ends_with_it() {
    let mut rig = Rig::new();
    rig.produce(0, 4);
    rig.produce(0, 4);
    let mut first = Member::new(&rig, "m1", 1, &[0]);
    let mut second = Member::new(&rig, "m2", 1, &[0]);
    assert_eq!(first.fetch(&mut rig, 3), "0[0-3x1]");
    assert_eq!(second.fetch(&mut rig, 3), "0[4-7x1]");
    rig.disconnect(1);
    let mut third = Member::new(&rig, "m3", 3, &[0]);
    assert_eq!(third.fetch(&mut rig, 100), "0[4-7x2]");
}

#[test]
fn records_of_a_forgotten_partition_stay_locked_while_the_group_has_members() {
    let mut rig = Rig::new();
    rig.produce(0, 4);
    let mut keeper = Member::new(&rig, "m0", 9, &[1]);
    keeper.fetch(&mut rig, 10);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    member.fetch(&mut rig, 10);
    member.forget(&mut rig, 0);
    rig.disconnect(1);
    let mut other = Member::new(&rig, "m2", 2, &[0]);
    assert_eq!(other.fetch(&mut rig, 10), "0[]");
}

#[test]
fn locks_that_are_left_when_the_last_connection_of_a_group_ends_count_no_attempt() {
    let mut rig = Rig::new();
    rig.produce(0, 4);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    member.fetch(&mut rig, 10);
    member.forget(&mut rig, 0);
    rig.disconnect(1);
    let mut other = Member::new(&rig, "m2", 2, &[0]);
    assert_eq!(other.fetch(&mut rig, 10), "0[0-3x1]");
}

#[test]
fn acknowledgements_for_a_partition_outside_the_session_are_taken() {
    let mut rig = Rig::new();
    rig.produce(0, 4);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    member.fetch(&mut rig, 10);
    member.forget(&mut rig, 0);
    assert_eq!(member.ack(&mut rig, 0, 3, 1), ErrorCode::NONE);
    assert_eq!(rig.lag(0), Some(0));
}

#[test]
fn a_broker_full_of_sessions_answers_when_the_wait_is_over() {
    let mut rig = Rig::with(&[("group.share.max.share.sessions", "1")], &[]);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    member.fetch(&mut rig, 1);
    let mut other = Member::new(&rig, "m2", 2, &[0]);
    assert_eq!(other.fetch_waiting(&mut rig, Duration::from_millis(400)), None);
    assert_eq!(rig.ready(), None);
    assert_eq!(rig.next(), Duration::from_millis(400));
    assert_eq!(rig.ready(), Some((2, "SHARE_SESSION_LIMIT_REACHED".to_owned())));
    assert_eq!(member.close(&mut rig), "");
    let mut again = Member::new(&rig, "m2", 2, &[0]);
    assert_eq!(again.fetch(&mut rig, 1), "0[]");
}

#[test]
fn unknown_partitions_have_errors_of_their_own() {
    let mut rig = Rig::new();
    rig.produce(0, 4);
    let mut member = Member::new(&rig, "m1", 1, &[0, 9]);
    assert_eq!(member.fetch(&mut rig, 10), "0[0-3x1] 9[]!UNKNOWN_TOPIC_OR_PARTITION");
    let mut stranger = Member::new(&rig, "m2", 2, &[0]);
    let mut request = stranger.request(10);
    request.max_wait_ms = 60_000;
    request.topics[0].topic_id = ackflow_protocol::wire::Uuid([7; 16]);
    assert_eq!(
        summary(&rig.call(2, &request)),
        "0[]!UNKNOWN_TOPIC_ID",
        "answered at once: there is nothing to wait for"
    );
}
