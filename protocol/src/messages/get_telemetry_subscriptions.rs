//! GetTelemetrySubscriptions (key 71, version 0, flexible): asks which metrics the cluster wants of a client (KIP-714).
//! Sent to any broker.

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response, Uuid};

/// Who asks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GetTelemetrySubscriptionsRequest {
    /// The client's id; zero to be given one.
    pub client_instance_id: Uuid,
}

impl Encode for GetTelemetrySubscriptionsRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.uuid("clientInstanceId", self.client_instance_id);
    }
}

impl Decode for GetTelemetrySubscriptionsRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { client_instance_id: r.uuid("clientInstanceId")? })
    }
}

impl Message for GetTelemetrySubscriptionsRequest {
    const NAME: &'static str = "GetTelemetrySubscriptionsRequest";
    const KEY: ApiKey = ApiKey::GET_TELEMETRY_SUBSCRIPTIONS;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Request for GetTelemetrySubscriptionsRequest {
    type Response = GetTelemetrySubscriptionsResponse;
    const NEWEST_STABLE: i16 = 0;
}

/// What the cluster wants.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GetTelemetrySubscriptionsResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The error.
    pub error_code: ErrorCode,
    /// The id given to the client; zero where it brought one.
    pub client_instance_id: Uuid,
    /// Which set of metrics this is, to be named in PushTelemetry.
    pub subscription_id: i32,
    /// The compressions that the broker reads, the best first: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.
    pub accepted_compression_types: Vec<i8>,
    /// How long to wait between pushes, in milliseconds.
    pub push_interval_ms: i32,
    /// The bytes of metrics that the broker takes in one push.
    pub telemetry_max_bytes: i32,
    /// Whether counters are to be sent as differences rather than totals.
    pub delta_temporality: bool,
    /// What the names of the metrics begin with; no element for none, an empty one for all.
    pub requested_metrics: Vec<String>,
}

impl Encode for GetTelemetrySubscriptionsResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.i16("errorCode", self.error_code.0);
        w.uuid("clientInstanceId", self.client_instance_id);
        w.i32("subscriptionId", self.subscription_id);
        w.array("acceptedCompressionTypes", &self.accepted_compression_types);
        w.i32("pushIntervalMs", self.push_interval_ms);
        w.i32("telemetryMaxBytes", self.telemetry_max_bytes);
        w.bool("deltaTemporality", self.delta_temporality);
        w.array("requestedMetrics", &self.requested_metrics);
    }
}

impl Decode for GetTelemetrySubscriptionsResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.i32("throttleTimeMs")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            client_instance_id: r.uuid("clientInstanceId")?,
            subscription_id: r.i32("subscriptionId")?,
            accepted_compression_types: r.array("acceptedCompressionTypes")?,
            push_interval_ms: r.i32("pushIntervalMs")?,
            telemetry_max_bytes: r.i32("telemetryMaxBytes")?,
            delta_temporality: r.bool("deltaTemporality")?,
            requested_metrics: r.array("requestedMetrics")?,
        })
    }
}

impl Message for GetTelemetrySubscriptionsResponse {
    const NAME: &'static str = "GetTelemetrySubscriptionsResponse";
    const KEY: ApiKey = ApiKey::GET_TELEMETRY_SUBSCRIPTIONS;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Response for GetTelemetrySubscriptionsResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
