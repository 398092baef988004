//! Topics, configurations, groups.

use std::time::Duration;

use ackflow_client::admin::{Admin, ConfigChange, ConfigResource, ConfigSource, NewTopic};
use ackflow_client::share::{OwnedShareConsumer, ShareConsumerConfig};
use ackflow_client::{ClientConfig, ErrorKind, Producer, ProducerConfig, ProducerRecord};
use ackflow_protocol::wire::ErrorCode;

use crate::{eventually, unique};

fn admin(servers: &str) -> Admin {
    Admin::new(ClientConfig::new(servers).unwrap())
}

pub(crate) async fn topics_are_created_described_listed_and_deleted(servers: &str) {
    let admin = admin(servers);
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

pub(crate) async fn replicas_are_placed_as_asked(servers: &str) {
    let admin = admin(servers);
    let name = unique("admin-placed");
    let topic = NewTopic { name: name.clone(), assignments: vec![vec![1], vec![1]], ..NewTopic::default() };
    assert_eq!(admin.create_topics([topic]).await.unwrap().remove(&name).unwrap().unwrap().partitions, 2);
    admin.delete_topics([name]).await.unwrap();
}

pub(crate) async fn configs_of_groups_and_topics_are_changed_and_read(servers: &str) {
    let admin = admin(servers);
    let group = ConfigResource::group(unique("admin-configs"));
    let topic = unique("admin-configs");
    admin.create_topics([NewTopic::new(&topic, 1)]).await.unwrap();
    let topic = ConfigResource::topic(topic);
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
        (topic.clone(), vec![ConfigChange::set("retention.ms", "60000")]),
    ];
    let altered = admin.alter_configs(changes).await.unwrap();
    assert!(altered.len() == 2 && altered.values().all(Result::is_ok), "{altered:?}");
    assert_eq!(read("earliest").await.source, ConfigSource::GROUP);
    eventually("the topic's own value", async || {
        let entries = admin.describe_configs([topic.clone()]).await.unwrap().remove(&topic).unwrap().ok()?;
        let expected = (Some("60000"), ConfigSource::TOPIC);
        let retention = &entries["retention.ms"];
        ((retention.value.as_deref(), retention.source) == expected).then_some(())
    })
    .await;

    let undo = [(group.clone(), vec![ConfigChange::delete("share.auto.offset.reset")])];
    assert!(admin.alter_configs(undo).await.unwrap().values().all(Result::is_ok));
    read("latest").await;

    let wrong = [(group.clone(), vec![ConfigChange::set("share.auto.offset.reset", "yesterday")])];
    let error = admin.alter_configs(wrong).await.unwrap().remove(&group).unwrap().unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::INVALID_CONFIG));
    assert!(error.to_string().contains("yesterday") && error.to_string().contains(&group.name), "{error}");
}

pub(crate) async fn settings_are_awaited_until_every_broker_knows_them(servers: &str) {
    let mut config = ClientConfig::new(servers).unwrap();
    config.default_api_timeout = Duration::from_secs(2);
    let admin = Admin::new(config);
    let group = ConfigResource::group(unique("admin-awaited"));
    let settings = [("share.auto.offset.reset", "earliest"), ("share.record.lock.duration.ms", "15000")];
    let error = admin.await_configs(&group, &settings).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.to_string().contains(&group.name) && error.to_string().contains(settings[0].0), "{error}");

    let changed = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let changes = settings.map(|(key, value)| ConfigChange::set(key, value)).to_vec();
        admin.alter_configs([(group.clone(), changes)]).await.unwrap().remove(&group).unwrap().unwrap();
    };
    let (known, ()) = tokio::join!(admin.await_configs(&group, &settings), changed);
    known.unwrap();
    let entries = admin.describe_configs([group.clone()]).await.unwrap().remove(&group).unwrap().unwrap();
    for (key, value) in settings {
        assert_eq!(entries[key].value.as_deref(), Some(value));
    }
}

pub(crate) async fn configs_of_brokers_are_read_from_the_broker_that_is_asked_about(servers: &str) {
    let admin = admin(servers);
    let id = admin.describe_cluster().await.unwrap().brokers[0].id;
    let broker = ConfigResource::broker(id);
    let entries = admin.describe_configs([broker.clone()]).await.unwrap().remove(&broker).unwrap().unwrap();
    assert!(!entries["group.share.heartbeat.interval.ms"].sensitive);
    let error = admin.describe_configs([ConfigResource { name: "x".into(), ..broker }]).await.unwrap_err();
    assert!(error.to_string().contains("x is not the id of a broker"), "{error}");
}

pub(crate) async fn the_cluster_and_its_features_are_described(servers: &str) {
    let admin = admin(servers);
    let cluster = admin.describe_cluster().await.unwrap();
    assert!(!cluster.cluster_id.is_empty() && !cluster.brokers.is_empty() && cluster.controller.is_some());
    assert!(admin.features().await.unwrap().contains_key("share.version"));
    assert!(admin.list_groups(&["share"]).await.unwrap().iter().all(|group| group.group_type == "share"));
}

pub(crate) async fn a_share_group_that_does_not_exist_is_an_error_that_names_it(servers: &str) {
    let admin = admin(servers);
    let group = unique("admin-nobody");
    let error = admin.describe_share_groups([&group]).await.remove(&group).unwrap().unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::GROUP_ID_NOT_FOUND));
    assert!(error.to_string().contains(&group), "{error}");
    // Kafka 4.4.0 says of the same group that it has no offsets.
    assert_eq!(admin.share_group_offsets(&group).await.unwrap(), []);
}

pub(crate) async fn a_share_group_is_described_with_its_members_and_lag(servers: &str) {
    let admin = admin(servers);
    let (topic, group) = (unique("admin-shared"), unique("admin-group"));
    admin.create_topics([NewTopic::new(&topic, 2)]).await.unwrap();
    let earliest = vec![ConfigChange::set("share.auto.offset.reset", "earliest")];
    let resource = ConfigResource::group(&group);
    admin.alter_configs([(resource.clone(), earliest)]).await.unwrap().remove(&resource).unwrap().unwrap();
    admin.await_configs(&resource, &[("share.auto.offset.reset", "earliest")]).await.unwrap();
    let producer = Producer::new(ProducerConfig::new(servers).unwrap()).unwrap();
    for i in 0..10 {
        let record = ProducerRecord::new(topic.as_str(), i.to_string()).partition(0);
        drop(producer.send(record).await.unwrap());
    }
    producer.close().await.unwrap();

    let config = ShareConsumerConfig::builder(servers, &group).client_id("described").build().unwrap();
    let mut consumer = OwnedShareConsumer::new(config).unwrap();
    consumer.subscribe([&topic]).unwrap();
    let mut accepted = 0;
    while accepted < 10 {
        if let Some(delivery) = consumer.poll(Duration::from_secs(10)).await.unwrap() {
            accepted += delivery.len();
            delivery.accept().await.unwrap();
        }
    }

    let described = admin.describe_share_groups([&group]).await.remove(&group).unwrap().unwrap();
    assert_eq!(described.state, "Stable");
    let [member] = &described.members[..] else { panic!("{described:?}") };
    assert_eq!((member.client_id.as_str(), member.member_id.as_str()), ("described", consumer.member_id()));
    assert_eq!(member.assignment, [(topic.clone(), 0), (topic.clone(), 1)]);
    let listed = admin.list_groups(&["share"]).await.unwrap();
    assert!(listed.iter().any(|listing| listing.group_id == group && listing.group_type == "share"), "{listed:?}");

    eventually("lag 0", async || {
        let offsets = admin.share_group_offsets(&group).await.unwrap();
        let [first, empty] = &offsets[..] else { panic!("{offsets:?}") };
        assert_eq!((first.topic.as_str(), first.partition, empty.partition), (topic.as_str(), 0, 1));
        // Of a partition from which nothing was acknowledged the broker does not know it yet.
        assert_eq!((empty.start_offset, empty.lag), (None, None));
        (first.lag == Some(0)).then_some(())
    })
    .await;
    consumer.close(Duration::from_secs(10)).await.unwrap();
}
