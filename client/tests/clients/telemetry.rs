//! What clients push, as OpenTelemetry's own classes in a real broker read it (testdata/telemetry/MetricsLog.java).

use std::time::Duration;

use ackflow_client::admin::{Admin, ConfigChange, ConfigResource, NewTopic};
use ackflow_client::share::{ShareConsumer, ShareConsumerConfig};
use ackflow_client::{ClientConfig, Producer, ProducerConfig, ProducerRecord};
use serde_json::Value;

use crate::{eventually, unique};

const RECORDS: u32 = 7;
const POLL: Duration = Duration::from_millis(100);

/// The pushes of a client so far.
fn pushes(client_id: &str) -> Vec<Value> {
    let log = std::env::var("ACKFLOW_KAFKA_TELEMETRY").expect("cargo xtask kafka --telemetry");
    let lines = std::fs::read_to_string(log).unwrap_or_default();
    let pushes = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    pushes.filter(|push| push["client_id"] == client_id).collect()
}

/// The value of a metric over all pushes: the last total, or the sum of differences.
fn told(client_id: &str, name: &str) -> f64 {
    pushes(client_id).iter().fold(0.0, |before, push| {
        match (&push["metrics"][name]["kind"], &push["metrics"][name]["value"]) {
            (kind, value) if kind == "AGGREGATION_TEMPORALITY_DELTA" => before + value.as_f64().unwrap(),
            (_, value) => value.as_f64().unwrap_or(before),
        }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a real Kafka"]
async fn real_kafka_is_told_what_it_wants_to_know_of_its_clients() {
    let servers = std::env::var("ACKFLOW_BOOTSTRAP").expect("ACKFLOW_BOOTSTRAP has to name a Kafka");
    let (topic, group) = (unique("telemetry"), unique("telemetry"));
    let mut client = ClientConfig::new(&servers).unwrap();
    client.net.client_id = group.as_str().into();
    let admin = Admin::new(client.clone());
    admin.create_topics([NewTopic::new(&topic, 1)]).await.unwrap().remove(&topic).unwrap().unwrap();
    let wanted = ConfigResource::client_metrics(unique("subscription"));
    let metrics = "org.apache.kafka.producer.,org.apache.kafka.consumer.share.";
    let only_these = format!("client_id={group}");
    let changes = [("metrics", metrics), ("interval.ms", "100"), ("match", &only_these)];
    let changes = changes.map(|(key, value)| ConfigChange::set(key, value)).to_vec();
    admin.alter_configs([(wanted.clone(), changes)]).await.unwrap().remove(&wanted).unwrap().unwrap();
    let earliest = vec![ConfigChange::set("share.auto.offset.reset", "earliest")];
    admin.alter_configs([(ConfigResource::group(&group), earliest)]).await.unwrap();
    let in_force = [("share.auto.offset.reset", "earliest")];
    admin.await_configs(&ConfigResource::group(&group), &in_force).await.unwrap();

    let producer = Producer::new(ProducerConfig::with(client.clone())).unwrap();
    for _ in 0..RECORDS {
        drop(producer.send(ProducerRecord::new(topic.as_str(), "a value that stays here")).await.unwrap());
    }
    producer.flush().await.unwrap();
    eventually("an id for the producer", async || producer.client_instance_id()).await;
    producer.close().await.unwrap();

    let config = ShareConsumerConfig::builder(&servers, &group).client(|own| *own = client.clone()).build().unwrap();
    let mut consumer = ShareConsumer::new(config).unwrap();
    consumer.subscribe([topic]).unwrap();
    let mut consumed = 0;
    while consumed < RECORDS as usize {
        consumed += consumer.poll(POLL).await.unwrap().len();
    }
    consumer.commit_sync(Duration::from_secs(10)).await.unwrap();
    let metrics = consumer.metrics();
    consumer.close(Duration::from_secs(10)).await.unwrap();
    assert_eq!(metrics.value("records-consumed-total"), Some(f64::from(RECORDS)));

    for name in [
        "producer.record.send.total",
        "consumer.share.fetch.manager.records.consumed.total",
        "consumer.share.fetch.manager.acknowledgements.send.total",
    ] {
        let name = format!("org.apache.kafka.{name}");
        assert_eq!(told(&group, &name), f64::from(RECORDS), "{name}: {:?}", pushes(&group));
    }
    let pushes = pushes(&group);
    let last: Vec<_> = pushes.iter().filter(|push| push["terminating"] == true).collect();
    assert_eq!(last.len(), 2, "one of each client: {pushes:?}");
    assert!(last.iter().any(|push| push["labels"]["group_id"] == *group), "{last:?}");
    assert!(pushes.iter().all(|push| push["content_type"] == "OTLP"));
    let names = pushes.iter().flat_map(|push| push["metrics"].as_object().unwrap().keys());
    assert!(
        names.into_iter().all(|name| !name.starts_with("org.apache.kafka.consumer.connection")),
        "unwanted ones stay"
    );
}
