//! ListPartitionReassignments (key 46, version 0, flexible): the partitions that are being moved to other brokers
//! (KIP-455). Sent to any broker, which passes it on to the controller.

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// Which partitions to look at.
#[derive(Debug, Clone, PartialEq)]
pub struct ListPartitionReassignmentsRequest {
    /// How long the broker may take, in milliseconds.
    pub timeout_ms: i32,
    /// The partitions by topic; `None` for all.
    pub topics: Option<Vec<ListPartitionReassignmentsTopics>>,
}

impl Default for ListPartitionReassignmentsRequest {
    fn default() -> Self {
        Self { timeout_ms: 60_000, topics: None }
    }
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ListPartitionReassignmentsTopics {
    /// The topic.
    pub name: String,
    /// Its partitions.
    pub partition_indexes: Vec<i32>,
}

impl Encode for ListPartitionReassignmentsRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("timeoutMs", self.timeout_ms);
        w.nullable_array("topics", self.topics.as_deref());
    }
}

impl Decode for ListPartitionReassignmentsRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { timeout_ms: r.i32("timeoutMs")?, topics: r.nullable_array("topics")? })
    }
}

impl Encode for ListPartitionReassignmentsTopics {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.array("partitionIndexes", &self.partition_indexes);
    }
}

impl Decode for ListPartitionReassignmentsTopics {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.string("name")?, partition_indexes: r.array("partitionIndexes")? })
    }
}

impl Message for ListPartitionReassignmentsRequest {
    const NAME: &'static str = "ListPartitionReassignmentsRequest";
    const KEY: ApiKey = ApiKey::LIST_PARTITION_REASSIGNMENTS;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Request for ListPartitionReassignmentsRequest {
    type Response = ListPartitionReassignmentsResponse;
    const NEWEST_STABLE: i16 = 0;
}

/// The moves.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ListPartitionReassignmentsResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The error of the whole request.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
    /// The partitions by topic.
    pub topics: Vec<OngoingTopicReassignment>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OngoingTopicReassignment {
    /// The topic.
    pub name: String,
    /// Its partitions.
    pub partitions: Vec<OngoingPartitionReassignment>,
}

/// The move of one partition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OngoingPartitionReassignment {
    /// The partition.
    pub partition_index: i32,
    /// The brokers that hold it, old and new.
    pub replicas: Vec<i32>,
    /// Those of them that are new.
    pub adding_replicas: Vec<i32>,
    /// Those of them that are to go.
    pub removing_replicas: Vec<i32>,
}

impl Encode for ListPartitionReassignmentsResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
        w.array("topics", &self.topics);
    }
}

impl Decode for ListPartitionReassignmentsResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.i32("throttleTimeMs")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
            topics: r.array("topics")?,
        })
    }
}

impl Encode for OngoingTopicReassignment {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for OngoingTopicReassignment {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.string("name")?, partitions: r.array("partitions")? })
    }
}

impl Encode for OngoingPartitionReassignment {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.array("replicas", &self.replicas);
        w.array("addingReplicas", &self.adding_replicas);
        w.array("removingReplicas", &self.removing_replicas);
    }
}

impl Decode for OngoingPartitionReassignment {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            partition_index: r.i32("partitionIndex")?,
            replicas: r.array("replicas")?,
            adding_replicas: r.array("addingReplicas")?,
            removing_replicas: r.array("removingReplicas")?,
        })
    }
}

impl Message for ListPartitionReassignmentsResponse {
    const NAME: &'static str = "ListPartitionReassignmentsResponse";
    const KEY: ApiKey = ApiKey::LIST_PARTITION_REASSIGNMENTS;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Response for ListPartitionReassignmentsResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
