//! ShareGroupHeartbeat (key 76, version 1, flexible): joins a share group, stays in it, leaves it. Sent to the group's
//! coordinator.
//!
//! Version 0 was the early access of Kafka 4.0 and is gone; 1 is the first stable version (KIP-932).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response, Uuid};

/// What a member tells the coordinator: who it is and, where that changed, what it wants.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ShareGroupHeartbeatRequest {
    /// The group.
    pub group_id: String,
    /// The member's id: a uuid that the client makes and keeps for its whole life.
    pub member_id: String,
    /// The member's epoch: 0 to join, -1 to leave.
    pub member_epoch: i32,
    /// The rack; `None` where there is none or it has not changed since the last heartbeat.
    pub rack_id: Option<String>,
    /// The topics; `None` where they have not changed since the last heartbeat.
    pub subscribed_topic_names: Option<Vec<String>>,
}

impl Encode for ShareGroupHeartbeatRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("groupId", &self.group_id);
        w.string("memberId", &self.member_id);
        w.i32("memberEpoch", self.member_epoch);
        w.nullable_string("rackId", self.rack_id.as_deref());
        w.nullable_array("subscribedTopicNames", self.subscribed_topic_names.as_deref());
    }
}

impl Decode for ShareGroupHeartbeatRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            group_id: r.string("groupId")?,
            member_id: r.string("memberId")?,
            member_epoch: r.i32("memberEpoch")?,
            rack_id: r.nullable_string("rackId")?,
            subscribed_topic_names: r.nullable_array("subscribedTopicNames")?,
        })
    }
}

impl Message for ShareGroupHeartbeatRequest {
    const NAME: &'static str = "ShareGroupHeartbeatRequest";
    const KEY: ApiKey = ApiKey::SHARE_GROUP_HEARTBEAT;
    const VERSIONS: RangeInclusive<i16> = 1..=1;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Request for ShareGroupHeartbeatRequest {
    type Response = ShareGroupHeartbeatResponse;
    const NEWEST_STABLE: i16 = 1;
}

/// The coordinator's answer: the member's epoch and, where it changed, its assignment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ShareGroupHeartbeatResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The error of the whole request.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
    /// The member's id, as in the request.
    pub member_id: Option<String>,
    /// The epoch that the next heartbeat carries; -1 answers a leave.
    pub member_epoch: i32,
    /// The time to the next heartbeat, in milliseconds.
    pub heartbeat_interval_ms: i32,
    /// The assignment; `None` where it has not changed.
    pub assignment: Option<Assignment>,
}

/// The partitions that a member may fetch from; members share them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Assignment {
    /// The partitions by topic.
    pub topic_partitions: Vec<TopicPartitions>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TopicPartitions {
    /// The topic.
    pub topic_id: Uuid,
    /// Its partitions.
    pub partitions: Vec<i32>,
}

impl Encode for ShareGroupHeartbeatResponse {
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

impl Decode for ShareGroupHeartbeatResponse {
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

impl Message for ShareGroupHeartbeatResponse {
    const NAME: &'static str = "ShareGroupHeartbeatResponse";
    const KEY: ApiKey = ApiKey::SHARE_GROUP_HEARTBEAT;
    const VERSIONS: RangeInclusive<i16> = 1..=1;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Response for ShareGroupHeartbeatResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
