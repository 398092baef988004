//! ListConfigResources (key 74, versions 0-1, flexible): the resources that have a configuration. Sent to any broker.
//!
//! Version 0 was named ListClientMetricsResources and knows those alone (KIP-1000); 1 knows the others (KIP-1142).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// Which resources to list.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ListConfigResourcesRequest {
    /// The types wanted: 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group; empty for all. Since version
    /// 1.
    pub resource_types: Vec<i8>,
}

impl Encode for ListConfigResourcesRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.required_since(1, "resourceTypes", self.resource_types.is_empty(), |w| {
            w.array("resourceTypes", &self.resource_types);
        });
    }
}

impl Decode for ListConfigResourcesRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { resource_types: r.since(1, Vec::new(), |r| r.array("resourceTypes"))? })
    }
}

impl Message for ListConfigResourcesRequest {
    const NAME: &'static str = "ListConfigResourcesRequest";
    const KEY: ApiKey = ApiKey::LIST_CONFIG_RESOURCES;
    const VERSIONS: RangeInclusive<i16> = 0..=1;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Request for ListConfigResourcesRequest {
    type Response = ListConfigResourcesResponse;
    const NEWEST_STABLE: i16 = 1;
}

/// The resources.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ListConfigResourcesResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The error.
    pub error_code: ErrorCode,
    /// The resources.
    pub config_resources: Vec<ConfigResource>,
}

/// One resource.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigResource {
    /// The topic, the broker's id, the group.
    pub resource_name: String,
    /// 2: topic, 4: broker, 8: broker logger, 16: client metrics, 32: group. Since version 1.
    pub resource_type: i8,
}

impl Default for ConfigResource {
    fn default() -> Self {
        Self { resource_name: String::new(), resource_type: 16 }
    }
}

impl Encode for ListConfigResourcesResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.i16("errorCode", self.error_code.0);
        w.array("configResources", &self.config_resources);
    }
}

impl Decode for ListConfigResourcesResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.i32("throttleTimeMs")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            config_resources: r.array("configResources")?,
        })
    }
}

impl Encode for ConfigResource {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("resourceName", &self.resource_name);
        w.since(1, |w| w.i8("resourceType", self.resource_type));
    }
}

impl Decode for ConfigResource {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { resource_name: r.string("resourceName")?, resource_type: r.since(1, 16, |r| r.i8("resourceType"))? })
    }
}

impl Message for ListConfigResourcesResponse {
    const NAME: &'static str = "ListConfigResourcesResponse";
    const KEY: ApiKey = ApiKey::LIST_CONFIG_RESOURCES;
    const VERSIONS: RangeInclusive<i16> = 0..=1;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Response for ListConfigResourcesResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
