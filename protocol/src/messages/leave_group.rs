//! LeaveGroup (key 13, versions 0-5, flexible from 4): takes members out of a group of the classic protocol. Sent to
//! the group's coordinator.
//!
//! Version 1 adds the throttle time; 3 takes several members, static ones too (KIP-345); 5 a reason (KIP-800).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// Who leaves.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LeaveGroupRequest {
    /// The group.
    pub group_id: String,
    /// The member. Up to version 2.
    pub member_id: String,
    /// The members. Since version 3.
    pub members: Vec<MemberIdentity>,
}

/// A member that leaves.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MemberIdentity {
    /// The member; may be empty for a static one.
    pub member_id: String,
    /// The static member's name; `None` for a dynamic one.
    pub group_instance_id: Option<String>,
    /// Why it leaves. Since version 5.
    pub reason: Option<String>,
}

impl Encode for LeaveGroupRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("groupId", &self.group_id);
        w.required_until(2, "memberId", self.member_id.is_empty(), |w| w.string("memberId", &self.member_id));
        w.required_since(3, "members", self.members.is_empty(), |w| w.array("members", &self.members));
    }
}

impl Decode for LeaveGroupRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            group_id: r.string("groupId")?,
            member_id: r.until(2, String::new(), |r| r.string("memberId"))?,
            members: r.since(3, Vec::new(), |r| r.array("members"))?,
        })
    }
}

impl Encode for MemberIdentity {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("memberId", &self.member_id);
        w.nullable_string("groupInstanceId", self.group_instance_id.as_deref());
        w.since(5, |w| w.nullable_string("reason", self.reason.as_deref()));
    }
}

impl Decode for MemberIdentity {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            member_id: r.string("memberId")?,
            group_instance_id: r.nullable_string("groupInstanceId")?,
            reason: r.since(5, None, |r| r.nullable_string("reason"))?,
        })
    }
}

impl Message for LeaveGroupRequest {
    const NAME: &'static str = "LeaveGroupRequest";
    const KEY: ApiKey = ApiKey::LEAVE_GROUP;
    const VERSIONS: RangeInclusive<i16> = 0..=5;
    const FLEXIBLE_FROM: i16 = 4;
}

impl Request for LeaveGroupRequest {
    type Response = LeaveGroupResponse;
    const NEWEST_STABLE: i16 = 5;
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LeaveGroupResponse {
    /// How long the request was held back by a quota, in milliseconds. Since version 1.
    pub throttle_time_ms: i32,
    /// The error of the whole request.
    pub error_code: ErrorCode,
    /// The members. Since version 3.
    pub members: Vec<MemberResponse>,
}

/// How it went for one member.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MemberResponse {
    /// The member.
    pub member_id: String,
    /// The static member's name; `None` for a dynamic one.
    pub group_instance_id: Option<String>,
    /// The error of the member.
    pub error_code: ErrorCode,
}

impl Encode for LeaveGroupResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.since(1, |w| w.i32("throttleTimeMs", self.throttle_time_ms));
        w.i16("errorCode", self.error_code.0);
        w.required_since(3, "members", self.members.is_empty(), |w| w.array("members", &self.members));
    }
}

impl Decode for LeaveGroupResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.since(1, 0, |r| r.i32("throttleTimeMs"))?,
            error_code: ErrorCode(r.i16("errorCode")?),
            members: r.since(3, Vec::new(), |r| r.array("members"))?,
        })
    }
}

impl Encode for MemberResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("memberId", &self.member_id);
        w.nullable_string("groupInstanceId", self.group_instance_id.as_deref());
        w.i16("errorCode", self.error_code.0);
    }
}

impl Decode for MemberResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            member_id: r.string("memberId")?,
            group_instance_id: r.nullable_string("groupInstanceId")?,
            error_code: ErrorCode(r.i16("errorCode")?),
        })
    }
}

impl Message for LeaveGroupResponse {
    const NAME: &'static str = "LeaveGroupResponse";
    const KEY: ApiKey = ApiKey::LEAVE_GROUP;
    const VERSIONS: RangeInclusive<i16> = 0..=5;
    const FLEXIBLE_FROM: i16 = 4;
}

impl Response for LeaveGroupResponse {
    const THROTTLES_SINCE: i16 = 2;

    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
