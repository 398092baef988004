//! FindCoordinator (key 10, versions 0-6, flexible from 3): which broker looks after a group, a transactional id or a
//! share partition. Sent to any broker.
//!
//! Version 1 adds the key type, the throttle time and the error message; 4 asks about several keys at once (KIP-699);
//! 5 may answer TRANSACTION_ABORTABLE (KIP-890); 6 adds share partitions (KIP-932).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// Whose coordinators are wanted.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FindCoordinatorRequest {
    /// The key, up to version 3.
    pub key: String,
    /// 0: group id, 1: transactional id (since version 1), 2: share partition (since version 6).
    pub key_type: i8,
    /// The keys, since version 4. A share partition is written `group:topicId:partition`.
    pub coordinator_keys: Vec<String>,
}

impl Encode for FindCoordinatorRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.required_until(3, "key", self.key.is_empty(), |w| w.string("key", &self.key));
        w.required_since(1, "keyType", self.key_type == 0, |w| w.i8("keyType", self.key_type));
        w.required_since(4, "coordinatorKeys", self.coordinator_keys.is_empty(), |w| {
            w.array("coordinatorKeys", &self.coordinator_keys);
        });
    }
}

impl Decode for FindCoordinatorRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            key: r.until(3, String::new(), |r| r.string("key"))?,
            key_type: r.since(1, 0, |r| r.i8("keyType"))?,
            coordinator_keys: r.since(4, Vec::new(), |r| r.array("coordinatorKeys"))?,
        })
    }
}

impl Message for FindCoordinatorRequest {
    const NAME: &'static str = "FindCoordinatorRequest";
    const KEY: ApiKey = ApiKey::FIND_COORDINATOR;
    const VERSIONS: RangeInclusive<i16> = 0..=6;
    const FLEXIBLE_FROM: i16 = 3;
}

impl Request for FindCoordinatorRequest {
    type Response = FindCoordinatorResponse;
    const NEWEST_STABLE: i16 = 6;
}

/// The coordinators.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FindCoordinatorResponse {
    /// How long the request was held back by a quota, in milliseconds. Since version 1.
    pub throttle_time_ms: i32,
    /// The error, up to version 3.
    pub error_code: ErrorCode,
    /// What the error was about, in versions 1 to 3.
    pub error_message: Option<String>,
    /// The coordinator, up to version 3; -1 with an error.
    pub node_id: i32,
    /// Its host name or address, up to version 3.
    pub host: String,
    /// Its port, up to version 3.
    pub port: i32,
    /// The coordinator of each key, since version 4.
    pub coordinators: Vec<Coordinator>,
}

/// The coordinator of one key.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Coordinator {
    /// The key.
    pub key: String,
    /// The coordinator; -1 with an error.
    pub node_id: i32,
    /// Its host name or address.
    pub host: String,
    /// Its port.
    pub port: i32,
    /// The error of this key.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
}

impl Encode for FindCoordinatorResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.since(1, |w| w.i32("throttleTimeMs", self.throttle_time_ms));
        w.required_until(3, "errorCode", self.error_code.is_none(), |w| w.i16("errorCode", self.error_code.0));
        w.since(1, |w| w.until(3, |w| w.nullable_string("errorMessage", self.error_message.as_deref())));
        w.required_until(3, "nodeId", self.node_id == 0, |w| w.i32("nodeId", self.node_id));
        w.required_until(3, "host", self.host.is_empty(), |w| w.string("host", &self.host));
        w.required_until(3, "port", self.port == 0, |w| w.i32("port", self.port));
        w.required_since(4, "coordinators", self.coordinators.is_empty(), |w| {
            w.array("coordinators", &self.coordinators);
        });
    }
}

impl Decode for FindCoordinatorResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.since(1, 0, |r| r.i32("throttleTimeMs"))?,
            error_code: r.until(3, ErrorCode::NONE, |r| r.i16("errorCode").map(ErrorCode))?,
            error_message: r.since(1, None, |r| r.until(3, None, |r| r.nullable_string("errorMessage")))?,
            node_id: r.until(3, 0, |r| r.i32("nodeId"))?,
            host: r.until(3, String::new(), |r| r.string("host"))?,
            port: r.until(3, 0, |r| r.i32("port"))?,
            coordinators: r.since(4, Vec::new(), |r| r.array("coordinators"))?,
        })
    }
}

impl Encode for Coordinator {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("key", &self.key);
        w.i32("nodeId", self.node_id);
        w.string("host", &self.host);
        w.i32("port", self.port);
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
    }
}

impl Decode for Coordinator {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            key: r.string("key")?,
            node_id: r.i32("nodeId")?,
            host: r.string("host")?,
            port: r.i32("port")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
        })
    }
}

impl Message for FindCoordinatorResponse {
    const NAME: &'static str = "FindCoordinatorResponse";
    const KEY: ApiKey = ApiKey::FIND_COORDINATOR;
    const VERSIONS: RangeInclusive<i16> = 0..=6;
    const FLEXIBLE_FROM: i16 = 3;
}

impl Response for FindCoordinatorResponse {
    const THROTTLES_SINCE: i16 = 2;

    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
