//! DescribeConfigs (key 32, versions 1-4, flexible from 4): the configuration of topics, brokers and groups. Sent to
//! any broker; for a broker's own configuration to that broker.
//!
//! Version 1 says where a value comes from; 3 adds types and documentation (KIP-569).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// Which configurations to describe.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DescribeConfigsRequest {
    /// The resources.
    pub resources: Vec<DescribeConfigsResource>,
    /// Whether to give all values that a configuration could have, in order of precedence.
    pub include_synonyms: bool,
    /// Whether to give the documentation. Since version 3.
    pub include_documentation: bool,
}

/// One resource.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DescribeConfigsResource {
    /// 2: topic, 4: broker, 8: broker logger, 16: client metrics, 32: group.
    pub resource_type: i8,
    /// The topic, the broker's id, the group.
    pub resource_name: String,
    /// The configurations; `None` for all.
    pub configuration_keys: Option<Vec<String>>,
}

impl Encode for DescribeConfigsRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("resources", &self.resources);
        w.bool("includeSynonyms", self.include_synonyms);
        w.required_since(3, "includeDocumentation", !self.include_documentation, |w| {
            w.bool("includeDocumentation", self.include_documentation);
        });
    }
}

impl Decode for DescribeConfigsRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            resources: r.array("resources")?,
            include_synonyms: r.bool("includeSynonyms")?,
            include_documentation: r.since(3, false, |r| r.bool("includeDocumentation"))?,
        })
    }
}

impl Encode for DescribeConfigsResource {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i8("resourceType", self.resource_type);
        w.string("resourceName", &self.resource_name);
        w.nullable_array("configurationKeys", self.configuration_keys.as_deref());
    }
}

impl Decode for DescribeConfigsResource {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            resource_type: r.i8("resourceType")?,
            resource_name: r.string("resourceName")?,
            configuration_keys: r.nullable_array("configurationKeys")?,
        })
    }
}

impl Message for DescribeConfigsRequest {
    const NAME: &'static str = "DescribeConfigsRequest";
    const KEY: ApiKey = ApiKey::DESCRIBE_CONFIGS;
    const VERSIONS: RangeInclusive<i16> = 1..=4;
    const FLEXIBLE_FROM: i16 = 4;
}

impl Request for DescribeConfigsRequest {
    type Response = DescribeConfigsResponse;
    const NEWEST_STABLE: i16 = 4;
}

/// The configurations.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DescribeConfigsResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The resources.
    pub results: Vec<DescribeConfigsResult>,
}

/// The configuration of one resource.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DescribeConfigsResult {
    /// The error.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
    /// The kind of resource, as in the request.
    pub resource_type: i8,
    /// The resource, as in the request.
    pub resource_name: String,
    /// The configurations.
    pub configs: Vec<DescribeConfigsResourceResult>,
}

/// One configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct DescribeConfigsResourceResult {
    /// The name.
    pub name: String,
    /// The value; `None` where it is secret or there is none.
    pub value: Option<String>,
    /// Whether it cannot be changed.
    pub read_only: bool,
    /// Where the value comes from. 1: the topic, 2: the broker, changed while running, 3: all brokers, changed while
    /// running, 4: the broker's properties, 5: Kafka's default, 6: the broker's loggers, 7: client metrics, 8: the
    /// group; -1 where it is unknown.
    pub config_source: i8,
    /// Whether the value is secret.
    pub is_sensitive: bool,
    /// The values that it could have, in order of precedence.
    pub synonyms: Vec<DescribeConfigsSynonym>,
    /// 1: boolean, 2: string, 3: int, 4: short, 5: long, 6: double, 7: list, 8: class, 9: password; 0 where it is
    /// unknown. Since version 3.
    pub config_type: i8,
    /// What the configuration does, where that was asked for. Since version 3.
    pub documentation: Option<String>,
}

impl Default for DescribeConfigsResourceResult {
    fn default() -> Self {
        Self {
            name: String::new(),
            value: None,
            read_only: false,
            config_source: -1,
            is_sensitive: false,
            synonyms: Vec::new(),
            config_type: 0,
            documentation: None,
        }
    }
}

/// A value that a configuration could have.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DescribeConfigsSynonym {
    /// The name under which it is set.
    pub name: String,
    /// The value; `None` where it is secret.
    pub value: Option<String>,
    /// Where it comes from, as in [`DescribeConfigsResourceResult::config_source`].
    pub source: i8,
}

impl Encode for DescribeConfigsResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.array("results", &self.results);
    }
}

impl Decode for DescribeConfigsResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { throttle_time_ms: r.i32("throttleTimeMs")?, results: r.array("results")? })
    }
}

impl Encode for DescribeConfigsResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
        w.i8("resourceType", self.resource_type);
        w.string("resourceName", &self.resource_name);
        w.array("configs", &self.configs);
    }
}

impl Decode for DescribeConfigsResult {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
            resource_type: r.i8("resourceType")?,
            resource_name: r.string("resourceName")?,
            configs: r.array("configs")?,
        })
    }
}

impl Encode for DescribeConfigsResourceResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.nullable_string("value", self.value.as_deref());
        w.bool("readOnly", self.read_only);
        w.i8("configSource", self.config_source);
        w.bool("isSensitive", self.is_sensitive);
        w.array("synonyms", &self.synonyms);
        w.since(3, |w| w.i8("configType", self.config_type));
        w.since(3, |w| w.nullable_string("documentation", self.documentation.as_deref()));
    }
}

impl Decode for DescribeConfigsResourceResult {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            name: r.string("name")?,
            value: r.nullable_string("value")?,
            read_only: r.bool("readOnly")?,
            config_source: r.i8("configSource")?,
            is_sensitive: r.bool("isSensitive")?,
            synonyms: r.array("synonyms")?,
            config_type: r.since(3, 0, |r| r.i8("configType"))?,
            documentation: r.since(3, None, |r| r.nullable_string("documentation"))?,
        })
    }
}

impl Encode for DescribeConfigsSynonym {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.nullable_string("value", self.value.as_deref());
        w.i8("source", self.source);
    }
}

impl Decode for DescribeConfigsSynonym {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.string("name")?, value: r.nullable_string("value")?, source: r.i8("source")? })
    }
}

impl Message for DescribeConfigsResponse {
    const NAME: &'static str = "DescribeConfigsResponse";
    const KEY: ApiKey = ApiKey::DESCRIBE_CONFIGS;
    const VERSIONS: RangeInclusive<i16> = 1..=4;
    const FLEXIBLE_FROM: i16 = 4;
}

impl Response for DescribeConfigsResponse {
    const THROTTLES_SINCE: i16 = 2;

    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
