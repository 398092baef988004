//! IncrementalAlterConfigs (key 44, versions 0-1, flexible from 1): changes single configurations (KIP-339). Sent to
//! any broker; for a broker's own configuration to that broker.

use std::fmt;
use std::ops::RangeInclusive;

use super::redacted::Redacted;
use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// The changes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IncrementalAlterConfigsRequest {
    /// The changes by resource.
    pub resources: Vec<AlterConfigsResource>,
    /// Whether only to say how it would go.
    pub validate_only: bool,
}

/// Changes to one resource.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AlterConfigsResource {
    /// 2: topic, 4: broker, 8: broker logger, 16: client metrics, 32: group.
    pub resource_type: i8,
    /// The topic, the broker's id, the group.
    pub resource_name: String,
    /// The changes.
    pub configs: Vec<AlterableConfig>,
}

/// One change.
#[derive(Clone, PartialEq, Default)]
pub struct AlterableConfig {
    /// The configuration.
    pub name: String,
    /// 0: set, 1: delete (back to the default), 2: append to a list, 3: subtract from a list.
    pub config_operation: i8,
    /// The value; `None` with delete. It may be a password, so `Debug` shows its length alone.
    pub value: Option<String>,
}

impl fmt::Debug for AlterableConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AlterableConfig")
            .field("name", &self.name)
            .field("config_operation", &self.config_operation)
            .field("value", &self.value.as_ref().map(|value| Redacted(value.as_bytes())))
            .finish()
    }
}

impl Encode for IncrementalAlterConfigsRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("resources", &self.resources);
        w.bool("validateOnly", self.validate_only);
    }
}

impl Decode for IncrementalAlterConfigsRequest {
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
        w.i8("configOperation", self.config_operation);
        w.nullable_string("value", self.value.as_deref());
    }
}

impl Decode for AlterableConfig {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            name: r.string("name")?,
            config_operation: r.i8("configOperation")?,
            value: r.nullable_string("value")?,
        })
    }
}

impl Message for IncrementalAlterConfigsRequest {
    const NAME: &'static str = "IncrementalAlterConfigsRequest";
    const KEY: ApiKey = ApiKey::INCREMENTAL_ALTER_CONFIGS;
    const VERSIONS: RangeInclusive<i16> = 0..=1;
    const FLEXIBLE_FROM: i16 = 1;
}

impl Request for IncrementalAlterConfigsRequest {
    type Response = IncrementalAlterConfigsResponse;
    const NEWEST_STABLE: i16 = 1;
}

/// How the changes went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IncrementalAlterConfigsResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The resources.
    pub responses: Vec<AlterConfigsResourceResponse>,
}

/// How the changes to one resource went: all or none were made.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AlterConfigsResourceResponse {
    /// The error.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
    /// The kind of resource, as in the request.
    pub resource_type: i8,
    /// The resource, as in the request.
    pub resource_name: String,
}

impl Encode for IncrementalAlterConfigsResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.array("responses", &self.responses);
    }
}

impl Decode for IncrementalAlterConfigsResponse {
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

impl Message for IncrementalAlterConfigsResponse {
    const NAME: &'static str = "IncrementalAlterConfigsResponse";
    const KEY: ApiKey = ApiKey::INCREMENTAL_ALTER_CONFIGS;
    const VERSIONS: RangeInclusive<i16> = 0..=1;
    const FLEXIBLE_FROM: i16 = 1;
}

impl Response for IncrementalAlterConfigsResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
