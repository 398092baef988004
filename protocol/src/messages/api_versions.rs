//! ApiVersions (key 18, versions 0-5, flexible from 3): which APIs a broker offers, in which versions, and the
//! cluster's features. The first request on every connection.
//!
//! Version 1 adds the throttle time; 3 the client's name and version (KIP-511) and the features; 4 allows features
//! that begin at 0 (KAFKA-17011); 5 names the broker that the client means to reach, so that another can answer
//! REBOOTSTRAP_REQUIRED (KIP-1242). The response's header is version 0 always.

use std::ops::RangeInclusive;

use bytes::Bytes;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// Who asks.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiVersionsRequest {
    /// The client's name. Since version 3.
    pub client_software_name: String,
    /// The client's version. Since version 3.
    pub client_software_version: String,
    /// The cluster that the client means to reach, if it knows. Since version 5.
    pub cluster_id: Option<String>,
    /// The broker that the client means to reach; -1 where it does not know. Since version 5.
    pub node_id: i32,
}

impl Default for ApiVersionsRequest {
    fn default() -> Self {
        Self {
            client_software_name: String::new(),
            client_software_version: String::new(),
            cluster_id: None,
            node_id: -1,
        }
    }
}

impl Encode for ApiVersionsRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.since(3, |w| w.string("clientSoftwareName", &self.client_software_name));
        w.since(3, |w| w.string("clientSoftwareVersion", &self.client_software_version));
        w.since(5, |w| w.nullable_string("clusterId", self.cluster_id.as_deref()));
        w.since(5, |w| w.i32("nodeId", self.node_id));
    }
}

impl Decode for ApiVersionsRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            client_software_name: r.since(3, String::new(), |r| r.string("clientSoftwareName"))?,
            client_software_version: r.since(3, String::new(), |r| r.string("clientSoftwareVersion"))?,
            cluster_id: r.since(5, None, |r| r.nullable_string("clusterId"))?,
            node_id: r.since(5, -1, |r| r.i32("nodeId"))?,
        })
    }
}

impl Message for ApiVersionsRequest {
    const NAME: &'static str = "ApiVersionsRequest";
    const KEY: ApiKey = ApiKey::API_VERSIONS;
    const VERSIONS: RangeInclusive<i16> = 0..=5;
    const FLEXIBLE_FROM: i16 = 3;
}

impl Request for ApiVersionsRequest {
    type Response = ApiVersionsResponse;
    const NEWEST_STABLE: i16 = 5;
}

/// What the broker offers.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiVersionsResponse {
    /// The error of the whole request.
    pub error_code: ErrorCode,
    /// The APIs.
    pub api_keys: Vec<ApiVersion>,
    /// How long the request was held back by a quota, in milliseconds. Since version 1.
    pub throttle_time_ms: i32,
    /// The features that the broker supports; up to version 3 without those that begin at 0. Since version 3.
    pub supported_features: Vec<SupportedFeatureKey>,
    /// The epoch of the finalized features; -1 where it is unknown. Since version 3.
    pub finalized_features_epoch: i64,
    /// The features that the whole cluster has; valid with an epoch of 0 or more. Since version 3.
    pub finalized_features: Vec<FinalizedFeatureKey>,
    /// Whether a controller could migrate from ZooKeeper. Since version 3.
    pub zk_migration_ready: bool,
}

impl Default for ApiVersionsResponse {
    fn default() -> Self {
        Self {
            error_code: ErrorCode::NONE,
            api_keys: Vec::new(),
            throttle_time_ms: 0,
            supported_features: Vec::new(),
            finalized_features_epoch: -1,
            finalized_features: Vec::new(),
            zk_migration_ready: false,
        }
    }
}

/// An API, and its versions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ApiVersion {
    /// The API's key.
    pub api_key: i16,
    /// The oldest version.
    pub min_version: i16,
    /// The newest version.
    pub max_version: i16,
}

/// A feature that the broker supports.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SupportedFeatureKey {
    /// The feature, such as `share.version`.
    pub name: String,
    /// The oldest version.
    pub min_version: i16,
    /// The newest version.
    pub max_version: i16,
}

/// A feature that the whole cluster has.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FinalizedFeatureKey {
    /// The feature, such as `share.version`.
    pub name: String,
    /// The level in force.
    pub max_version_level: i16,
    /// The lowest level allowed.
    pub min_version_level: i16,
}

impl ApiVersionsResponse {
    /// Reads the body of an answer to a request of `asked_version`, and says in which version it came.
    ///
    /// A broker that does not know `asked_version` answers UNSUPPORTED_VERSION in version 0, with the versions of
    /// ApiVersions that it does know (none, if it is older than Kafka 2.4). Ask again on the same connection, in the
    /// newest version that both know, or in 0 where there are none.
    ///
    /// # Errors
    /// [`DecodeError`] where the bytes are neither that nor an answer in `asked_version`.
    pub fn decode_any(bytes: Bytes, asked_version: i16) -> Result<(Self, i16), DecodeError> {
        // Every version begins with the error code.
        let unsupported = bytes.starts_with(&ErrorCode::UNSUPPORTED_VERSION.0.to_be_bytes());
        if unsupported && let Ok(response) = Self::from_bytes(bytes.clone(), 0) {
            return Ok((response, 0));
        }
        Ok((Self::from_bytes(bytes, asked_version)?, asked_version))
    }
}

impl Encode for ApiVersionsResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i16("errorCode", self.error_code.0);
        w.array("apiKeys", &self.api_keys);
        w.since(1, |w| w.i32("throttleTimeMs", self.throttle_time_ms));
        w.since(3, |w| {
            w.tags(|w| {
                w.tag(0, !self.supported_features.is_empty(), |w| {
                    w.array("supportedFeatures", &self.supported_features);
                });
                w.tag(1, self.finalized_features_epoch != -1, |w| {
                    w.i64("finalizedFeaturesEpoch", self.finalized_features_epoch);
                });
                w.tag(2, !self.finalized_features.is_empty(), |w| {
                    w.array("finalizedFeatures", &self.finalized_features);
                });
                w.tag(3, self.zk_migration_ready, |w| w.bool("zkMigrationReady", self.zk_migration_ready));
            });
        });
    }
}

impl Decode for ApiVersionsResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        let mut response = Self {
            error_code: ErrorCode(r.i16("errorCode")?),
            api_keys: r.array("apiKeys")?,
            throttle_time_ms: r.since(1, 0, |r| r.i32("throttleTimeMs"))?,
            supported_features: Vec::new(),
            finalized_features_epoch: -1,
            finalized_features: Vec::new(),
            zk_migration_ready: false,
        };
        let known = [
            (0, "supportedFeatures"),
            (1, "finalizedFeaturesEpoch"),
            (2, "finalizedFeatures"),
            (3, "zkMigrationReady"),
        ];
        r.since(3, (), |r| {
            r.tags(&known, |r, tag| {
                match tag {
                    0 => response.supported_features = r.array("supportedFeatures")?,
                    1 => response.finalized_features_epoch = r.i64("finalizedFeaturesEpoch")?,
                    2 => response.finalized_features = r.array("finalizedFeatures")?,
                    _ => response.zk_migration_ready = r.bool("zkMigrationReady")?,
                }
                Ok(())
            })
        })?;
        Ok(response)
    }
}

impl Encode for ApiVersion {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i16("apiKey", self.api_key);
        w.i16("minVersion", self.min_version);
        w.i16("maxVersion", self.max_version);
    }
}

impl Decode for ApiVersion {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { api_key: r.i16("apiKey")?, min_version: r.i16("minVersion")?, max_version: r.i16("maxVersion")? })
    }
}

impl Encode for SupportedFeatureKey {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.i16("minVersion", self.min_version);
        w.i16("maxVersion", self.max_version);
    }
}

impl Decode for SupportedFeatureKey {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.string("name")?, min_version: r.i16("minVersion")?, max_version: r.i16("maxVersion")? })
    }
}

impl Encode for FinalizedFeatureKey {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.i16("maxVersionLevel", self.max_version_level);
        w.i16("minVersionLevel", self.min_version_level);
    }
}

impl Decode for FinalizedFeatureKey {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            name: r.string("name")?,
            max_version_level: r.i16("maxVersionLevel")?,
            min_version_level: r.i16("minVersionLevel")?,
        })
    }
}

impl Message for ApiVersionsResponse {
    const NAME: &'static str = "ApiVersionsResponse";
    const KEY: ApiKey = ApiKey::API_VERSIONS;
    const VERSIONS: RangeInclusive<i16> = 0..=5;
    const FLEXIBLE_FROM: i16 = 3;
}

impl Response for ApiVersionsResponse {
    const THROTTLES_SINCE: i16 = 2;

    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own_range(response: &ApiVersionsResponse) -> Vec<(i16, i16, i16)> {
        response.api_keys.iter().map(|api| (api.api_key, api.min_version, api.max_version)).collect()
    }

    // Mutation: protocol/src/messages/api_versions.rs
    // - let unsupported = bytes.starts_with(&ErrorCode::UNSUPPORTED_VERSION.0.to_be_bytes());
    // + let unsupported = false;
    #[test]
    fn row_36_answer_to_a_version_that_the_broker_does_not_know_is_read_as_version_0() {
        let body = Bytes::from_static(&[0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 3]);
        for asked in 1..=5 {
            let (response, version) = ApiVersionsResponse::decode_any(body.clone(), asked).unwrap();
            assert_eq!((version, response.error_code), (0, ErrorCode::UNSUPPORTED_VERSION));
            assert_eq!(own_range(&response), [(18, 0, 3)]);
        }
    }

    // Mutation: protocol/src/messages/api_versions.rs
    // - let Ok(response) = Self::from_bytes(bytes.clone(), 0) {
    // + let Ok(response) = Self::from_bytes(bytes.clone(), 1) {
    #[test]
    fn row_36_brokers_before_2_4_name_no_versions() {
        let (response, version) = ApiVersionsResponse::decode_any(Bytes::from_static(&[0, 35, 0, 0, 0, 0]), 4).unwrap();
        assert_eq!((version, response.api_keys.len()), (0, 0));
    }

    // Mutation: protocol/src/messages/api_versions.rs
    // - let Ok(response) = Self::from_bytes(bytes.clone(), 0) {
    // + let response = Self::from_bytes(bytes.clone(), 0)? {
    #[test]
    fn row_36_unsupported_version_in_the_form_asked_for_is_read_too() {
        let refusal = ApiVersionsResponse {
            error_code: ErrorCode::UNSUPPORTED_VERSION,
            api_keys: vec![ApiVersion { api_key: 18, min_version: 0, max_version: 3 }],
            ..ApiVersionsResponse::default()
        };
        for asked in ApiVersionsResponse::VERSIONS {
            let body = refusal.to_bytes(asked).unwrap();
            assert_eq!(ApiVersionsResponse::decode_any(body, asked).unwrap(), (refusal.clone(), asked));
        }
    }

    #[test]
    fn ordinary_answers_are_read_in_the_version_asked_for() {
        let body = ApiVersionsResponse { finalized_features_epoch: 7, ..Default::default() }.to_bytes(4).unwrap();
        let (response, version) = ApiVersionsResponse::decode_any(body.clone(), 4).unwrap();
        assert_eq!((version, response.finalized_features_epoch), (4, 7));
        let error = ApiVersionsResponse::decode_any(body, 0).unwrap_err();
        assert!(error.to_string().starts_with("ApiVersionsResponse v0: apiKeys"), "{error}");
    }
}
