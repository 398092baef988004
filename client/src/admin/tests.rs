//! The calls against a real Kafka (`cargo xtask kafka -- cargo test -- --ignored real_kafka_`).

use std::time::Duration;

use ackflow_protocol::wire::ErrorCode;

use super::*;

/// The real Kafka that the environment names.
fn real() -> Admin {
    let servers = std::env::var("ACKFLOW_BOOTSTRAP").expect("ACKFLOW_BOOTSTRAP has to name a Kafka");
    Admin::new(ClientConfig::new(&servers).unwrap())
}

/// Brokers learn of changes a moment after the controller has made them.
async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    for _ in 0..500 {
        if let Some(found) = look().await {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{what} did not come within 10 s");
}

fn unique(prefix: &str) -> String {
    format!("{prefix}-{:x}", crate::net::random())
}

#[tokio::test]
#[ignore = "needs a real Kafka"]
async fn real_kafka_topics_are_created_described_listed_and_deleted() {
    let admin = real();
    let name = unique("admin-topics");
    let topic = NewTopic { replication_factor: Some(1), ..NewTopic::new(&name, 3) }.config("retention.ms", "60000");
    let created = admin.create_topics([topic.clone()]).await.unwrap().remove(&name).unwrap().unwrap();
    assert_eq!((created.partitions, created.replication_factor), (3, 1));

    let error = admin.create_topics([topic]).await.unwrap().remove(&name).unwrap().unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::TOPIC_ALREADY_EXISTS));
    assert!(error.to_string().contains(&name), "{error}");

    let describe = async || admin.describe_topics([&name]).await.unwrap().remove(&name).unwrap();
    let described = eventually("the topic", async || describe().await.ok()).await;
    assert_eq!(described.id, created.id);
    assert_eq!(described.partitions.iter().map(|p| p.partition).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(described.partitions.iter().all(|p| p.leader.is_some() && p.replicas == p.in_sync));
    assert!(admin.list_topics().await.unwrap().iter().any(|topic| topic.name == name && !topic.internal));

    assert!(admin.delete_topics([&name]).await.unwrap()[&name].is_ok());
    let error = eventually("the end of the topic", async || describe().await.err()).await;
    assert_eq!(error.code(), Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
    let error = admin.delete_topics([&name]).await.unwrap().remove(&name).unwrap().unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
}

#[tokio::test]
#[ignore = "needs a real Kafka"]
async fn real_kafka_replicas_are_placed_as_asked() {
    let admin = real();
    let name = unique("admin-placed");
    let topic = NewTopic { name: name.clone(), assignments: vec![vec![1], vec![1]], ..NewTopic::default() };
    assert_eq!(admin.create_topics([topic]).await.unwrap().remove(&name).unwrap().unwrap().partitions, 2);
    admin.delete_topics([name]).await.unwrap();
}

#[tokio::test]
#[ignore = "needs a real Kafka"]
async fn real_kafka_configs_of_groups_topics_and_brokers_are_changed_and_read() {
    let admin = real();
    let group = ConfigResource::group(unique("admin-configs"));
    let brokers = ConfigResource::all_brokers();
    let read = async |value: &str| {
        let describe = async || {
            let entries = admin.describe_configs([group.clone()]).await.unwrap().remove(&group).unwrap().unwrap();
            entries["share.auto.offset.reset"].clone()
        };
        eventually(value, async || Some(describe().await).filter(|entry| entry.value.as_deref() == Some(value))).await
    };
    assert_ne!(read("latest").await.source, ConfigSource::GROUP);

    let changes = [
        (group.clone(), vec![ConfigChange::set("share.auto.offset.reset", "earliest")]),
        (brokers.clone(), vec![ConfigChange::set("log.cleaner.threads", "1")]),
    ];
    assert!(admin.alter_configs(changes).await.unwrap().values().all(Result::is_ok));
    assert_eq!(read("earliest").await.source, ConfigSource::GROUP);

    let id = admin.describe_cluster().await.unwrap().brokers[0].id;
    let broker = ConfigResource::broker(id);
    let entries = admin.describe_configs([broker.clone()]).await.unwrap().remove(&broker).unwrap().unwrap();
    assert_eq!(entries["node.id"].value.as_deref(), Some(id.to_string().as_str()));
    assert!(entries["node.id"].read_only);

    let undo = [
        (group.clone(), vec![ConfigChange::delete("share.auto.offset.reset")]),
        (brokers, vec![ConfigChange::delete("log.cleaner.threads")]),
    ];
    assert!(admin.alter_configs(undo).await.unwrap().values().all(Result::is_ok));
    read("latest").await;

    let wrong = [(group.clone(), vec![ConfigChange::set("share.auto.offset.reset", "yesterday")])];
    let error = admin.alter_configs(wrong).await.unwrap().remove(&group).unwrap().unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::INVALID_CONFIG));
    assert!(error.to_string().contains("yesterday") && error.to_string().contains(&group.name), "{error}");
}

#[tokio::test]
#[ignore = "needs a real Kafka"]
async fn real_kafka_the_cluster_and_its_features_are_described() {
    let admin = real();
    let cluster = admin.describe_cluster().await.unwrap();
    assert!(!cluster.cluster_id.is_empty() && !cluster.brokers.is_empty() && cluster.controller.is_some());
    assert!(admin.features().await.unwrap().contains_key("metadata.version"));
    admin.list_groups(&["share"]).await.unwrap();
}

#[tokio::test]
#[ignore = "needs a real Kafka"]
async fn real_kafka_a_share_group_that_does_not_exist_is_an_error_that_names_it() {
    let admin = real();
    let group = unique("admin-nobody");
    let error = admin.describe_share_groups([&group]).await.remove(&group).unwrap().unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::GROUP_ID_NOT_FOUND));
    assert!(error.to_string().contains(&group), "{error}");
    // Kafka 4.4.0 says of the same group that it has no offsets.
    assert_eq!(admin.share_group_offsets(&group).await.unwrap(), []);
}
