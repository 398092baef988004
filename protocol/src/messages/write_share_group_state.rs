//! WriteShareGroupState (key 85, versions 0-1, flexible): writes the state of share-partitions (KIP-932). Sent by the
//! leaders of the partitions to the share coordinator.
//!
//! Version 1 adds the number of records that are done with (KIP-1226).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response, Uuid};

/// The states.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WriteShareGroupStateRequest {
    /// The group.
    pub group_id: String,
    /// The partitions by topic.
    pub topics: Vec<WriteStateData>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WriteStateData {
    /// The topic.
    pub topic_id: Uuid,
    /// Its partitions.
    pub partitions: Vec<PartitionData>,
}

/// What to write for one share-partition.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionData {
    /// The partition.
    pub partition: i32,
    /// The state's epoch, by which an old writer is found.
    pub state_epoch: i32,
    /// The leader epoch of the partition, by which an old leader is found.
    pub leader_epoch: i32,
    /// The first offset that is not done with; -1 to leave it.
    pub start_offset: i64,
    /// How many offsets from there on are done with; -1 where the writer does not say. Since version 1.
    pub delivery_complete_count: i32,
    /// The ranges whose state has changed.
    pub state_batches: Vec<StateBatch>,
}

impl Default for PartitionData {
    fn default() -> Self {
        Self {
            partition: 0,
            state_epoch: 0,
            leader_epoch: 0,
            start_offset: 0,
            delivery_complete_count: -1,
            state_batches: Vec::new(),
        }
    }
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

impl Encode for WriteShareGroupStateRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("groupId", &self.group_id);
        w.array("topics", &self.topics);
    }
}

impl Decode for WriteShareGroupStateRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { group_id: r.string("groupId")?, topics: r.array("topics")? })
    }
}

impl Encode for WriteStateData {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.uuid("topicId", self.topic_id);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for WriteStateData {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topic_id: r.uuid("topicId")?, partitions: r.array("partitions")? })
    }
}

impl Encode for PartitionData {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partition", self.partition);
        w.i32("stateEpoch", self.state_epoch);
        w.i32("leaderEpoch", self.leader_epoch);
        w.i64("startOffset", self.start_offset);
        w.since(1, |w| w.i32("deliveryCompleteCount", self.delivery_complete_count));
        w.array("stateBatches", &self.state_batches);
    }
}

impl Decode for PartitionData {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            partition: r.i32("partition")?,
            state_epoch: r.i32("stateEpoch")?,
            leader_epoch: r.i32("leaderEpoch")?,
            start_offset: r.i64("startOffset")?,
            delivery_complete_count: r.since(1, -1, |r| r.i32("deliveryCompleteCount"))?,
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

impl Message for WriteShareGroupStateRequest {
    const NAME: &'static str = "WriteShareGroupStateRequest";
    const KEY: ApiKey = ApiKey::WRITE_SHARE_GROUP_STATE;
    const VERSIONS: RangeInclusive<i16> = 0..=1;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Request for WriteShareGroupStateRequest {
    type Response = WriteShareGroupStateResponse;
    const NEWEST_STABLE: i16 = 1;
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WriteShareGroupStateResponse {
    /// The partitions by topic.
    pub results: Vec<WriteStateResult>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WriteStateResult {
    /// The topic.
    pub topic_id: Uuid,
    /// Its partitions.
    pub partitions: Vec<PartitionResult>,
}

/// How it went for one share-partition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PartitionResult {
    /// The partition.
    pub partition: i32,
    /// The error of the share-partition.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
}

impl Encode for WriteShareGroupStateResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("results", &self.results);
    }
}

impl Decode for WriteShareGroupStateResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { results: r.array("results")? })
    }
}

impl Encode for WriteStateResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.uuid("topicId", self.topic_id);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for WriteStateResult {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topic_id: r.uuid("topicId")?, partitions: r.array("partitions")? })
    }
}

impl Encode for PartitionResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partition", self.partition);
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
    }
}

impl Decode for PartitionResult {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            partition: r.i32("partition")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
        })
    }
}

impl Message for WriteShareGroupStateResponse {
    const NAME: &'static str = "WriteShareGroupStateResponse";
    const KEY: ApiKey = ApiKey::WRITE_SHARE_GROUP_STATE;
    const VERSIONS: RangeInclusive<i16> = 0..=1;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Response for WriteShareGroupStateResponse {}
