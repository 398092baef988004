//! AlterPartitionReassignments (key 45, versions 0-1, flexible): moves partitions to other brokers, or stops that
//! (KIP-455). Sent to any broker, which passes it on to the controller.
//!
//! Version 1 can refuse to change the number of replicas (KIP-860).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// The moves.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterPartitionReassignmentsRequest {
    /// How long the broker may take, in milliseconds.
    pub timeout_ms: i32,
    /// Whether a move may change the number of replicas. Since version 1.
    pub allow_replication_factor_change: bool,
    /// The partitions by topic.
    pub topics: Vec<ReassignableTopic>,
}

impl Default for AlterPartitionReassignmentsRequest {
    fn default() -> Self {
        Self { timeout_ms: 60_000, allow_replication_factor_change: true, topics: Vec::new() }
    }
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReassignableTopic {
    /// The topic.
    pub name: String,
    /// Its partitions.
    pub partitions: Vec<ReassignablePartition>,
}

/// The move of one partition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReassignablePartition {
    /// The partition.
    pub partition_index: i32,
    /// The brokers that are to hold it, the preferred leader first; `None` to stop a move.
    pub replicas: Option<Vec<i32>>,
}

impl Encode for AlterPartitionReassignmentsRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("timeoutMs", self.timeout_ms);
        w.required_since(1, "allowReplicationFactorChange", self.allow_replication_factor_change, |w| {
            w.bool("allowReplicationFactorChange", self.allow_replication_factor_change);
        });
        w.array("topics", &self.topics);
    }
}

impl Decode for AlterPartitionReassignmentsRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            timeout_ms: r.i32("timeoutMs")?,
            allow_replication_factor_change: r.since(1, true, |r| r.bool("allowReplicationFactorChange"))?,
            topics: r.array("topics")?,
        })
    }
}

impl Encode for ReassignableTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for ReassignableTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.string("name")?, partitions: r.array("partitions")? })
    }
}

impl Encode for ReassignablePartition {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.nullable_array("replicas", self.replicas.as_deref());
    }
}

impl Decode for ReassignablePartition {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { partition_index: r.i32("partitionIndex")?, replicas: r.nullable_array("replicas")? })
    }
}

impl Message for AlterPartitionReassignmentsRequest {
    const NAME: &'static str = "AlterPartitionReassignmentsRequest";
    const KEY: ApiKey = ApiKey::ALTER_PARTITION_REASSIGNMENTS;
    const VERSIONS: RangeInclusive<i16> = 0..=1;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Request for AlterPartitionReassignmentsRequest {
    type Response = AlterPartitionReassignmentsResponse;
    const NEWEST_STABLE: i16 = 1;
}

/// How it went.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterPartitionReassignmentsResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// Whether a move was allowed to change the number of replicas. Since version 1.
    pub allow_replication_factor_change: bool,
    /// The error of the whole request.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
    /// The partitions by topic.
    pub responses: Vec<ReassignableTopicResponse>,
}

impl Default for AlterPartitionReassignmentsResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            allow_replication_factor_change: true,
            error_code: ErrorCode::NONE,
            error_message: None,
            responses: Vec::new(),
        }
    }
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReassignableTopicResponse {
    /// The topic.
    pub name: String,
    /// Its partitions.
    pub partitions: Vec<ReassignablePartitionResponse>,
}

/// How it went for one partition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReassignablePartitionResponse {
    /// The partition.
    pub partition_index: i32,
    /// The error of the partition.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
}

impl Encode for AlterPartitionReassignmentsResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.since(1, |w| w.bool("allowReplicationFactorChange", self.allow_replication_factor_change));
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
        w.array("responses", &self.responses);
    }
}

impl Decode for AlterPartitionReassignmentsResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.i32("throttleTimeMs")?,
            allow_replication_factor_change: r.since(1, true, |r| r.bool("allowReplicationFactorChange"))?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
            responses: r.array("responses")?,
        })
    }
}

impl Encode for ReassignableTopicResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for ReassignableTopicResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.string("name")?, partitions: r.array("partitions")? })
    }
}

impl Encode for ReassignablePartitionResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
    }
}

impl Decode for ReassignablePartitionResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            partition_index: r.i32("partitionIndex")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
        })
    }
}

impl Message for AlterPartitionReassignmentsResponse {
    const NAME: &'static str = "AlterPartitionReassignmentsResponse";
    const KEY: ApiKey = ApiKey::ALTER_PARTITION_REASSIGNMENTS;
    const VERSIONS: RangeInclusive<i16> = 0..=1;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Response for AlterPartitionReassignmentsResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
