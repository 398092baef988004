//! DescribeCluster (key 60, versions 0-2, flexible): the brokers or the controllers of the cluster (KIP-700). Sent to
//! any broker or controller.
//!
//! Version 1 adds the endpoint type (KIP-919); 2 fenced brokers (KIP-1073).

use std::ops::RangeInclusive;

use super::OPERATIONS_NOT_REQUESTED;
use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// The endpoint type of brokers.
pub const BROKERS: i8 = 1;

/// The endpoint type of controllers.
pub const CONTROLLERS: i8 = 2;

/// What to describe.
#[derive(Debug, Clone, PartialEq)]
pub struct DescribeClusterRequest {
    /// Whether to say what the client may do with the cluster.
    pub include_cluster_authorized_operations: bool,
    /// [`BROKERS`] or [`CONTROLLERS`]. Since version 1.
    pub endpoint_type: i8,
    /// Whether to list brokers that are fenced too. Since version 2.
    pub include_fenced_brokers: bool,
}

impl Default for DescribeClusterRequest {
    fn default() -> Self {
        Self { include_cluster_authorized_operations: false, endpoint_type: BROKERS, include_fenced_brokers: false }
    }
}

impl Encode for DescribeClusterRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.bool("includeClusterAuthorizedOperations", self.include_cluster_authorized_operations);
        w.required_since(1, "endpointType", self.endpoint_type == BROKERS, |w| {
            w.i8("endpointType", self.endpoint_type);
        });
        w.required_since(2, "includeFencedBrokers", !self.include_fenced_brokers, |w| {
            w.bool("includeFencedBrokers", self.include_fenced_brokers);
        });
    }
}

impl Decode for DescribeClusterRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            include_cluster_authorized_operations: r.bool("includeClusterAuthorizedOperations")?,
            endpoint_type: r.since(1, BROKERS, |r| r.i8("endpointType"))?,
            include_fenced_brokers: r.since(2, false, |r| r.bool("includeFencedBrokers"))?,
        })
    }
}

impl Message for DescribeClusterRequest {
    const NAME: &'static str = "DescribeClusterRequest";
    const KEY: ApiKey = ApiKey::DESCRIBE_CLUSTER;
    const VERSIONS: RangeInclusive<i16> = 0..=2;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Request for DescribeClusterRequest {
    type Response = DescribeClusterResponse;
    const NEWEST_STABLE: i16 = 2;
}

/// The cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct DescribeClusterResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The error of the whole request.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
    /// [`BROKERS`] or [`CONTROLLERS`]. Since version 1.
    pub endpoint_type: i8,
    /// The cluster's id.
    pub cluster_id: String,
    /// The node to send controller requests to: the active controller, or from a broker any broker; -1 where there is
    /// none.
    pub controller_id: i32,
    /// The brokers or controllers.
    pub brokers: Vec<DescribeClusterBroker>,
    /// A bit for each operation that the client may do on the cluster, or [`OPERATIONS_NOT_REQUESTED`].
    pub cluster_authorized_operations: i32,
}

impl Default for DescribeClusterResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode::NONE,
            error_message: None,
            endpoint_type: BROKERS,
            cluster_id: String::new(),
            controller_id: -1,
            brokers: Vec::new(),
            cluster_authorized_operations: OPERATIONS_NOT_REQUESTED,
        }
    }
}

/// A broker or controller, and where it listens.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DescribeClusterBroker {
    /// The node.
    pub broker_id: i32,
    /// Its host name or address.
    pub host: String,
    /// Its port.
    pub port: i32,
    /// Its rack.
    pub rack: Option<String>,
    /// Whether it is fenced: registered, but not serving. Since version 2.
    pub is_fenced: bool,
}

impl Encode for DescribeClusterResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
        w.required_since(1, "endpointType", self.endpoint_type == BROKERS, |w| {
            w.i8("endpointType", self.endpoint_type);
        });
        w.string("clusterId", &self.cluster_id);
        w.i32("controllerId", self.controller_id);
        w.array("brokers", &self.brokers);
        w.i32("clusterAuthorizedOperations", self.cluster_authorized_operations);
    }
}

impl Decode for DescribeClusterResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.i32("throttleTimeMs")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
            endpoint_type: r.since(1, BROKERS, |r| r.i8("endpointType"))?,
            cluster_id: r.string("clusterId")?,
            controller_id: r.i32("controllerId")?,
            brokers: r.array("brokers")?,
            cluster_authorized_operations: r.i32("clusterAuthorizedOperations")?,
        })
    }
}

impl Encode for DescribeClusterBroker {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("brokerId", self.broker_id);
        w.string("host", &self.host);
        w.i32("port", self.port);
        w.nullable_string("rack", self.rack.as_deref());
        w.required_since(2, "isFenced", !self.is_fenced, |w| w.bool("isFenced", self.is_fenced));
    }
}

impl Decode for DescribeClusterBroker {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            broker_id: r.i32("brokerId")?,
            host: r.string("host")?,
            port: r.i32("port")?,
            rack: r.nullable_string("rack")?,
            is_fenced: r.since(2, false, |r| r.bool("isFenced"))?,
        })
    }
}

impl Message for DescribeClusterResponse {
    const NAME: &'static str = "DescribeClusterResponse";
    const KEY: ApiKey = ApiKey::DESCRIBE_CLUSTER;
    const VERSIONS: RangeInclusive<i16> = 0..=2;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Response for DescribeClusterResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
