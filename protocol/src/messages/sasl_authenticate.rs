//! SaslAuthenticate (key 36, versions 0-2, flexible from 2): carries the tokens of an authentication, one step a
//! request (KIP-152). Sent after SaslHandshake 1 on a new connection, and again before the session ends (KIP-368).
//!
//! Version 1 adds the session's lifetime (KIP-368).

use std::fmt;
use std::ops::RangeInclusive;

use bytes::Bytes;

use super::redacted::Redacted;
use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// The client's step.
#[derive(Clone, PartialEq, Default)]
pub struct SaslAuthenticateRequest {
    /// The token, as the mechanism forms it. It may hold a password, so `Debug` shows its length alone.
    pub auth_bytes: Bytes,
}

impl fmt::Debug for SaslAuthenticateRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SaslAuthenticateRequest").field("auth_bytes", &Redacted(&self.auth_bytes)).finish()
    }
}

impl Encode for SaslAuthenticateRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.bytes("authBytes", &self.auth_bytes);
    }
}

impl Decode for SaslAuthenticateRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { auth_bytes: r.bytes("authBytes")? })
    }
}

impl Message for SaslAuthenticateRequest {
    const NAME: &'static str = "SaslAuthenticateRequest";
    const KEY: ApiKey = ApiKey::SASL_AUTHENTICATE;
    const VERSIONS: RangeInclusive<i16> = 0..=2;
    const FLEXIBLE_FROM: i16 = 2;
}

impl Request for SaslAuthenticateRequest {
    type Response = SaslAuthenticateResponse;
    const NEWEST_STABLE: i16 = 2;
}

/// The broker's step.
#[derive(Clone, PartialEq, Default)]
pub struct SaslAuthenticateResponse {
    /// The error.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
    /// The token, as the mechanism forms it; `Debug` shows its length alone.
    pub auth_bytes: Bytes,
    /// After how long the broker closes the connection unless the client authenticates again, in milliseconds; 0 for
    /// never. Since version 1.
    pub session_lifetime_ms: i64,
}

impl fmt::Debug for SaslAuthenticateResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SaslAuthenticateResponse")
            .field("error_code", &self.error_code)
            .field("error_message", &self.error_message)
            .field("auth_bytes", &Redacted(&self.auth_bytes))
            .field("session_lifetime_ms", &self.session_lifetime_ms)
            .finish()
    }
}

impl Encode for SaslAuthenticateResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
        w.bytes("authBytes", &self.auth_bytes);
        w.since(1, |w| w.i64("sessionLifetimeMs", self.session_lifetime_ms));
    }
}

impl Decode for SaslAuthenticateResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
            auth_bytes: r.bytes("authBytes")?,
            session_lifetime_ms: r.since(1, 0, |r| r.i64("sessionLifetimeMs"))?,
        })
    }
}

impl Message for SaslAuthenticateResponse {
    const NAME: &'static str = "SaslAuthenticateResponse";
    const KEY: ApiKey = ApiKey::SASL_AUTHENTICATE;
    const VERSIONS: RangeInclusive<i16> = 0..=2;
    const FLEXIBLE_FROM: i16 = 2;
}

impl Response for SaslAuthenticateResponse {}
