//! CreateAcls (key 30, versions 1-3, flexible from 2): makes rules of who may do what;
//! [`describe_acls`](super::describe_acls) says what the codes mean. Sent to any broker, which passes it on to the
//! controller.
//!
//! Version 1 adds pattern types (KIP-290); 3 users as resources (KIP-373).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// The rules.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CreateAclsRequest {
    /// The rules.
    pub creations: Vec<AclCreation>,
}

/// A rule.
#[derive(Debug, Clone, PartialEq)]
pub struct AclCreation {
    /// The resource type.
    pub resource_type: i8,
    /// The resource's name; `*` for all.
    pub resource_name: String,
    /// The pattern type.
    pub resource_pattern_type: i8,
    /// The principal, such as `User:alice`; `User:*` for all.
    pub principal: String,
    /// The host; `*` for all.
    pub host: String,
    /// The operation.
    pub operation: i8,
    /// The permission type.
    pub permission_type: i8,
}

impl Default for AclCreation {
    fn default() -> Self {
        Self {
            resource_type: 0,
            resource_name: String::new(),
            resource_pattern_type: 3,
            principal: String::new(),
            host: String::new(),
            operation: 0,
            permission_type: 0,
        }
    }
}

impl Encode for CreateAclsRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("creations", &self.creations);
    }
}

impl Decode for CreateAclsRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { creations: r.array("creations")? })
    }
}

impl Encode for AclCreation {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i8("resourceType", self.resource_type);
        w.string("resourceName", &self.resource_name);
        w.i8("resourcePatternType", self.resource_pattern_type);
        w.string("principal", &self.principal);
        w.string("host", &self.host);
        w.i8("operation", self.operation);
        w.i8("permissionType", self.permission_type);
    }
}

impl Decode for AclCreation {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            resource_type: r.i8("resourceType")?,
            resource_name: r.string("resourceName")?,
            resource_pattern_type: r.i8("resourcePatternType")?,
            principal: r.string("principal")?,
            host: r.string("host")?,
            operation: r.i8("operation")?,
            permission_type: r.i8("permissionType")?,
        })
    }
}

impl Message for CreateAclsRequest {
    const NAME: &'static str = "CreateAclsRequest";
    const KEY: ApiKey = ApiKey::CREATE_ACLS;
    const VERSIONS: RangeInclusive<i16> = 1..=3;
    const FLEXIBLE_FROM: i16 = 2;
}

impl Request for CreateAclsRequest {
    type Response = CreateAclsResponse;
    const NEWEST_STABLE: i16 = 3;
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CreateAclsResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The rules, in the order of the request.
    pub results: Vec<AclCreationResult>,
}

/// How it went for one rule.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AclCreationResult {
    /// The error of the rule.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
}

impl Encode for CreateAclsResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.array("results", &self.results);
    }
}

impl Decode for CreateAclsResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { throttle_time_ms: r.i32("throttleTimeMs")?, results: r.array("results")? })
    }
}

impl Encode for AclCreationResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
    }
}

impl Decode for AclCreationResult {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { error_code: ErrorCode(r.i16("errorCode")?), error_message: r.nullable_string("errorMessage")? })
    }
}

impl Message for CreateAclsResponse {
    const NAME: &'static str = "CreateAclsResponse";
    const KEY: ApiKey = ApiKey::CREATE_ACLS;
    const VERSIONS: RangeInclusive<i16> = 1..=3;
    const FLEXIBLE_FROM: i16 = 2;
}

impl Response for CreateAclsResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
