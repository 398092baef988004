//! CreatePartitions (key 37, versions 0-3, flexible from 2): adds partitions to topics (KIP-195). Sent to any broker,
//! which passes it on to the controller.
//!
//! Version 3 may answer THROTTLING_QUOTA_EXCEEDED (KIP-599).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// The topics.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CreatePartitionsRequest {
    /// The topics.
    pub topics: Vec<CreatePartitionsTopic>,
    /// How long the broker may take, in milliseconds.
    pub timeout_ms: i32,
    /// Whether only to say how it would go.
    pub validate_only: bool,
}

/// One topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CreatePartitionsTopic {
    /// The topic.
    pub name: String,
    /// The number of partitions that it is to have, old ones included.
    pub count: i32,
    /// The replicas of each new partition; `None` to leave that to the broker.
    pub assignments: Option<Vec<CreatePartitionsAssignment>>,
}

/// The replicas of one new partition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CreatePartitionsAssignment {
    /// The brokers, the preferred leader first.
    pub broker_ids: Vec<i32>,
}

impl Encode for CreatePartitionsRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("topics", &self.topics);
        w.i32("timeoutMs", self.timeout_ms);
        w.bool("validateOnly", self.validate_only);
    }
}

impl Decode for CreatePartitionsRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topics: r.array("topics")?, timeout_ms: r.i32("timeoutMs")?, validate_only: r.bool("validateOnly")? })
    }
}

impl Encode for CreatePartitionsTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.i32("count", self.count);
        w.nullable_array("assignments", self.assignments.as_deref());
    }
}

impl Decode for CreatePartitionsTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.string("name")?, count: r.i32("count")?, assignments: r.nullable_array("assignments")? })
    }
}

impl Encode for CreatePartitionsAssignment {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("brokerIds", &self.broker_ids);
    }
}

impl Decode for CreatePartitionsAssignment {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { broker_ids: r.array("brokerIds")? })
    }
}

impl Message for CreatePartitionsRequest {
    const NAME: &'static str = "CreatePartitionsRequest";
    const KEY: ApiKey = ApiKey::CREATE_PARTITIONS;
    const VERSIONS: RangeInclusive<i16> = 0..=3;
    const FLEXIBLE_FROM: i16 = 2;
}

impl Request for CreatePartitionsRequest {
    type Response = CreatePartitionsResponse;
    const NEWEST_STABLE: i16 = 3;
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CreatePartitionsResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The topics.
    pub results: Vec<CreatePartitionsTopicResult>,
}

/// How it went for one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CreatePartitionsTopicResult {
    /// The topic.
    pub name: String,
    /// The error of the topic.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
}

impl Encode for CreatePartitionsResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.array("results", &self.results);
    }
}

impl Decode for CreatePartitionsResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { throttle_time_ms: r.i32("throttleTimeMs")?, results: r.array("results")? })
    }
}

impl Encode for CreatePartitionsTopicResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
    }
}

impl Decode for CreatePartitionsTopicResult {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            name: r.string("name")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
        })
    }
}

impl Message for CreatePartitionsResponse {
    const NAME: &'static str = "CreatePartitionsResponse";
    const KEY: ApiKey = ApiKey::CREATE_PARTITIONS;
    const VERSIONS: RangeInclusive<i16> = 0..=3;
    const FLEXIBLE_FROM: i16 = 2;
}

impl Response for CreatePartitionsResponse {
    const THROTTLES_SINCE: i16 = 1;

    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
