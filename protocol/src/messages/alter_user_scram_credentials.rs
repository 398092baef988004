//! AlterUserScramCredentials (key 51, version 0, flexible): makes, changes and deletes SCRAM credentials (KIP-554).
//! Sent to any broker, which passes it on to the controller.

use std::fmt;
use std::ops::RangeInclusive;

use bytes::Bytes;

use super::redacted::Redacted;
use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// The changes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AlterUserScramCredentialsRequest {
    /// The credentials to delete.
    pub deletions: Vec<ScramCredentialDeletion>,
    /// The credentials to make or to change.
    pub upsertions: Vec<ScramCredentialUpsertion>,
}

/// A credential to delete.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScramCredentialDeletion {
    /// The user.
    pub name: String,
    /// 1: SCRAM-SHA-256, 2: SCRAM-SHA-512.
    pub mechanism: i8,
}

/// A credential to make or to change.
#[derive(Clone, PartialEq, Default)]
pub struct ScramCredentialUpsertion {
    /// The user.
    pub name: String,
    /// 1: SCRAM-SHA-256, 2: SCRAM-SHA-512.
    pub mechanism: i8,
    /// How often the password is hashed.
    pub iterations: i32,
    /// The salt, made at random by the client; `Debug` shows its length alone, because with it passwords can be guessed.
    pub salt: Bytes,
    /// The password after salting, good for logging in; `Debug` shows its length alone.
    pub salted_password: Bytes,
}

impl fmt::Debug for ScramCredentialUpsertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScramCredentialUpsertion")
            .field("name", &self.name)
            .field("mechanism", &self.mechanism)
            .field("iterations", &self.iterations)
            .field("salt", &Redacted(&self.salt))
            .field("salted_password", &Redacted(&self.salted_password))
            .finish()
    }
}

impl Encode for AlterUserScramCredentialsRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("deletions", &self.deletions);
        w.array("upsertions", &self.upsertions);
    }
}

impl Decode for AlterUserScramCredentialsRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { deletions: r.array("deletions")?, upsertions: r.array("upsertions")? })
    }
}

impl Encode for ScramCredentialDeletion {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.i8("mechanism", self.mechanism);
    }
}

impl Decode for ScramCredentialDeletion {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.string("name")?, mechanism: r.i8("mechanism")? })
    }
}

impl Encode for ScramCredentialUpsertion {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.i8("mechanism", self.mechanism);
        w.i32("iterations", self.iterations);
        w.bytes("salt", &self.salt);
        w.bytes("saltedPassword", &self.salted_password);
    }
}

impl Decode for ScramCredentialUpsertion {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            name: r.string("name")?,
            mechanism: r.i8("mechanism")?,
            iterations: r.i32("iterations")?,
            salt: r.bytes("salt")?,
            salted_password: r.bytes("saltedPassword")?,
        })
    }
}

impl Message for AlterUserScramCredentialsRequest {
    const NAME: &'static str = "AlterUserScramCredentialsRequest";
    const KEY: ApiKey = ApiKey::ALTER_USER_SCRAM_CREDENTIALS;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Request for AlterUserScramCredentialsRequest {
    type Response = AlterUserScramCredentialsResponse;
    const NEWEST_STABLE: i16 = 0;
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AlterUserScramCredentialsResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The users.
    pub results: Vec<AlterUserScramCredentialsResult>,
}

/// How it went for one user.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AlterUserScramCredentialsResult {
    /// The user.
    pub user: String,
    /// The error of the user.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
}

impl Encode for AlterUserScramCredentialsResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.array("results", &self.results);
    }
}

impl Decode for AlterUserScramCredentialsResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { throttle_time_ms: r.i32("throttleTimeMs")?, results: r.array("results")? })
    }
}

impl Encode for AlterUserScramCredentialsResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("user", &self.user);
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
    }
}

impl Decode for AlterUserScramCredentialsResult {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            user: r.string("user")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
        })
    }
}

impl Message for AlterUserScramCredentialsResponse {
    const NAME: &'static str = "AlterUserScramCredentialsResponse";
    const KEY: ApiKey = ApiKey::ALTER_USER_SCRAM_CREDENTIALS;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Response for AlterUserScramCredentialsResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
