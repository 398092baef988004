//! Heartbeat (key 12, versions 0-4, flexible from 4): keeps a member of a group of the classic protocol alive, and
//! tells it of a rebalance. Sent to the group's coordinator.
//!
//! Version 1 adds the throttle time; 3 static members (KIP-345).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// Who is alive.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HeartbeatRequest {
    /// The group.
    pub group_id: String,
    /// The generation that the member knows.
    pub generation_id: i32,
    /// The member.
    pub member_id: String,
    /// The static member's name; `None` for a dynamic one. Since version 3.
    pub group_instance_id: Option<String>,
}

impl Encode for HeartbeatRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("groupId", &self.group_id);
        w.i32("generationId", self.generation_id);
        w.string("memberId", &self.member_id);
        w.required_since(3, "groupInstanceId", self.group_instance_id.is_none(), |w| {
            w.nullable_string("groupInstanceId", self.group_instance_id.as_deref());
        });
    }
}

impl Decode for HeartbeatRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            group_id: r.string("groupId")?,
            generation_id: r.i32("generationId")?,
            member_id: r.string("memberId")?,
            group_instance_id: r.since(3, None, |r| r.nullable_string("groupInstanceId"))?,
        })
    }
}

impl Message for HeartbeatRequest {
    const NAME: &'static str = "HeartbeatRequest";
    const KEY: ApiKey = ApiKey::HEARTBEAT;
    const VERSIONS: RangeInclusive<i16> = 0..=4;
    const FLEXIBLE_FROM: i16 = 4;
}

impl Request for HeartbeatRequest {
    type Response = HeartbeatResponse;
    const NEWEST_STABLE: i16 = 4;
}

/// Whether the member may go on.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HeartbeatResponse {
    /// How long the request was held back by a quota, in milliseconds. Since version 1.
    pub throttle_time_ms: i32,
    /// The error; REBALANCE_IN_PROGRESS asks the member to join again.
    pub error_code: ErrorCode,
}

impl Encode for HeartbeatResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.since(1, |w| w.i32("throttleTimeMs", self.throttle_time_ms));
        w.i16("errorCode", self.error_code.0);
    }
}

impl Decode for HeartbeatResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.since(1, 0, |r| r.i32("throttleTimeMs"))?,
            error_code: ErrorCode(r.i16("errorCode")?),
        })
    }
}

impl Message for HeartbeatResponse {
    const NAME: &'static str = "HeartbeatResponse";
    const KEY: ApiKey = ApiKey::HEARTBEAT;
    const VERSIONS: RangeInclusive<i16> = 0..=4;
    const FLEXIBLE_FROM: i16 = 4;
}

impl Response for HeartbeatResponse {
    const THROTTLES_SINCE: i16 = 2;

    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
