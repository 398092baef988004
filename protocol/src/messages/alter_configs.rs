//! AlterConfigs (key 33, versions 0-2, flexible from 2): replaces whole configurations: what the request leaves out
//! goes back to its default. [`incremental_alter_configs`](super::incremental_alter_configs) changes single ones and
//! has taken its place. Sent to any broker; for a broker's own configuration to that broker.
//!
//! Version 1 throttles after the answer.

use std::fmt;
use std::ops::RangeInclusive;

use super::redacted::Redacted;
use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// The configurations.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AlterConfigsRequest {
    /// The configurations by resource.
    pub resources: Vec<AlterConfigsResource>,
    /// Whether only to say how it would go.
    pub validate_only: bool,
}

/// The configuration of one resource.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AlterConfigsResource {
    /// 2: topic, 4: broker, 8: broker logger, 16: client metrics, 32: group.
    pub resource_type: i8,
    /// The topic, the broker's id, the group.
    pub resource_name: String,
    /// All that is to differ from the defaults.
    pub configs: Vec<AlterableConfig>,
}

/// One configuration.
#[derive(Clone, PartialEq, Default)]
pub struct AlterableConfig {
    /// The configuration.
    pub name: String,
    /// The value. It may be a password, so `Debug` shows its length alone.
    pub value: Option<String>,
}

impl fmt::Debug for AlterableConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AlterableConfig")
            .field("name", &self.name)
            .field("value", &self.value.as_ref().map(|value| Redacted(value.as_bytes())))
            .finish()
    }
}

impl Encode for AlterConfigsRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("resources", &self.resources);
        w.bool("validateOnly", self.validate_only);
    }
}

impl Decode for AlterConfigsRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { resources: r.array("resources")?, validate_only: r.bool("validateOnly")? })
    }
}

impl Encode for AlterConfigsResource {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i8("resourceType", self.resource_type);
        w.string("resourceName", &self.resource_name);
        w.array("configs", &self.configs);
    }
}

impl Decode for AlterConfigsResource {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            resource_type: r.i8("resourceType")?,
            resource_name: r.string("resourceName")?,
            configs: r.array("configs")?,
        })
    }
}

impl Encode for AlterableConfig {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.nullable_string("value", self.value.as_deref());
    }
}

impl Decode for AlterableConfig {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.string("name")?, value: r.nullable_string("value")? })
    }
}

impl Message for AlterConfigsRequest {
    const NAME: &'static str = "AlterConfigsRequest";
    const KEY: ApiKey = ApiKey::ALTER_CONFIGS;
    const VERSIONS: RangeInclusive<i16> = 0..=2;
    const FLEXIBLE_FROM: i16 = 2;
}

impl Request for AlterConfigsRequest {
    type Response = AlterConfigsResponse;
    const NEWEST_STABLE: i16 = 2;
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AlterConfigsResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The resources.
    pub responses: Vec<AlterConfigsResourceResponse>,
}

/// How it went for one resource.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AlterConfigsResourceResponse {
    /// The error of the resource.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
    /// 2: topic, 4: broker, 8: broker logger, 16: client metrics, 32: group.
    pub resource_type: i8,
    /// The topic, the broker's id, the group.
    pub resource_name: String,
}

impl Encode for AlterConfigsResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.array("responses", &self.responses);
    }
}

impl Decode for AlterConfigsResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { throttle_time_ms: r.i32("throttleTimeMs")?, responses: r.array("responses")? })
    }
}

impl Encode for AlterConfigsResourceResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
        w.i8("resourceType", self.resource_type);
        w.string("resourceName", &self.resource_name);
    }
}

impl Decode for AlterConfigsResourceResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
            resource_type: r.i8("resourceType")?,
            resource_name: r.string("resourceName")?,
        })
    }
}

impl Message for AlterConfigsResponse {
    const NAME: &'static str = "AlterConfigsResponse";
    const KEY: ApiKey = ApiKey::ALTER_CONFIGS;
    const VERSIONS: RangeInclusive<i16> = 0..=2;
    const FLEXIBLE_FROM: i16 = 2;
}

impl Response for AlterConfigsResponse {
    const THROTTLES_SINCE: i16 = 1;

    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
