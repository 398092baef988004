//! Topics on a real Kafka: what is shown is what Kafka's tools show, and what is changed they see.

use std::env;

use serde_json::json;

use crate::kafka::{eventually, new_topic, run_tool, site, unique};
use crate::{records, text, with_stdin};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a broker: cargo xtask kafka"]
async fn real_kafka_topics_are_those_that_kafkas_tools_see() {
    let site = site();
    let topic = unique("cli-topic");
    let created = site.json(&format!("topics create {topic} --replica-assignment 1,1 --config retention.ms=-1")).await;
    let id = created["created"][0]["id"].as_str().unwrap().to_owned();
    eventually(&site, &format!("topics describe {topic}"), |_| true).await;
    site.json(&format!("topics partitions {topic} --partitions 3")).await;
    site.json(&format!(
        "topics configs {topic} --set segment.bytes=2097152 --add-config cleanup.policy=[compact,delete]"
    ))
    .await;
    let changed =
        |json: &str| json.contains("\"partitions\":3") && json.contains("2097152") && json.contains("compact");
    let json = eventually(&site, &format!("topics describe {topic} --json"), changed).await;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let described = run_tool("TopicCommand", &format!("--describe --topic {topic}")).await;
    for expected in [
        &format!("TopicId: {id}"),
        "PartitionCount: 3",
        "retention.ms=-1",
        "segment.bytes=2097152",
        "cleanup.policy=compact,delete",
    ] {
        assert!(described.contains(expected), "{expected}: {described}");
    }
    let configs = json!({ "cleanup.policy": "compact,delete", "retention.ms": "-1", "segment.bytes": "2097152" });
    let shown = &json["topics"][0];
    assert_eq!((&shown["id"], &shown["partitions"], &shown["configs"]), (&json!(id), &json!(3), &configs));
    assert_eq!(json["partitions"][2]["isr"], json!([1]));
    site.json(&format!("topics configs {topic} --unset cleanup.policy --delete-config segment.bytes")).await;
    eventually(&site, &format!("topics configs {topic}"), |configs| !configs.contains("segment.bytes")).await;
    let kafkas = run_tool("ConfigCommand", &format!("--describe --entity-type topics --entity-name {topic}")).await;
    assert!(kafkas.contains("retention.ms=-1") && !kafkas.contains("segment.bytes"), "{kafkas}");
    let error = site.error(&format!("topics partitions {topic} --partitions 2")).await;
    assert!(error.contains("has 3 partitions; give more"), "{error}");

    site.json(&format!("topics delete {topic}")).await;
    eventually(&site, "topics list", |topics| !topics.contains(&topic)).await;
    let left = run_tool("TopicCommand", "--list").await;
    assert!(!left.lines().any(|line| line == topic), "{left}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a broker: cargo xtask kafka"]
async fn real_kafka_offsets_of_topics_are_those_of_kafkas_tool() {
    let site = site();
    let topic = new_topic(&site, "cli-offsets").await;
    site.produce(&topic, &records(5)).await;
    let timed: String =
        (1..=5).map(|i| format!("{{\"partition\":1,\"value\":\"{i}\",\"timestamp\":{}}}\n", i * 1000)).collect();
    site.produce(&topic, &timed).await;
    let ends = json!([
        { "topic": topic, "partition": 0, "earliest": 0, "latest": 5 },
        { "topic": topic, "partition": 1, "earliest": 0, "latest": 5 },
    ]);
    assert_eq!(site.json(&format!("topics offsets {topic}")).await["offsets"], ends);
    for what in ["-1", "earliest", "max-timestamp", "3000"] {
        let json = site.json(&format!("topics offsets {topic} --time {what}")).await;
        let ours: Vec<String> = json["offsets"]
            .as_array()
            .unwrap()
            .iter()
            .map(|at| format!("{topic}:{}:{}", at["partition"], at["offset"]))
            .collect();
        let kafkas = run_tool("GetOffsetShell", &format!("--topic {topic} --time {what}")).await;
        assert_eq!(ours, kafkas.lines().collect::<Vec<_>>(), "{what}");
    }
    let at = site.table(&format!("topics offsets {topic}:1 --time 1970-01-01T00:00:02.500")).await;
    assert_eq!(crate::cells(&at)[1], [&topic, "1", "2", "1970-01-01T00:00:03.000Z"]);
    let none = site.table(&format!("topics offsets {topic}:1 --time 2100-01-01T00:00:00Z --read-committed")).await;
    assert_eq!(crate::cells(&none)[1], [&topic, "1", "-", "-"]);
    site.json(&format!("topics delete {topic}")).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a broker: cargo xtask kafka"]
async fn real_kafka_file_of_properties_opens_a_listener_with_tls_and_sasl() {
    let listeners = env::var("ACKFLOW_KAFKA_LISTENERS").expect("ACKFLOW_KAFKA_LISTENERS: cargo xtask kafka --secure");
    let find = |entry: &str| entry.strip_prefix("SASL_SSL=").map(str::to_owned);
    let servers = listeners.split(' ').find_map(find).unwrap();
    let certificates = env::var("ACKFLOW_KAFKA_CERTIFICATES").unwrap();
    let dir = tempfile::TempDir::new().unwrap();
    let file = dir.path().join("client.properties");
    let properties = |password: &str| {
        format!(
            "security.protocol=SASL_SSL\nssl.truststore.type=PEM\nssl.truststore.location={certificates}/ca.pem\n\
             sasl.mechanism=SCRAM-SHA-512\nsasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule \\\n  \
             required username=\"alice\" password=\"{password}\";\n"
        )
    };
    let words = format!("topics list --bootstrap-server {servers} --command-config {}", file.display());
    std::fs::write(&file, properties("alice-secret")).unwrap();
    let output = with_stdin(&words, "").await;
    assert!(output.status.success() && output.stdout.starts_with(b"TOPIC\n"), "{}", text(&output.stderr));
    std::fs::write(&file, properties("wrong-secret")).unwrap();
    let stderr = crate::failure(1, &with_stdin(&words, "").await);
    assert!(stderr.contains("SCRAM-SHA-512") && !stderr.contains("wrong-secret"), "{stderr}");
}
