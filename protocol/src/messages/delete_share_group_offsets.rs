//! DeleteShareGroupOffsets (key 92, version 0, flexible): makes a share group that has no members forget topics
//! (KIP-932). Sent to the group's coordinator.

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response, Uuid};

/// Which topics to forget.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeleteShareGroupOffsetsRequest {
    /// The group.
    pub group_id: String,
    /// The topics.
    pub topics: Vec<DeleteShareGroupOffsetsRequestTopic>,
}

/// One topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeleteShareGroupOffsetsRequestTopic {
    /// The topic.
    pub topic_name: String,
}

impl Encode for DeleteShareGroupOffsetsRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("groupId", &self.group_id);
        w.array("topics", &self.topics);
    }
}

impl Decode for DeleteShareGroupOffsetsRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { group_id: r.string("groupId")?, topics: r.array("topics")? })
    }
}

impl Encode for DeleteShareGroupOffsetsRequestTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("topicName", &self.topic_name);
    }
}

impl Decode for DeleteShareGroupOffsetsRequestTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topic_name: r.string("topicName")? })
    }
}

impl Message for DeleteShareGroupOffsetsRequest {
    const NAME: &'static str = "DeleteShareGroupOffsetsRequest";
    const KEY: ApiKey = ApiKey::DELETE_SHARE_GROUP_OFFSETS;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Request for DeleteShareGroupOffsetsRequest {
    type Response = DeleteShareGroupOffsetsResponse;
    const NEWEST_STABLE: i16 = 0;
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeleteShareGroupOffsetsResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The error of the whole request.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
    /// The topics.
    pub responses: Vec<DeleteShareGroupOffsetsResponseTopic>,
}

/// How it went for one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeleteShareGroupOffsetsResponseTopic {
    /// The topic's name.
    pub topic_name: String,
    /// The topic's id.
    pub topic_id: Uuid,
    /// The error of the topic.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
}

impl Encode for DeleteShareGroupOffsetsResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
        w.array("responses", &self.responses);
    }
}

impl Decode for DeleteShareGroupOffsetsResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.i32("throttleTimeMs")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
            responses: r.array("responses")?,
        })
    }
}

impl Encode for DeleteShareGroupOffsetsResponseTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("topicName", &self.topic_name);
        w.uuid("topicId", self.topic_id);
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
    }
}

impl Decode for DeleteShareGroupOffsetsResponseTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            topic_name: r.string("topicName")?,
            topic_id: r.uuid("topicId")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
        })
    }
}

impl Message for DeleteShareGroupOffsetsResponse {
    const NAME: &'static str = "DeleteShareGroupOffsetsResponse";
    const KEY: ApiKey = ApiKey::DELETE_SHARE_GROUP_OFFSETS;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Response for DeleteShareGroupOffsetsResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
