//! AlterShareGroupOffsets (key 91, version 0, flexible): sets where a share group that has no members goes on
//! (KIP-932). Sent to the group's coordinator.

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response, Uuid};

/// The offsets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AlterShareGroupOffsetsRequest {
    /// The group.
    pub group_id: String,
    /// The partitions by topic.
    pub topics: Vec<AlterShareGroupOffsetsRequestTopic>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AlterShareGroupOffsetsRequestTopic {
    /// The topic.
    pub topic_name: String,
    /// Its partitions.
    pub partitions: Vec<AlterShareGroupOffsetsRequestPartition>,
}

/// The offset of one partition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AlterShareGroupOffsetsRequestPartition {
    /// The partition.
    pub partition_index: i32,
    /// The first offset to deliver.
    pub start_offset: i64,
}

impl Encode for AlterShareGroupOffsetsRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("groupId", &self.group_id);
        w.array("topics", &self.topics);
    }
}

impl Decode for AlterShareGroupOffsetsRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { group_id: r.string("groupId")?, topics: r.array("topics")? })
    }
}

impl Encode for AlterShareGroupOffsetsRequestTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("topicName", &self.topic_name);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for AlterShareGroupOffsetsRequestTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topic_name: r.string("topicName")?, partitions: r.array("partitions")? })
    }
}

impl Encode for AlterShareGroupOffsetsRequestPartition {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.i64("startOffset", self.start_offset);
    }
}

impl Decode for AlterShareGroupOffsetsRequestPartition {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { partition_index: r.i32("partitionIndex")?, start_offset: r.i64("startOffset")? })
    }
}

impl Message for AlterShareGroupOffsetsRequest {
    const NAME: &'static str = "AlterShareGroupOffsetsRequest";
    const KEY: ApiKey = ApiKey::ALTER_SHARE_GROUP_OFFSETS;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Request for AlterShareGroupOffsetsRequest {
    type Response = AlterShareGroupOffsetsResponse;
    const NEWEST_STABLE: i16 = 0;
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AlterShareGroupOffsetsResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The error of the whole request.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
    /// The partitions by topic.
    pub responses: Vec<AlterShareGroupOffsetsResponseTopic>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AlterShareGroupOffsetsResponseTopic {
    /// The topic's name.
    pub topic_name: String,
    /// The topic's id.
    pub topic_id: Uuid,
    /// Its partitions.
    pub partitions: Vec<AlterShareGroupOffsetsResponsePartition>,
}

/// How it went for one partition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AlterShareGroupOffsetsResponsePartition {
    /// The partition.
    pub partition_index: i32,
    /// The error of the partition.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
}

impl Encode for AlterShareGroupOffsetsResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
        w.array("responses", &self.responses);
    }
}

impl Decode for AlterShareGroupOffsetsResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.i32("throttleTimeMs")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
            responses: r.array("responses")?,
        })
    }
}

impl Encode for AlterShareGroupOffsetsResponseTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("topicName", &self.topic_name);
        w.uuid("topicId", self.topic_id);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for AlterShareGroupOffsetsResponseTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            topic_name: r.string("topicName")?,
            topic_id: r.uuid("topicId")?,
            partitions: r.array("partitions")?,
        })
    }
}

impl Encode for AlterShareGroupOffsetsResponsePartition {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
    }
}

impl Decode for AlterShareGroupOffsetsResponsePartition {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            partition_index: r.i32("partitionIndex")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
        })
    }
}

impl Message for AlterShareGroupOffsetsResponse {
    const NAME: &'static str = "AlterShareGroupOffsetsResponse";
    const KEY: ApiKey = ApiKey::ALTER_SHARE_GROUP_OFFSETS;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Response for AlterShareGroupOffsetsResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
