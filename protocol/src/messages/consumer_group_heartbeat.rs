//! ConsumerGroupHeartbeat (key 68, versions 0-1, flexible): joins a group of the consumer protocol, stays in it, leaves
//! it (KIP-848). Sent to the group's coordinator.
//!
//! Version 1 adds subscriptions by regular expression (KIP-848) and has the client make its member id (KIP-1082).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response, Uuid};

/// What a member tells the coordinator: who it is and, where that changed, what it wants.
#[derive(Debug, Clone, PartialEq)]
pub struct ConsumerGroupHeartbeatRequest {
    /// The group.
    pub group_id: String,
    /// The member's id: a uuid that the client makes and keeps for its whole life; in version 0 empty, to be given one.
    pub member_id: String,
    /// The member's epoch: 0 to join, -1 to leave, -2 for a static member that leaves and will be back.
    pub member_epoch: i32,
    /// The static member's name; `None` where there is none or it has not changed since the last heartbeat.
    pub instance_id: Option<String>,
    /// The rack; `None` where there is none or it has not changed since the last heartbeat.
    pub rack_id: Option<String>,
    /// How long the coordinator waits for the member to give up partitions, in milliseconds; -1 where that has not
    /// changed since the last heartbeat.
    pub rebalance_timeout_ms: i32,
    /// The topics; `None` where they have not changed since the last heartbeat.
    pub subscribed_topic_names: Option<Vec<String>>,
    /// A regular expression (RE2/J) on topic names; `None` where there is none or it has not changed since the last
    /// heartbeat. Since version 1.
    pub subscribed_topic_regex: Option<String>,
    /// The broker's assignor; `None` for its choice, or where that has not changed since the last heartbeat.
    pub server_assignor: Option<String>,
    /// The partitions that the member holds; `None` where they have not changed since the last heartbeat.
    pub topic_partitions: Option<Vec<TopicPartitions>>,
}

impl Default for ConsumerGroupHeartbeatRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            member_id: String::new(),
            member_epoch: 0,
            instance_id: None,
            rack_id: None,
            rebalance_timeout_ms: -1,
            subscribed_topic_names: None,
            subscribed_topic_regex: None,
            server_assignor: None,
            topic_partitions: None,
        }
    }
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TopicPartitions {
    /// The topic.
    pub topic_id: Uuid,
    /// Its partitions.
    pub partitions: Vec<i32>,
}

impl Encode for ConsumerGroupHeartbeatRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("groupId", &self.group_id);
        w.string("memberId", &self.member_id);
        w.i32("memberEpoch", self.member_epoch);
        w.nullable_string("instanceId", self.instance_id.as_deref());
        w.nullable_string("rackId", self.rack_id.as_deref());
        w.i32("rebalanceTimeoutMs", self.rebalance_timeout_ms);
        w.nullable_array("subscribedTopicNames", self.subscribed_topic_names.as_deref());
        w.required_since(1, "subscribedTopicRegex", self.subscribed_topic_regex.is_none(), |w| {
            w.nullable_string("subscribedTopicRegex", self.subscribed_topic_regex.as_deref());
        });
        w.nullable_string("serverAssignor", self.server_assignor.as_deref());
        w.nullable_array("topicPartitions", self.topic_partitions.as_deref());
    }
}

impl Decode for ConsumerGroupHeartbeatRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            group_id: r.string("groupId")?,
            member_id: r.string("memberId")?,
            member_epoch: r.i32("memberEpoch")?,
            instance_id: r.nullable_string("instanceId")?,
            rack_id: r.nullable_string("rackId")?,
            rebalance_timeout_ms: r.i32("rebalanceTimeoutMs")?,
            subscribed_topic_names: r.nullable_array("subscribedTopicNames")?,
            subscribed_topic_regex: r.since(1, None, |r| r.nullable_string("subscribedTopicRegex"))?,
            server_assignor: r.nullable_string("serverAssignor")?,
            topic_partitions: r.nullable_array("topicPartitions")?,
        })
    }
}

impl Encode for TopicPartitions {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.uuid("topicId", self.topic_id);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for TopicPartitions {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topic_id: r.uuid("topicId")?, partitions: r.array("partitions")? })
    }
}

impl Message for ConsumerGroupHeartbeatRequest {
    const NAME: &'static str = "ConsumerGroupHeartbeatRequest";
    const KEY: ApiKey = ApiKey::CONSUMER_GROUP_HEARTBEAT;
    const VERSIONS: RangeInclusive<i16> = 0..=1;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Request for ConsumerGroupHeartbeatRequest {
    type Response = ConsumerGroupHeartbeatResponse;
    const NEWEST_STABLE: i16 = 1;
}

/// What the coordinator answers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ConsumerGroupHeartbeatResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The error.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
    /// The member's id.
    pub member_id: Option<String>,
    /// The member's epoch.
    pub member_epoch: i32,
    /// How long to wait before the next heartbeat, in milliseconds.
    pub heartbeat_interval_ms: i32,
    /// The partitions; `None` where they have not changed.
    pub assignment: Option<Assignment>,
}

/// What a member is to read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Assignment {
    /// The partitions by topic.
    pub topic_partitions: Vec<TopicPartitions>,
}

impl Encode for ConsumerGroupHeartbeatResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
        w.nullable_string("memberId", self.member_id.as_deref());
        w.i32("memberEpoch", self.member_epoch);
        w.i32("heartbeatIntervalMs", self.heartbeat_interval_ms);
        w.nullable_structure("assignment", self.assignment.as_ref());
    }
}

impl Decode for ConsumerGroupHeartbeatResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.i32("throttleTimeMs")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
            member_id: r.nullable_string("memberId")?,
            member_epoch: r.i32("memberEpoch")?,
            heartbeat_interval_ms: r.i32("heartbeatIntervalMs")?,
            assignment: r.nullable_structure("assignment")?,
        })
    }
}

impl Encode for Assignment {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("topicPartitions", &self.topic_partitions);
    }
}

impl Decode for Assignment {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topic_partitions: r.array("topicPartitions")? })
    }
}

impl Message for ConsumerGroupHeartbeatResponse {
    const NAME: &'static str = "ConsumerGroupHeartbeatResponse";
    const KEY: ApiKey = ApiKey::CONSUMER_GROUP_HEARTBEAT;
    const VERSIONS: RangeInclusive<i16> = 0..=1;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Response for ConsumerGroupHeartbeatResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
