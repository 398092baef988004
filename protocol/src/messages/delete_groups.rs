//! DeleteGroups (key 42, versions 0-3, flexible from 2): deletes groups that have no members (KIP-229). Sent to the
//! groups' coordinator.
//!
//! Version 3 adds error messages.

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// Which groups to delete.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeleteGroupsRequest {
    /// The groups.
    pub groups_names: Vec<String>,
}

impl Encode for DeleteGroupsRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("groupsNames", &self.groups_names);
    }
}

impl Decode for DeleteGroupsRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { groups_names: r.array("groupsNames")? })
    }
}

impl Message for DeleteGroupsRequest {
    const NAME: &'static str = "DeleteGroupsRequest";
    const KEY: ApiKey = ApiKey::DELETE_GROUPS;
    const VERSIONS: RangeInclusive<i16> = 0..=3;
    const FLEXIBLE_FROM: i16 = 2;
}

impl Request for DeleteGroupsRequest {
    type Response = DeleteGroupsResponse;
    const NEWEST_STABLE: i16 = 3;
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeleteGroupsResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The groups.
    pub results: Vec<DeletableGroupResult>,
}

/// How it went for one group.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeletableGroupResult {
    /// The group.
    pub group_id: String,
    /// The error of the group.
    pub error_code: ErrorCode,
    /// What the error was about. Since version 3.
    pub error_message: Option<String>,
}

impl Encode for DeleteGroupsResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.array("results", &self.results);
    }
}

impl Decode for DeleteGroupsResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { throttle_time_ms: r.i32("throttleTimeMs")?, results: r.array("results")? })
    }
}

impl Encode for DeletableGroupResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("groupId", &self.group_id);
        w.i16("errorCode", self.error_code.0);
        w.since(3, |w| w.nullable_string("errorMessage", self.error_message.as_deref()));
    }
}

impl Decode for DeletableGroupResult {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            group_id: r.string("groupId")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.since(3, None, |r| r.nullable_string("errorMessage"))?,
        })
    }
}

impl Message for DeleteGroupsResponse {
    const NAME: &'static str = "DeleteGroupsResponse";
    const KEY: ApiKey = ApiKey::DELETE_GROUPS;
    const VERSIONS: RangeInclusive<i16> = 0..=3;
    const FLEXIBLE_FROM: i16 = 2;
}

impl Response for DeleteGroupsResponse {
    const THROTTLES_SINCE: i16 = 1;

    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
