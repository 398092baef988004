//! ShareAcknowledge (key 79, versions 1-2, flexible): acknowledges records of a share group without fetching. Sent to
//! the leader of the partitions, in the share session that ShareFetch opened.
//!
//! Version 0 was the early access of Kafka 4.0 and is gone; 1 is the first stable version (KIP-932); 2 adds renewal
//! (KIP-1222).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response, Uuid};

/// One step of a share session that only acknowledges.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ShareAcknowledgeRequest {
    /// The group.
    pub group_id: Option<String>,
    /// The member.
    pub member_id: Option<String>,
    /// The share session's epoch, counted together with ShareFetch; -1 closes the session.
    pub share_session_epoch: i32,
    /// Whether an acknowledgement below is a renewal. Since version 2.
    pub is_renew_ack: bool,
    /// What to acknowledge, by topic.
    pub topics: Vec<AcknowledgeTopic>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AcknowledgeTopic {
    /// The topic.
    pub topic_id: Uuid,
    /// Its partitions.
    pub partitions: Vec<AcknowledgePartition>,
}

/// One partition to acknowledge in.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AcknowledgePartition {
    /// The partition.
    pub partition_index: i32,
    /// What to acknowledge: disjoint ranges in ascending order.
    pub acknowledgement_batches: Vec<AcknowledgementBatch>,
}

/// The acknowledgement of a range of offsets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AcknowledgementBatch {
    /// The first offset.
    pub first_offset: i64,
    /// The last offset, inclusive.
    pub last_offset: i64,
    /// One type for the whole range, or one an offset. 0: gap, 1: accept, 2: release, 3: reject, 4: renew (since
    /// version 2).
    pub acknowledge_types: Vec<i8>,
}

impl Encode for ShareAcknowledgeRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.nullable_string("groupId", self.group_id.as_deref());
        w.nullable_string("memberId", self.member_id.as_deref());
        w.i32("shareSessionEpoch", self.share_session_epoch);
        w.required_since(2, "isRenewAck", !self.is_renew_ack, |w| w.bool("isRenewAck", self.is_renew_ack));
        w.array("topics", &self.topics);
    }
}

impl Decode for ShareAcknowledgeRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            group_id: r.nullable_string("groupId")?,
            member_id: r.nullable_string("memberId")?,
            share_session_epoch: r.i32("shareSessionEpoch")?,
            is_renew_ack: r.since(2, false, |r| r.bool("isRenewAck"))?,
            topics: r.array("topics")?,
        })
    }
}

impl Encode for AcknowledgeTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.uuid("topicId", self.topic_id);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for AcknowledgeTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topic_id: r.uuid("topicId")?, partitions: r.array("partitions")? })
    }
}

impl Encode for AcknowledgePartition {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.array("acknowledgementBatches", &self.acknowledgement_batches);
    }
}

impl Decode for AcknowledgePartition {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            partition_index: r.i32("partitionIndex")?,
            acknowledgement_batches: r.array("acknowledgementBatches")?,
        })
    }
}

impl Encode for AcknowledgementBatch {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i64("firstOffset", self.first_offset);
        w.i64("lastOffset", self.last_offset);
        w.array("acknowledgeTypes", &self.acknowledge_types);
    }
}

impl Decode for AcknowledgementBatch {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            first_offset: r.i64("firstOffset")?,
            last_offset: r.i64("lastOffset")?,
            acknowledge_types: r.array("acknowledgeTypes")?,
        })
    }
}

impl Message for ShareAcknowledgeRequest {
    const NAME: &'static str = "ShareAcknowledgeRequest";
    const KEY: ApiKey = ApiKey::SHARE_ACKNOWLEDGE;
    const VERSIONS: RangeInclusive<i16> = 1..=2;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Request for ShareAcknowledgeRequest {
    type Response = ShareAcknowledgeResponse;
    const NEWEST_STABLE: i16 = 2;
}

/// How the acknowledgements went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ShareAcknowledgeResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The error of the whole request.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
    /// How long renewed records are locked for this member, in milliseconds. Since version 2.
    pub acquisition_lock_timeout_ms: i32,
    /// The partitions by topic.
    pub responses: Vec<ShareAcknowledgeTopicResponse>,
    /// Where the current leaders are that partitions with NOT_LEADER_OR_FOLLOWER name.
    pub node_endpoints: Vec<NodeEndpoint>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ShareAcknowledgeTopicResponse {
    /// The topic.
    pub topic_id: Uuid,
    /// Its partitions.
    pub partitions: Vec<PartitionData>,
}

/// How the acknowledgements of one partition went, all together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PartitionData {
    /// The partition.
    pub partition_index: i32,
    /// The error.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
    /// The leader that the broker knows of, where the error is about leadership.
    pub current_leader: LeaderIdAndEpoch,
}

/// A partition's leader.
#[derive(Debug, Clone, PartialEq)]
pub struct LeaderIdAndEpoch {
    /// The broker; -1 where it is unknown.
    pub leader_id: i32,
    /// The leader epoch; -1 where it is unknown.
    pub leader_epoch: i32,
}

impl Default for LeaderIdAndEpoch {
    /// An unknown leader. Kafka's class starts at 0, which is a broker's id.
    fn default() -> Self {
        Self { leader_id: -1, leader_epoch: -1 }
    }
}

/// Where a broker listens.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NodeEndpoint {
    /// The broker.
    pub node_id: i32,
    /// Its host name or address.
    pub host: String,
    /// Its port.
    pub port: i32,
    /// Its rack.
    pub rack: Option<String>,
}

impl Encode for ShareAcknowledgeResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
        w.since(2, |w| w.i32("acquisitionLockTimeoutMs", self.acquisition_lock_timeout_ms));
        w.array("responses", &self.responses);
        w.array("nodeEndpoints", &self.node_endpoints);
    }
}

impl Decode for ShareAcknowledgeResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.i32("throttleTimeMs")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
            acquisition_lock_timeout_ms: r.since(2, 0, |r| r.i32("acquisitionLockTimeoutMs"))?,
            responses: r.array("responses")?,
            node_endpoints: r.array("nodeEndpoints")?,
        })
    }
}

impl Encode for ShareAcknowledgeTopicResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.uuid("topicId", self.topic_id);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for ShareAcknowledgeTopicResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topic_id: r.uuid("topicId")?, partitions: r.array("partitions")? })
    }
}

impl Encode for PartitionData {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
        w.structure("currentLeader", &self.current_leader);
    }
}

impl Decode for PartitionData {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            partition_index: r.i32("partitionIndex")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
            current_leader: r.structure("currentLeader")?,
        })
    }
}

impl Encode for LeaderIdAndEpoch {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("leaderId", self.leader_id);
        w.i32("leaderEpoch", self.leader_epoch);
    }
}

impl Decode for LeaderIdAndEpoch {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { leader_id: r.i32("leaderId")?, leader_epoch: r.i32("leaderEpoch")? })
    }
}

impl Encode for NodeEndpoint {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("nodeId", self.node_id);
        w.string("host", &self.host);
        w.i32("port", self.port);
        w.nullable_string("rack", self.rack.as_deref());
    }
}

impl Decode for NodeEndpoint {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            node_id: r.i32("nodeId")?,
            host: r.string("host")?,
            port: r.i32("port")?,
            rack: r.nullable_string("rack")?,
        })
    }
}

impl Message for ShareAcknowledgeResponse {
    const NAME: &'static str = "ShareAcknowledgeResponse";
    const KEY: ApiKey = ApiKey::SHARE_ACKNOWLEDGE;
    const VERSIONS: RangeInclusive<i16> = 1..=2;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Response for ShareAcknowledgeResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
