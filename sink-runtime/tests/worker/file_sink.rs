//! The file sink on the whole path.

use std::collections::BTreeSet;
use std::fs;

use ackflow_sink_runtime::{Plugins, TaskState, Worker};

use super::support::*;

#[tokio::test]
async fn the_file_holds_every_record_exactly_once() {
    let cluster = Cluster::new(3).await;
    for partition in 0..3 {
        for batch in 0..10 {
            cluster.produce(partition, batch * 100..(batch + 1) * 100).await;
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("records.jsonl");
    let keys = [("connector.class", "file"), ("file", path.to_str().unwrap()), ("tasks.max", "2")];
    let worker = Worker::start(cluster.worker(), Plugins::builtin(), vec![cluster.connector(&keys)]).await.unwrap();
    for partition in 0..3 {
        cluster.until_lag(partition, 0).await;
    }
    let counters = worker.counters();
    let status = worker.stop().await;
    assert!(status.iter().all(|status| status.state == TaskState::Stopped), "{status:?}");
    assert_eq!(counters.iter().map(|task| task.put).sum::<u64>(), 3_000);

    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut places = BTreeSet::new();
    for line in &lines {
        assert_eq!(line["topic"], cluster.topic);
        assert_eq!(line["deliveryCount"], 1);
        assert_eq!(line["value"], line["offset"].to_string());
        assert!(places.insert((line["partition"].as_i64(), line["offset"].as_i64())), "{line} is there twice");
    }
    assert_eq!(places.len(), 3_000);
}

#[tokio::test]
async fn connects_file_stream_sink_writes_the_text_of_each_value() {
    let cluster = Cluster::new(1).await;
    cluster.produce(0, 0..100).await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("values.txt");
    let class = "org.apache.kafka.connect.file.FileStreamSinkConnector";
    let keys = [("connector.class", class), ("file", path.to_str().unwrap())];
    let worker = Worker::start(cluster.worker(), Plugins::builtin(), vec![cluster.connector(&keys)]).await.unwrap();
    cluster.until_lag(0, 0).await;
    worker.stop().await;
    let expected: Vec<_> = (0..100).map(|number| number.to_string()).collect();
    assert_eq!(fs::read_to_string(&path).unwrap().lines().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn two_connectors_do_not_share_a_file() {
    let cluster = Cluster::new(1).await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("records.jsonl");
    let keys = |name| [("name", name), ("connector.class", "file"), ("file", path.to_str().unwrap())];
    let connectors = vec![cluster.connector(&keys("a")), cluster.connector(&keys("b"))];
    let error = Worker::start(cluster.worker(), Plugins::builtin(), connectors).await.unwrap_err().to_string();
    assert!(error.contains("connector b: file = ") && error.contains("in use by another writer"), "{error}");
}
