//! Members of consumer groups.

use std::collections::BTreeSet;

use ackflow_protocol::messages::consumer_group_describe::ConsumerGroupDescribeRequest;
use ackflow_protocol::messages::consumer_group_heartbeat::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, TopicPartitions,
};
use ackflow_protocol::messages::delete_groups::DeleteGroupsRequest;
use ackflow_protocol::messages::list_groups::ListGroupsRequest;
use ackflow_protocol::messages::share_group_heartbeat::ShareGroupHeartbeatRequest;
use ackflow_protocol::wire::{ErrorCode, Uuid};

use super::support::{eventually, unique};
use super::{Broker, Log};

/// A join of a group.
pub(super) fn join(group: &str, member: &str, topics: &[&str]) -> ConsumerGroupHeartbeatRequest {
    ConsumerGroupHeartbeatRequest {
        group_id: group.to_owned(),
        member_id: member.to_owned(),
        member_epoch: 0,
        rebalance_timeout_ms: 60_000,
        subscribed_topic_names: Some(topics.iter().map(|topic| (*topic).to_owned()).collect()),
        topic_partitions: Some(Vec::new()),
        ..Default::default()
    }
}

/// A member that stays.
pub(super) fn stay(group: &str, member: &str, epoch: i32) -> ConsumerGroupHeartbeatRequest {
    ConsumerGroupHeartbeatRequest {
        group_id: group.to_owned(),
        member_id: member.to_owned(),
        member_epoch: epoch,
        rebalance_timeout_ms: -1,
        ..Default::default()
    }
}

/// A member with what it holds.
pub(super) struct Member<'a> {
    broker: &'a Broker,
    group: String,
    pub(super) id: String,
    pub(super) epoch: i32,
    topic: Uuid,
    held: BTreeSet<i32>,
}

impl<'a> Member<'a> {
    pub(super) async fn join(broker: &'a Broker, group: &str, id: &str, topic: (&str, Uuid)) -> Self {
        let mut member = Self {
            broker,
            group: group.to_owned(),
            id: id.to_owned(),
            epoch: 0,
            topic: topic.1,
            held: BTreeSet::new(),
        };
        let response = broker.call(&join(group, id, &[topic.0])).await;
        member.hear(response);
        member
    }

    fn hear(&mut self, response: ConsumerGroupHeartbeatResponse) {
        assert!(response.error_code.is_none(), "{response:?}");
        self.epoch = response.member_epoch;
        if let Some(assignment) = response.assignment {
            self.held = assignment.topic_partitions.into_iter().flat_map(|topic| topic.partitions).collect();
        }
    }

    /// Whether it holds a partition.
    pub(super) fn holds(&self, partition: i32) -> bool {
        self.held.contains(&partition)
    }

    /// Says what it holds.
    pub(super) async fn beat(&mut self) {
        let partitions = self.held.iter().copied().collect();
        let owned =
            if self.held.is_empty() { Vec::new() } else { vec![TopicPartitions { topic_id: self.topic, partitions }] };
        let request =
            ConsumerGroupHeartbeatRequest { topic_partitions: Some(owned), ..stay(&self.group, &self.id, self.epoch) };
        let response = self.broker.call(&request).await;
        self.hear(response);
    }

    /// Goes on until it has so many partitions.
    pub(super) async fn until(&mut self, partitions: usize) {
        for _ in 0..200 {
            if self.held.len() == partitions {
                return;
            }
            self.beat().await;
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        panic!("{} has {:?}", self.id, self.held);
    }
}

async fn refused(broker: &Broker, log: &mut Log, what: &str, request: &ConsumerGroupHeartbeatRequest) {
    let response = broker.call(request).await;
    log.code(what, response.error_code);
}

pub(super) async fn heartbeats_that_are_refused(broker: &Broker) {
    let (group, mut log) = (broker.group().await, Log::default());
    let (topic, id) = broker.topic(1).await;
    refused(broker, &mut log, "no group", &stay(&group, "m", 1)).await;
    let leave = stay(&group, "m", -1);
    refused(broker, &mut log, "no group to leave", &leave).await;
    let odd =
        ConsumerGroupHeartbeatRequest { subscribed_topic_regex: Some("(".to_owned()), ..join(&group, "m", &[&topic]) };
    refused(broker, &mut log, "no expression", &odd).await;
    refused(broker, &mut log, "still no group", &stay(&group, "m", 1)).await;
    let mut member = Member::join(broker, &group, "m", (&topic, id)).await;
    member.until(1).await;
    refused(broker, &mut log, "unknown member", &stay(&group, "n", 1)).await;
    refused(broker, &mut log, "unknown member leaves", &stay(&group, "n", -1)).await;
    refused(broker, &mut log, "later epoch", &stay(&group, "m", member.epoch + 1)).await;
    refused(broker, &mut log, "epoch -3", &stay(&group, "m", -3)).await;
    let again =
        ConsumerGroupHeartbeatRequest { subscribed_topic_names: Some(vec![topic.clone()]), ..stay(&group, "m", 0) };
    refused(broker, &mut log, "no timeout", &again).await;
    let join = |change: fn(&mut ConsumerGroupHeartbeatRequest)| {
        let mut request = join(&group, "m", &[&topic]);
        change(&mut request);
        request
    };
    for (what, request) in [
        ("joins again", join(|_| {})),
        ("no member", join(|r| r.member_id.clear())),
        ("no group id", join(|r| r.group_id.clear())),
        ("empty rack", join(|r| r.rack_id = Some(String::new()))),
        ("empty instance", join(|r| r.instance_id = Some(String::new()))),
        ("partitions unsaid", join(|r| r.topic_partitions = None)),
        ("topics unsaid", join(|r| r.subscribed_topic_names = None)),
        ("assignor", join(|r| r.server_assignor = Some("nobody".to_owned()))),
        ("expression", join(|r| r.subscribed_topic_regex = Some("(".to_owned()))),
        ("static epoch without a name", join(|r| r.member_epoch = -2)),
        ("range", join(|r| r.server_assignor = Some("range".to_owned()))),
    ] {
        refused(broker, &mut log, what, &request).await;
    }
    assert_eq!(
        log.0,
        "no group: GROUP_ID_NOT_FOUND
no group to leave: GROUP_ID_NOT_FOUND
no expression: INVALID_REGULAR_EXPRESSION
still no group: GROUP_ID_NOT_FOUND
unknown member: UNKNOWN_MEMBER_ID
unknown member leaves: UNKNOWN_MEMBER_ID
later epoch: FENCED_MEMBER_EPOCH
epoch -3: INVALID_REQUEST
no timeout: INVALID_REQUEST
joins again: NONE
no member: INVALID_REQUEST
no group id: INVALID_REQUEST
empty rack: INVALID_REQUEST
empty instance: INVALID_REQUEST
partitions unsaid: INVALID_REQUEST
topics unsaid: INVALID_REQUEST
assignor: UNSUPPORTED_ASSIGNOR
expression: INVALID_REGULAR_EXPRESSION
static epoch without a name: INVALID_REQUEST
range: NONE
"
    );
}

pub(super) async fn partitions_go_to_the_next_member_when_they_are_given_up(broker: &Broker) {
    let group = broker.group().await;
    let (topic, id) = broker.topic(4).await;
    let mut first = Member::join(broker, &group, "a", (&topic, id)).await;
    first.until(4).await;
    let before = first.epoch;
    let mut second = Member::join(broker, &group, "b", (&topic, id)).await;
    // The first one gives up what it does not say any more that it holds; until then it keeps its epoch.
    let held = first.held.clone();
    eventually("the revocation", async || {
        first.beat().await;
        (first.held.len() == 2).then_some(())
    })
    .await;
    assert_eq!(first.epoch, before);
    second.beat().await;
    assert_eq!(second.held.len(), 0, "nothing is given up yet");
    // An epoch of before is taken while nothing is held that is not the member's.
    let all = vec![TopicPartitions { topic_id: id, partitions: held.iter().copied().collect() }];
    let late = ConsumerGroupHeartbeatRequest { topic_partitions: Some(all), ..stay(&group, "a", first.epoch) };
    let late = broker.call(&late).await;
    assert_eq!((late.error_code, late.member_epoch), (ErrorCode::NONE, before));
    first.beat().await;
    assert_eq!(first.epoch, second.epoch);
    second.until(2).await;
    assert_eq!(&first.held | &second.held, held);
    let described = broker
        .call(&ConsumerGroupDescribeRequest { group_ids: vec![group.clone()], ..Default::default() })
        .await
        .groups
        .remove(0);
    assert_eq!(described.group_state, "Stable");
    let left = broker.call(&stay(&group, "a", -1)).await;
    assert_eq!((left.error_code, left.member_epoch), (ErrorCode::NONE, -1));
    second.until(4).await;
    assert!(second.epoch > first.epoch);
}

pub(super) async fn static_members(broker: &Broker) {
    let (group, mut log) = (broker.group().await, Log::default());
    let (topic, id) = broker.topic(2).await;
    let named = |member: &str, epoch: i32| {
        let request = if epoch == 0 { join(&group, member, &[&topic]) } else { stay(&group, member, epoch) };
        ConsumerGroupHeartbeatRequest { instance_id: Some("one".to_owned()), ..request }
    };
    let mut member =
        Member { broker, group: group.clone(), id: "a".to_owned(), epoch: 0, topic: id, held: BTreeSet::new() };
    member.hear(broker.call(&named("a", 0)).await);
    member.until(2).await;
    refused(broker, &mut log, "joins again", &named("a", 0)).await;
    refused(broker, &mut log, "another one joins", &named("b", 0)).await;
    refused(broker, &mut log, "another one stays", &named("b", member.epoch)).await;
    let mut nobody = named("a", member.epoch);
    nobody.instance_id = Some("two".to_owned());
    refused(broker, &mut log, "a name that nobody has", &nobody).await;
    let left = broker.call(&named("a", -2)).await;
    log.say("leaves for a while", left.member_epoch);
    refused(broker, &mut log, "is back under its old id", &named("a", member.epoch)).await;
    let back = broker.call(&named("b", 0)).await;
    let held: usize = back.assignment.iter().flat_map(|a| &a.topic_partitions).map(|t| t.partitions.len()).sum();
    log.say("comes back", format!("{} {} {held}", back.error_code.name().unwrap(), back.member_epoch == member.epoch));
    refused(broker, &mut log, "the old one", &named("a", member.epoch)).await;
    refused(broker, &mut log, "the old one leaves", &named("a", -1)).await;
    refused(broker, &mut log, "leaves", &named("b", -1)).await;
    assert_eq!(
        log.0,
        "joins again: UNRELEASED_INSTANCE_ID
another one joins: UNRELEASED_INSTANCE_ID
another one stays: FENCED_INSTANCE_ID
a name that nobody has: UNKNOWN_MEMBER_ID
leaves for a while: -2
is back under its old id: FENCED_MEMBER_EPOCH
comes back: NONE true 2
the old one: FENCED_INSTANCE_ID
the old one leaves: FENCED_INSTANCE_ID
leaves: NONE
"
    );
}

pub(super) async fn groups_are_described_and_deleted(broker: &Broker) {
    let (group, share, mut log) = (broker.group().await, unique("share"), Log::default());
    let (topic, id) = broker.topic(1).await;
    let delete = async |log: &mut Log, what: &str, group: &str| {
        let response = broker.call(&DeleteGroupsRequest { groups_names: vec![group.to_owned()] }).await;
        log.code(what, response.results[0].error_code);
    };
    let describe = async |log: &mut Log, what: &str, group: &str| {
        let request = ConsumerGroupDescribeRequest { group_ids: vec![group.to_owned()], ..Default::default() };
        let found = broker.call(&request).await.groups.remove(0);
        let members: Vec<String> = found
            .members
            .iter()
            .map(|m| {
                format!(
                    "{}@{} {:?} {}",
                    m.member_id,
                    m.member_epoch == found.group_epoch,
                    m.subscribed_topic_regex,
                    m.member_type
                )
            })
            .collect();
        let code = found.error_code.name().unwrap();
        log.say(what, format!("{code} {:?} {} {}", found.group_state, found.assignor_name, members.join(" ")));
    };
    let list = async |log: &mut Log, what: &str, group: &str| {
        let found = broker.call(&ListGroupsRequest::default()).await.groups;
        let found = found.into_iter().find(|found| found.group_id == group);
        let text = found.map(|f| format!("{:?} {} {}", f.protocol_type, f.group_state, f.group_type));
        log.say(what, text.unwrap_or_default());
    };
    describe(&mut log, "no group", &group).await;
    delete(&mut log, "no group is deleted", &group).await;
    let mut member = Member::join(broker, &group, "m", (&topic, id)).await;
    member.until(1).await;
    describe(&mut log, "a member", &group).await;
    list(&mut log, "is listed", &group).await;
    delete(&mut log, "a member is there", &group).await;
    refused(broker, &mut log, "leaves", &stay(&group, "m", -1)).await;
    describe(&mut log, "empty", &group).await;
    list(&mut log, "is listed empty", &group).await;

    let topics = Some(vec![topic.clone()]);
    let of_share = ShareGroupHeartbeatRequest {
        group_id: group.clone(),
        member_id: "s".to_owned(),
        member_epoch: 0,
        subscribed_topic_names: topics,
        ..Default::default()
    };
    log.code("a share member of it", broker.call(&of_share).await.error_code);
    delete(&mut log, "deleted", &group).await;
    describe(&mut log, "gone", &group).await;
    list(&mut log, "is not listed", &group).await;

    log.code(
        "a share group",
        broker.call(&ShareGroupHeartbeatRequest { group_id: share.clone(), ..of_share }).await.error_code,
    );
    refused(broker, &mut log, "a consumer joins it", &join(&share, "m", &[&topic])).await;
    describe(&mut log, "is no consumer group", &share).await;
    delete(&mut log, "is not empty", &share).await;
    assert_eq!(
        log.0,
        "no group: GROUP_ID_NOT_FOUND \"\"  
no group is deleted: GROUP_ID_NOT_FOUND
a member: NONE \"Stable\" uniform m@true Some(\"\") 1
is listed: \"consumer\" Stable consumer
a member is there: NON_EMPTY_GROUP
leaves: NONE
empty: NONE \"Empty\" uniform 
is listed empty: \"consumer\" Empty consumer
a share member of it: GROUP_ID_NOT_FOUND
deleted: NONE
gone: GROUP_ID_NOT_FOUND \"\"  
is not listed: 
a share group: NONE
a consumer joins it: GROUP_ID_NOT_FOUND
is no consumer group: GROUP_ID_NOT_FOUND \"\"  
is not empty: NON_EMPTY_GROUP
"
    );
}
