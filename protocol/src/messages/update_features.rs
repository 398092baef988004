//! UpdateFeatures (key 57, versions 0-2, flexible): raises, lowers or deletes features that the whole cluster has
//! finalized (KIP-584). Sent to any broker, which passes it on to the controller.
//!
//! Version 1 adds kinds of upgrade and a trial run (KIP-778); 2 leaves out the results of single features.

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// The updates.
#[derive(Debug, Clone, PartialEq)]
pub struct UpdateFeaturesRequest {
    /// How long the broker may take, in milliseconds.
    pub timeout_ms: i32,
    /// The features.
    pub feature_updates: Vec<FeatureUpdateKey>,
    /// Whether only to say how it would go. Since version 1.
    pub validate_only: bool,
}

impl Default for UpdateFeaturesRequest {
    fn default() -> Self {
        Self { timeout_ms: 60_000, feature_updates: Vec::new(), validate_only: false }
    }
}

/// The update of one feature.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureUpdateKey {
    /// The feature.
    pub feature: String,
    /// The level that it is to have; below 1 to delete it.
    pub max_version_level: i16,
    /// Whether the level may fall. In version 0 alone.
    pub allow_downgrade: bool,
    /// 1: the level may rise, 2: it may fall if nothing is lost, 3: it may fall in any case. Since version 1.
    pub upgrade_type: i8,
}

impl Default for FeatureUpdateKey {
    fn default() -> Self {
        Self { feature: String::new(), max_version_level: 0, allow_downgrade: false, upgrade_type: 1 }
    }
}

impl Encode for UpdateFeaturesRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("timeoutMs", self.timeout_ms);
        w.array("featureUpdates", &self.feature_updates);
        w.required_since(1, "validateOnly", !self.validate_only, |w| w.bool("validateOnly", self.validate_only));
    }
}

impl Decode for UpdateFeaturesRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            timeout_ms: r.i32("timeoutMs")?,
            feature_updates: r.array("featureUpdates")?,
            validate_only: r.since(1, false, |r| r.bool("validateOnly"))?,
        })
    }
}

impl Encode for FeatureUpdateKey {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("feature", &self.feature);
        w.i16("maxVersionLevel", self.max_version_level);
        w.required_until(0, "allowDowngrade", !self.allow_downgrade, |w| {
            w.bool("allowDowngrade", self.allow_downgrade);
        });
        w.required_since(1, "upgradeType", self.upgrade_type == 1, |w| w.i8("upgradeType", self.upgrade_type));
    }
}

impl Decode for FeatureUpdateKey {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            feature: r.string("feature")?,
            max_version_level: r.i16("maxVersionLevel")?,
            allow_downgrade: r.until(0, false, |r| r.bool("allowDowngrade"))?,
            upgrade_type: r.since(1, 1, |r| r.i8("upgradeType"))?,
        })
    }
}

impl Message for UpdateFeaturesRequest {
    const NAME: &'static str = "UpdateFeaturesRequest";
    const KEY: ApiKey = ApiKey::UPDATE_FEATURES;
    const VERSIONS: RangeInclusive<i16> = 0..=2;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Request for UpdateFeaturesRequest {
    type Response = UpdateFeaturesResponse;
    const NEWEST_STABLE: i16 = 2;
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UpdateFeaturesResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The error of the whole request.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
    /// The features. Up to version 1.
    pub results: Vec<UpdatableFeatureResult>,
}

/// How it went for one feature.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UpdatableFeatureResult {
    /// The feature.
    pub feature: String,
    /// The error of the feature.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
}

impl Encode for UpdateFeaturesResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
        w.until(1, |w| w.array("results", &self.results));
    }
}

impl Decode for UpdateFeaturesResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.i32("throttleTimeMs")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
            results: r.until(1, Vec::new(), |r| r.array("results"))?,
        })
    }
}

impl Encode for UpdatableFeatureResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("feature", &self.feature);
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
    }
}

impl Decode for UpdatableFeatureResult {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            feature: r.string("feature")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
        })
    }
}

impl Message for UpdateFeaturesResponse {
    const NAME: &'static str = "UpdateFeaturesResponse";
    const KEY: ApiKey = ApiKey::UPDATE_FEATURES;
    const VERSIONS: RangeInclusive<i16> = 0..=2;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Response for UpdateFeaturesResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
