//! ListGroups (key 16, versions 0-5, flexible from 3): the groups that a broker coordinates. Sent to every broker to
//! get all of the cluster's.
//!
//! Version 1 adds the throttle time; 4 states and a filter on them (KIP-518); 5 types and a filter on them (KIP-848).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// Which groups to list.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ListGroupsRequest {
    /// The states wanted, such as `Stable`; empty for all. Since version 4.
    pub states_filter: Vec<String>,
    /// The types wanted, such as `share`; empty for all. Since version 5.
    pub types_filter: Vec<String>,
}

impl Encode for ListGroupsRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.required_since(4, "statesFilter", self.states_filter.is_empty(), |w| {
            w.array("statesFilter", &self.states_filter);
        });
        w.required_since(5, "typesFilter", self.types_filter.is_empty(), |w| {
            w.array("typesFilter", &self.types_filter);
        });
    }
}

impl Decode for ListGroupsRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            states_filter: r.since(4, Vec::new(), |r| r.array("statesFilter"))?,
            types_filter: r.since(5, Vec::new(), |r| r.array("typesFilter"))?,
        })
    }
}

impl Message for ListGroupsRequest {
    const NAME: &'static str = "ListGroupsRequest";
    const KEY: ApiKey = ApiKey::LIST_GROUPS;
    const VERSIONS: RangeInclusive<i16> = 0..=5;
    const FLEXIBLE_FROM: i16 = 3;
}

impl Request for ListGroupsRequest {
    type Response = ListGroupsResponse;
    const NEWEST_STABLE: i16 = 5;
}

/// The groups.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ListGroupsResponse {
    /// How long the request was held back by a quota, in milliseconds. Since version 1.
    pub throttle_time_ms: i32,
    /// The error of the whole request.
    pub error_code: ErrorCode,
    /// The groups.
    pub groups: Vec<ListedGroup>,
}

/// A group.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ListedGroup {
    /// The group.
    pub group_id: String,
    /// The protocol that its members speak, such as `consumer` or `share`.
    pub protocol_type: String,
    /// Its state, such as `Stable`. Since version 4.
    pub group_state: String,
    /// Its type, such as `share`. Since version 5.
    pub group_type: String,
}

impl Encode for ListGroupsResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.since(1, |w| w.i32("throttleTimeMs", self.throttle_time_ms));
        w.i16("errorCode", self.error_code.0);
        w.array("groups", &self.groups);
    }
}

impl Decode for ListGroupsResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.since(1, 0, |r| r.i32("throttleTimeMs"))?,
            error_code: ErrorCode(r.i16("errorCode")?),
            groups: r.array("groups")?,
        })
    }
}

impl Encode for ListedGroup {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("groupId", &self.group_id);
        w.string("protocolType", &self.protocol_type);
        w.since(4, |w| w.string("groupState", &self.group_state));
        w.since(5, |w| w.string("groupType", &self.group_type));
    }
}

impl Decode for ListedGroup {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            group_id: r.string("groupId")?,
            protocol_type: r.string("protocolType")?,
            group_state: r.since(4, String::new(), |r| r.string("groupState"))?,
            group_type: r.since(5, String::new(), |r| r.string("groupType"))?,
        })
    }
}

impl Message for ListGroupsResponse {
    const NAME: &'static str = "ListGroupsResponse";
    const KEY: ApiKey = ApiKey::LIST_GROUPS;
    const VERSIONS: RangeInclusive<i16> = 0..=5;
    const FLEXIBLE_FROM: i16 = 3;
}

impl Response for ListGroupsResponse {
    const THROTTLES_SINCE: i16 = 2;

    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
