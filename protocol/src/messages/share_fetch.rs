//! ShareFetch (key 78, versions 1-2, flexible): acquires records of a share group, and acknowledges some on the way.
//! Sent to the leader of the partitions.
//!
//! Version 0 was the early access of Kafka 4.0 and is gone; 1 is the first stable version (KIP-932); 2 adds the
//! acquire mode (KIP-1206) and renewal (KIP-1222).

use std::ops::RangeInclusive;

use bytes::Bytes;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response, Uuid};

/// One step of a share session: what to fetch, what to acknowledge, what to drop from the session.
#[derive(Debug, Clone, PartialEq)]
pub struct ShareFetchRequest {
    /// The group.
    pub group_id: Option<String>,
    /// The member.
    pub member_id: Option<String>,
    /// The share session's epoch: 0 opens a session, -1 closes it, between them it rises by one a request.
    pub share_session_epoch: i32,
    /// The longest that the broker waits for `min_bytes`, in milliseconds.
    pub max_wait_ms: i32,
    /// The bytes to wait for.
    pub min_bytes: i32,
    /// The bytes to fetch at most; the first batch comes whole, whatever its size.
    pub max_bytes: i32,
    /// The records to acquire at most; batch-optimized mode goes on to the end of a batch.
    pub max_records: i32,
    /// The number of records that a range of the answer's acquired records should have.
    pub batch_size: i32,
    /// 0: batch-optimized, 1: record-limit. Since version 2; older ones are batch-optimized.
    pub share_acquire_mode: i8,
    /// Whether an acknowledgement below is a renewal. Since version 2.
    pub is_renew_ack: bool,
    /// The partitions to add to the session or to acknowledge in.
    pub topics: Vec<FetchTopic>,
    /// The partitions to remove from the session.
    pub forgotten_topics_data: Vec<ForgottenTopic>,
}

impl Default for ShareFetchRequest {
    fn default() -> Self {
        Self {
            group_id: None,
            member_id: None,
            share_session_epoch: 0,
            max_wait_ms: 0,
            min_bytes: 0,
            max_bytes: i32::MAX,
            max_records: 0,
            batch_size: 0,
            share_acquire_mode: 0,
            is_renew_ack: false,
            topics: Vec::new(),
            forgotten_topics_data: Vec::new(),
        }
    }
}

/// Partitions of one topic to fetch from or to acknowledge in.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FetchTopic {
    /// The topic.
    pub topic_id: Uuid,
    /// Its partitions.
    pub partitions: Vec<FetchPartition>,
}

/// One partition to fetch from or to acknowledge in.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FetchPartition {
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

/// Partitions of one topic to remove from the session.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ForgottenTopic {
    /// The topic.
    pub topic_id: Uuid,
    /// Its partitions.
    pub partitions: Vec<i32>,
}

impl Encode for ShareFetchRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.nullable_string("groupId", self.group_id.as_deref());
        w.nullable_string("memberId", self.member_id.as_deref());
        w.i32("shareSessionEpoch", self.share_session_epoch);
        w.i32("maxWaitMs", self.max_wait_ms);
        w.i32("minBytes", self.min_bytes);
        w.i32("maxBytes", self.max_bytes);
        w.i32("maxRecords", self.max_records);
        w.i32("batchSize", self.batch_size);
        w.since(2, |w| w.i8("shareAcquireMode", self.share_acquire_mode));
        w.required_since(2, "isRenewAck", !self.is_renew_ack, |w| w.bool("isRenewAck", self.is_renew_ack));
        w.array("topics", &self.topics);
        w.array("forgottenTopicsData", &self.forgotten_topics_data);
    }
}

impl Decode for ShareFetchRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            group_id: r.nullable_string("groupId")?,
            member_id: r.nullable_string("memberId")?,
            share_session_epoch: r.i32("shareSessionEpoch")?,
            max_wait_ms: r.i32("maxWaitMs")?,
            min_bytes: r.i32("minBytes")?,
            max_bytes: r.i32("maxBytes")?,
            max_records: r.i32("maxRecords")?,
            batch_size: r.i32("batchSize")?,
            share_acquire_mode: r.since(2, 0, |r| r.i8("shareAcquireMode"))?,
            is_renew_ack: r.since(2, false, |r| r.bool("isRenewAck"))?,
            topics: r.array("topics")?,
            forgotten_topics_data: r.array("forgottenTopicsData")?,
        })
    }
}

impl Encode for FetchTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.uuid("topicId", self.topic_id);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for FetchTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topic_id: r.uuid("topicId")?, partitions: r.array("partitions")? })
    }
}

impl Encode for FetchPartition {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.array("acknowledgementBatches", &self.acknowledgement_batches);
    }
}

impl Decode for FetchPartition {
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

impl Encode for ForgottenTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.uuid("topicId", self.topic_id);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for ForgottenTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topic_id: r.uuid("topicId")?, partitions: r.array("partitions")? })
    }
}

impl Message for ShareFetchRequest {
    const NAME: &'static str = "ShareFetchRequest";
    const KEY: ApiKey = ApiKey::SHARE_FETCH;
    const VERSIONS: RangeInclusive<i16> = 1..=2;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Request for ShareFetchRequest {
    type Response = ShareFetchResponse;
    const NEWEST_STABLE: i16 = 2;
}

/// The records acquired, and how the acknowledgements went.
///
/// Reading one allocates a `Vec` for each array that is not empty and a `String` for each error message, host and
/// rack; nothing a record. Record sets are slices of the input.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ShareFetchResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The error of the whole request.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
    /// How long the acquired records are locked for this member, in milliseconds.
    pub acquisition_lock_timeout_ms: i32,
    /// The partitions that have something to say, by topic.
    pub responses: Vec<ShareFetchableTopicResponse>,
    /// Where the current leaders are that partitions with NOT_LEADER_OR_FOLLOWER name.
    pub node_endpoints: Vec<NodeEndpoint>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ShareFetchableTopicResponse {
    /// The topic.
    pub topic_id: Uuid,
    /// Its partitions.
    pub partitions: Vec<PartitionData>,
}

/// What one partition gave.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionData {
    /// The partition.
    pub partition_index: i32,
    /// How the fetch went.
    pub error_code: ErrorCode,
    /// What the fetch error was about.
    pub error_message: Option<String>,
    /// How the acknowledgements went, all of the partition's together.
    pub acknowledge_error_code: ErrorCode,
    /// What the acknowledge error was about.
    pub acknowledge_error_message: Option<String>,
    /// The leader that the broker knows of, where the error is about leadership.
    pub current_leader: LeaderIdAndEpoch,
    /// Record batches, which may begin before and end after what was acquired. The slice keeps the whole response in
    /// memory. Null and empty both mean that there are none; Kafka writes empty, and does not read null.
    pub records: Option<Bytes>,
    /// The offsets that this member now holds; the sender's word, so `last_offset` may be before `first_offset`.
    pub acquired_records: Vec<AcquiredRecords>,
}

impl Default for PartitionData {
    fn default() -> Self {
        Self {
            partition_index: 0,
            error_code: ErrorCode::NONE,
            error_message: None,
            acknowledge_error_code: ErrorCode::NONE,
            acknowledge_error_message: None,
            current_leader: LeaderIdAndEpoch::default(),
            records: Some(Bytes::new()),
            acquired_records: Vec::new(),
        }
    }
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

/// A range of acquired offsets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AcquiredRecords {
    /// The first offset.
    pub first_offset: i64,
    /// The last offset, inclusive.
    pub last_offset: i64,
    /// How often these records have been delivered, this time included.
    pub delivery_count: i16,
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

impl Encode for ShareFetchResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
        w.i32("acquisitionLockTimeoutMs", self.acquisition_lock_timeout_ms);
        w.array("responses", &self.responses);
        w.array("nodeEndpoints", &self.node_endpoints);
    }
}

impl Decode for ShareFetchResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.i32("throttleTimeMs")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
            acquisition_lock_timeout_ms: r.i32("acquisitionLockTimeoutMs")?,
            responses: r.array("responses")?,
            node_endpoints: r.array("nodeEndpoints")?,
        })
    }
}

impl Encode for ShareFetchableTopicResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.uuid("topicId", self.topic_id);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for ShareFetchableTopicResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topic_id: r.uuid("topicId")?, partitions: r.array("partitions")? })
    }
}

impl Encode for PartitionData {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
        w.i16("acknowledgeErrorCode", self.acknowledge_error_code.0);
        w.nullable_string("acknowledgeErrorMessage", self.acknowledge_error_message.as_deref());
        w.structure("currentLeader", &self.current_leader);
        w.records("records", self.records.as_ref());
        w.array("acquiredRecords", &self.acquired_records);
    }
}

impl Decode for PartitionData {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            partition_index: r.i32("partitionIndex")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
            acknowledge_error_code: ErrorCode(r.i16("acknowledgeErrorCode")?),
            acknowledge_error_message: r.nullable_string("acknowledgeErrorMessage")?,
            current_leader: r.structure("currentLeader")?,
            records: r.records("records")?,
            acquired_records: r.array("acquiredRecords")?,
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

impl Encode for AcquiredRecords {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i64("firstOffset", self.first_offset);
        w.i64("lastOffset", self.last_offset);
        w.i16("deliveryCount", self.delivery_count);
    }
}

impl Decode for AcquiredRecords {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            first_offset: r.i64("firstOffset")?,
            last_offset: r.i64("lastOffset")?,
            delivery_count: r.i16("deliveryCount")?,
        })
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

impl Message for ShareFetchResponse {
    const NAME: &'static str = "ShareFetchResponse";
    const KEY: ApiKey = ApiKey::SHARE_FETCH;
    const VERSIONS: RangeInclusive<i16> = 1..=2;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Response for ShareFetchResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
