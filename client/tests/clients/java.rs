//! What Kafka's own consumer makes of what our producer writes. It needs a real Kafka and its jars: `cargo xtask kafka`.

use std::env;
use std::process::{Command, Stdio};

use ackflow_client::admin::{Admin, NewTopic};
use ackflow_client::{ClientConfig, Producer, ProducerConfig, ProducerRecord};
use bytes::Bytes;

use crate::unique;

/// The lines of the first `count` records of a topic: headers, key and value.
fn console_consumer(servers: &str, topic: &str, count: usize) -> Vec<String> {
    let libs = env::var("ACKFLOW_KAFKA_LIBS").expect("ACKFLOW_KAFKA_LIBS has to name the folder of Kafka's jars");
    let mut java = Command::new("java");
    java.args(["-cp", &format!("{libs}/*"), "org.apache.kafka.tools.consumer.ConsoleConsumer"]);
    java.args(["--bootstrap-server", servers, "--topic", topic, "--from-beginning", "--timeout-ms", "20000"]);
    java.args(["--max-messages", &count.to_string()]);
    for property in ["print.headers=true", "print.key=true", "key.separator=|", "headers.separator=,"] {
        java.args(["--formatter-property", property]);
    }
    java.args(["--formatter-property", "null.literal=NULL"]);
    let output = java.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    // A hint on the newer group protocol comes first.
    text.lines().filter(|line| line.contains('|')).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
async fn real_kafka_row_49_kafkas_consumer_keeps_null_and_empty_apart_too() {
    let servers = env::var("ACKFLOW_BOOTSTRAP").expect("ACKFLOW_BOOTSTRAP has to name a Kafka");
    let topic = unique("nulls");
    let admin = Admin::new(ClientConfig::new(&servers).unwrap());
    admin.create_topics([NewTopic::new(&topic, 1)]).await.unwrap().remove(&topic).unwrap().unwrap();
    let bytes = |text: &'static str| Some(Bytes::from_static(text.as_bytes()));
    let headers = |list: &[(&str, Option<Bytes>)]| -> Vec<_> {
        list.iter().map(|(key, value)| ((*key).into(), value.clone())).collect()
    };
    let record = |key, value, headers| ProducerRecord {
        topic: topic.as_str().into(),
        partition: Some(0),
        key,
        value,
        headers,
        timestamp: None,
    };
    let producer = Producer::new(ProducerConfig::new(&servers).unwrap()).unwrap();
    let duplicates = headers(&[("b", bytes("1")), ("a", bytes("")), ("b", None), ("", bytes("2"))]);
    for record in [
        record(None, bytes("v"), Vec::new()),
        record(bytes(""), bytes(""), Vec::new()),
        record(bytes("k"), None, Vec::new()),
        record(None, None, headers(&[("h", None)])),
        record(bytes("k"), bytes("v"), duplicates),
    ] {
        drop(producer.send(record).await.unwrap());
    }
    producer.close().await.unwrap();
    let read = tokio::task::spawn_blocking(move || console_consumer(&servers, &topic, 5)).await.unwrap();
    assert_eq!(
        read,
        ["NO_HEADERS|NULL|v", "NO_HEADERS||", "NO_HEADERS|k|NULL", "h:NULL|NULL|NULL", "b:1,a:,b:NULL,:2|k|v"]
    );
}
