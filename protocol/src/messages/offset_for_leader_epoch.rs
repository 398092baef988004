//! OffsetForLeaderEpoch (key 23, versions 2-4, flexible from 4): finds where a leader epoch ends, so that a reader
//! learns whether its log was truncated (KIP-101, KIP-320). Sent to the leader of the partitions.
//!
//! Version 2 adds the current leader epoch; 3 says who asks.

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// The epochs.
#[derive(Debug, Clone, PartialEq)]
pub struct OffsetForLeaderEpochRequest {
    /// The follower that asks; -1 for a consumer, -2 for one that may see beyond the high watermark. Since version 3.
    pub replica_id: i32,
    /// The partitions by topic.
    pub topics: Vec<OffsetForLeaderTopic>,
}

impl Default for OffsetForLeaderEpochRequest {
    fn default() -> Self {
        Self { replica_id: -2, topics: Vec::new() }
    }
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OffsetForLeaderTopic {
    /// The topic.
    pub topic: String,
    /// Its partitions.
    pub partitions: Vec<OffsetForLeaderPartition>,
}

/// The epoch to find in one partition.
#[derive(Debug, Clone, PartialEq)]
pub struct OffsetForLeaderPartition {
    /// The partition.
    pub partition: i32,
    /// The leader epoch that the client knows; -1 where it knows none.
    pub current_leader_epoch: i32,
    /// The epoch to find the end of.
    pub leader_epoch: i32,
}

impl Default for OffsetForLeaderPartition {
    fn default() -> Self {
        Self { partition: 0, current_leader_epoch: -1, leader_epoch: 0 }
    }
}

impl Encode for OffsetForLeaderEpochRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.since(3, |w| w.i32("replicaId", self.replica_id));
        w.array("topics", &self.topics);
    }
}

impl Decode for OffsetForLeaderEpochRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { replica_id: r.since(3, -2, |r| r.i32("replicaId"))?, topics: r.array("topics")? })
    }
}

impl Encode for OffsetForLeaderTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("topic", &self.topic);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for OffsetForLeaderTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topic: r.string("topic")?, partitions: r.array("partitions")? })
    }
}

impl Encode for OffsetForLeaderPartition {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partition", self.partition);
        w.i32("currentLeaderEpoch", self.current_leader_epoch);
        w.i32("leaderEpoch", self.leader_epoch);
    }
}

impl Decode for OffsetForLeaderPartition {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            partition: r.i32("partition")?,
            current_leader_epoch: r.i32("currentLeaderEpoch")?,
            leader_epoch: r.i32("leaderEpoch")?,
        })
    }
}

impl Message for OffsetForLeaderEpochRequest {
    const NAME: &'static str = "OffsetForLeaderEpochRequest";
    const KEY: ApiKey = ApiKey::OFFSET_FOR_LEADER_EPOCH;
    const VERSIONS: RangeInclusive<i16> = 2..=4;
    const FLEXIBLE_FROM: i16 = 4;
}

impl Request for OffsetForLeaderEpochRequest {
    type Response = OffsetForLeaderEpochResponse;
    const NEWEST_STABLE: i16 = 4;
}

/// The ends.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OffsetForLeaderEpochResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The partitions by topic.
    pub topics: Vec<OffsetForLeaderTopicResult>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OffsetForLeaderTopicResult {
    /// The topic.
    pub topic: String,
    /// Its partitions.
    pub partitions: Vec<EpochEndOffset>,
}

/// The end of the epoch in one partition.
#[derive(Debug, Clone, PartialEq)]
pub struct EpochEndOffset {
    /// The error of the partition.
    pub error_code: ErrorCode,
    /// The partition.
    pub partition: i32,
    /// The largest epoch that is not after the one asked for; -1 where there is none.
    pub leader_epoch: i32,
    /// The offset after that epoch's last record; -1 where there is none.
    pub end_offset: i64,
}

impl Default for EpochEndOffset {
    fn default() -> Self {
        Self { error_code: ErrorCode::NONE, partition: 0, leader_epoch: -1, end_offset: -1 }
    }
}

impl Encode for OffsetForLeaderEpochResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.array("topics", &self.topics);
    }
}

impl Decode for OffsetForLeaderEpochResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { throttle_time_ms: r.i32("throttleTimeMs")?, topics: r.array("topics")? })
    }
}

impl Encode for OffsetForLeaderTopicResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("topic", &self.topic);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for OffsetForLeaderTopicResult {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topic: r.string("topic")?, partitions: r.array("partitions")? })
    }
}

impl Encode for EpochEndOffset {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i16("errorCode", self.error_code.0);
        w.i32("partition", self.partition);
        w.i32("leaderEpoch", self.leader_epoch);
        w.i64("endOffset", self.end_offset);
    }
}

impl Decode for EpochEndOffset {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            error_code: ErrorCode(r.i16("errorCode")?),
            partition: r.i32("partition")?,
            leader_epoch: r.i32("leaderEpoch")?,
            end_offset: r.i64("endOffset")?,
        })
    }
}

impl Message for OffsetForLeaderEpochResponse {
    const NAME: &'static str = "OffsetForLeaderEpochResponse";
    const KEY: ApiKey = ApiKey::OFFSET_FOR_LEADER_EPOCH;
    const VERSIONS: RangeInclusive<i16> = 2..=4;
    const FLEXIBLE_FROM: i16 = 4;
}

impl Response for OffsetForLeaderEpochResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
