//! DescribeUserScramCredentials (key 50, version 0, flexible): which SCRAM credentials users have (KIP-554). Sent to
//! any broker or controller.

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// The users.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DescribeUserScramCredentialsRequest {
    /// The users; `None` or none for all.
    pub users: Option<Vec<UserName>>,
}

/// A user.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UserName {
    /// The user.
    pub name: String,
}

impl Encode for DescribeUserScramCredentialsRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.nullable_array("users", self.users.as_deref());
    }
}

impl Decode for DescribeUserScramCredentialsRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { users: r.nullable_array("users")? })
    }
}

impl Encode for UserName {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
    }
}

impl Decode for UserName {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.string("name")? })
    }
}

impl Message for DescribeUserScramCredentialsRequest {
    const NAME: &'static str = "DescribeUserScramCredentialsRequest";
    const KEY: ApiKey = ApiKey::DESCRIBE_USER_SCRAM_CREDENTIALS;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Request for DescribeUserScramCredentialsRequest {
    type Response = DescribeUserScramCredentialsResponse;
    const NEWEST_STABLE: i16 = 0;
}

/// The credentials.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DescribeUserScramCredentialsResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The error of the whole request.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
    /// The users.
    pub results: Vec<DescribeUserScramCredentialsResult>,
}

/// The credentials of one user.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DescribeUserScramCredentialsResult {
    /// The user.
    pub user: String,
    /// The error of the user.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
    /// The credentials.
    pub credential_infos: Vec<CredentialInfo>,
}

/// One credential.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CredentialInfo {
    /// 1: SCRAM-SHA-256, 2: SCRAM-SHA-512.
    pub mechanism: i8,
    /// How often the password is hashed.
    pub iterations: i32,
}

impl Encode for DescribeUserScramCredentialsResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
        w.array("results", &self.results);
    }
}

impl Decode for DescribeUserScramCredentialsResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.i32("throttleTimeMs")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
            results: r.array("results")?,
        })
    }
}

impl Encode for DescribeUserScramCredentialsResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("user", &self.user);
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
        w.array("credentialInfos", &self.credential_infos);
    }
}

impl Decode for DescribeUserScramCredentialsResult {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            user: r.string("user")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
            credential_infos: r.array("credentialInfos")?,
        })
    }
}

impl Encode for CredentialInfo {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i8("mechanism", self.mechanism);
        w.i32("iterations", self.iterations);
    }
}

impl Decode for CredentialInfo {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { mechanism: r.i8("mechanism")?, iterations: r.i32("iterations")? })
    }
}

impl Message for DescribeUserScramCredentialsResponse {
    const NAME: &'static str = "DescribeUserScramCredentialsResponse";
    const KEY: ApiKey = ApiKey::DESCRIBE_USER_SCRAM_CREDENTIALS;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Response for DescribeUserScramCredentialsResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
