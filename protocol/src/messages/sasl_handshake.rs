//! SaslHandshake (key 17, versions 0-1, never flexible): names the mechanism of the authentication that follows. Sent
//! before anything but ApiVersions on a connection with SASL.
//!
//! Version 1 makes the tokens travel in SaslAuthenticate; after version 0 they travel bare (KIP-152).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// The choice.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SaslHandshakeRequest {
    /// The mechanism, such as `SCRAM-SHA-256`.
    pub mechanism: String,
}

impl Encode for SaslHandshakeRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("mechanism", &self.mechanism);
    }
}

impl Decode for SaslHandshakeRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { mechanism: r.string("mechanism")? })
    }
}

impl Message for SaslHandshakeRequest {
    const NAME: &'static str = "SaslHandshakeRequest";
    const KEY: ApiKey = ApiKey::SASL_HANDSHAKE;
    const VERSIONS: RangeInclusive<i16> = 0..=1;
    const FLEXIBLE_FROM: i16 = i16::MAX;
}

impl Request for SaslHandshakeRequest {
    type Response = SaslHandshakeResponse;
    const NEWEST_STABLE: i16 = 1;
}

/// Whether the broker agrees.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SaslHandshakeResponse {
    /// The error; with UNSUPPORTED_SASL_MECHANISM see `mechanisms`.
    pub error_code: ErrorCode,
    /// The mechanisms that the broker has enabled.
    pub mechanisms: Vec<String>,
}

impl Encode for SaslHandshakeResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i16("errorCode", self.error_code.0);
        w.array("mechanisms", &self.mechanisms);
    }
}

impl Decode for SaslHandshakeResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { error_code: ErrorCode(r.i16("errorCode")?), mechanisms: r.array("mechanisms")? })
    }
}

impl Message for SaslHandshakeResponse {
    const NAME: &'static str = "SaslHandshakeResponse";
    const KEY: ApiKey = ApiKey::SASL_HANDSHAKE;
    const VERSIONS: RangeInclusive<i16> = 0..=1;
    const FLEXIBLE_FROM: i16 = i16::MAX;
}

impl Response for SaslHandshakeResponse {}
