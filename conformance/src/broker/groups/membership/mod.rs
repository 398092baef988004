//! Who is a member of a share group, and of what.

pub(crate) mod assignment;
pub(crate) mod description;
pub(crate) mod epochs;
pub(crate) mod liveness;
pub(crate) mod topics;

use std::collections::BTreeSet;

use ackflow_protocol::messages::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;
use ackflow_protocol::messages::share_group_heartbeat::{ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse};
use ackflow_protocol::wire::{ErrorCode, Uuid};

use crate::broker::case::cases;
use crate::broker::lab::{Kind, Lab, Link, Outcome, Topic, join, random_uuid};

cases! {
    Membership;
    a_member_joins_with_epoch_0_and_an_id_of_its_own:
        "A heartbeat with epoch 0 and an id that the client has made joins: the answer has that id, an epoch above 0, an interval of heartbeats, and an \
         assignment, which may be empty.",
        "KIP-932, Share group membership; ShareGroupHeartbeatRequest.json";
    a_first_heartbeat_names_topics:
        "A heartbeat that joins without any topic is refused with INVALID_REQUEST.",
        "KIP-932, ShareGroupHeartbeat API";
    an_empty_member_id_is_refused:
        "A heartbeat with an empty member id is refused with INVALID_REQUEST: clients make their ids.",
        "KIP-932, ShareGroupHeartbeat API";
    a_member_id_has_36_characters_at_most:
        "A member id of 36 characters, as a uuid has them, is taken; a longer one is refused with INVALID_REQUEST.",
        "Kafka 4.2 and later",
        note "KIP-932 says that ids are uuids of the client, and nothing of their length.";
    an_empty_group_id_is_refused:
        "A heartbeat with an empty group id is refused with INVALID_REQUEST or INVALID_GROUP_ID.",
        "KIP-932, ShareGroupHeartbeat API",
        note "Kafka answers INVALID_REQUEST.";
    an_empty_rack_id_is_refused:
        "A heartbeat with an empty rack id is refused with INVALID_REQUEST; a null one says that there is none or that it has not changed.",
        "KIP-932, ShareGroupHeartbeat API";
    an_epoch_below_minus_1_is_refused:
        "A heartbeat with an epoch below -1 is refused with INVALID_REQUEST: share groups have no static members.",
        "KIP-932, ShareGroupHeartbeat API";
    a_name_of_a_consumer_group_is_refused:
        "A heartbeat of a share group with the name of a group of another type is refused, with GROUP_ID_NOT_FOUND or INCONSISTENT_GROUP_PROTOCOL, and \
         the other group is left as it is.",
        "KIP-932, Group type",
        note "Kafka answers GROUP_ID_NOT_FOUND.";
    a_consumer_cannot_join_a_share_group:
        "A ConsumerGroupHeartbeat with the name of a share group is refused, with GROUP_ID_NOT_FOUND or INCONSISTENT_GROUP_PROTOCOL, and the share group \
         is left as it is.",
        "KIP-932, Group type",
        note "Kafka answers GROUP_ID_NOT_FOUND.";
    the_interval_of_heartbeats_is_that_of_the_group:
        "Heartbeats are answered with the interval that is set on the group by share.heartbeat.interval.ms.",
        "KIP-932, Configuration; ShareGroupHeartbeatResponse.json";
}

/// A member whose every heartbeat is the case's.
#[derive(Debug)]
struct Hand {
    link: Link,
    /// The next heartbeat.
    request: ShareGroupHeartbeatRequest,
    /// What it has been told to fetch.
    assigned: BTreeSet<(Uuid, i32)>,
}

impl Hand {
    /// One that has not said anything yet: its first heartbeat joins.
    async fn new(lab: &Lab, group: &str, topics: &[&Topic]) -> Outcome<Self> {
        let id = random_uuid().to_string();
        lab.made_member(group, &id);
        let link = lab.coordinator(Kind::Group, group).await?;
        Ok(Self { link, request: join(group, &id, topics), assigned: BTreeSet::new() })
    }

    /// One that has joined, and has all partitions of its topics or some, as others leave them to it.
    async fn joined(lab: &Lab, group: &str, topics: &[&Topic]) -> Outcome<Self> {
        let mut hand = Self::new(lab, group, topics).await?;
        hand.until(lab, "a member gets partitions", |assigned| !assigned.is_empty()).await?;
        Ok(hand)
    }

    fn id(&self) -> &str {
        &self.request.member_id
    }

    fn epoch(&self) -> i32 {
        self.request.member_epoch
    }

    /// Sends a heartbeat, whatever comes of it. One that the broker has taken is followed by the next.
    async fn beat(&mut self) -> Outcome<ShareGroupHeartbeatResponse> {
        let response = self.link.call(&self.request).await?;
        if response.error_code.is_none() {
            self.request.member_epoch = response.member_epoch;
            self.request.subscribed_topic_names = None;
            if let Some(assignment) = &response.assignment {
                let all = assignment.topic_partitions.iter();
                let all = all.flat_map(|topic| topic.partitions.iter().map(|index| (topic.topic_id, *index)));
                self.assigned = all.collect();
            }
        }
        Ok(response)
    }

    /// Sends heartbeats until what is assigned is as wanted.
    async fn until(&mut self, lab: &Lab, what: &str, wanted: impl Fn(&BTreeSet<(Uuid, i32)>) -> bool) -> Outcome {
        lab.eventually(what, async || {
            let response = self.beat().await?;
            lab.granted("ShareGroupHeartbeat", response.error_code, response.error_message.as_deref())?;
            Ok(wanted(&self.assigned).then_some(()))
        })
        .await
    }

    /// Leaves, whatever comes of it.
    async fn leave(&mut self) -> Outcome<ShareGroupHeartbeatResponse> {
        let request = self.with_epoch(-1);
        self.link.call(&request).await
    }

    /// The next heartbeat, with another epoch.
    fn with_epoch(&self, member_epoch: i32) -> ShareGroupHeartbeatRequest {
        ShareGroupHeartbeatRequest { member_epoch, ..self.request.clone() }
    }
}

/// All partitions of topics.
fn all_of(topics: &[&Topic]) -> BTreeSet<(Uuid, i32)> {
    let of = |topic: &&Topic| (0..topic.leaders.len()).map(|index| (topic.id, index as i32)).collect::<Vec<_>>();
    topics.iter().flat_map(of).collect()
}

async fn a_member_joins_with_epoch_0_and_an_id_of_its_own(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut hand = Hand::new(lab, &lab.group().await?, &[&topic]).await?;
    let joined = hand.beat().await?;
    lab.check("the error of the join", joined.error_code, ErrorCode::NONE)?;
    lab.check("the member id of the answer", joined.member_id.as_deref(), Some(hand.id()))?;
    lab.check_that("the epoch of the answer", joined.member_epoch > 0, "above 0", &joined.member_epoch)?;
    let interval = joined.heartbeat_interval_ms;
    lab.check_that("the interval of heartbeats", interval > 0, "above 0 ms", &interval)?;
    lab.check("whether a join is answered with an assignment", joined.assignment.is_some(), true)?;
    lab.check("the error of the next heartbeat", hand.beat().await?.error_code, ErrorCode::NONE)
}

/// Checks what the first heartbeat of a member leads to that is not as it should be.
async fn refused(lab: &Lab, what: &str, spoil: impl Fn(&mut ShareGroupHeartbeatRequest)) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut hand = Hand::new(lab, &lab.group().await?, &[&topic]).await?;
    let mut spoiled = hand.request.clone();
    spoil(&mut spoiled);
    let code = hand.link.call(&spoiled).await?.error_code;
    lab.check(&format!("the error of {what}"), code, ErrorCode::INVALID_REQUEST)?;
    let fine = hand.beat().await?.error_code;
    lab.check("the error of a heartbeat that is as it should be", fine, ErrorCode::NONE)
}

async fn a_first_heartbeat_names_topics(lab: &Lab) -> Outcome {
    refused(lab, "a join whose topics are null", |join| join.subscribed_topic_names = None).await?;
    refused(lab, "a join with no topic", |join| join.subscribed_topic_names = Some(Vec::new())).await
}

async fn an_empty_member_id_is_refused(lab: &Lab) -> Outcome {
    refused(lab, "an empty member id", |join| join.member_id.clear()).await
}

async fn a_member_id_has_36_characters_at_most(lab: &Lab) -> Outcome {
    refused(lab, "a member id of 37 characters", |join| join.member_id = "m".repeat(37)).await?;
    let topic = lab.topic(1).await?;
    let group = lab.group().await?;
    let mut hand = Hand::new(lab, &group, &[&topic]).await?;
    hand.request.member_id = "m".repeat(36);
    lab.made_member(&group, hand.id());
    lab.check("the error of a member id of 36 characters", hand.beat().await?.error_code, ErrorCode::NONE)
}

async fn an_empty_group_id_is_refused(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut link = lab.link().await?;
    let code = link.call(&join("", &random_uuid().to_string(), &[&topic])).await?.error_code;
    let known = [ErrorCode::INVALID_REQUEST, ErrorCode::INVALID_GROUP_ID];
    lab.check_that("the error", known.contains(&code), "INVALID_REQUEST or INVALID_GROUP_ID", &code)
}

async fn an_empty_rack_id_is_refused(lab: &Lab) -> Outcome {
    refused(lab, "an empty rack id", |join| join.rack_id = Some(String::new())).await
}

async fn an_epoch_below_minus_1_is_refused(lab: &Lab) -> Outcome {
    for epoch in [-2, i32::MIN] {
        refused(lab, &format!("the epoch {epoch}"), |join| join.member_epoch = epoch).await?;
    }
    Ok(())
}

/// Whether a refusal says that the group is of another type.
fn check_other_type(lab: &Lab, what: &str, code: ErrorCode) -> Outcome {
    let known = [ErrorCode::GROUP_ID_NOT_FOUND, ErrorCode::INCONSISTENT_GROUP_PROTOCOL];
    lab.check_that(what, known.contains(&code), "GROUP_ID_NOT_FOUND or INCONSISTENT_GROUP_PROTOCOL", &code)
}

/// The first heartbeat of a consumer.
fn consumer(group: &str, topic: &Topic) -> ConsumerGroupHeartbeatRequest {
    ConsumerGroupHeartbeatRequest {
        group_id: group.to_owned(),
        member_id: random_uuid().to_string(),
        member_epoch: 0,
        rebalance_timeout_ms: 30_000,
        subscribed_topic_names: Some(vec![topic.name.clone()]),
        topic_partitions: Some(Vec::new()),
        ..Default::default()
    }
}

async fn a_name_of_a_consumer_group_is_refused(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let group = lab.group().await?;
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    let mut request = consumer(&group, &topic);
    let joined = link.call(&request).await?;
    lab.granted("ConsumerGroupHeartbeat", joined.error_code, joined.error_message.as_deref())?;
    let refused = link.call(&join(&group, &random_uuid().to_string(), &[&topic])).await?.error_code;
    check_other_type(lab, "the error of a share group's heartbeat", refused)?;
    (request.member_epoch, request.subscribed_topic_names) = (joined.member_epoch, None);
    let goes_on = link.call(&request).await?.error_code;
    lab.check("the error of the consumer's next heartbeat", goes_on, ErrorCode::NONE)?;
    request.member_epoch = -1;
    link.unrecorded().call(&request).await.map(drop)
}

async fn a_consumer_cannot_join_a_share_group(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let group = lab.group().await?;
    let mut hand = Hand::joined(lab, &group, &[&topic]).await?;
    let refused = hand.link.call(&consumer(&group, &topic)).await?.error_code;
    check_other_type(lab, "the error of a consumer's heartbeat", refused)?;
    lab.check("the error of the member's next heartbeat", hand.beat().await?.error_code, ErrorCode::NONE)
}

async fn the_interval_of_heartbeats_is_that_of_the_group(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let wanted = i32::try_from(lab.target.waits.heartbeat.as_millis()).unwrap_or(i32::MAX) + 1;
    let group = lab.group_with(&[("share.heartbeat.interval.ms", &wanted.to_string())]).await?;
    let mut hand = Hand::new(lab, &group, &[&topic]).await?;
    // Settings take effect some time after they were taken.
    lab.eventually("heartbeats are answered with the interval of the group", async || {
        Ok((hand.beat().await?.heartbeat_interval_ms == wanted).then_some(()))
    })
    .await?;
    lab.check("the interval of the next heartbeat", hand.beat().await?.heartbeat_interval_ms, wanted)
}
