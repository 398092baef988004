//! DeleteTopics (key 20, versions 1-6, flexible from 4): deletes topics. Sent to any broker, which passes it on to the
//! controller.
//!
//! Version 3 may answer TOPIC_DELETION_DISABLED; 5 adds error messages and may answer THROTTLING_QUOTA_EXCEEDED
//! (KIP-599); 6 takes topic ids and gives them back.

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response, Uuid};

/// The topics to delete.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeleteTopicsRequest {
    /// The topics, since version 6.
    pub topics: Vec<DeleteTopicState>,
    /// The topics, up to version 5.
    pub topic_names: Vec<String>,
    /// How long the broker may take, in milliseconds.
    pub timeout_ms: i32,
}

/// One topic, by name or by id.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeleteTopicState {
    /// The name; `None` where the id is given.
    pub name: Option<String>,
    /// The id; zero where the name is given.
    pub topic_id: Uuid,
}

impl Encode for DeleteTopicsRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.required_since(6, "topics", self.topics.is_empty(), |w| w.array("topics", &self.topics));
        w.until(5, |w| w.array("topicNames", &self.topic_names));
        w.i32("timeoutMs", self.timeout_ms);
    }
}

impl Decode for DeleteTopicsRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            topics: r.since(6, Vec::new(), |r| r.array("topics"))?,
            topic_names: r.until(5, Vec::new(), |r| r.array("topicNames"))?,
            timeout_ms: r.i32("timeoutMs")?,
        })
    }
}

impl Encode for DeleteTopicState {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.nullable_string("name", self.name.as_deref());
        w.uuid("topicId", self.topic_id);
    }
}

impl Decode for DeleteTopicState {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.nullable_string("name")?, topic_id: r.uuid("topicId")? })
    }
}

impl Message for DeleteTopicsRequest {
    const NAME: &'static str = "DeleteTopicsRequest";
    const KEY: ApiKey = ApiKey::DELETE_TOPICS;
    const VERSIONS: RangeInclusive<i16> = 1..=6;
    const FLEXIBLE_FROM: i16 = 4;
}

impl Request for DeleteTopicsRequest {
    type Response = DeleteTopicsResponse;
    const NEWEST_STABLE: i16 = 6;
}

/// How the deletion of each topic went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeleteTopicsResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The topics.
    pub responses: Vec<DeletableTopicResult>,
}

/// How the deletion of one topic went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeletableTopicResult {
    /// The name; `None` (since version 6) for an id that is not known.
    pub name: Option<String>,
    /// The id. Since version 6.
    pub topic_id: Uuid,
    /// The error.
    pub error_code: ErrorCode,
    /// What the error was about. Since version 5.
    pub error_message: Option<String>,
}

impl Encode for DeleteTopicsResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.array("responses", &self.responses);
    }
}

impl Decode for DeleteTopicsResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { throttle_time_ms: r.i32("throttleTimeMs")?, responses: r.array("responses")? })
    }
}

impl Encode for DeletableTopicResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.nullable_since(6).nullable_string("name", self.name.as_deref());
        w.since(6, |w| w.uuid("topicId", self.topic_id));
        w.i16("errorCode", self.error_code.0);
        w.since(5, |w| w.nullable_string("errorMessage", self.error_message.as_deref()));
    }
}

impl Decode for DeletableTopicResult {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            name: r.nullable_since(6).nullable_string("name")?,
            topic_id: r.since(6, Uuid::default(), |r| r.uuid("topicId"))?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.since(5, None, |r| r.nullable_string("errorMessage"))?,
        })
    }
}

impl Message for DeleteTopicsResponse {
    const NAME: &'static str = "DeleteTopicsResponse";
    const KEY: ApiKey = ApiKey::DELETE_TOPICS;
    const VERSIONS: RangeInclusive<i16> = 1..=6;
    const FLEXIBLE_FROM: i16 = 4;
}

impl Response for DeleteTopicsResponse {
    const THROTTLES_SINCE: i16 = 2;

    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
