//! The cluster: brokers, features, versions.

use std::time::Duration;

use ackflow_client::admin::{Admin, FeatureUpdate, UpgradeType};
use ackflow_client::{ClientConfig, ErrorKind};
use ackflow_protocol::wire::ApiKey;

use crate::{admin, servers};

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_brokers_are_described_with_those_that_are_fenced() {
    let admin = admin();
    let cluster = admin.describe_cluster_and_fenced().await.unwrap();
    assert_eq!(cluster.brokers, admin.describe_cluster().await.unwrap().brokers);
    assert!(cluster.brokers.iter().all(|broker| !broker.fenced));
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka"]
async fn real_kafka_features_are_described_and_their_changes_validated() {
    let admin = admin();
    let features = admin.describe_features().await.unwrap();
    assert!(features.epoch.is_some());
    let level = features.finalized["share.version"];
    assert!(features.supported["share.version"].contains(&level), "{features:?}");
    assert_eq!(admin.features().await.unwrap(), features.finalized);

    let validate = async |level, upgrade_type| {
        let update = FeatureUpdate { level, upgrade_type };
        admin.validate_features([("share.version", update)]).await.unwrap().remove("share.version").unwrap()
    };
    validate(level - 1, UpgradeType::SafeDowngrade).await.unwrap();
    let error = validate(level - 1, UpgradeType::Upgrade).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Broker(_)) && error.to_string().contains("share.version"), "{error}");
    let error = validate(99, UpgradeType::Upgrade).await.unwrap_err();
    assert!(error.to_string().contains("describe_features tells") || error.to_string().contains("99"), "{error}");
    // Nothing has changed; to take the level that there is changes nothing either.
    assert_eq!(admin.features().await.unwrap()["share.version"], level);
    let update = FeatureUpdate { level, upgrade_type: UpgradeType::Upgrade };
    assert!(admin.update_features([("share.version", update)]).await.unwrap()["share.version"].is_ok());
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_what_a_broker_supports_is_said_by_api() {
    let admin = admin();
    let node = admin.describe_cluster().await.unwrap().brokers[0].id;
    let supported = admin.api_versions(node).await.unwrap();
    let fetch = &supported[&ApiKey::SHARE_FETCH];
    assert_eq!(fetch.used, Some(*fetch.offered.end().min(fetch.known.as_ref().unwrap().end())));
    for (api, support) in &supported {
        if let Some(used) = support.used {
            assert!(
                support.offered.contains(&used) && support.known.as_ref().unwrap().contains(&used),
                "{api}: {support:?}"
            );
        }
    }
    // One that is starting may have this id, so it is waited for.
    let mut config = ClientConfig::new(&servers()).unwrap();
    config.default_api_timeout = Duration::from_secs(1);
    let error = Admin::new(config).api_versions(4711).await.unwrap_err();
    assert!(error.to_string().contains("no broker has id 4711"), "{error}");
}
