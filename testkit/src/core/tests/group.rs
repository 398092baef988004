//! Membership: epochs, assignments, sessions.

use std::time::Duration;

use ackflow_protocol::messages::list_groups::ListGroupsRequest;
use ackflow_protocol::messages::share_group_describe::ShareGroupDescribeRequest;
use ackflow_protocol::messages::share_group_heartbeat::{ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse};
use ackflow_protocol::wire::ErrorCode;

use super::rig::{GROUP, Rig, TOPIC};

const NO_DELAY: (&str, &str) = ("group.share.assignment.interval.ms", "0");

fn heartbeat(rig: &mut Rig, member: &str, epoch: i32, topics: Option<&[&str]>) -> ShareGroupHeartbeatResponse {
    let request = ShareGroupHeartbeatRequest {
        group_id: GROUP.to_owned(),
        member_id: member.to_owned(),
        member_epoch: epoch,
        rack_id: None,
        subscribed_topic_names: topics.map(|topics| topics.iter().map(|topic| (*topic).to_owned()).collect()),
    };
    rig.call(1, &request)
}

fn join(rig: &mut Rig, member: &str) -> ShareGroupHeartbeatResponse {
    heartbeat(rig, member, 0, Some(&[TOPIC]))
}

/// The partitions of an answer; `None` where it says nothing about them.
fn assigned(response: &ShareGroupHeartbeatResponse) -> Option<Vec<i32>> {
    assert_eq!(response.error_code, ErrorCode::NONE, "{:?}", response.error_message);
    let assignment = response.assignment.as_ref()?;
    Some(assignment.topic_partitions.iter().flat_map(|topic| topic.partitions.clone()).collect())
}

#[test]
fn the_first_member_of_a_new_group_gets_its_partitions_after_the_assignment_interval() {
    let mut rig = Rig::new();
    let joined = join(&mut rig, "m1");
    assert_eq!(assigned(&joined), Some(vec![]));
    assert_eq!((joined.member_epoch, joined.heartbeat_interval_ms), (2, 5000));
    rig.advance(Duration::from_millis(999));
    assert_eq!(assigned(&heartbeat(&mut rig, "m1", 2, None)), None);
    rig.advance(Duration::from_millis(1));
    let later = heartbeat(&mut rig, "m1", 2, None);
    assert_eq!((assigned(&later), later.member_epoch), (Some(vec![0, 1, 2]), 3));
    assert_eq!(assigned(&heartbeat(&mut rig, "m1", 3, None)), None, "unchanged");
}

#[test]
fn a_member_that_joins_a_group_at_rest_gets_its_partitions_at_once() {
    let mut rig = Rig::new();
    join(&mut rig, "m1");
    rig.advance(Duration::from_secs(1));
    heartbeat(&mut rig, "m1", 2, None);
    rig.advance(Duration::from_secs(1));
    let second = join(&mut rig, "m2");
    assert_eq!((assigned(&second), second.member_epoch), (Some(vec![0]), 4));
    let first = heartbeat(&mut rig, "m1", 3, None);
    assert_eq!((assigned(&first), first.member_epoch), (Some(vec![1, 2]), 4));
}

#[test]
fn without_an_interval_the_first_answer_carries_the_assignment() {
    let mut rig = Rig::with(&[NO_DELAY], &[]);
    assert_eq!(assigned(&join(&mut rig, "m1")), Some(vec![0, 1, 2]));
}

#[test]
fn more_members_than_partitions_share_them() {
    let mut rig = Rig::with(&[NO_DELAY], &[]);
    let mut counts = [0; 3];
    for member in ["m1", "m2", "m3", "m4", "m5", "m6"] {
        join(&mut rig, member);
    }
    for member in ["m1", "m2", "m3", "m4", "m5", "m6"] {
        let partitions = assigned(&join(&mut rig, member)).unwrap();
        assert_eq!(partitions.len(), 1, "{member}");
        counts[usize::try_from(partitions[0]).unwrap()] += 1;
    }
    assert_eq!(counts, [2, 2, 2]);
}

#[test]
fn members_with_different_subscriptions_get_what_they_asked_for() {
    let mut rig = Rig::with(&[NO_DELAY], &[]);
    rig.cluster.create_topic("audit", 2).unwrap();
    heartbeat(&mut rig, "both", 0, Some(&[TOPIC, "audit"]));
    heartbeat(&mut rig, "audit", 0, Some(&["audit"]));
    let audit = rig.topic_id("audit");
    let of = |response: &ShareGroupHeartbeatResponse, id| -> usize {
        let topics = &response.assignment.as_ref().unwrap().topic_partitions;
        topics.iter().filter(|topic| topic.topic_id == id).map(|topic| topic.partitions.len()).sum()
    };
    let both = heartbeat(&mut rig, "both", 0, Some(&[TOPIC, "audit"]));
    let only = heartbeat(&mut rig, "audit", 0, Some(&["audit"]));
    assert_eq!((of(&both, rig.topic_id(TOPIC)), of(&both, audit)), (3, 1));
    assert_eq!((of(&only, rig.topic_id(TOPIC)), of(&only, audit)), (0, 1));
}

#[test]
fn a_topic_that_is_created_later_is_assigned_later() {
    let mut rig = Rig::with(&[NO_DELAY], &[]);
    let joined = heartbeat(&mut rig, "m1", 0, Some(&["later"]));
    assert_eq!(assigned(&joined), Some(vec![]));
    rig.cluster.create_topic("later", 2).unwrap();
    assert_eq!(assigned(&heartbeat(&mut rig, "m1", joined.member_epoch, None)), Some(vec![0, 1]));
}

#[test]
fn epochs_fence() {
    let mut rig = Rig::with(&[NO_DELAY], &[]);
    let first = join(&mut rig, "m1").member_epoch;
    join(&mut rig, "m2");
    let second = heartbeat(&mut rig, "m1", first, None).member_epoch;
    assert!(second > first);
    assert_eq!(heartbeat(&mut rig, "m1", first, None).error_code, ErrorCode::NONE, "the previous epoch: a lost answer");
    for fenced in [second + 1, 1] {
        let refused = heartbeat(&mut rig, "m1", fenced, None);
        assert_eq!((refused.error_code, refused.member_epoch), (ErrorCode::FENCED_MEMBER_EPOCH, 0));
    }
    assert_eq!(join(&mut rig, "m1").member_epoch, second, "epoch 0 is a known member that starts again");
}

#[test]
fn unknown_groups_and_members_are_told_apart() {
    let mut rig = Rig::with(&[NO_DELAY], &[]);
    let refused = heartbeat(&mut rig, "m1", 5, None);
    assert_eq!(refused.error_code, ErrorCode::GROUP_ID_NOT_FOUND);
    assert_eq!(refused.error_message.as_deref(), Some("Share group billing not found."));
    join(&mut rig, "m1");
    let refused = heartbeat(&mut rig, "m9", 5, None);
    assert_eq!(refused.error_code, ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(refused.error_message.as_deref(), Some("Member m9 is not a member of group billing."));
    assert_eq!(heartbeat(&mut rig, "m9", -1, None).error_code, ErrorCode::UNKNOWN_MEMBER_ID);
}

#[test]
fn malformed_heartbeats_are_refused() {
    let mut rig = Rig::new();
    let good = ShareGroupHeartbeatRequest {
        group_id: GROUP.to_owned(),
        member_id: "m1".to_owned(),
        subscribed_topic_names: Some(vec![TOPIC.to_owned()]),
        ..ShareGroupHeartbeatRequest::default()
    };
    let malformed = [
        ShareGroupHeartbeatRequest { group_id: String::new(), ..good.clone() },
        ShareGroupHeartbeatRequest { member_id: String::new(), ..good.clone() },
        ShareGroupHeartbeatRequest { member_id: "m".repeat(37), ..good.clone() },
        ShareGroupHeartbeatRequest { member_epoch: -2, ..good.clone() },
        ShareGroupHeartbeatRequest { rack_id: Some(String::new()), ..good.clone() },
        ShareGroupHeartbeatRequest { subscribed_topic_names: None, ..good.clone() },
        ShareGroupHeartbeatRequest { subscribed_topic_names: Some(vec![]), ..good.clone() },
    ];
    for request in malformed {
        assert_eq!(rig.call(1, &request).error_code, ErrorCode::INVALID_REQUEST, "{request:?}");
    }
    assert_eq!(rig.call(1, &good).error_code, ErrorCode::NONE);
}

#[test]
fn a_member_that_leaves_or_falls_silent_makes_room() {
    let mut rig = Rig::with(&[NO_DELAY], &[]);
    for member in ["m1", "m2", "m3"] {
        join(&mut rig, member);
    }
    let left = heartbeat(&mut rig, "m3", -1, None);
    assert_eq!((left.member_epoch, left.member_id.as_deref()), (-1, Some("m3")));
    rig.advance(Duration::from_secs(44));
    assert_eq!(rig.ready(), None);
    let kept = join(&mut rig, "m1");
    assert_eq!(assigned(&kept).unwrap().len(), 2);
    rig.advance(Duration::from_secs(2));
    assert_eq!(rig.ready(), None);
    assert_eq!(assigned(&heartbeat(&mut rig, "m1", kept.member_epoch, None)), Some(vec![0, 1, 2]), "m2 is gone");
    assert_eq!(heartbeat(&mut rig, "m2", kept.member_epoch, None).error_code, ErrorCode::UNKNOWN_MEMBER_ID);
}

#[test]
fn a_full_group_takes_no_new_member() {
    let mut rig = Rig::with(&[("group.share.max.size", "1")], &[]);
    join(&mut rig, "m1");
    assert_eq!(join(&mut rig, "m2").error_code, ErrorCode::GROUP_MAX_SIZE_REACHED);
    assert_eq!(join(&mut rig, "m1").error_code, ErrorCode::NONE);
}

#[test]
fn groups_are_listed_and_described() {
    let mut rig = Rig::with(&[NO_DELAY], &[]);
    join(&mut rig, "m1");
    let listed = rig.call(1, &ListGroupsRequest::default()).groups;
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].group_state.as_str(), listed[0].group_type.as_str()), ("Stable", "share"));
    let filter = |states: &[&str], types: &[&str]| ListGroupsRequest {
        states_filter: states.iter().map(|state| (*state).to_owned()).collect(),
        types_filter: types.iter().map(|kind| (*kind).to_owned()).collect(),
    };
    assert_eq!(rig.call(1, &filter(&["stable"], &["share"])).groups.len(), 1);
    assert_eq!(rig.call(1, &filter(&["Empty"], &[])).groups.len(), 0);
    assert_eq!(rig.call(1, &filter(&[], &["classic"])).groups.len(), 0);

    let request = ShareGroupDescribeRequest {
        group_ids: vec![GROUP.to_owned(), "nobody".to_owned(), String::new()],
        include_authorized_operations: true,
    };
    let groups = rig.call(1, &request).groups;
    let member = &groups[0].members[0];
    assert_eq!((member.client_id.as_str(), member.client_host.as_str()), ("rig", "/127.0.0.1"));
    assert_eq!(member.assignment.topic_partitions[0].partitions, [0, 1, 2]);
    assert_eq!(member.assignment.topic_partitions[0].topic_name, TOPIC);
    assert_eq!(groups[1].error_code, ErrorCode::GROUP_ID_NOT_FOUND);
    assert_eq!(groups[2].error_code, ErrorCode::INVALID_GROUP_ID);
}

#[test]
fn without_share_groups_a_heartbeat_is_not_supported() {
    let mut rig = Rig::new();
    rig.cluster.share_version = 0;
    assert_eq!(join(&mut rig, "m1").error_code, ErrorCode::UNSUPPORTED_VERSION);
}
