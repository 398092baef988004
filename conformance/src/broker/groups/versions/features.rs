//! What ApiVersions tells of features.

use ackflow_protocol::wire::{ApiKey, ErrorCode};

use crate::broker::case::cases;
use crate::broker::lab::{Lab, Outcome, Stop};
use crate::broker::target::asking;

cases! {
    Versions;
    share_version_is_told_with_its_level:
        "Where there are share groups, share.version is among the finalized features with a level of 1 or more, and the level lies in the range that the \
         broker supports.",
        "KIP-932, Cluster metadata; KIP-584";
    finalized_features_have_an_epoch:
        "Finalized features come with an epoch of 0 or more, which never falls.",
        "KIP-584; ApiVersionsResponse.json";
    no_supported_feature_begins_at_0_before_version_4:
        "Up to version 3 no supported feature is told with a range that begins at 0, which clients of that time cannot read.",
        "KAFKA-17011; ApiVersionsResponse.json, version 4";
}

async fn share_version_is_told_with_its_level(lab: &Lab) -> Outcome {
    lab.target.offers(ApiKey::SHARE_FETCH, 1)?;
    lab.target.offers(ApiKey::API_VERSIONS, 4)?;
    let response = lab.link().await?.call_in(4, &asking()).await?;
    let finalized = response.finalized_features.iter().find(|feature| feature.name == "share.version");
    // Level 0 is share groups that are off.
    let finalized = finalized.ok_or_else(|| Stop::NotOffered("share.version is not finalized".to_owned()))?;
    let level = finalized.max_version_level;
    lab.check_that("the level of share.version", level >= 1, "1 or more", &level)?;
    let supported = response.supported_features.iter().find(|feature| feature.name == "share.version");
    let supported = supported.map(|feature| (feature.min_version, feature.max_version));
    let holds = supported.is_some_and(|(from, to)| (from..=to).contains(&level));
    lab.check_that("the range that is supported", holds, &format!("one with {level} in it"), &supported)
}

async fn finalized_features_have_an_epoch(lab: &Lab) -> Outcome {
    let mut last = 0;
    for _ in 0..3 {
        let response = lab.link().await?.call_in(3, &asking()).await?;
        if response.finalized_features.is_empty() {
            return Err(Stop::NotOffered("no feature is finalized".to_owned()));
        }
        let epoch = response.finalized_features_epoch;
        lab.check_that("the epoch of finalized features", epoch >= last, &format!("{last} or more"), &epoch)?;
        last = epoch;
    }
    Ok(())
}

async fn no_supported_feature_begins_at_0_before_version_4(lab: &Lab) -> Outcome {
    let response = lab.link().await?.call_in(3, &asking()).await?;
    lab.check("the error", response.error_code, ErrorCode::NONE)?;
    let at_0: Vec<_> = response.supported_features.iter().filter(|feature| feature.min_version < 1).collect();
    lab.check_that("the features that begin at 0", at_0.is_empty(), "none", &at_0)
}
