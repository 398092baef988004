//! JoinGroup (key 11, versions 0-9, flexible from 6): makes a client a member of a group of the classic protocol, and
//! waits until all members have joined. Sent to the group's coordinator.
//!
//! Version 1 adds the rebalance timeout; 2 the throttle time; 4 makes a new member join twice, the second time with the
//! id it was given (KIP-394); 5 adds static members (KIP-345); 7 gives back the protocol type (KIP-559); 8 takes a
//! reason (KIP-800); 9 lets the leader skip the assignment (KIP-814).

use std::ops::RangeInclusive;

use bytes::Bytes;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// Who wants to join, and what it can do.
#[derive(Debug, Clone, PartialEq)]
pub struct JoinGroupRequest {
    /// The group.
    pub group_id: String,
    /// After how long without a heartbeat the coordinator takes the member for dead, in milliseconds.
    pub session_timeout_ms: i32,
    /// How long the coordinator waits for members to join again, in milliseconds; -1 for the session timeout. Since
    /// version 1.
    pub rebalance_timeout_ms: i32,
    /// The member's id; empty to be given one.
    pub member_id: String,
    /// The static member's name; `None` for a dynamic one. Since version 5.
    pub group_instance_id: Option<String>,
    /// The class of group: `consumer`, `connect` and others.
    pub protocol_type: String,
    /// The protocols that the member supports, the best first; assignors in a group of consumers.
    pub protocols: Vec<JoinGroupRequestProtocol>,
    /// Why the member joins. Since version 8.
    pub reason: Option<String>,
}

impl Default for JoinGroupRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            session_timeout_ms: 0,
            rebalance_timeout_ms: -1,
            member_id: String::new(),
            group_instance_id: None,
            protocol_type: String::new(),
            protocols: Vec::new(),
            reason: None,
        }
    }
}

/// A protocol that a member supports.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JoinGroupRequestProtocol {
    /// The protocol's name.
    pub name: String,
    /// What the protocol needs to know of the member; in a group of consumers a
    /// [`ConsumerProtocolSubscription`](super::consumer_protocol::ConsumerProtocolSubscription).
    pub metadata: Bytes,
}

impl Encode for JoinGroupRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("groupId", &self.group_id);
        w.i32("sessionTimeoutMs", self.session_timeout_ms);
        w.since(1, |w| w.i32("rebalanceTimeoutMs", self.rebalance_timeout_ms));
        w.string("memberId", &self.member_id);
        w.required_since(5, "groupInstanceId", self.group_instance_id.is_none(), |w| {
            w.nullable_string("groupInstanceId", self.group_instance_id.as_deref());
        });
        w.string("protocolType", &self.protocol_type);
        w.array("protocols", &self.protocols);
        w.since(8, |w| w.nullable_string("reason", self.reason.as_deref()));
    }
}

impl Decode for JoinGroupRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            group_id: r.string("groupId")?,
            session_timeout_ms: r.i32("sessionTimeoutMs")?,
            rebalance_timeout_ms: r.since(1, -1, |r| r.i32("rebalanceTimeoutMs"))?,
            member_id: r.string("memberId")?,
            group_instance_id: r.since(5, None, |r| r.nullable_string("groupInstanceId"))?,
            protocol_type: r.string("protocolType")?,
            protocols: r.array("protocols")?,
            reason: r.since(8, None, |r| r.nullable_string("reason"))?,
        })
    }
}

impl Encode for JoinGroupRequestProtocol {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.bytes("metadata", &self.metadata);
    }
}

impl Decode for JoinGroupRequestProtocol {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.string("name")?, metadata: r.bytes("metadata")? })
    }
}

impl Message for JoinGroupRequest {
    const NAME: &'static str = "JoinGroupRequest";
    const KEY: ApiKey = ApiKey::JOIN_GROUP;
    const VERSIONS: RangeInclusive<i16> = 0..=9;
    const FLEXIBLE_FROM: i16 = 6;
}

impl Request for JoinGroupRequest {
    type Response = JoinGroupResponse;
    const NEWEST_STABLE: i16 = 9;
}

/// The group after the join.
#[derive(Debug, Clone, PartialEq)]
pub struct JoinGroupResponse {
    /// How long the request was held back by a quota, in milliseconds. Since version 2.
    pub throttle_time_ms: i32,
    /// The error; MEMBER_ID_REQUIRED asks to join again with `member_id`.
    pub error_code: ErrorCode,
    /// The group's generation; -1 with an error.
    pub generation_id: i32,
    /// The class of group. Since version 7.
    pub protocol_type: Option<String>,
    /// The protocol that the coordinator chose; may be `None` since version 7.
    pub protocol_name: Option<String>,
    /// The member that leads the group.
    pub leader: String,
    /// Whether the leader is not to assign anew. Since version 9.
    pub skip_assignment: bool,
    /// The member's own id.
    pub member_id: String,
    /// All members, for the leader alone.
    pub members: Vec<JoinGroupResponseMember>,
}

impl Default for JoinGroupResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode::NONE,
            generation_id: -1,
            protocol_type: None,
            protocol_name: Some(String::new()),
            leader: String::new(),
            skip_assignment: false,
            member_id: String::new(),
            members: Vec::new(),
        }
    }
}

/// A member of the group.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JoinGroupResponseMember {
    /// The member.
    pub member_id: String,
    /// The static member's name; `None` for a dynamic one. Since version 5.
    pub group_instance_id: Option<String>,
    /// What it said under the chosen protocol.
    pub metadata: Bytes,
}

impl Encode for JoinGroupResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.since(2, |w| w.i32("throttleTimeMs", self.throttle_time_ms));
        w.i16("errorCode", self.error_code.0);
        w.i32("generationId", self.generation_id);
        w.since(7, |w| w.nullable_string("protocolType", self.protocol_type.as_deref()));
        w.nullable_since(7).nullable_string("protocolName", self.protocol_name.as_deref());
        w.string("leader", &self.leader);
        w.required_since(9, "skipAssignment", !self.skip_assignment, |w| {
            w.bool("skipAssignment", self.skip_assignment);
        });
        w.string("memberId", &self.member_id);
        w.array("members", &self.members);
    }
}

impl Decode for JoinGroupResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.since(2, 0, |r| r.i32("throttleTimeMs"))?,
            error_code: ErrorCode(r.i16("errorCode")?),
            generation_id: r.i32("generationId")?,
            protocol_type: r.since(7, None, |r| r.nullable_string("protocolType"))?,
            protocol_name: r.nullable_since(7).nullable_string("protocolName")?,
            leader: r.string("leader")?,
            skip_assignment: r.since(9, false, |r| r.bool("skipAssignment"))?,
            member_id: r.string("memberId")?,
            members: r.array("members")?,
        })
    }
}

impl Encode for JoinGroupResponseMember {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("memberId", &self.member_id);
        w.since(5, |w| w.nullable_string("groupInstanceId", self.group_instance_id.as_deref()));
        w.bytes("metadata", &self.metadata);
    }
}

impl Decode for JoinGroupResponseMember {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            member_id: r.string("memberId")?,
            group_instance_id: r.since(5, None, |r| r.nullable_string("groupInstanceId"))?,
            metadata: r.bytes("metadata")?,
        })
    }
}

impl Message for JoinGroupResponse {
    const NAME: &'static str = "JoinGroupResponse";
    const KEY: ApiKey = ApiKey::JOIN_GROUP;
    const VERSIONS: RangeInclusive<i16> = 0..=9;
    const FLEXIBLE_FROM: i16 = 6;
}

impl Response for JoinGroupResponse {
    const THROTTLES_SINCE: i16 = 3;

    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
