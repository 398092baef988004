//! ReadShareGroupStateSummary (key 87, versions 0-1, flexible): reads where share-partitions stand, without the single
//! records (KIP-932). Sent by group coordinators to the share coordinator.
//!
//! Version 1 adds the number of records that are done with (KIP-1226).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response, Uuid};

/// Which share-partitions to read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadShareGroupStateSummaryRequest {
    /// The group.
    pub group_id: String,
    /// The partitions by topic.
    pub topics: Vec<ReadStateSummaryData>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadStateSummaryData {
    /// The topic.
    pub topic_id: Uuid,
    /// Its partitions.
    pub partitions: Vec<PartitionData>,
}

/// One share-partition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PartitionData {
    /// The partition.
    pub partition: i32,
    /// The leader epoch of the partition.
    pub leader_epoch: i32,
}

impl Encode for ReadShareGroupStateSummaryRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("groupId", &self.group_id);
        w.array("topics", &self.topics);
    }
}

impl Decode for ReadShareGroupStateSummaryRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { group_id: r.string("groupId")?, topics: r.array("topics")? })
    }
}

impl Encode for ReadStateSummaryData {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.uuid("topicId", self.topic_id);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for ReadStateSummaryData {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topic_id: r.uuid("topicId")?, partitions: r.array("partitions")? })
    }
}

impl Encode for PartitionData {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partition", self.partition);
        w.i32("leaderEpoch", self.leader_epoch);
    }
}

impl Decode for PartitionData {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { partition: r.i32("partition")?, leader_epoch: r.i32("leaderEpoch")? })
    }
}

impl Message for ReadShareGroupStateSummaryRequest {
    const NAME: &'static str = "ReadShareGroupStateSummaryRequest";
    const KEY: ApiKey = ApiKey::READ_SHARE_GROUP_STATE_SUMMARY;
    const VERSIONS: RangeInclusive<i16> = 0..=1;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Request for ReadShareGroupStateSummaryRequest {
    type Response = ReadShareGroupStateSummaryResponse;
    const NEWEST_STABLE: i16 = 1;
}

/// Where they stand.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadShareGroupStateSummaryResponse {
    /// The partitions by topic.
    pub results: Vec<ReadStateSummaryResult>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadStateSummaryResult {
    /// The topic.
    pub topic_id: Uuid,
    /// Its partitions.
    pub partitions: Vec<PartitionResult>,
}

/// Where one share-partition stands.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionResult {
    /// The partition.
    pub partition: i32,
    /// The error of the share-partition.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
    /// The state's epoch.
    pub state_epoch: i32,
    /// The leader epoch of the partition.
    pub leader_epoch: i32,
    /// The first offset that is not done with; -1 where that is not decided yet.
    pub start_offset: i64,
    /// How many offsets from there on are done with; -1 where that is not known. Since version 1.
    pub delivery_complete_count: i32,
}

impl Default for PartitionResult {
    fn default() -> Self {
        Self {
            partition: 0,
            error_code: ErrorCode::NONE,
            error_message: None,
            state_epoch: 0,
            leader_epoch: 0,
            start_offset: 0,
            delivery_complete_count: -1,
        }
    }
}

impl Encode for ReadShareGroupStateSummaryResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("results", &self.results);
    }
}

impl Decode for ReadShareGroupStateSummaryResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { results: r.array("results")? })
    }
}

impl Encode for ReadStateSummaryResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.uuid("topicId", self.topic_id);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for ReadStateSummaryResult {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topic_id: r.uuid("topicId")?, partitions: r.array("partitions")? })
    }
}

impl Encode for PartitionResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partition", self.partition);
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
        w.i32("stateEpoch", self.state_epoch);
        w.i32("leaderEpoch", self.leader_epoch);
        w.i64("startOffset", self.start_offset);
        w.since(1, |w| w.i32("deliveryCompleteCount", self.delivery_complete_count));
    }
}

impl Decode for PartitionResult {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            partition: r.i32("partition")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
            state_epoch: r.i32("stateEpoch")?,
            leader_epoch: r.i32("leaderEpoch")?,
            start_offset: r.i64("startOffset")?,
            delivery_complete_count: r.since(1, -1, |r| r.i32("deliveryCompleteCount"))?,
        })
    }
}

impl Message for ReadShareGroupStateSummaryResponse {
    const NAME: &'static str = "ReadShareGroupStateSummaryResponse";
    const KEY: ApiKey = ApiKey::READ_SHARE_GROUP_STATE_SUMMARY;
    const VERSIONS: RangeInclusive<i16> = 0..=1;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Response for ReadShareGroupStateSummaryResponse {}
