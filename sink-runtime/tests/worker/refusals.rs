//! What keeps a worker from starting: each message names the key, its value and the remedy, and nothing is acknowledged.

use ackflow_sink_runtime::{ConnectorConfig, Plugins, StartError, Worker, WorkerConfig};
use ackflow_testkit::EmbeddedBroker;

use super::support::*;

async fn refused(cluster: &Cluster, keys: &[(&str, &str)]) -> String {
    cluster.start(&ScriptedSink::ok(), keys).await.unwrap_err().to_string()
}

async fn refused_all(cluster: &Cluster, connectors: Vec<ConnectorConfig>) -> StartError {
    Worker::start(cluster.worker(), Plugins::builtin(), connectors).await.unwrap_err()
}

#[track_caller]
fn assert_says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
}

#[tokio::test]
async fn a_topic_that_does_not_exist() {
    let cluster = Cluster::new(1).await;
    let message = refused(&cluster, &[("topics", &format!("{},missing", cluster.topic))]).await;
    assert_says(&message, &["c.properties", "topics = missing: does not exist", "create the topic"]);
}

#[tokio::test]
async fn a_broker_without_share_groups() {
    let broker = EmbeddedBroker::builder().share_version(0).start().await.unwrap();
    let bootstrap = broker.bootstrap_servers();
    let message = refused(&Cluster::bare(Some(broker), bootstrap), &[]).await;
    assert_says(&message, &["share.group.id = g-", "share.version", "kafka-features.sh"]);
}

#[tokio::test]
async fn a_broker_that_cannot_be_reached() {
    let cluster = Cluster::new(1).await;
    let text = "bootstrap.servers=127.0.0.1:1\nconsumer.group.protocol=share\ndefault.api.timeout.ms=500";
    let worker = WorkerConfig::from_properties(text, "worker.properties").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("records.jsonl");
    let connectors = vec![cluster.connector(&[("connector.class", "file"), ("file", path.to_str().unwrap())])];
    let error = Worker::start(worker, Plugins::builtin(), connectors).await.unwrap_err();
    assert_says(&error.to_string(), &["connector c", "127.0.0.1:1"]);
    assert!(!path.exists(), "a file was made for nothing");
}

#[tokio::test]
async fn a_sink_that_cannot_start_leaves_its_group_as_it_is() {
    let cluster = Cluster::new(1).await;
    let limit = async || cluster.group_config("share.delivery.count.limit").await;
    let before = limit().await;
    let keys = [("connector.class", "file"), ("file", "/"), ("share.max.delivery.count", "9")];
    let message = refused_all(&cluster, vec![cluster.connector(&keys)]).await.to_string();
    assert_says(&message, &["file = /: cannot be written"]);
    assert_eq!(limit().await, before);
}

#[tokio::test]
async fn a_group_protocol_that_is_not_share() {
    let cluster = Cluster::new(1).await;
    for (protocol, why) in
        [("consumer", "not there yet"), ("classic", "not there yet"), ("shared", "no group protocol")]
    {
        let message = refused(&cluster, &[("consumer.override.group.protocol", protocol)]).await;
        let key = format!("consumer.override.group.protocol = {protocol}");
        assert_says(&message, &[&key, why, "consumer.override.group.protocol=share"]);
    }
}

#[tokio::test]
async fn an_unknown_sink_and_an_unknown_key_are_told_together_for_every_connector() {
    let cluster = Cluster::new(1).await;
    let connectors = vec![
        cluster.connector(&[("name", "a"), ("connector.class", "nothing")]),
        cluster.connector(&[("name", "b"), ("connector.class", "file"), ("fil", "/tmp/x")]),
    ];
    let parts = ["connector.class = nothing", "stdout", "fil = /tmp/x", "did you mean file?", "file: is required"];
    assert_says(&refused_all(&cluster, connectors).await.to_string(), &parts);
}

#[tokio::test]
async fn a_client_setting_that_a_share_consumer_refuses() {
    let cluster = Cluster::new(1).await;
    let message = refused(&cluster, &[("consumer.override.session.timeout.ms", "10000")]).await;
    assert_says(&message, &["consumer.override", "session.timeout.ms=10000", "share.session.timeout.ms"]);
}

#[tokio::test]
async fn two_connectors_of_one_name() {
    let cluster = Cluster::new(1).await;
    let connector = cluster.connector(&[("connector.class", "blackhole")]);
    let error = refused_all(&cluster, vec![connector.clone(), connector]).await;
    assert_says(&error.to_string(), &["name = c", "two connectors"]);
}

#[tokio::test]
async fn a_setting_that_the_group_has_otherwise() {
    let cluster = Cluster::new(1).await;
    cluster.set_group_config("share.auto.offset.reset", "latest").await;
    let message = refused(&cluster, &[("share.auto.offset.reset", "earliest")]).await;
    assert_says(&message, &["share.auto.offset.reset = earliest", "latest of its own", "kafka-configs.sh"]);
    // The default gives way.
    cluster.start(&ScriptedSink::ok(), &[]).await.unwrap().stop().await;
}

#[tokio::test]
async fn a_value_that_the_broker_refuses_for_the_group() {
    let cluster = Cluster::new(1).await;
    let message = refused(&cluster, &[("share.max.delivery.count", "100")]).await;
    assert_says(&message, &["share.max.delivery.count = 100", "cannot be set", "kafka-configs.sh"]);
}

#[tokio::test]
async fn a_file_that_cannot_be_written() {
    let cluster = Cluster::new(1).await;
    cluster.produce(0, 0..10).await;
    let connector = cluster.connector(&[("connector.class", "file"), ("file", "/nowhere/records.jsonl")]);
    let error = refused_all(&cluster, vec![connector]).await;
    assert_says(&error.to_string(), &["connector c", "file = /nowhere/records.jsonl", "directory that exists"]);
    assert_eq!(cluster.lag(0).await, None, "the group was not touched");
}
