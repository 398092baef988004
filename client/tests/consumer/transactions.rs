//! read_committed: what aborted transactions wrote is passed over, as Kafka's own consumer passes over it.

use std::process::{Command, Stdio};
use std::time::Duration;

use ackflow_client::ClientConfig;
use ackflow_client::consumer::{Consumer, ConsumerConfig, IsolationLevel, OffsetReset};
use ackflow_client::net::{Connection, Pool};
use ackflow_protocol::messages::end_txn::EndTxnRequest;
use ackflow_protocol::messages::find_coordinator::FindCoordinatorRequest;
use ackflow_protocol::messages::init_producer_id::InitProducerIdRequest;
use ackflow_protocol::messages::metadata::MetadataRequest;
use ackflow_protocol::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use ackflow_protocol::records::{BatchBuilder, BatchOptions, Header};
use ackflow_protocol::wire::Uuid;

use crate::*;

/// A transactional producer, as bare requests: the client has none yet. One broker leads and coordinates everything.
struct Transactional {
    broker: Connection,
    id: String,
    topic_id: Uuid,
    producer: (i64, i16),
    sequence: i32,
}

impl Transactional {
    async fn start(topic: &str) -> Self {
        let pool = Pool::new(ClientConfig::new(&servers()).unwrap());
        pool.metadata(&MetadataRequest { topics: Some(Vec::new()), ..Default::default() }).await.unwrap();
        let topic_id = admin().describe_topics([topic]).await.unwrap().remove(topic).unwrap().unwrap().id;
        let (broker, id) = (pool.any().await.unwrap(), unique("tx"));
        // Which makes the coordinator be there.
        let find = FindCoordinatorRequest { key_type: 1, coordinator_keys: vec![id.clone()], ..Default::default() };
        eventually("the coordinator", async || {
            let response = broker.call(&find, TIMEOUT).await.unwrap();
            response.coordinators[0].error_code.is_none().then_some(())
        })
        .await;
        let producer = Self::initialize(&broker, &id).await;
        Self { broker, id, topic_id, producer, sequence: 0 }
    }

    async fn initialize(broker: &Connection, id: &str) -> (i64, i16) {
        let request = InitProducerIdRequest {
            transactional_id: Some(id.to_owned()),
            transaction_timeout_ms: 60_000,
            ..Default::default()
        };
        eventually("the producer's id", async || {
            let response = broker.call(&request, TIMEOUT).await.unwrap();
            response.error_code.is_none().then_some((response.producer_id, response.producer_epoch))
        })
        .await
    }

    async fn write(&mut self, values: &[&str]) {
        let (producer_id, producer_epoch) = self.producer;
        let options = BatchOptions { transactional: true, producer_id, producer_epoch, ..Default::default() };
        let mut builder = BatchBuilder::new(options);
        for value in values {
            builder
                .try_append(two_hours_ago(), None, Some(value.as_bytes()), std::iter::empty::<Header<'_>>())
                .unwrap()
                .unwrap();
        }
        builder.set_producer_state(producer_id, producer_epoch, self.sequence);
        self.sequence += values.len() as i32;
        let partition_data = vec![PartitionProduceData { index: 0, records: Some(builder.build().unwrap()) }];
        let request = ProduceRequest {
            transactional_id: Some(self.id.clone()),
            acks: -1,
            timeout_ms: 30_000,
            topic_data: vec![TopicProduceData { topic_id: self.topic_id, partition_data, ..Default::default() }],
        };
        eventually("the records", async || {
            let response = self.broker.call(&request, TIMEOUT).await.unwrap();
            response.responses[0].partition_responses[0].error_code.is_none().then_some(())
        })
        .await;
    }

    /// Ends the transaction; since transactions of version 2, each begins another epoch (KIP-890).
    async fn end(&mut self, committed: bool) {
        let (producer_id, producer_epoch) = self.producer;
        let request = EndTxnRequest { transactional_id: self.id.clone(), producer_id, producer_epoch, committed };
        let ended = eventually("the end", async || {
            let response = self.broker.call(&request, TIMEOUT).await.unwrap();
            response.error_code.is_none().then_some(response)
        })
        .await;
        self.producer = (ended.producer_id, ended.producer_epoch);
        self.sequence = 0;
    }
}

/// What Kafka's own consumer reads under read_committed.
fn console_consumer(servers: &str, topic: &str, count: usize) -> Vec<String> {
    let libs = env::var("ACKFLOW_KAFKA_LIBS").expect("ACKFLOW_KAFKA_LIBS has to name the folder of Kafka's jars");
    let mut java = Command::new("java");
    java.args(["-cp", &format!("{libs}/*"), "org.apache.kafka.tools.consumer.ConsoleConsumer"]);
    java.args(["--bootstrap-server", servers, "--topic", topic, "--from-beginning", "--timeout-ms", "20000"]);
    java.args(["--isolation-level", "read_committed", "--max-messages", &count.to_string()]);
    let output = java.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter(|line| line.starts_with("v-")).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_aborted_transactions_are_passed_over_as_kafkas_own_consumer_does() {
    let topic = topic("transactions", 1).await;
    let (mut one, mut two) = (Transactional::start(&topic).await, Transactional::start(&topic).await);
    one.write(&["v-one-1", "v-one-2"]).await;
    two.write(&["v-gone-1"]).await;
    one.write(&["v-one-3"]).await;
    two.write(&["v-gone-2", "v-gone-3"]).await;
    two.end(false).await;
    one.end(true).await;
    two.write(&["v-two-1"]).await;
    two.end(true).await;
    one.write(&["v-gone-4"]).await;
    one.end(false).await;
    let expected = ["v-one-1", "v-one-2", "v-one-3", "v-two-1"];
    let java = {
        let (servers, topic) = (servers(), topic.clone());
        tokio::task::spawn_blocking(move || console_consumer(&servers, &topic, 4)).await.unwrap()
    };
    assert_eq!(java, expected);

    let group = unique("group");
    let config = |level| config(&group).isolation_level(level).build().unwrap();
    let mut consumer = Consumer::new(config(IsolationLevel::ReadCommitted)).unwrap();
    consumer.subscribe([&topic]).unwrap();
    let values: Vec<String> = take(&mut consumer, 4).await.into_iter().map(|(.., value)| value).collect();
    assert_eq!(values, expected);
    take_nothing(&mut consumer).await;
    // Behind the markers too, which nobody gets to see.
    let end = consumer.end_offsets([partition(&topic, 0)]).await.unwrap()[&partition(&topic, 0)];
    assert_eq!(consumer.position(&partition(&topic, 0)).await.unwrap(), end);
    assert_eq!(end, 12);

    // An open transaction holds back what comes after it.
    two.write(&["v-open"]).await;
    produce(&topic, 0, 7, 1).await;
    take_nothing(&mut consumer).await;
    assert_eq!(consumer.end_offsets([partition(&topic, 0)]).await.unwrap()[&partition(&topic, 0)], end);
    two.end(false).await;
    assert_eq!(take(&mut consumer, 1).await[0].2, "7");
    consumer.close(TIMEOUT).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_uncommitted_reading_has_everything_but_the_markers() {
    let topic = topic("uncommitted", 1).await;
    let mut producer = Transactional::start(&topic).await;
    producer.write(&["v-1", "v-2"]).await;
    producer.end(false).await;
    producer.write(&["v-3"]).await;
    let config = ConsumerConfig::builder(&servers()).auto_offset_reset(OffsetReset::Earliest).build().unwrap();
    let mut consumer = Consumer::new(config).unwrap();
    consumer.assign([partition(&topic, 0)]).unwrap();
    let read: Vec<(i64, String)> =
        take(&mut consumer, 3).await.into_iter().map(|(_, offset, value)| (offset, value)).collect();
    assert_eq!(read, [(0, "v-1".to_owned()), (1, "v-2".to_owned()), (3, "v-3".to_owned())]);
    producer.end(true).await;
    consumer.close(Duration::from_secs(5)).await.unwrap();
}
