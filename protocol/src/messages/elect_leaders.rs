//! ElectLeaders (key 43, versions 0-2, flexible from 2): elects leaders of partitions. Sent to any broker, which passes
//! it on to the controller.
//!
//! Version 1 adds the kind of election and an error of the whole request (KIP-460).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// The elections.
#[derive(Debug, Clone, PartialEq)]
pub struct ElectLeadersRequest {
    /// 0: the preferred replica, 1: any live replica, in sync or not, where there is no leader. Since version 1.
    pub election_type: i8,
    /// The partitions by topic; `None` for all.
    pub topic_partitions: Option<Vec<TopicPartitions>>,
    /// How long the broker may take, in milliseconds.
    pub timeout_ms: i32,
}

impl Default for ElectLeadersRequest {
    fn default() -> Self {
        Self { election_type: 0, topic_partitions: None, timeout_ms: 60_000 }
    }
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TopicPartitions {
    /// The topic.
    pub topic: String,
    /// Its partitions.
    pub partitions: Vec<i32>,
}

impl Encode for ElectLeadersRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.required_since(1, "electionType", self.election_type == 0, |w| w.i8("electionType", self.election_type));
        w.nullable_array("topicPartitions", self.topic_partitions.as_deref());
        w.i32("timeoutMs", self.timeout_ms);
    }
}

impl Decode for ElectLeadersRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            election_type: r.since(1, 0, |r| r.i8("electionType"))?,
            topic_partitions: r.nullable_array("topicPartitions")?,
            timeout_ms: r.i32("timeoutMs")?,
        })
    }
}

impl Encode for TopicPartitions {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("topic", &self.topic);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for TopicPartitions {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topic: r.string("topic")?, partitions: r.array("partitions")? })
    }
}

impl Message for ElectLeadersRequest {
    const NAME: &'static str = "ElectLeadersRequest";
    const KEY: ApiKey = ApiKey::ELECT_LEADERS;
    const VERSIONS: RangeInclusive<i16> = 0..=2;
    const FLEXIBLE_FROM: i16 = 2;
}

impl Request for ElectLeadersRequest {
    type Response = ElectLeadersResponse;
    const NEWEST_STABLE: i16 = 2;
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ElectLeadersResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The error of the whole request. Since version 1.
    pub error_code: ErrorCode,
    /// The partitions by topic; of all partitions only those that were elected.
    pub replica_election_results: Vec<ReplicaElectionResult>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReplicaElectionResult {
    /// The topic.
    pub topic: String,
    /// Its partitions.
    pub partition_result: Vec<PartitionResult>,
}

/// How it went for one partition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PartitionResult {
    /// The partition.
    pub partition_id: i32,
    /// The error of the partition.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
}

impl Encode for ElectLeadersResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.required_since(1, "errorCode", self.error_code.is_none(), |w| w.i16("errorCode", self.error_code.0));
        w.array("replicaElectionResults", &self.replica_election_results);
    }
}

impl Decode for ElectLeadersResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.i32("throttleTimeMs")?,
            error_code: r.since(1, ErrorCode::NONE, |r| r.i16("errorCode").map(ErrorCode))?,
            replica_election_results: r.array("replicaElectionResults")?,
        })
    }
}

impl Encode for ReplicaElectionResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("topic", &self.topic);
        w.array("partitionResult", &self.partition_result);
    }
}

impl Decode for ReplicaElectionResult {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topic: r.string("topic")?, partition_result: r.array("partitionResult")? })
    }
}

impl Encode for PartitionResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionId", self.partition_id);
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
    }
}

impl Decode for PartitionResult {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            partition_id: r.i32("partitionId")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
        })
    }
}

impl Message for ElectLeadersResponse {
    const NAME: &'static str = "ElectLeadersResponse";
    const KEY: ApiKey = ApiKey::ELECT_LEADERS;
    const VERSIONS: RangeInclusive<i16> = 0..=2;
    const FLEXIBLE_FROM: i16 = 2;
}

impl Response for ElectLeadersResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
