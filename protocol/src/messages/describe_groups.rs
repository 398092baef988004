//! DescribeGroups (key 15, versions 0-6, flexible from 5): the state and the members of groups of the classic protocol.
//! Sent to the groups' coordinator.
//!
//! Version 1 adds the throttle time; 3 authorized operations (KIP-430); 4 static members (KIP-345); 6 answers
//! GROUP_ID_NOT_FOUND instead of a dead group (KIP-1043).

use std::ops::RangeInclusive;

use bytes::Bytes;

use super::OPERATIONS_NOT_REQUESTED;
use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// Which groups to describe.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DescribeGroupsRequest {
    /// The groups.
    pub groups: Vec<String>,
    /// Whether to say what the client may do with each group. Since version 3.
    pub include_authorized_operations: bool,
}

impl Encode for DescribeGroupsRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("groups", &self.groups);
        w.required_since(3, "includeAuthorizedOperations", !self.include_authorized_operations, |w| {
            w.bool("includeAuthorizedOperations", self.include_authorized_operations);
        });
    }
}

impl Decode for DescribeGroupsRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            groups: r.array("groups")?,
            include_authorized_operations: r.since(3, false, |r| r.bool("includeAuthorizedOperations"))?,
        })
    }
}

impl Message for DescribeGroupsRequest {
    const NAME: &'static str = "DescribeGroupsRequest";
    const KEY: ApiKey = ApiKey::DESCRIBE_GROUPS;
    const VERSIONS: RangeInclusive<i16> = 0..=6;
    const FLEXIBLE_FROM: i16 = 5;
}

impl Request for DescribeGroupsRequest {
    type Response = DescribeGroupsResponse;
    const NEWEST_STABLE: i16 = 6;
}

/// The groups.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DescribeGroupsResponse {
    /// How long the request was held back by a quota, in milliseconds. Since version 1.
    pub throttle_time_ms: i32,
    /// The groups.
    pub groups: Vec<DescribedGroup>,
}

/// A group.
#[derive(Debug, Clone, PartialEq)]
pub struct DescribedGroup {
    /// The error of this group.
    pub error_code: ErrorCode,
    /// What the error was about. Since version 6.
    pub error_message: Option<String>,
    /// The group.
    pub group_id: String,
    /// Its state, such as `Stable`; empty with an error.
    pub group_state: String,
    /// The class of group; empty with an error.
    pub protocol_type: String,
    /// The protocol in use; empty unless the group is stable.
    pub protocol_data: String,
    /// The members; none in a dead group.
    pub members: Vec<DescribedGroupMember>,
    /// A bit for each operation that the client may do with the group, or [`OPERATIONS_NOT_REQUESTED`]. Since version
    /// 3.
    pub authorized_operations: i32,
}

impl Default for DescribedGroup {
    fn default() -> Self {
        Self {
            error_code: ErrorCode::NONE,
            error_message: None,
            group_id: String::new(),
            group_state: String::new(),
            protocol_type: String::new(),
            protocol_data: String::new(),
            members: Vec::new(),
            authorized_operations: OPERATIONS_NOT_REQUESTED,
        }
    }
}

/// A member.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DescribedGroupMember {
    /// The member.
    pub member_id: String,
    /// The static member's name; `None` for a dynamic one. Since version 4.
    pub group_instance_id: Option<String>,
    /// The client id of its last join.
    pub client_id: String,
    /// The host that it joined from.
    pub client_host: String,
    /// What it said under the protocol in use; empty unless the group is stable.
    pub member_metadata: Bytes,
    /// What the leader assigned to it; empty unless the group is stable.
    pub member_assignment: Bytes,
}

impl Encode for DescribeGroupsResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.since(1, |w| w.i32("throttleTimeMs", self.throttle_time_ms));
        w.array("groups", &self.groups);
    }
}

impl Decode for DescribeGroupsResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { throttle_time_ms: r.since(1, 0, |r| r.i32("throttleTimeMs"))?, groups: r.array("groups")? })
    }
}

impl Encode for DescribedGroup {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i16("errorCode", self.error_code.0);
        w.required_since(6, "errorMessage", self.error_message.is_none(), |w| {
            w.nullable_string("errorMessage", self.error_message.as_deref());
        });
        w.string("groupId", &self.group_id);
        w.string("groupState", &self.group_state);
        w.string("protocolType", &self.protocol_type);
        w.string("protocolData", &self.protocol_data);
        w.array("members", &self.members);
        w.required_since(3, "authorizedOperations", self.authorized_operations == OPERATIONS_NOT_REQUESTED, |w| {
            w.i32("authorizedOperations", self.authorized_operations);
        });
    }
}

impl Decode for DescribedGroup {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.since(6, None, |r| r.nullable_string("errorMessage"))?,
            group_id: r.string("groupId")?,
            group_state: r.string("groupState")?,
            protocol_type: r.string("protocolType")?,
            protocol_data: r.string("protocolData")?,
            members: r.array("members")?,
            authorized_operations: r.since(3, OPERATIONS_NOT_REQUESTED, |r| r.i32("authorizedOperations"))?,
        })
    }
}

impl Encode for DescribedGroupMember {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("memberId", &self.member_id);
        w.since(4, |w| w.nullable_string("groupInstanceId", self.group_instance_id.as_deref()));
        w.string("clientId", &self.client_id);
        w.string("clientHost", &self.client_host);
        w.bytes("memberMetadata", &self.member_metadata);
        w.bytes("memberAssignment", &self.member_assignment);
    }
}

impl Decode for DescribedGroupMember {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            member_id: r.string("memberId")?,
            group_instance_id: r.since(4, None, |r| r.nullable_string("groupInstanceId"))?,
            client_id: r.string("clientId")?,
            client_host: r.string("clientHost")?,
            member_metadata: r.bytes("memberMetadata")?,
            member_assignment: r.bytes("memberAssignment")?,
        })
    }
}

impl Message for DescribeGroupsResponse {
    const NAME: &'static str = "DescribeGroupsResponse";
    const KEY: ApiKey = ApiKey::DESCRIBE_GROUPS;
    const VERSIONS: RangeInclusive<i16> = 0..=6;
    const FLEXIBLE_FROM: i16 = 5;
}

impl Response for DescribeGroupsResponse {
    const THROTTLES_SINCE: i16 = 2;

    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
