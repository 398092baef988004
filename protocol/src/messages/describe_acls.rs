//! DescribeAcls (key 29, versions 1-3, flexible from 2): the rules of who may do what. Sent to any broker or
//! controller.
//!
//! Version 1 adds pattern types (KIP-290); 3 users as resources (KIP-373).
//!
//! The codes of all three ACL APIs:
//!
//! - resource type: 1 any, 2 topic, 3 group, 4 cluster, 5 transactional id, 6 delegation token, 7 user;
//! - pattern type: 1 any, 2 whatever matches the name, 3 the name itself, 4 names that begin so;
//! - operation: 1 any, 2 all, 3 read, 4 write, 5 create, 6 delete, 7 alter, 8 describe, 9 cluster action, 10 describe
//!   configs, 11 alter configs, 12 idempotent write, 13 create tokens, 14 describe tokens, 15 two-phase commit;
//! - permission type: 1 any, 2 deny, 3 allow.
//!
//! "Any" belongs in filters only, as does pattern type 2.

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// Which rules to describe.
#[derive(Debug, Clone, PartialEq)]
pub struct DescribeAclsRequest {
    /// The resource type.
    pub resource_type_filter: i8,
    /// The resource's name; `None` for any.
    pub resource_name_filter: Option<String>,
    /// The pattern type.
    pub pattern_type_filter: i8,
    /// The principal, such as `User:alice`; `None` for any.
    pub principal_filter: Option<String>,
    /// The host; `None` for any.
    pub host_filter: Option<String>,
    /// The operation.
    pub operation: i8,
    /// The permission type.
    pub permission_type: i8,
}

impl Default for DescribeAclsRequest {
    fn default() -> Self {
        Self {
            resource_type_filter: 0,
            resource_name_filter: None,
            pattern_type_filter: 3,
            principal_filter: None,
            host_filter: None,
            operation: 0,
            permission_type: 0,
        }
    }
}

impl Encode for DescribeAclsRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i8("resourceTypeFilter", self.resource_type_filter);
        w.nullable_string("resourceNameFilter", self.resource_name_filter.as_deref());
        w.i8("patternTypeFilter", self.pattern_type_filter);
        w.nullable_string("principalFilter", self.principal_filter.as_deref());
        w.nullable_string("hostFilter", self.host_filter.as_deref());
        w.i8("operation", self.operation);
        w.i8("permissionType", self.permission_type);
    }
}

impl Decode for DescribeAclsRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            resource_type_filter: r.i8("resourceTypeFilter")?,
            resource_name_filter: r.nullable_string("resourceNameFilter")?,
            pattern_type_filter: r.i8("patternTypeFilter")?,
            principal_filter: r.nullable_string("principalFilter")?,
            host_filter: r.nullable_string("hostFilter")?,
            operation: r.i8("operation")?,
            permission_type: r.i8("permissionType")?,
        })
    }
}

impl Message for DescribeAclsRequest {
    const NAME: &'static str = "DescribeAclsRequest";
    const KEY: ApiKey = ApiKey::DESCRIBE_ACLS;
    const VERSIONS: RangeInclusive<i16> = 1..=3;
    const FLEXIBLE_FROM: i16 = 2;
}

impl Request for DescribeAclsRequest {
    type Response = DescribeAclsResponse;
    const NEWEST_STABLE: i16 = 3;
}

/// The rules.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DescribeAclsResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The error of the whole request.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
    /// The rules by resource.
    pub resources: Vec<DescribeAclsResource>,
}

/// The rules of one resource.
#[derive(Debug, Clone, PartialEq)]
pub struct DescribeAclsResource {
    /// The resource type.
    pub resource_type: i8,
    /// The resource's name; `*` for all.
    pub resource_name: String,
    /// The pattern type.
    pub pattern_type: i8,
    /// Its rules.
    pub acls: Vec<AclDescription>,
}

impl Default for DescribeAclsResource {
    fn default() -> Self {
        Self { resource_type: 0, resource_name: String::new(), pattern_type: 3, acls: Vec::new() }
    }
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AclDescription {
    /// The principal, such as `User:alice`; `User:*` for all.
    pub principal: String,
    /// The host; `*` for all.
    pub host: String,
    /// The operation.
    pub operation: i8,
    /// The permission type.
    pub permission_type: i8,
}

impl Encode for DescribeAclsResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
        w.array("resources", &self.resources);
    }
}

impl Decode for DescribeAclsResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.i32("throttleTimeMs")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
            resources: r.array("resources")?,
        })
    }
}

impl Encode for DescribeAclsResource {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i8("resourceType", self.resource_type);
        w.string("resourceName", &self.resource_name);
        w.i8("patternType", self.pattern_type);
        w.array("acls", &self.acls);
    }
}

impl Decode for DescribeAclsResource {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            resource_type: r.i8("resourceType")?,
            resource_name: r.string("resourceName")?,
            pattern_type: r.i8("patternType")?,
            acls: r.array("acls")?,
        })
    }
}

impl Encode for AclDescription {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("principal", &self.principal);
        w.string("host", &self.host);
        w.i8("operation", self.operation);
        w.i8("permissionType", self.permission_type);
    }
}

impl Decode for AclDescription {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            principal: r.string("principal")?,
            host: r.string("host")?,
            operation: r.i8("operation")?,
            permission_type: r.i8("permissionType")?,
        })
    }
}

impl Message for DescribeAclsResponse {
    const NAME: &'static str = "DescribeAclsResponse";
    const KEY: ApiKey = ApiKey::DESCRIBE_ACLS;
    const VERSIONS: RangeInclusive<i16> = 1..=3;
    const FLEXIBLE_FROM: i16 = 2;
}

impl Response for DescribeAclsResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
