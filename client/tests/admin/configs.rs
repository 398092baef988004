//! Configurations beyond those of topics and groups, and what has one.

use ackflow_client::admin::{ConfigChange, ConfigResource, ConfigSource, ResourceKind};
use ackflow_protocol::wire::ErrorCode;

use crate::{admin, eventually, topic, unique};

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka"]
async fn real_kafka_what_has_a_configuration_is_listed_by_kind() {
    let admin = admin();
    let name = topic(&admin, "configured", 1).await;
    let group = ConfigResource::group(unique("configured"));
    let metrics = ConfigResource::client_metrics(unique("configured"));
    let changes = [
        (group.clone(), vec![ConfigChange::set("share.auto.offset.reset", "earliest")]),
        (metrics.clone(), vec![ConfigChange::set("interval.ms", "5000")]),
    ];
    assert!(admin.alter_configs(changes).await.unwrap().values().all(Result::is_ok));
    let all = eventually("all in the list", async || {
        let all = admin.list_config_resources(&[]).await.unwrap();
        (all.contains(&group) && all.contains(&metrics)).then_some(all)
    })
    .await;
    let node = admin.describe_cluster().await.unwrap().brokers[0].id;
    for resource in [ConfigResource::topic(&name), ConfigResource::broker(node), ConfigResource::broker_logger(node)] {
        assert!(all.contains(&resource), "{resource} is not in {all:?}");
    }
    let groups = admin.list_config_resources(&[ResourceKind::Group, ResourceKind::ClientMetrics]).await.unwrap();
    assert!(groups.contains(&group) && groups.contains(&metrics));
    assert!(groups.iter().all(|resource| [ResourceKind::Group, ResourceKind::ClientMetrics].contains(&resource.kind)));

    let entries = admin.describe_configs([metrics.clone()]).await.unwrap().remove(&metrics).unwrap().unwrap();
    let interval = &entries["interval.ms"];
    assert_eq!((interval.value.as_deref(), interval.source), (Some("5000"), ConfigSource::CLIENT_METRICS));
    let undo = [(metrics, vec![ConfigChange::delete("interval.ms")])];
    assert!(admin.alter_configs(undo).await.unwrap().values().all(Result::is_ok));
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_changes_of_configurations_are_validated_without_being_made() {
    let admin = admin();
    let resource = ConfigResource::topic(topic(&admin, "validated-configs", 1).await);
    let validate = async |value: &str| {
        let change = [(resource.clone(), vec![ConfigChange::set("retention.ms", value)])];
        admin.validate_configs(change).await.unwrap().remove(&resource).unwrap()
    };
    validate("60000").await.unwrap();
    assert_eq!(validate("soon").await.unwrap_err().code(), Some(ErrorCode::INVALID_CONFIG));
    let entries = admin.describe_configs([resource.clone()]).await.unwrap().remove(&resource).unwrap().unwrap();
    assert_ne!(entries["retention.ms"].source, ConfigSource::TOPIC);
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka"]
async fn real_kafka_log_levels_of_a_broker_are_changed_and_read() {
    let admin = admin();
    let loggers = ConfigResource::broker_logger(admin.describe_cluster().await.unwrap().brokers[0].id);
    let logger = "kafka.admin.of.the.test";
    let read = async || admin.describe_configs([loggers.clone()]).await.unwrap().remove(&loggers).unwrap().unwrap();
    let root = read().await["root"].clone();
    assert!(root.value.is_some(), "{root:?}");
    let change = [(loggers.clone(), vec![ConfigChange::set(logger, "DEBUG")])];
    let result = admin.alter_configs(change).await.unwrap().remove(&loggers).unwrap();
    // Kafka changes loggers that it has alone.
    assert!(result.unwrap_err().to_string().contains(logger));
    let change = [(loggers.clone(), vec![ConfigChange::set("root", root.value.unwrap())])];
    admin.alter_configs(change).await.unwrap().remove(&loggers).unwrap().unwrap();
}
