//! DeleteAcls (key 31, versions 1-3, flexible from 2): deletes rules of who may do what;
//! [`describe_acls`](super::describe_acls) says what the codes mean. Sent to any broker, which passes it on to the
//! controller.
//!
//! Version 1 adds pattern types (KIP-290); 3 users as resources (KIP-373).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// The rules.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeleteAclsRequest {
    /// What the rules to delete match.
    pub filters: Vec<DeleteAclsFilter>,
}

/// A filter on rules.
#[derive(Debug, Clone, PartialEq)]
pub struct DeleteAclsFilter {
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

impl Default for DeleteAclsFilter {
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

impl Encode for DeleteAclsRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("filters", &self.filters);
    }
}

impl Decode for DeleteAclsRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { filters: r.array("filters")? })
    }
}

impl Encode for DeleteAclsFilter {
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

impl Decode for DeleteAclsFilter {
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

impl Message for DeleteAclsRequest {
    const NAME: &'static str = "DeleteAclsRequest";
    const KEY: ApiKey = ApiKey::DELETE_ACLS;
    const VERSIONS: RangeInclusive<i16> = 1..=3;
    const FLEXIBLE_FROM: i16 = 2;
}

impl Request for DeleteAclsRequest {
    type Response = DeleteAclsResponse;
    const NEWEST_STABLE: i16 = 3;
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeleteAclsResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The filters, in the order of the request.
    pub filter_results: Vec<DeleteAclsFilterResult>,
}

/// How it went for one filter.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeleteAclsFilterResult {
    /// The error of the filter.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
    /// The rules that it matched.
    pub matching_acls: Vec<DeleteAclsMatchingAcl>,
}

/// A rule that matched.
#[derive(Debug, Clone, PartialEq)]
pub struct DeleteAclsMatchingAcl {
    /// The error of the rule; without one it is deleted.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
    /// The resource type.
    pub resource_type: i8,
    /// The resource's name; `*` for all.
    pub resource_name: String,
    /// The pattern type.
    pub pattern_type: i8,
    /// The principal, such as `User:alice`; `User:*` for all.
    pub principal: String,
    /// The host; `*` for all.
    pub host: String,
    /// The operation.
    pub operation: i8,
    /// The permission type.
    pub permission_type: i8,
}

impl Default for DeleteAclsMatchingAcl {
    fn default() -> Self {
        Self {
            error_code: ErrorCode::NONE,
            error_message: None,
            resource_type: 0,
            resource_name: String::new(),
            pattern_type: 3,
            principal: String::new(),
            host: String::new(),
            operation: 0,
            permission_type: 0,
        }
    }
}

impl Encode for DeleteAclsResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.array("filterResults", &self.filter_results);
    }
}

impl Decode for DeleteAclsResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { throttle_time_ms: r.i32("throttleTimeMs")?, filter_results: r.array("filterResults")? })
    }
}

impl Encode for DeleteAclsFilterResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
        w.array("matchingAcls", &self.matching_acls);
    }
}

impl Decode for DeleteAclsFilterResult {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
            matching_acls: r.array("matchingAcls")?,
        })
    }
}

impl Encode for DeleteAclsMatchingAcl {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
        w.i8("resourceType", self.resource_type);
        w.string("resourceName", &self.resource_name);
        w.i8("patternType", self.pattern_type);
        w.string("principal", &self.principal);
        w.string("host", &self.host);
        w.i8("operation", self.operation);
        w.i8("permissionType", self.permission_type);
    }
}

impl Decode for DeleteAclsMatchingAcl {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
            resource_type: r.i8("resourceType")?,
            resource_name: r.string("resourceName")?,
            pattern_type: r.i8("patternType")?,
            principal: r.string("principal")?,
            host: r.string("host")?,
            operation: r.i8("operation")?,
            permission_type: r.i8("permissionType")?,
        })
    }
}

impl Message for DeleteAclsResponse {
    const NAME: &'static str = "DeleteAclsResponse";
    const KEY: ApiKey = ApiKey::DELETE_ACLS;
    const VERSIONS: RangeInclusive<i16> = 1..=3;
    const FLEXIBLE_FROM: i16 = 2;
}

impl Response for DeleteAclsResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
