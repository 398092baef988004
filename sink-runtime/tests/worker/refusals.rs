//! What keeps a worker from starting: each message names the key, its value and the remedy, and nothing is acknowledged.

use ackflow_sink_runtime::{ConnectorConfig, Plugins, StartError, Worker};
use ackflow_testkit::EmbeddedBroker;

use super::support::*;

async fn refused(broker: &EmbeddedBroker, keys: &[(&str, &str)]) -> String {
    start(broker, &ScriptedSink::ok(), keys).await.unwrap_err().to_string()
}

fn assert_says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
}

#[tokio::test]
async fn a_topic_that_does_not_exist() {
    let broker = broker(1).await;
    let message = refused(&broker, &[("topics", "t,missing")]).await;
    assert_says(&message, &["c.properties", "topics = missing", "create the topic"]);
}

#[tokio::test]
async fn a_broker_without_share_groups() {
    let broker = EmbeddedBroker::builder().fast().topic("t", 1).share_version(0).start().await.unwrap();
    assert_says(&refused(&broker, &[]).await, &["share.group.id = g", "share.version", "kafka-features.sh"]);
}

#[tokio::test]
async fn a_broker_that_cannot_be_reached() {
    let broker = broker(1).await;
    let worker = ackflow_sink_runtime::WorkerConfig::from_properties(
        "bootstrap.servers=127.0.0.1:1\nconsumer.group.protocol=share\ndefault.api.timeout.ms=500",
        "worker.properties",
    );
    let connector = connector(&[("connector.class", "blackhole")]);
    let error = Worker::start(worker.unwrap(), Plugins::builtin(), vec![connector]).await.unwrap_err();
    assert_says(&error.to_string(), &["connector c", "127.0.0.1:1"]);
    broker.shutdown().await;
}

#[tokio::test]
async fn a_group_protocol_that_is_not_share() {
    let broker = broker(1).await;
    for (protocol, why) in
        [("consumer", "not there yet"), ("classic", "not there yet"), ("shared", "no group protocol")]
    {
        let message = refused(&broker, &[("consumer.override.group.protocol", protocol)]).await;
        let key = format!("consumer.override.group.protocol = {protocol}");
        assert_says(&message, &[&key, why, "consumer.override.group.protocol=share"]);
    }
}

#[tokio::test]
async fn an_unknown_sink_and_an_unknown_key_are_told_together_for_every_connector() {
    let broker = broker(1).await;
    let connector =
        |name: &str, class: &str, extra: (&str, &str)| connector(&[("name", name), ("connector.class", class), extra]);
    let connectors = vec![connector("a", "nothing", ("x", "1")), connector("b", "file", ("fil", "/tmp/x"))];
    let error = Worker::start(worker_config(&broker), Plugins::builtin(), connectors).await.unwrap_err();
    let parts = ["connector.class = nothing", "stdout", "fil = /tmp/x", "did you mean file?", "file: is required"];
    assert_says(&error.to_string(), &parts);
}

#[tokio::test]
async fn a_client_setting_that_a_share_consumer_refuses() {
    let broker = broker(1).await;
    let message = refused(&broker, &[("consumer.override.session.timeout.ms", "10000")]).await;
    assert_says(&message, &["consumer.override", "session.timeout.ms=10000", "share.session.timeout.ms"]);
}

#[tokio::test]
async fn two_connectors_of_one_name() {
    let broker = broker(1).await;
    let twice = vec![connector(&[("connector.class", "blackhole")]), connector(&[("connector.class", "blackhole")])];
    let error = Worker::start(worker_config(&broker), Plugins::builtin(), twice).await.unwrap_err();
    assert_says(&error.to_string(), &["name = c", "two connectors"]);
}

#[tokio::test]
async fn a_setting_that_the_group_has_otherwise() {
    let broker = EmbeddedBroker::builder().fast().topic("t", 1);
    let broker = broker.group_config("g", "share.auto.offset.reset", "latest").start().await.unwrap();
    let message = refused(&broker, &[("share.auto.offset.reset", "earliest")]).await;
    assert_says(&message, &["share.auto.offset.reset = earliest", "latest of its own", "kafka-configs.sh"]);
    // The default gives way.
    start(&broker, &ScriptedSink::ok(), &[]).await.unwrap().stop().await;
}

#[tokio::test]
async fn a_value_that_the_broker_refuses_for_the_group() {
    let broker = broker(1).await;
    let message = refused(&broker, &[("share.max.delivery.count", "100")]).await;
    assert_says(&message, &["share.max.delivery.count = 100", "cannot be set", "kafka-configs.sh"]);
}

#[tokio::test]
async fn a_file_that_cannot_be_written() {
    let broker = broker(1).await;
    produce(&broker, 0, 0..10).await;
    let connector = connector(&[("connector.class", "file"), ("file", "/nowhere/records.jsonl")]);
    let error = start_with(&broker, connector).await;
    assert_says(&error.to_string(), &["connector c", "file = /nowhere/records.jsonl", "directory that exists"]);
    assert_eq!(broker.group_lag("g", "t", 0).await.unwrap(), None, "the group was not touched");
}

async fn start_with(broker: &EmbeddedBroker, connector: ConnectorConfig) -> StartError {
    Worker::start(worker_config(broker), Plugins::builtin(), vec![connector]).await.unwrap_err()
}
