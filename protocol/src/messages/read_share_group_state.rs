//! ReadShareGroupState (key 84, version 0, flexible): reads the state of share-partitions (KIP-932). Sent by the
//! leaders of the partitions to the share coordinator.

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response, Uuid};

/// Which share-partitions to read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadShareGroupStateRequest {
    /// The group.
    pub group_id: String,
    /// The partitions by topic.
    pub topics: Vec<ReadStateData>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadStateData {
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
    /// The leader epoch of the partition, by which an old leader is found.
    pub leader_epoch: i32,
}

impl Encode for ReadShareGroupStateRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("groupId", &self.group_id);
        w.array("topics", &self.topics);
    }
}

impl Decode for ReadShareGroupStateRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { group_id: r.string("groupId")?, topics: r.array("topics")? })
    }
}

impl Encode for ReadStateData {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.uuid("topicId", self.topic_id);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for ReadStateData {
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

impl Message for ReadShareGroupStateRequest {
    const NAME: &'static str = "ReadShareGroupStateRequest";
    const KEY: ApiKey = ApiKey::READ_SHARE_GROUP_STATE;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Request for ReadShareGroupStateRequest {
    type Response = ReadShareGroupStateResponse;
    const NEWEST_STABLE: i16 = 0;
}

/// The states.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadShareGroupStateResponse {
    /// The partitions by topic.
    pub results: Vec<ReadStateResult>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadStateResult {
    /// The topic.
    pub topic_id: Uuid,
    /// Its partitions.
    pub partitions: Vec<PartitionResult>,
}

/// The state of one share-partition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PartitionResult {
    /// The partition.
    pub partition: i32,
    /// The error of the share-partition.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
    /// The state's epoch.
    pub state_epoch: i32,
    /// The first offset that is not done with; -1 where that is not decided yet.
    pub start_offset: i64,
    /// The state from there on.
    pub state_batches: Vec<StateBatch>,
}

/// The state of a range of offsets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StateBatch {
    /// The first offset.
    pub first_offset: i64,
    /// The last offset, inclusive.
    pub last_offset: i64,
    /// 0: available, 2: acknowledged, 4: archived.
    pub delivery_state: i8,
    /// How often these records have been delivered.
    pub delivery_count: i16,
}

impl Encode for ReadShareGroupStateResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("results", &self.results);
    }
}

impl Decode for ReadShareGroupStateResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { results: r.array("results")? })
    }
}

impl Encode for ReadStateResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.uuid("topicId", self.topic_id);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for ReadStateResult {
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
        w.i64("startOffset", self.start_offset);
        w.array("stateBatches", &self.state_batches);
    }
}

impl Decode for PartitionResult {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            partition: r.i32("partition")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
            state_epoch: r.i32("stateEpoch")?,
            start_offset: r.i64("startOffset")?,
            state_batches: r.array("stateBatches")?,
        })
    }
}

impl Encode for StateBatch {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i64("firstOffset", self.first_offset);
        w.i64("lastOffset", self.last_offset);
        w.i8("deliveryState", self.delivery_state);
        w.i16("deliveryCount", self.delivery_count);
    }
}

impl Decode for StateBatch {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            first_offset: r.i64("firstOffset")?,
            last_offset: r.i64("lastOffset")?,
            delivery_state: r.i8("deliveryState")?,
            delivery_count: r.i16("deliveryCount")?,
        })
    }
}

impl Message for ReadShareGroupStateResponse {
    const NAME: &'static str = "ReadShareGroupStateResponse";
    const KEY: ApiKey = ApiKey::READ_SHARE_GROUP_STATE;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Response for ReadShareGroupStateResponse {}
