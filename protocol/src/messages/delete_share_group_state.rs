//! DeleteShareGroupState (key 86, version 0, flexible): deletes the state of share-partitions (KIP-932). Sent by group
//! coordinators to the share coordinator.

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response, Uuid};

/// Which states to delete.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeleteShareGroupStateRequest {
    /// The group.
    pub group_id: String,
    /// The partitions by topic.
    pub topics: Vec<DeleteStateData>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeleteStateData {
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
}

impl Encode for DeleteShareGroupStateRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("groupId", &self.group_id);
        w.array("topics", &self.topics);
    }
}

impl Decode for DeleteShareGroupStateRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { group_id: r.string("groupId")?, topics: r.array("topics")? })
    }
}

impl Encode for DeleteStateData {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.uuid("topicId", self.topic_id);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for DeleteStateData {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topic_id: r.uuid("topicId")?, partitions: r.array("partitions")? })
    }
}

impl Encode for PartitionData {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partition", self.partition);
    }
}

impl Decode for PartitionData {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { partition: r.i32("partition")? })
    }
}

impl Message for DeleteShareGroupStateRequest {
    const NAME: &'static str = "DeleteShareGroupStateRequest";
    const KEY: ApiKey = ApiKey::DELETE_SHARE_GROUP_STATE;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Request for DeleteShareGroupStateRequest {
    type Response = DeleteShareGroupStateResponse;
    const NEWEST_STABLE: i16 = 0;
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeleteShareGroupStateResponse {
    /// The partitions by topic.
    pub results: Vec<DeleteStateResult>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeleteStateResult {
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

impl Encode for DeleteShareGroupStateResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("results", &self.results);
    }
}

impl Decode for DeleteShareGroupStateResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { results: r.array("results")? })
    }
}

impl Encode for DeleteStateResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.uuid("topicId", self.topic_id);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for DeleteStateResult {
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

impl Message for DeleteShareGroupStateResponse {
    const NAME: &'static str = "DeleteShareGroupStateResponse";
    const KEY: ApiKey = ApiKey::DELETE_SHARE_GROUP_STATE;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Response for DeleteShareGroupStateResponse {}
