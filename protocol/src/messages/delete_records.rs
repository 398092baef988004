//! DeleteRecords (key 21, versions 0-2, flexible from 2): moves the start of logs forward, so that the records before
//! it are deleted (KIP-107). Sent to the leader of the partitions.
//!
//! Version 1 throttles after the answer.

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// What to delete.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeleteRecordsRequest {
    /// The partitions by topic.
    pub topics: Vec<DeleteRecordsTopic>,
    /// How long the broker may take, in milliseconds.
    pub timeout_ms: i32,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeleteRecordsTopic {
    /// The topic.
    pub name: String,
    /// Its partitions.
    pub partitions: Vec<DeleteRecordsPartition>,
}

/// What to delete from one partition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeleteRecordsPartition {
    /// The partition.
    pub partition_index: i32,
    /// The first offset to keep; -1 for the high watermark.
    pub offset: i64,
}

impl Encode for DeleteRecordsRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("topics", &self.topics);
        w.i32("timeoutMs", self.timeout_ms);
    }
}

impl Decode for DeleteRecordsRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topics: r.array("topics")?, timeout_ms: r.i32("timeoutMs")? })
    }
}

impl Encode for DeleteRecordsTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for DeleteRecordsTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.string("name")?, partitions: r.array("partitions")? })
    }
}

impl Encode for DeleteRecordsPartition {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.i64("offset", self.offset);
    }
}

impl Decode for DeleteRecordsPartition {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { partition_index: r.i32("partitionIndex")?, offset: r.i64("offset")? })
    }
}

impl Message for DeleteRecordsRequest {
    const NAME: &'static str = "DeleteRecordsRequest";
    const KEY: ApiKey = ApiKey::DELETE_RECORDS;
    const VERSIONS: RangeInclusive<i16> = 0..=2;
    const FLEXIBLE_FROM: i16 = 2;
}

impl Request for DeleteRecordsRequest {
    type Response = DeleteRecordsResponse;
    const NEWEST_STABLE: i16 = 2;
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeleteRecordsResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The partitions by topic.
    pub topics: Vec<DeleteRecordsTopicResult>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeleteRecordsTopicResult {
    /// The topic.
    pub name: String,
    /// Its partitions.
    pub partitions: Vec<DeleteRecordsPartitionResult>,
}

/// How it went for one partition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeleteRecordsPartitionResult {
    /// The partition.
    pub partition_index: i32,
    /// The smallest start offset among the live replicas; -1 with an error.
    pub low_watermark: i64,
    /// The error of the partition.
    pub error_code: ErrorCode,
}

impl Encode for DeleteRecordsResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.array("topics", &self.topics);
    }
}

impl Decode for DeleteRecordsResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { throttle_time_ms: r.i32("throttleTimeMs")?, topics: r.array("topics")? })
    }
}

impl Encode for DeleteRecordsTopicResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for DeleteRecordsTopicResult {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.string("name")?, partitions: r.array("partitions")? })
    }
}

impl Encode for DeleteRecordsPartitionResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.i64("lowWatermark", self.low_watermark);
        w.i16("errorCode", self.error_code.0);
    }
}

impl Decode for DeleteRecordsPartitionResult {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            partition_index: r.i32("partitionIndex")?,
            low_watermark: r.i64("lowWatermark")?,
            error_code: ErrorCode(r.i16("errorCode")?),
        })
    }
}

impl Message for DeleteRecordsResponse {
    const NAME: &'static str = "DeleteRecordsResponse";
    const KEY: ApiKey = ApiKey::DELETE_RECORDS;
    const VERSIONS: RangeInclusive<i16> = 0..=2;
    const FLEXIBLE_FROM: i16 = 2;
}

impl Response for DeleteRecordsResponse {
    const THROTTLES_SINCE: i16 = 1;

    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
