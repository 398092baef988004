//! ListOffsets (key 2, versions 1-11, flexible from 6): finds the offset of a time, or an end of a log. Sent to the
//! leader of the partitions.
//!
//! Version 2 adds the isolation level; 4 leader epochs (KIP-320); 5 may answer OFFSET_NOT_AVAILABLE (KIP-207); 7 finds
//! the record of the largest time (KIP-734); 8 and 9 the ends of what is kept locally (KIP-405) and in tiered storage
//! (KIP-1005); 10 adds a timeout for tiered storage (KIP-1075); 11 finds what is still to be uploaded there (KIP-1023).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// The times.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ListOffsetsRequest {
    /// The follower that asks; -1 for a client.
    pub replica_id: i32,
    /// 0: read uncommitted (the end is the high watermark), 1: read committed (the end is the last stable offset).
    /// Since version 2.
    pub isolation_level: i8,
    /// The partitions by topic.
    pub topics: Vec<ListOffsetsTopic>,
    /// How long the broker may wait for tiered storage, in milliseconds. Since version 10.
    pub timeout_ms: i32,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ListOffsetsTopic {
    /// The topic.
    pub name: String,
    /// Its partitions.
    pub partitions: Vec<ListOffsetsPartition>,
}

/// The time to find in one partition.
#[derive(Debug, Clone, PartialEq)]
pub struct ListOffsetsPartition {
    /// The partition.
    pub partition_index: i32,
    /// The leader epoch that the client knows; -1 where it knows none. Since version 4.
    pub current_leader_epoch: i32,
    /// The time in milliseconds since 1970, for the first record that is not older. Or -1: the end, -2: the start, -3:
    /// the record of the largest time (since version 7), -4: the start of what is kept locally (since 8), -5: the end
    /// of what is in tiered storage (since 9), -6: the start of what is to be uploaded (since 11).
    pub timestamp: i64,
}

impl Default for ListOffsetsPartition {
    fn default() -> Self {
        Self { partition_index: 0, current_leader_epoch: -1, timestamp: 0 }
    }
}

impl Encode for ListOffsetsRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("replicaId", self.replica_id);
        w.required_since(2, "isolationLevel", self.isolation_level == 0, |w| {
            w.i8("isolationLevel", self.isolation_level);
        });
        w.array("topics", &self.topics);
        w.since(10, |w| w.i32("timeoutMs", self.timeout_ms));
    }
}

impl Decode for ListOffsetsRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            replica_id: r.i32("replicaId")?,
            isolation_level: r.since(2, 0, |r| r.i8("isolationLevel"))?,
            topics: r.array("topics")?,
            timeout_ms: r.since(10, 0, |r| r.i32("timeoutMs"))?,
        })
    }
}

impl Encode for ListOffsetsTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for ListOffsetsTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.string("name")?, partitions: r.array("partitions")? })
    }
}

impl Encode for ListOffsetsPartition {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.since(4, |w| w.i32("currentLeaderEpoch", self.current_leader_epoch));
        w.i64("timestamp", self.timestamp);
    }
}

impl Decode for ListOffsetsPartition {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            partition_index: r.i32("partitionIndex")?,
            current_leader_epoch: r.since(4, -1, |r| r.i32("currentLeaderEpoch"))?,
            timestamp: r.i64("timestamp")?,
        })
    }
}

impl Message for ListOffsetsRequest {
    const NAME: &'static str = "ListOffsetsRequest";
    const KEY: ApiKey = ApiKey::LIST_OFFSETS;
    const VERSIONS: RangeInclusive<i16> = 1..=11;
    const FLEXIBLE_FROM: i16 = 6;
}

impl Request for ListOffsetsRequest {
    type Response = ListOffsetsResponse;
    const NEWEST_STABLE: i16 = 11;
}

/// The offsets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ListOffsetsResponse {
    /// How long the request was held back by a quota, in milliseconds. Since version 2.
    pub throttle_time_ms: i32,
    /// The partitions by topic.
    pub topics: Vec<ListOffsetsTopicResponse>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ListOffsetsTopicResponse {
    /// The topic.
    pub name: String,
    /// Its partitions.
    pub partitions: Vec<ListOffsetsPartitionResponse>,
}

/// The offset found in one partition.
#[derive(Debug, Clone, PartialEq)]
pub struct ListOffsetsPartitionResponse {
    /// The partition.
    pub partition_index: i32,
    /// The error of the partition.
    pub error_code: ErrorCode,
    /// The record's time, in milliseconds since 1970; -1 for the ends of a log, and where there is no such record.
    pub timestamp: i64,
    /// The offset; -1 where there is no such record.
    pub offset: i64,
    /// The record's leader epoch; -1 where it is not known. Since version 4.
    pub leader_epoch: i32,
}

impl Default for ListOffsetsPartitionResponse {
    fn default() -> Self {
        Self { partition_index: 0, error_code: ErrorCode::NONE, timestamp: -1, offset: -1, leader_epoch: -1 }
    }
}

impl Encode for ListOffsetsResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.since(2, |w| w.i32("throttleTimeMs", self.throttle_time_ms));
        w.array("topics", &self.topics);
    }
}

impl Decode for ListOffsetsResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { throttle_time_ms: r.since(2, 0, |r| r.i32("throttleTimeMs"))?, topics: r.array("topics")? })
    }
}

impl Encode for ListOffsetsTopicResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for ListOffsetsTopicResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.string("name")?, partitions: r.array("partitions")? })
    }
}

impl Encode for ListOffsetsPartitionResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.i16("errorCode", self.error_code.0);
        w.i64("timestamp", self.timestamp);
        w.i64("offset", self.offset);
        w.required_since(4, "leaderEpoch", self.leader_epoch == -1, |w| w.i32("leaderEpoch", self.leader_epoch));
    }
}

impl Decode for ListOffsetsPartitionResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            partition_index: r.i32("partitionIndex")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            timestamp: r.i64("timestamp")?,
            offset: r.i64("offset")?,
            leader_epoch: r.since(4, -1, |r| r.i32("leaderEpoch"))?,
        })
    }
}

impl Message for ListOffsetsResponse {
    const NAME: &'static str = "ListOffsetsResponse";
    const KEY: ApiKey = ApiKey::LIST_OFFSETS;
    const VERSIONS: RangeInclusive<i16> = 1..=11;
    const FLEXIBLE_FROM: i16 = 6;
}

impl Response for ListOffsetsResponse {
    const THROTTLES_SINCE: i16 = 3;

    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
