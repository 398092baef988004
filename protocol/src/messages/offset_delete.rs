//! OffsetDelete (key 47, version 0, never flexible): deletes committed offsets of a group (KIP-496). Sent to the
//! group's coordinator.

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// Which offsets to delete.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OffsetDeleteRequest {
    /// The group.
    pub group_id: String,
    /// The partitions by topic.
    pub topics: Vec<OffsetDeleteRequestTopic>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OffsetDeleteRequestTopic {
    /// The topic.
    pub name: String,
    /// Its partitions.
    pub partitions: Vec<OffsetDeleteRequestPartition>,
}

/// One partition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OffsetDeleteRequestPartition {
    /// The partition.
    pub partition_index: i32,
}

impl Encode for OffsetDeleteRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("groupId", &self.group_id);
        w.array("topics", &self.topics);
    }
}

impl Decode for OffsetDeleteRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { group_id: r.string("groupId")?, topics: r.array("topics")? })
    }
}

impl Encode for OffsetDeleteRequestTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for OffsetDeleteRequestTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.string("name")?, partitions: r.array("partitions")? })
    }
}

impl Encode for OffsetDeleteRequestPartition {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
    }
}

impl Decode for OffsetDeleteRequestPartition {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { partition_index: r.i32("partitionIndex")? })
    }
}

impl Message for OffsetDeleteRequest {
    const NAME: &'static str = "OffsetDeleteRequest";
    const KEY: ApiKey = ApiKey::OFFSET_DELETE;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = i16::MAX;
}

impl Request for OffsetDeleteRequest {
    type Response = OffsetDeleteResponse;
    const NEWEST_STABLE: i16 = 0;
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OffsetDeleteResponse {
    /// The error of the whole request.
    pub error_code: ErrorCode,
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The partitions by topic.
    pub topics: Vec<OffsetDeleteResponseTopic>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OffsetDeleteResponseTopic {
    /// The topic.
    pub name: String,
    /// Its partitions.
    pub partitions: Vec<OffsetDeleteResponsePartition>,
}

/// How it went for one partition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OffsetDeleteResponsePartition {
    /// The partition.
    pub partition_index: i32,
    /// The error of the partition.
    pub error_code: ErrorCode,
}

impl Encode for OffsetDeleteResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i16("errorCode", self.error_code.0);
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.array("topics", &self.topics);
    }
}

impl Decode for OffsetDeleteResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            error_code: ErrorCode(r.i16("errorCode")?),
            throttle_time_ms: r.i32("throttleTimeMs")?,
            topics: r.array("topics")?,
        })
    }
}

impl Encode for OffsetDeleteResponseTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for OffsetDeleteResponseTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.string("name")?, partitions: r.array("partitions")? })
    }
}

impl Encode for OffsetDeleteResponsePartition {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.i16("errorCode", self.error_code.0);
    }
}

impl Decode for OffsetDeleteResponsePartition {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { partition_index: r.i32("partitionIndex")?, error_code: ErrorCode(r.i16("errorCode")?) })
    }
}

impl Message for OffsetDeleteResponse {
    const NAME: &'static str = "OffsetDeleteResponse";
    const KEY: ApiKey = ApiKey::OFFSET_DELETE;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = i16::MAX;
}

impl Response for OffsetDeleteResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
