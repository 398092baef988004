//! InitializeShareGroupState (key 83, version 0, flexible): starts the state of share-partitions (KIP-932). Sent by
//! group coordinators to the share coordinator.

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response, Uuid};

/// The starts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct InitializeShareGroupStateRequest {
    /// The group.
    pub group_id: String,
    /// The partitions by topic.
    pub topics: Vec<InitializeStateData>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct InitializeStateData {
    /// The topic.
    pub topic_id: Uuid,
    /// Its partitions.
    pub partitions: Vec<PartitionData>,
}

/// The start of one share-partition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PartitionData {
    /// The partition.
    pub partition: i32,
    /// The state's epoch, which rises with each start.
    pub state_epoch: i32,
    /// The first offset to deliver; -1 to leave that to the first read.
    pub start_offset: i64,
}

impl Encode for InitializeShareGroupStateRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("groupId", &self.group_id);
        w.array("topics", &self.topics);
    }
}

impl Decode for InitializeShareGroupStateRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { group_id: r.string("groupId")?, topics: r.array("topics")? })
    }
}

impl Encode for InitializeStateData {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.uuid("topicId", self.topic_id);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for InitializeStateData {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topic_id: r.uuid("topicId")?, partitions: r.array("partitions")? })
    }
}

impl Encode for PartitionData {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partition", self.partition);
        w.i32("stateEpoch", self.state_epoch);
        w.i64("startOffset", self.start_offset);
    }
}

impl Decode for PartitionData {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            partition: r.i32("partition")?,
            state_epoch: r.i32("stateEpoch")?,
            start_offset: r.i64("startOffset")?,
        })
    }
}

impl Message for InitializeShareGroupStateRequest {
    const NAME: &'static str = "InitializeShareGroupStateRequest";
    const KEY: ApiKey = ApiKey::INITIALIZE_SHARE_GROUP_STATE;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Request for InitializeShareGroupStateRequest {
    type Response = InitializeShareGroupStateResponse;
    const NEWEST_STABLE: i16 = 0;
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct InitializeShareGroupStateResponse {
    /// The partitions by topic.
    pub results: Vec<InitializeStateResult>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct InitializeStateResult {
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

impl Encode for InitializeShareGroupStateResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("results", &self.results);
    }
}

impl Decode for InitializeShareGroupStateResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { results: r.array("results")? })
    }
}

impl Encode for InitializeStateResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.uuid("topicId", self.topic_id);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for InitializeStateResult {
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

impl Message for InitializeShareGroupStateResponse {
    const NAME: &'static str = "InitializeShareGroupStateResponse";
    const KEY: ApiKey = ApiKey::INITIALIZE_SHARE_GROUP_STATE;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Response for InitializeShareGroupStateResponse {}
