//! Features: what brokers can do, and what the cluster has agreed on.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use ackflow_protocol::messages::api_versions::ApiVersionsResponse;
use ackflow_protocol::messages::update_features::{FeatureUpdateKey, UpdateFeaturesRequest};

use super::{Admin, Results, result};
use crate::error::ClientError;
use crate::net::{Connection, versions_request};

/// The features of a cluster, as one of its brokers says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureMetadata {
    /// The level in force, by feature. A feature of level 0 may be missing.
    pub finalized: BTreeMap<String, i16>,
    /// Counts the changes of levels; `None` where the broker does not know it yet.
    pub epoch: Option<i64>,
    /// The levels that the broker can do, by feature.
    pub supported: BTreeMap<String, RangeInclusive<i16>>,
}

/// A change of a feature's level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeatureUpdate {
    /// The level that it is to have; 0 takes the feature away.
    pub level: i16,
    /// Whether the level may fall.
    pub upgrade_type: UpgradeType,
}

/// Whether the level of a feature may fall, with the wire's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum UpgradeType {
    /// It may only rise.
    Upgrade = 1,
    /// It may fall where nothing is lost by that.
    SafeDowngrade = 2,
    /// It may fall, whatever is lost.
    UnsafeDowngrade = 3,
}

impl Admin {
    /// The finalized features of the cluster and their levels, such as `share.version` 1 (ApiVersions). A feature of
    /// level 0 may be missing.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where no broker can be reached.
    pub async fn features(&self) -> Result<BTreeMap<String, i16>, ClientError> {
        Ok(self.describe_features().await?.finalized)
    }

    /// The finalized features of the cluster, and what the broker that is asked can do (ApiVersions).
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where no broker can be reached.
    pub async fn describe_features(&self) -> Result<FeatureMetadata, ClientError> {
        let (response, connection) = self.ask_any(&versions_request(None)).await?;
        checked(&response, &connection)?;
        let epoch = Some(response.finalized_features_epoch).filter(|epoch| *epoch >= 0);
        let finalized =
            response.finalized_features.into_iter().map(|feature| (feature.name, feature.max_version_level));
        let supported =
            response.supported_features.into_iter().map(|f| (f.name, f.min_version..=f.max_version)).collect();
        // Without an epoch the broker does not know the levels yet.
        let finalized = if epoch.is_some() { finalized.collect() } else { BTreeMap::new() };
        Ok(FeatureMetadata { finalized, epoch, supported })
    }

    /// Changes the levels of features (UpdateFeatures). All change or none does.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer. Levels may have changed nevertheless.
    pub async fn update_features<S: Into<String>>(
        &self,
        updates: impl IntoIterator<Item = (S, FeatureUpdate)>,
    ) -> Result<Results<String, ()>, ClientError> {
        self.change_features(updates.into_iter().map(|(name, update)| (name.into(), update)).collect(), false).await
    }

    /// Says how [`update_features`](Self::update_features) would go, and changes nothing.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer.
    pub async fn validate_features<S: Into<String>>(
        &self,
        updates: impl IntoIterator<Item = (S, FeatureUpdate)>,
    ) -> Result<Results<String, ()>, ClientError> {
        self.change_features(updates.into_iter().map(|(name, update)| (name.into(), update)).collect(), true).await
    }

    async fn change_features(
        &self,
        updates: BTreeMap<String, FeatureUpdate>,
        validate_only: bool,
    ) -> Result<Results<String, ()>, ClientError> {
        let update = |(feature, update): (&String, &FeatureUpdate)| FeatureUpdateKey {
            feature: feature.clone(),
            max_version_level: update.level,
            upgrade_type: update.upgrade_type as i8,
            ..Default::default()
        };
        let request = UpdateFeaturesRequest {
            timeout_ms: self.request_timeout_ms(),
            feature_updates: updates.iter().map(update).collect(),
            validate_only,
        };
        let (response, connection) = self.ask_any(&request).await?;
        // From version 2 on there is one answer for all; before, an error of the whole request leaves out those of features.
        let (code, message) = (response.error_code, response.error_message);
        let of_all = |feature: &str| {
            let doing = || format!("changing feature {feature}");
            result((), doing, &connection, code, message.as_deref())
        };
        let mut results: Results<_, _> = updates
            .into_keys()
            .map(|name| {
                let outcome = of_all(&name);
                (name, outcome)
            })
            .collect();
        for answer in response.results.iter().filter(|answer| !answer.error_code.is_none()) {
            let doing = || format!("changing feature {}", answer.feature);
            let outcome = result((), doing, &connection, answer.error_code, answer.error_message.as_deref());
            results.insert(answer.feature.clone(), outcome);
        }
        Ok(results)
    }
}

/// The answer, unless it is a refusal.
pub(super) fn checked(response: &ApiVersionsResponse, connection: &Connection) -> Result<(), ClientError> {
    result((), || "asking for the broker's versions".to_owned(), connection, response.error_code, None)
}
