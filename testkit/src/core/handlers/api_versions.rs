//! ApiVersions: what is served, and the features.

use ackflow_protocol::messages::api_versions::{
    ApiVersion, ApiVersionsRequest, ApiVersionsResponse, FinalizedFeatureKey, SupportedFeatureKey,
};
use ackflow_protocol::wire::{ApiKey, ErrorCode, encode_response};

use crate::core::Cluster;
use crate::core::dispatch::{Answer, MAX_TRANSACTION_VERSION, RequestContext};

/// The level of the feature `share.version` that Kafka 4.4.0 has by itself.
const STABLE_SHARE_VERSION: i16 = 2;

/// The features: name, highest level, level.
fn features(cluster: &Cluster) -> impl Iterator<Item = (&'static str, i16, i16)> {
    [
        ("group.version", MAX_GROUP_VERSION, MAX_GROUP_VERSION),
        ("share.version", cluster.share_version.max(STABLE_SHARE_VERSION), cluster.share_version),
        ("transaction.version", MAX_TRANSACTION_VERSION, cluster.transaction_version),
    ]
    .into_iter()
}

/// The version that first tells of supported features which begin at level 0, as all of ours do: older clients cannot read them (KAFKA-17011).
const FEATURES_FROM_0: i16 = 4;

/// The level of the feature `group.version`, with which there are groups of KIP-848.
const MAX_GROUP_VERSION: i16 = 1;

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: ApiVersionsRequest,
) -> ApiVersionsResponse {
    if let Err(error_code) = check(cluster, cx, &request) {
        return ApiVersionsResponse { error_code, ..ApiVersionsResponse::default() };
    }
    ApiVersionsResponse {
        api_keys: cluster
            .served_by(cx.node)
            .map(|(key, versions)| ApiVersion {
                api_key: key.0,
                // Some clients look for version 0 of Produce, though it is not served; Kafka lists it for them.
                min_version: if key == ApiKey::PRODUCE { 0 } else { *versions.start() },
                max_version: *versions.end(),
            })
            .collect(),
        supported_features: features(cluster)
            .filter(|_| cx.version >= FEATURES_FROM_0)
            .map(|(name, max_version, _)| SupportedFeatureKey { name: name.to_owned(), min_version: 0, max_version })
            .collect(),
        finalized_features_epoch: 0,
        finalized_features: features(cluster)
            .filter(|(_, _, level)| *level > 0)
            .map(|(name, _, level)| FinalizedFeatureKey {
                name: name.to_owned(),
                max_version_level: level,
                min_version_level: level,
            })
            .collect(),
        ..ApiVersionsResponse::default()
    }
}

/// Answers a version that is not served: in version 0, with the versions that are (KIP-511).
pub(crate) fn unsupported(cluster: &Cluster, cx: &RequestContext<'_>) -> Answer {
    let response = ApiVersionsResponse {
        error_code: ErrorCode::UNSUPPORTED_VERSION,
        api_keys: cluster
            .served_by(cx.node)
            .filter(|(key, _)| *key == ApiKey::API_VERSIONS)
            .map(|(key, versions)| ApiVersion {
                api_key: key.0,
                min_version: *versions.start(),
                max_version: *versions.end(),
            })
            .collect(),
        ..ApiVersionsResponse::default()
    };
    match encode_response(&response, 0, cx.correlation_id) {
        Ok(reply) => Answer::Reply(reply),
        Err(error) => Answer::Close(error.to_string()),
    }
}

fn check(cluster: &Cluster, cx: &RequestContext<'_>, request: &ApiVersionsRequest) -> Result<(), ErrorCode> {
    let software = [&request.client_software_name, &request.client_software_version];
    if cx.version >= 3 && !software.into_iter().all(|text| is_software_text(text)) {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    // Since version 5 a client may say whom it means to talk to (KIP-1242), cluster and node together.
    match (&request.cluster_id, request.node_id) {
        (None, ..0) => Ok(()),
        (None, _) | (Some(_), ..0) => Err(ErrorCode::INVALID_REQUEST),
        (Some(id), node) if *id == cluster.cluster_id.to_string() && node == cx.node => Ok(()),
        _ => Err(ErrorCode::REBOOTSTRAP_REQUIRED),
    }
}

/// Letters and digits, with dashes and dots between them.
fn is_software_text(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    let outer = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    text.chars().all(inner) && outer(text.chars().next()) && outer(text.chars().next_back())
}
