//! PushTelemetry (key 72, version 0, flexible): brings a client's metrics (KIP-714). Sent to any broker.

use std::ops::RangeInclusive;

use bytes::Bytes;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response, Uuid};

/// The metrics.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PushTelemetryRequest {
    /// The client's id.
    pub client_instance_id: Uuid,
    /// The set of metrics, as GetTelemetrySubscriptions gave it.
    pub subscription_id: i32,
    /// Whether this is the client's last push.
    pub terminating: bool,
    /// The compression: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.
    pub compression_type: i8,
    /// The metrics: OpenTelemetry's `MetricsData` v1 in protobuf, compressed.
    pub metrics: Bytes,
}

impl Encode for PushTelemetryRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.uuid("clientInstanceId", self.client_instance_id);
        w.i32("subscriptionId", self.subscription_id);
        w.bool("terminating", self.terminating);
        w.i8("compressionType", self.compression_type);
        w.bytes("metrics", &self.metrics);
    }
}

impl Decode for PushTelemetryRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            client_instance_id: r.uuid("clientInstanceId")?,
            subscription_id: r.i32("subscriptionId")?,
            terminating: r.bool("terminating")?,
            compression_type: r.i8("compressionType")?,
            metrics: r.bytes("metrics")?,
        })
    }
}

impl Message for PushTelemetryRequest {
    const NAME: &'static str = "PushTelemetryRequest";
    const KEY: ApiKey = ApiKey::PUSH_TELEMETRY;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Request for PushTelemetryRequest {
    type Response = PushTelemetryResponse;
    const NEWEST_STABLE: i16 = 0;
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PushTelemetryResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The error.
    pub error_code: ErrorCode,
}

impl Encode for PushTelemetryResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.i16("errorCode", self.error_code.0);
    }
}

impl Decode for PushTelemetryResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { throttle_time_ms: r.i32("throttleTimeMs")?, error_code: ErrorCode(r.i16("errorCode")?) })
    }
}

impl Message for PushTelemetryResponse {
    const NAME: &'static str = "PushTelemetryResponse";
    const KEY: ApiKey = ApiKey::PUSH_TELEMETRY;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Response for PushTelemetryResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
