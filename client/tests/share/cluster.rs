//! A broker for one test, with a topic and a group of its own.

use std::collections::{BTreeSet, HashSet};
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ackflow_client::admin::{ConfigChange, ConfigResource, NewTopic};
use ackflow_client::share::{
    OwnedShareConsumer, ShareConsumer, ShareConsumerBuilder, ShareConsumerConfig, ShareRecords,
};
use ackflow_client::{Admin, ClientConfig, Connection, NetConfig};
use ackflow_protocol::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use ackflow_protocol::records::{BatchBuilder, BatchOptions};
use ackflow_protocol::wire::Uuid;
use ackflow_testkit::EmbeddedBroker;
use ackflow_testkit::core::ShareRecordState;

use crate::journal::Journal;
use crate::support::{eventually, unique};

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// A broker, and the topic and group of one test.
pub(crate) struct Cluster {
    pub(crate) bootstrap: String,
    pub(crate) admin: Admin,
    pub(crate) topic: String,
    pub(crate) group: String,
    topic_id: Uuid,
    /// Partitions of the topic that have records.
    produced: Mutex<BTreeSet<i32>>,
    embedded: Option<EmbeddedBroker>,
    /// The next value of a setting that does not matter.
    changes: AtomicU64,
}

/// Fails a test that hangs, and tells what one that fails said and heard last.
pub(crate) async fn within_a_minute(test: impl Future<Output = ()>) {
    let _journal = Journal::keep();
    tokio::time::timeout(60 * SECOND, test).await.expect("the test takes more than a minute");
}

impl Cluster {
    /// The real Kafka that the environment names.
    pub(crate) async fn real() -> Self {
        let bootstrap = std::env::var("ACKFLOW_BOOTSTRAP").expect("ACKFLOW_BOOTSTRAP has to name a Kafka");
        Self::new(bootstrap, None).await
    }

    /// An embedded broker that lives as long as this.
    pub(crate) async fn embedded() -> Self {
        Self::of(EmbeddedBroker::start().await.unwrap()).await
    }

    /// This embedded broker, which lives as long as this.
    pub(crate) async fn of(broker: EmbeddedBroker) -> Self {
        Self::new(broker.bootstrap_servers(), Some(broker)).await
    }

    /// This embedded broker, which clients find at another address.
    pub(crate) async fn behind(front: SocketAddr, broker: EmbeddedBroker) -> Self {
        Self::new(front.to_string(), Some(broker)).await
    }

    /// An embedded broker of three nodes, each of which leads one partition of the topic.
    pub(crate) async fn three_nodes() -> Self {
        let broker = EmbeddedBroker::builder().fast().nodes(3).start().await.unwrap();
        Self::new(broker.bootstrap_servers(), Some(broker)).await
    }

    pub(crate) fn is_embedded(&self) -> bool {
        self.embedded.is_some()
    }

    /// The embedded broker, where it is one.
    pub(crate) fn broker(&self) -> &EmbeddedBroker {
        self.embedded.as_ref().unwrap()
    }

    async fn new(bootstrap: String, embedded: Option<EmbeddedBroker>) -> Self {
        let admin = Admin::new(ClientConfig::new(&bootstrap).unwrap());
        let (topic, group) = (unique("topic"), unique("group"));
        let mut cluster = Self {
            bootstrap,
            admin,
            topic,
            group,
            topic_id: Uuid::ZERO,
            produced: Mutex::default(),
            embedded,
            changes: AtomicU64::new(1 << 40),
        };
        cluster.topic_id = cluster.create_topic(&cluster.topic, 3).await;
        cluster.set_group_config("share.auto.offset.reset", "earliest").await;
        cluster
    }

    /// The same with a topic of one partition, which is assigned to every member.
    pub(crate) async fn with_one_partition(mut self) -> Self {
        self.use_new_topic(NewTopic { replication_factor: Some(1), ..NewTopic::new(unique("one"), 1) }).await;
        self
    }

    /// Makes a topic and uses it instead of the first.
    pub(crate) async fn use_new_topic(&mut self, topic: NewTopic) {
        self.topic.clone_from(&topic.name);
        self.topic_id = self.create(topic).await;
    }

    pub(crate) async fn create_topic(&self, name: &str, partitions: i32) -> Uuid {
        self.create(NewTopic { replication_factor: Some(1), ..NewTopic::new(name, partitions) }).await
    }

    pub(crate) async fn create(&self, topic: NewTopic) -> Uuid {
        let name = topic.name.clone();
        let id = self.admin.create_topics([topic]).await.unwrap().remove(&name).unwrap().unwrap().id;
        eventually("the leaders of the topic", async || {
            let described = self.admin.describe_topics([&name]).await.ok()?.remove(&name)?.ok()?;
            described.partitions.iter().all(|partition| partition.leader.is_some()).then_some(())
        })
        .await;
        id
    }

    pub(crate) async fn set_group_config(&self, key: &str, value: &str) {
        let group = ConfigResource::group(&self.group);
        let changes = [(group.clone(), vec![ConfigChange::set(key, value)])];
        self.admin.alter_configs(changes).await.unwrap().remove(&group).unwrap().unwrap();
        self.admin.await_configs(&group, &[(key, value)]).await.unwrap();
        self.what_brokers_know_is_in_force().await;
    }

    /// A broker tells of a change before it obeys it, but works on one batch of changes after the other: when it tells of one that was made
    /// later, those before are in force.
    async fn what_brokers_know_is_in_force(&self) {
        let topic = ConfigResource::topic(&self.topic);
        let changed = self.changes.fetch_add(1, Ordering::Relaxed).to_string();
        let change = vec![ConfigChange::set("retention.ms", &changed)];
        self.admin.alter_configs([(topic.clone(), change)]).await.unwrap().remove(&topic).unwrap().unwrap();
        self.admin.await_configs(&topic, &[("retention.ms", &changed)]).await.unwrap();
    }

    /// Appends one batch, whose values are the numbers, to a partition of the topic.
    pub(crate) async fn produce(&self, partition: i32, numbers: Range<u32>) {
        self.produce_to(&self.topic, self.topic_id, partition, numbers).await;
        self.produced.lock().unwrap().insert(partition);
    }

    pub(crate) async fn produce_to(&self, topic: &str, topic_id: Uuid, partition: i32, numbers: Range<u32>) {
        self.append(topic, topic_id, partition, numbers.map(|number| number.to_string().into_bytes())).await;
    }

    /// Appends one batch with a record of so many bytes to a partition of the topic.
    pub(crate) async fn produce_large(&self, partition: i32, bytes: usize) {
        self.append(&self.topic, self.topic_id, partition, [vec![b'x'; bytes]]).await;
        self.produced.lock().unwrap().insert(partition);
    }

    async fn append(&self, topic: &str, topic_id: Uuid, partition: i32, values: impl IntoIterator<Item = Vec<u8>>) {
        let mut batch = BatchBuilder::new(BatchOptions { max_size: usize::MAX, ..BatchOptions::default() });
        for value in values {
            batch.try_append(1_700_000_000_000, None, Some(&value), []).unwrap().unwrap();
        }
        let partition_data = vec![PartitionProduceData { index: partition, records: Some(batch.build().unwrap()) }];
        let request = ProduceRequest {
            acks: -1,
            timeout_ms: 10_000,
            topic_data: vec![TopicProduceData { name: topic.to_owned(), topic_id, partition_data }],
            ..Default::default()
        };
        eventually("the append", async || {
            let described = self.admin.describe_topics([topic]).await.ok()?.remove(topic)?.ok()?;
            let leader = described.partitions.iter().find(|found| found.partition == partition)?.leader?;
            let cluster = self.admin.describe_cluster().await.ok()?;
            let broker = cluster.brokers.iter().find(|broker| broker.id == leader)?;
            let connection = Connection::connect(&broker.host, broker.port, &NetConfig::default()).await.ok()?;
            let response = connection.call(&request, 10 * SECOND).await.ok()?;
            response.responses[0].partition_responses[0].error_code.is_none().then_some(())
        })
        .await;
    }

    pub(crate) fn config(&self) -> ShareConsumerBuilder {
        ShareConsumerConfig::builder(&self.bootstrap, &self.group)
    }

    /// A consumer of the topic.
    pub(crate) fn consumer(&self, config: ShareConsumerBuilder) -> ShareConsumer {
        let mut consumer = ShareConsumer::new(config.build().unwrap()).unwrap();
        consumer.subscribe([&self.topic]).unwrap();
        consumer
    }

    /// A consumer of the topic that hands out deliveries.
    pub(crate) fn owned(&self, config: ShareConsumerBuilder) -> OwnedShareConsumer {
        let mut consumer = OwnedShareConsumer::new(config.build().unwrap()).unwrap();
        consumer.subscribe([&self.topic]).unwrap();
        consumer
    }

    /// Waits until the brokers know that the connections of all members have ended. A session that is opened before is the old one, taken over:
    /// what was held in it stays locked. A process that takes the place of a dead one does not start that fast.
    pub(crate) async fn has_noticed_that_all_are_gone(&self) {
        let Some(broker) = &self.embedded else {
            // A real one does not tell; it answers what it was asked first, which takes 20 ms at most.
            return tokio::time::sleep(SECOND / 4).await;
        };
        let produced = self.produced.lock().unwrap().clone();
        eventually("the end of all locks", async || {
            for partition in &produced {
                let records = broker.share_records(&self.group, &self.topic, *partition).await.ok()?;
                if records.iter().any(|records| matches!(records.state, ShareRecordState::Acquired { .. })) {
                    return None;
                }
            }
            Some(())
        })
        .await;
    }

    /// Waits until the group has nothing left to deliver or to acknowledge.
    pub(crate) async fn no_lag_is_left(&self) {
        eventually("lag 0", async || (self.lag().await == Some(0)).then_some(())).await;
    }

    /// How many records of the topic the group has not finished; `None` while a broker does not know. Of a partition that has no record, a
    /// broker need not know.
    pub(crate) async fn lag(&self) -> Option<i64> {
        let offsets = self.admin.share_group_offsets(&self.group).await.ok()?;
        let produced = self.produced.lock().unwrap().clone();
        let lag = |partition: i32| offsets.iter().find(|o| o.topic == self.topic && o.partition == partition)?.lag;
        produced.into_iter().map(lag).sum()
    }
}

/// The records that came, each of which may come once.
#[derive(Default)]
pub(crate) struct Seen(HashSet<(i32, i64)>);

impl Seen {
    pub(crate) fn add(&mut self, partition: i32, offset: i64) {
        assert!(self.0.insert((partition, offset)), "{partition}@{offset} came twice");
    }

    pub(crate) fn add_all(&mut self, records: &ShareRecords) {
        for record in records {
            let record = record.unwrap();
            assert_eq!(record.delivery_count, 1);
            self.add(record.partition, record.offset);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
