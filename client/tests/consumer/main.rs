//! The consumer on the real Kafka that `ACKFLOW_BOOTSTRAP` names (`cargo xtask kafka --fast -- cargo test -p ackflow-client --test consumer -- --ignored
//! real_kafka_`), and on the embedded broker.

#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps nothing")]

mod commits;
mod embedded;
mod groups;
#[path = "../support/on_embedded.rs"]
mod on_embedded;
mod passing_on;
mod positions;
mod producing;
mod refusals;
mod static_members;
mod transactions;

use std::collections::BTreeMap;
use std::env;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use ackflow_client::admin::{Admin, NewTopic};
use ackflow_client::consumer::{
    Consumer, ConsumerBuilder, ConsumerConfig, OffsetReset, Rebalance, RebalanceListener, TopicPartition,
};
use ackflow_client::{ClientConfig, Producer, ProducerConfig, ProducerRecord};

use on_embedded::servers;

const TIMEOUT: Duration = Duration::from_secs(60);
const MOMENT: Duration = Duration::from_millis(200);

fn admin() -> Admin {
    Admin::new(ClientConfig::new(&servers()).unwrap())
}

/// A name that no other test has.
fn unique(prefix: &str) -> String {
    format!("{prefix}-{:x}", RandomState::new().build_hasher().finish())
}

/// A new topic of its own, which the brokers know.
async fn topic(prefix: &str, partitions: i32) -> String {
    let (admin, name) = (admin(), unique(prefix));
    admin.create_topics([NewTopic::new(&name, partitions)]).await.unwrap().remove(&name).unwrap().unwrap();
    eventually("the topic", async || admin.describe_topics([&name]).await.unwrap().remove(&name)?.ok()).await;
    name
}

/// Deletes a topic, until the brokers know: the controller answers before they do, and they take commits for it until then.
async fn delete(topic: &str) {
    let admin = admin();
    admin.delete_topics([topic]).await.unwrap().remove(topic).unwrap().unwrap();
    eventually("the end of the topic", async || admin.describe_topics([topic]).await.unwrap().remove(topic)?.err())
        .await;
}

/// Writes so many records to a partition, of the values from `from` on.
async fn produce(topic: &str, partition: i32, from: i64, count: i64) {
    produce_at(topic, partition, from, count, None).await;
}

/// The same, the first at this time, in ms since 1970, and the others a second apart. What is too old is deleted soon (`retention.ms`).
async fn produce_at(topic: &str, partition: i32, from: i64, count: i64, first: Option<i64>) {
    let producer = Producer::new(ProducerConfig::new(&servers()).unwrap()).unwrap();
    for i in from..from + count {
        let mut record = ProducerRecord::new(topic, i.to_string()).partition(partition);
        record.timestamp = first.map(|first| first + (i - from) * 1000);
        drop(producer.send(record).await.unwrap());
    }
    producer.close().await.unwrap();
}

/// Two hours ago, in ms since 1970.
fn two_hours_ago() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(now.as_millis()).unwrap() - 7_200_000
}

/// A member that reads from the start and commits nothing by itself.
fn config(group: &str) -> ConsumerBuilder {
    ConsumerConfig::builder(&servers())
        .group_id(group)
        .auto_offset_reset(OffsetReset::Earliest)
        .enable_auto_commit(false)
}

fn member(group: &str) -> Consumer {
    Consumer::new(config(group).build().unwrap()).unwrap()
}

fn partition(topic: &str, index: i32) -> TopicPartition {
    TopicPartition::new(topic, index)
}

/// Polls until so many records have come: partition, offset and value of each.
async fn take(consumer: &mut Consumer, count: usize) -> Vec<(i32, i64, String)> {
    let end = Instant::now() + TIMEOUT;
    let mut taken = Vec::new();
    while taken.len() < count {
        assert!(Instant::now() < end, "{} of {count} records came", taken.len());
        for record in &consumer.poll(MOMENT).await.unwrap() {
            let record = record.unwrap();
            taken.push((record.partition, record.offset, String::from_utf8(record.value.unwrap().to_vec()).unwrap()));
        }
    }
    assert_eq!(taken.len(), count);
    taken
}

/// Polls, though nothing should come, for a while.
async fn take_nothing(consumer: &mut Consumer) {
    for _ in 0..5 {
        assert!(consumer.poll(MOMENT).await.unwrap().is_empty());
    }
}

/// Brokers learn of changes a moment after the controller has made them.
async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    for _ in 0..2000 {
        if let Some(found) = look().await {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{what} did not come within 40 s");
}

/// Keeps what a listener hears.
#[derive(Debug, Default, Clone)]
struct Journal(Arc<Mutex<Vec<Heard>>>);

/// What was heard, and of which partitions.
type Heard = (&'static str, Vec<i32>);

impl Journal {
    fn note(&self, what: &'static str, partitions: &[TopicPartition]) {
        let partitions = partitions.iter().map(|partition| partition.partition).collect();
        self.0.lock().unwrap().push((what, partitions));
    }

    fn heard(&self, what: &str) -> Vec<i32> {
        let journal = self.0.lock().unwrap();
        journal.iter().filter(|(heard, _)| *heard == what).flat_map(|(_, partitions)| partitions.clone()).collect()
    }
}

impl RebalanceListener for Journal {
    fn assigned(&mut self, partitions: &[TopicPartition], _: &mut Rebalance<'_>) {
        self.note("assigned", partitions);
    }

    fn revoked(&mut self, partitions: &[TopicPartition], rebalance: &mut Rebalance<'_>) {
        self.note("revoked", partitions);
        rebalance.commit_all(partitions);
    }

    fn lost(&mut self, partitions: &[TopicPartition], _: &mut Rebalance<'_>) {
        self.note("lost", partitions);
    }
}

/// Offsets of these partitions of a topic.
fn offsets(topic: &str, offsets: &[(i32, i64)]) -> BTreeMap<TopicPartition, i64> {
    offsets.iter().map(|(index, offset)| (partition(topic, *index), *offset)).collect()
}
