//! CreateTopics (key 19, versions 2-7, flexible from 5): creates topics. Sent to any broker, which passes it on to the
//! controller.
//!
//! Version 4 takes the cluster's defaults for partitions and replicas (KIP-464); 5 gives back the configuration
//! (KIP-525); 6 may answer THROTTLING_QUOTA_EXCEEDED (KIP-599); 7 gives back the topic id.

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response, Uuid};

/// The topics to create.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTopicsRequest {
    /// The topics.
    pub topics: Vec<CreatableTopic>,
    /// How long the broker may take, in milliseconds.
    pub timeout_ms: i32,
    /// Whether only to say how it would go.
    pub validate_only: bool,
}

impl Default for CreateTopicsRequest {
    fn default() -> Self {
        Self { topics: Vec::new(), timeout_ms: 60_000, validate_only: false }
    }
}

/// One topic to create.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CreatableTopic {
    /// The name.
    pub name: String,
    /// The number of partitions; -1 with `assignments`, and for the cluster's default (since version 4).
    pub num_partitions: i32,
    /// The number of replicas of each; -1 with `assignments`, and for the cluster's default (since version 4).
    pub replication_factor: i16,
    /// Which brokers hold which partition; empty for the broker to decide.
    pub assignments: Vec<CreatableReplicaAssignment>,
    /// The configuration that differs from the default.
    pub configs: Vec<CreatableTopicConfig>,
}

/// The brokers that hold one partition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CreatableReplicaAssignment {
    /// The partition.
    pub partition_index: i32,
    /// The brokers, the preferred leader first.
    pub broker_ids: Vec<i32>,
}

/// One configuration of a topic to create.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CreatableTopicConfig {
    /// The name.
    pub name: String,
    /// The value.
    pub value: Option<String>,
}

impl Encode for CreateTopicsRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("topics", &self.topics);
        w.i32("timeoutMs", self.timeout_ms);
        w.bool("validateOnly", self.validate_only);
    }
}

impl Decode for CreateTopicsRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topics: r.array("topics")?, timeout_ms: r.i32("timeoutMs")?, validate_only: r.bool("validateOnly")? })
    }
}

impl Encode for CreatableTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.i32("numPartitions", self.num_partitions);
        w.i16("replicationFactor", self.replication_factor);
        w.array("assignments", &self.assignments);
        w.array("configs", &self.configs);
    }
}

impl Decode for CreatableTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            name: r.string("name")?,
            num_partitions: r.i32("numPartitions")?,
            replication_factor: r.i16("replicationFactor")?,
            assignments: r.array("assignments")?,
            configs: r.array("configs")?,
        })
    }
}

impl Encode for CreatableReplicaAssignment {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.array("brokerIds", &self.broker_ids);
    }
}

impl Decode for CreatableReplicaAssignment {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { partition_index: r.i32("partitionIndex")?, broker_ids: r.array("brokerIds")? })
    }
}

impl Encode for CreatableTopicConfig {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.nullable_string("value", self.value.as_deref());
    }
}

impl Decode for CreatableTopicConfig {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.string("name")?, value: r.nullable_string("value")? })
    }
}

impl Message for CreateTopicsRequest {
    const NAME: &'static str = "CreateTopicsRequest";
    const KEY: ApiKey = ApiKey::CREATE_TOPICS;
    const VERSIONS: RangeInclusive<i16> = 2..=7;
    const FLEXIBLE_FROM: i16 = 5;
}

impl Request for CreateTopicsRequest {
    type Response = CreateTopicsResponse;
    const NEWEST_STABLE: i16 = 7;
}

/// How the creation of each topic went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CreateTopicsResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The topics.
    pub topics: Vec<CreatableTopicResult>,
}

/// How the creation of one topic went.
#[derive(Debug, Clone, PartialEq)]
pub struct CreatableTopicResult {
    /// The name.
    pub name: String,
    /// The id. Since version 7.
    pub topic_id: Uuid,
    /// The error.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
    /// Why the configuration is not given back. Since version 5.
    pub topic_config_error_code: ErrorCode,
    /// The number of partitions; -1 where it is not given back. Since version 5.
    pub num_partitions: i32,
    /// The number of replicas; -1 where it is not given back. Since version 5.
    pub replication_factor: i16,
    /// The whole configuration; `None` where it is not given back. Since version 5.
    pub configs: Option<Vec<CreatableTopicConfigs>>,
}

impl Default for CreatableTopicResult {
    fn default() -> Self {
        Self {
            name: String::new(),
            topic_id: Uuid::default(),
            error_code: ErrorCode::NONE,
            error_message: None,
            topic_config_error_code: ErrorCode::NONE,
            num_partitions: -1,
            replication_factor: -1,
            configs: None,
        }
    }
}

/// One configuration of a topic that was created.
#[derive(Debug, Clone, PartialEq)]
pub struct CreatableTopicConfigs {
    /// The name.
    pub name: String,
    /// The value; `None` where it is secret.
    pub value: Option<String>,
    /// Whether it cannot be changed.
    pub read_only: bool,
    /// Where the value comes from, as in DescribeConfigs; -1 where it is unknown.
    pub config_source: i8,
    /// Whether the value is secret.
    pub is_sensitive: bool,
}

impl Default for CreatableTopicConfigs {
    fn default() -> Self {
        Self { name: String::new(), value: None, read_only: false, config_source: -1, is_sensitive: false }
    }
}

impl Encode for CreateTopicsResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.array("topics", &self.topics);
    }
}

impl Decode for CreateTopicsResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { throttle_time_ms: r.i32("throttleTimeMs")?, topics: r.array("topics")? })
    }
}

impl Encode for CreatableTopicResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.since(7, |w| w.uuid("topicId", self.topic_id));
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
        w.since(5, |w| {
            w.i32("numPartitions", self.num_partitions);
            w.i16("replicationFactor", self.replication_factor);
            w.nullable_array("configs", self.configs.as_deref());
            let code = self.topic_config_error_code;
            w.tags(|w| w.tag(0, !code.is_none(), |w| w.i16("topicConfigErrorCode", code.0)));
        });
    }
}

impl Decode for CreatableTopicResult {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        let mut result = Self {
            name: r.string("name")?,
            topic_id: r.since(7, Uuid::default(), |r| r.uuid("topicId"))?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
            topic_config_error_code: ErrorCode::NONE,
            num_partitions: r.since(5, -1, |r| r.i32("numPartitions"))?,
            replication_factor: r.since(5, -1, |r| r.i16("replicationFactor"))?,
            configs: r.since(5, None, |r| r.nullable_array("configs"))?,
        };
        r.since(5, (), |r| {
            r.tags(&[(0, "topicConfigErrorCode")], |r, _| {
                result.topic_config_error_code = ErrorCode(r.i16("topicConfigErrorCode")?);
                Ok(())
            })
        })?;
        Ok(result)
    }
}

impl Encode for CreatableTopicConfigs {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.nullable_string("value", self.value.as_deref());
        w.bool("readOnly", self.read_only);
        w.i8("configSource", self.config_source);
        w.bool("isSensitive", self.is_sensitive);
    }
}

impl Decode for CreatableTopicConfigs {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            name: r.string("name")?,
            value: r.nullable_string("value")?,
            read_only: r.bool("readOnly")?,
            config_source: r.i8("configSource")?,
            is_sensitive: r.bool("isSensitive")?,
        })
    }
}

impl Message for CreateTopicsResponse {
    const NAME: &'static str = "CreateTopicsResponse";
    const KEY: ApiKey = ApiKey::CREATE_TOPICS;
    const VERSIONS: RangeInclusive<i16> = 2..=7;
    const FLEXIBLE_FROM: i16 = 5;
}

impl Response for CreateTopicsResponse {
    const THROTTLES_SINCE: i16 = 3;

    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
