//! SyncGroup (key 14, versions 0-5, flexible from 4): hands out the leader's assignment to the members of a group of
//! the classic protocol. Sent to the group's coordinator.
//!
//! Version 1 adds the throttle time; 3 static members (KIP-345); 5 protocol type and name, by which a mismatch is found
//! (KIP-559).

use std::ops::RangeInclusive;

use bytes::Bytes;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// A member that waits for its assignment; the leader brings everybody's.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SyncGroupRequest {
    /// The group.
    pub group_id: String,
    /// The generation that the member knows.
    pub generation_id: i32,
    /// The member.
    pub member_id: String,
    /// The static member's name; `None` for a dynamic one. Since version 3.
    pub group_instance_id: Option<String>,
    /// The class of group; `None` where the member does not say. Since version 5.
    pub protocol_type: Option<String>,
    /// The protocol; `None` where the member does not say. Since version 5.
    pub protocol_name: Option<String>,
    /// The assignment of each member; empty but for the leader.
    pub assignments: Vec<SyncGroupRequestAssignment>,
}

/// The assignment of one member.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SyncGroupRequestAssignment {
    /// The member.
    pub member_id: String,
    /// What it is to do; in a group of consumers a
    /// [`ConsumerProtocolAssignment`](super::consumer_protocol::ConsumerProtocolAssignment).
    pub assignment: Bytes,
}

impl Encode for SyncGroupRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("groupId", &self.group_id);
        w.i32("generationId", self.generation_id);
        w.string("memberId", &self.member_id);
        w.required_since(3, "groupInstanceId", self.group_instance_id.is_none(), |w| {
            w.nullable_string("groupInstanceId", self.group_instance_id.as_deref());
        });
        w.since(5, |w| w.nullable_string("protocolType", self.protocol_type.as_deref()));
        w.since(5, |w| w.nullable_string("protocolName", self.protocol_name.as_deref()));
        w.array("assignments", &self.assignments);
    }
}

impl Decode for SyncGroupRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            group_id: r.string("groupId")?,
            generation_id: r.i32("generationId")?,
            member_id: r.string("memberId")?,
            group_instance_id: r.since(3, None, |r| r.nullable_string("groupInstanceId"))?,
            protocol_type: r.since(5, None, |r| r.nullable_string("protocolType"))?,
            protocol_name: r.since(5, None, |r| r.nullable_string("protocolName"))?,
            assignments: r.array("assignments")?,
        })
    }
}

impl Encode for SyncGroupRequestAssignment {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("memberId", &self.member_id);
        w.bytes("assignment", &self.assignment);
    }
}

impl Decode for SyncGroupRequestAssignment {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { member_id: r.string("memberId")?, assignment: r.bytes("assignment")? })
    }
}

impl Message for SyncGroupRequest {
    const NAME: &'static str = "SyncGroupRequest";
    const KEY: ApiKey = ApiKey::SYNC_GROUP;
    const VERSIONS: RangeInclusive<i16> = 0..=5;
    const FLEXIBLE_FROM: i16 = 4;
}

impl Request for SyncGroupRequest {
    type Response = SyncGroupResponse;
    const NEWEST_STABLE: i16 = 5;
}

/// The member's assignment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SyncGroupResponse {
    /// How long the request was held back by a quota, in milliseconds. Since version 1.
    pub throttle_time_ms: i32,
    /// The error; REBALANCE_IN_PROGRESS asks the member to join again.
    pub error_code: ErrorCode,
    /// The class of group. Since version 5.
    pub protocol_type: Option<String>,
    /// The protocol. Since version 5.
    pub protocol_name: Option<String>,
    /// What the member is to do.
    pub assignment: Bytes,
}

impl Encode for SyncGroupResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.since(1, |w| w.i32("throttleTimeMs", self.throttle_time_ms));
        w.i16("errorCode", self.error_code.0);
        w.since(5, |w| w.nullable_string("protocolType", self.protocol_type.as_deref()));
        w.since(5, |w| w.nullable_string("protocolName", self.protocol_name.as_deref()));
        w.bytes("assignment", &self.assignment);
    }
}

impl Decode for SyncGroupResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.since(1, 0, |r| r.i32("throttleTimeMs"))?,
            error_code: ErrorCode(r.i16("errorCode")?),
            protocol_type: r.since(5, None, |r| r.nullable_string("protocolType"))?,
            protocol_name: r.since(5, None, |r| r.nullable_string("protocolName"))?,
            assignment: r.bytes("assignment")?,
        })
    }
}

impl Message for SyncGroupResponse {
    const NAME: &'static str = "SyncGroupResponse";
    const KEY: ApiKey = ApiKey::SYNC_GROUP;
    const VERSIONS: RangeInclusive<i16> = 0..=5;
    const FLEXIBLE_FROM: i16 = 4;
}

impl Response for SyncGroupResponse {
    const THROTTLES_SINCE: i16 = 2;

    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
