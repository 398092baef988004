//! Each call of the admin client on the real Kafka that `ACKFLOW_BOOTSTRAP` names (`cargo xtask kafka --fast`): what it changes, another call has to
//! show. `cargo xtask prove admin` holds the same beside Kafka's own tools. What the embedded broker serves is run on it too.

#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps nothing")]

mod acls;
mod cluster;
mod configs;
mod consumer_groups;
mod embedded;
mod members;
mod offsets;
#[path = "../support/on_embedded.rs"]
mod on_embedded;
mod partitions;
mod scram;
mod share_groups;
#[path = "../support/mod.rs"]
mod support;
mod transactions;

use ackflow_client::admin::{Admin, NewTopic, TopicPartition};
use ackflow_client::{ClientConfig, Producer, ProducerConfig, ProducerRecord};

use on_embedded::servers;
use support::{eventually, unique};

fn admin() -> Admin {
    Admin::new(ClientConfig::new(&servers()).unwrap())
}

/// A new topic of its own, which the brokers know.
async fn topic(admin: &Admin, prefix: &str, partitions: i32) -> String {
    let name = unique(prefix);
    admin.create_topics([NewTopic::new(&name, partitions)]).await.unwrap().remove(&name).unwrap().unwrap();
    eventually("the topic", async || admin.describe_topics([&name]).await.unwrap().remove(&name)?.ok()).await;
    name
}

/// Writes so many records to partition 0, of the timestamps 1000, 2000, and so on.
async fn produce(topic: &str, count: i64) {
    let producer = Producer::new(ProducerConfig::new(&servers()).unwrap()).unwrap();
    for i in 0..count {
        let mut record = ProducerRecord::new(topic, i.to_string()).partition(0);
        record.timestamp = Some((i + 1) * 1000);
        drop(producer.send(record).await.unwrap());
    }
    producer.close().await.unwrap();
}

fn partition(topic: &str, index: i32) -> TopicPartition {
    TopicPartition::new(topic, index)
}
