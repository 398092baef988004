//! Groups of the classic protocol.

use std::time::Duration;

use ackflow_protocol::messages::consumer_protocol::ConsumerProtocolSubscription;
use ackflow_protocol::messages::describe_groups::DescribeGroupsRequest;
use ackflow_protocol::messages::embedded::Embedded;
use ackflow_protocol::messages::heartbeat::HeartbeatRequest;
use ackflow_protocol::messages::join_group::{JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse};
use ackflow_protocol::messages::leave_group::{LeaveGroupRequest, MemberIdentity};
use ackflow_protocol::messages::list_groups::ListGroupsRequest;
use ackflow_protocol::messages::offset_commit::OffsetCommitRequest;
use ackflow_protocol::messages::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use ackflow_protocol::messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse};
use ackflow_protocol::wire::ErrorCode;
use bytes::Bytes;

use super::commits::{commit, fetch, fetched};
use super::members::join as join_consumers;
use super::{Broker, Log};

fn join(group: &str, member: &str) -> JoinGroupRequest {
    let subscription = ConsumerProtocolSubscription { topics: vec!["topic".to_owned()], ..Default::default() };
    let metadata = subscription.to_versioned_bytes(1).unwrap();
    JoinGroupRequest {
        group_id: group.to_owned(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 5_000,
        member_id: member.to_owned(),
        protocol_type: "consumer".to_owned(),
        protocols: vec![JoinGroupRequestProtocol { name: "range".to_owned(), metadata }],
        ..Default::default()
    }
}

/// Joins as a new member: once for an id, and once with it.
async fn enter(broker: &Broker, group: &str) -> JoinGroupResponse {
    let asked = broker.call_version(9, &join(group, "")).await;
    assert_eq!(asked.error_code, ErrorCode::MEMBER_ID_REQUIRED);
    broker.call_version(9, &join(group, &asked.member_id)).await
}

fn sync(group: &str, joined: &JoinGroupResponse, assignments: &[(&str, &'static [u8])]) -> SyncGroupRequest {
    let assigned = |&(id, assignment): &(&str, &'static [u8])| SyncGroupRequestAssignment {
        member_id: id.to_owned(),
        assignment: Bytes::from_static(assignment),
    };
    SyncGroupRequest {
        group_id: group.to_owned(),
        generation_id: joined.generation_id,
        member_id: joined.member_id.clone(),
        protocol_type: Some("consumer".to_owned()),
        protocol_name: Some("range".to_owned()),
        assignments: assignments.iter().map(assigned).collect(),
        ..Default::default()
    }
}

async fn beat(broker: &Broker, group: &str, member: &str, generation_id: i32) -> ErrorCode {
    let (group_id, member_id) = (group.to_owned(), member.to_owned());
    let request = HeartbeatRequest { group_id, generation_id, member_id, group_instance_id: None };
    broker.call(&request).await.error_code
}

fn assigned(response: &SyncGroupResponse) -> String {
    format!("{} {:?}", response.error_code.name().unwrap(), response.assignment)
}

pub(super) async fn members_join_and_the_leader_assigns(broker: &Broker) {
    let (group, mut log) = (broker.group().await, Log::default());
    let first = enter(broker, &group).await;
    log.say("first", format!("{} {} {}", first.error_code.name().unwrap(), first.generation_id, first.members.len()));
    let leads = first.leader == first.member_id;
    log.say("leads", format!("{leads} {:?} {:?}", first.protocol_type, first.protocol_name));
    let response = broker.call(&sync(&group, &first, &[(&first.member_id, b"all")])).await;
    log.say("is assigned", assigned(&response));
    log.code("lives", beat(broker, &group, &first.member_id, 1).await);

    // Another one comes, for whom the first one has to join again.
    let (second, again) = tokio::join!(enter(broker, &group), async {
        for _ in 0..500 {
            if beat(broker, &group, &first.member_id, 1).await == ErrorCode::REBALANCE_IN_PROGRESS {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        broker.call_version(9, &join(&group, &first.member_id)).await
    });
    log.say("both", format!("{} {} {}", second.generation_id, again.generation_id, again.members.len()));
    let leads = again.leader == first.member_id && second.leader == first.member_id && second.members.is_empty();
    log.say("the first one leads", leads);
    let (mut one, two) = (sync(&group, &again, &[]), sync(&group, &second, &[]));
    one.assignments = sync(&group, &again, &[(&again.member_id, b"one"), (&second.member_id, b"two")]).assignments;
    let (two, one) = tokio::join!(broker.call_version(5, &two), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        broker.call_version(5, &one).await
    });
    log.say("are assigned", format!("{} {}", assigned(&one), assigned(&two)));
    let described = broker
        .call(&DescribeGroupsRequest { groups: vec![group.clone()], ..Default::default() })
        .await
        .groups
        .remove(0);
    let mut assignments: Vec<Bytes> = described.members.iter().map(|member| member.member_assignment.clone()).collect();
    assignments.sort();
    let (state, kind, data) = (described.group_state, described.protocol_type, described.protocol_data);
    log.say("is described", format!("{state} {kind} {data} {assignments:?}"));
    let listed = broker.call(&ListGroupsRequest::default()).await.groups;
    let listed = listed.into_iter().find(|listed| listed.group_id == group).unwrap();
    log.say("is listed", format!("{} {} {}", listed.protocol_type, listed.group_state, listed.group_type));

    // A member that says what it said hears what it heard; the leader has all join again.
    let repeated = broker.call_version(9, &join(&group, &second.member_id)).await;
    log.say("joins again", format!("{} {}", repeated.error_code.name().unwrap(), repeated.generation_id));
    let member = MemberIdentity { member_id: second.member_id.clone(), ..Default::default() };
    let request = LeaveGroupRequest { group_id: group.clone(), members: vec![member], ..Default::default() };
    log.code("leaves", broker.call(&request).await.members[0].error_code);
    log.code("leaves again", broker.call(&request).await.members[0].error_code);
    log.code("the other hears of it", beat(broker, &group, &first.member_id, 2).await);
    let alone = broker.call_version(9, &join(&group, &first.member_id)).await;
    log.say("is alone", format!("{} {}", alone.generation_id, alone.members.len()));
    log.code("has no assignment", beat(broker, &group, &first.member_id, 3).await);
    let response = broker.call(&sync(&group, &alone, &[])).await;
    log.say("is assigned nothing", assigned(&response));
    assert_eq!(
        log.0,
        "first: NONE 1 1
leads: true Some(\"consumer\") Some(\"range\")
is assigned: NONE b\"all\"
lives: NONE
both: 2 2 2
the first one leads: true
are assigned: NONE b\"one\" NONE b\"two\"
is described: Stable consumer range [b\"one\", b\"two\"]
is listed: consumer Stable classic
joins again: NONE 2
leaves: NONE
leaves again: UNKNOWN_MEMBER_ID
the other hears of it: REBALANCE_IN_PROGRESS
is alone: 3 1
has no assignment: NONE
is assigned nothing: NONE b\"\"
"
    );
}

pub(super) async fn what_members_say_wrong(broker: &Broker) {
    let (group, mut log) = (broker.group().await, Log::default());
    let code = async |log: &mut Log, what: &str, request: JoinGroupRequest| {
        log.code(what, broker.call_version(9, &request).await.error_code);
    };
    code(&mut log, "no group", join("", "")).await;
    code(&mut log, "a member of no group", join(&group, "m")).await;
    code(&mut log, "too short a session", JoinGroupRequest { session_timeout_ms: 1, ..join(&group, "") }).await;
    code(&mut log, "no class", JoinGroupRequest { protocol_type: String::new(), ..join(&group, "") }).await;
    code(&mut log, "no protocol", JoinGroupRequest { protocols: Vec::new(), ..join(&group, "") }).await;
    let listed = broker.call(&ListGroupsRequest::default()).await.groups;
    // A join that is refused makes a group all the same.
    log.say("is listed", listed.iter().any(|listed| listed.group_id == group));
    let member = enter(broker, &group).await;
    code(&mut log, "unknown", join(&group, "m")).await;
    code(&mut log, "another class", JoinGroupRequest { protocol_type: "other".to_owned(), ..join(&group, "") }).await;
    let mut other = join(&group, "");
    other.protocols[0].name = "other".to_owned();
    code(&mut log, "another protocol", other).await;
    let right = sync(&group, &member, &[]);
    let sync_code = async |log: &mut Log, what: &str, request: SyncGroupRequest| {
        log.code(what, broker.call(&request).await.error_code);
    };
    sync_code(&mut log, "syncs early", SyncGroupRequest { generation_id: 0, ..right.clone() }).await;
    sync_code(&mut log, "syncs late", SyncGroupRequest { generation_id: 2, ..right.clone() }).await;
    sync_code(&mut log, "syncs as nobody", SyncGroupRequest { member_id: "m".to_owned(), ..right.clone() }).await;
    let otherwise = SyncGroupRequest { protocol_name: Some("other".to_owned()), ..right.clone() };
    sync_code(&mut log, "syncs otherwise", otherwise).await;
    let committed = async |log: &mut Log, what: &str, request: OffsetCommitRequest| {
        let code = broker.call(&request).await.topics[0].partitions[0].error_code;
        log.code(what, code);
    };
    let (_, topic) = broker.topic(1).await;
    committed(&mut log, "commits before it syncs", commit(&group, &member.member_id, 1, topic, &[(0, 5)])).await;
    sync_code(&mut log, "syncs", right).await;
    log.code("beats early", beat(broker, &group, &member.member_id, 0).await);
    log.code("beats as nobody", beat(broker, &group, "m", 1).await);
    committed(&mut log, "commits", commit(&group, &member.member_id, 1, topic, &[(0, 5)])).await;
    committed(&mut log, "commits early", commit(&group, &member.member_id, 0, topic, &[(0, 5)])).await;
    committed(&mut log, "commits as nobody", commit(&group, "m", 1, topic, &[(0, 5)])).await;
    committed(&mut log, "commits outside", commit(&group, "", -1, topic, &[(0, 5)])).await;
    fetched(broker, &mut log, "reads", &fetch(&group, None, Some((topic, &[0])))).await;
    assert_eq!(
        log.0,
        "no group: INVALID_GROUP_ID
a member of no group: UNKNOWN_MEMBER_ID
too short a session: INVALID_SESSION_TIMEOUT
no class: INCONSISTENT_GROUP_PROTOCOL
no protocol: INCONSISTENT_GROUP_PROTOCOL
is listed: true
unknown: UNKNOWN_MEMBER_ID
another class: INCONSISTENT_GROUP_PROTOCOL
another protocol: INCONSISTENT_GROUP_PROTOCOL
syncs early: ILLEGAL_GENERATION
syncs late: ILLEGAL_GENERATION
syncs as nobody: UNKNOWN_MEMBER_ID
syncs otherwise: INCONSISTENT_GROUP_PROTOCOL
commits before it syncs: REBALANCE_IN_PROGRESS
syncs: NONE
beats early: ILLEGAL_GENERATION
beats as nobody: UNKNOWN_MEMBER_ID
commits: NONE
commits early: ILLEGAL_GENERATION
commits as nobody: UNKNOWN_MEMBER_ID
commits outside: UNKNOWN_MEMBER_ID
reads: NONE [0 5 0 Some(\"note\") NONE]
"
    );
}

pub(super) async fn static_members_of_the_classic_protocol_come_back(broker: &Broker) {
    let (group, mut log) = (broker.group().await, Log::default());
    let named = |member: &str| JoinGroupRequest { group_instance_id: Some("one".to_owned()), ..join(&group, member) };
    let first = broker.call_version(9, &named("")).await;
    log.say("joins", format!("{} {}", first.error_code.name().unwrap(), first.generation_id));
    broker.call(&sync(&group, &first, &[(&first.member_id, b"all")])).await;
    let back = broker.call_version(9, &named("")).await;
    let is_other = back.member_id != first.member_id && back.leader == back.member_id;
    log.say(
        "comes back",
        format!("{} {} {is_other} {}", back.error_code.name().unwrap(), back.generation_id, back.skip_assignment),
    );
    let fenced = HeartbeatRequest {
        group_id: group.clone(),
        generation_id: 1,
        member_id: first.member_id.clone(),
        group_instance_id: Some("one".to_owned()),
    };
    log.code("the old one", broker.call(&fenced).await.error_code);
    let response = broker.call(&sync(&group, &back, &[])).await;
    log.say("has what it had", assigned(&response));
    let member = MemberIdentity { group_instance_id: Some("one".to_owned()), ..Default::default() };
    let request = LeaveGroupRequest { group_id: group.clone(), members: vec![member], ..Default::default() };
    log.code("leaves by its name", broker.call(&request).await.members[0].error_code);
    let described = broker
        .call(&DescribeGroupsRequest { groups: vec![group.clone()], ..Default::default() })
        .await
        .groups
        .remove(0);
    log.say("is empty", format!("{} {}", described.group_state, described.protocol_type));
    // An empty group may change its protocol.
    let consumer = broker.call(&join_consumers(&group, "c", &["topic"])).await;
    log.code("a consumer", consumer.error_code);
    let request = DescribeGroupsRequest { groups: vec![group.clone()], ..Default::default() };
    let described = broker.call(&request).await.groups.remove(0);
    log.say("is none of this protocol", format!("{} {}", described.error_code.name().unwrap(), described.group_state));
    let described = broker.call_version(5, &request).await.groups.remove(0);
    log.say("in older words", format!("{} {}", described.error_code.name().unwrap(), described.group_state));
    let partitions = vec![OffsetDeleteRequestPartition { partition_index: 0 }];
    let topics = vec![OffsetDeleteRequestTopic { name: "topic".to_owned(), partitions }];
    let deleted = broker.call(&OffsetDeleteRequest { group_id: group.clone(), topics }).await;
    log.code("offsets are deleted", deleted.error_code);
    assert_eq!(
        log.0,
        "joins: NONE 1
comes back: NONE 1 true true
the old one: FENCED_INSTANCE_ID
has what it had: NONE b\"all\"
leaves by its name: NONE
is empty: Empty consumer
a consumer: NONE
is none of this protocol: GROUP_ID_NOT_FOUND Dead
in older words: NONE Dead
offsets are deleted: NONE
"
    );
}
