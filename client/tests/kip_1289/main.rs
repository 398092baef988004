//! Share groups in transactions (draft KIP-1289): a member reads, a producer writes, and the acknowledgements are part of the transaction. The embedded broker
//! follows generation C of the draft; no Kafka does.

#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps nothing")]

mod journey;
mod limits;
mod situations;
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "nothing here needs names of its own")]
mod support;

use std::time::Duration;

use ackflow_client::consumer::{Consumer, ConsumerConfig, IsolationLevel, OffsetReset};
use ackflow_client::share::{AcknowledgementMode, ShareConsumer, ShareConsumerConfig};
use ackflow_client::{ClientError, Producer, ProducerConfig, ProducerRecord};
use ackflow_testkit::core::ShareRecordState;
use ackflow_testkit::{EmbeddedBroker, EmbeddedBrokerBuilder};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const GROUP: &str = "billing";
pub(crate) const IN: &str = "in";
pub(crate) const OUT: &str = "out";
pub(crate) const ID: &str = "tx-1";

/// Runs a test, which hangs if it takes longer than a minute.
pub(crate) async fn within_a_minute(test: impl Future<Output = ()>) {
    tokio::time::timeout(60 * SECOND, test).await.expect("the test hangs");
}

pub(crate) fn builder() -> EmbeddedBrokerBuilder {
    let builder = EmbeddedBroker::builder().fast().share_version(3).topic(IN, 1).topic(OUT, 1);
    builder.group_config(GROUP, "share.auto.offset.reset", "earliest")
}

/// A broker with so many records to read.
pub(crate) async fn broker(records: usize) -> EmbeddedBroker {
    let broker = builder().start().await.unwrap();
    if records > 0 {
        broker.produce(IN, 0, &numbers(records)).await.unwrap();
    }
    broker
}

pub(crate) fn config(broker: &EmbeddedBroker) -> ackflow_client::share::ShareConsumerBuilder {
    let builder = ShareConsumerConfig::builder(&broker.bootstrap_servers(), GROUP);
    builder.acknowledgement_mode(AcknowledgementMode::Explicit)
}

pub(crate) fn consumer(broker: &EmbeddedBroker) -> ShareConsumer {
    let mut consumer = ShareConsumer::new(config(broker).build().unwrap()).unwrap();
    consumer.subscribe([IN]).unwrap();
    consumer
}

/// A producer that has taken its transactional id over.
pub(crate) async fn producer(broker: &EmbeddedBroker) -> Producer {
    let mut config = ProducerConfig::new(&broker.bootstrap_servers()).unwrap();
    config.transactional_id = Some(ID.to_owned());
    let producer = Producer::new(config).unwrap();
    producer.init_transactions().await.unwrap();
    producer
}

/// Reads what a poll gives, writes it to the other topic and sends the acknowledgements, all in a new transaction. Gives the values.
pub(crate) async fn pass_on(consumer: &mut ShareConsumer, producer: &Producer) -> Result<Vec<String>, ClientError> {
    let values = write(consumer, producer).await;
    acknowledge(consumer, producer).await.map(|()| values)
}

pub(crate) async fn write(consumer: &mut ShareConsumer, producer: &Producer) -> Vec<String> {
    let records = consumer.poll(20 * SECOND).await.unwrap();
    producer.begin_transaction().unwrap();
    let mut values = Vec::new();
    for record in &records {
        let record = record.unwrap();
        let value = record.value.unwrap().to_vec();
        values.push(String::from_utf8(value.clone()).unwrap());
        drop(producer.send(ProducerRecord::new(OUT, value)).await.unwrap());
        consumer.acknowledge(&record, ackflow_client::share::AckType::Accept).unwrap();
    }
    assert!(!values.is_empty());
    values
}

pub(crate) async fn acknowledge(consumer: &mut ShareConsumer, producer: &Producer) -> Result<(), ClientError> {
    let acknowledgements = consumer.acknowledgements_for_transaction().unwrap();
    let member = consumer.share_group_metadata().unwrap();
    producer.send_share_acknowledgements_to_transaction(acknowledgements, &member).await
}

/// What was written and counts, in order, once the last transaction has ended.
pub(crate) async fn output(broker: &EmbeddedBroker) -> Vec<String> {
    let config = ConsumerConfig::builder(&broker.bootstrap_servers())
        .isolation_level(IsolationLevel::ReadCommitted)
        .auto_offset_reset(OffsetReset::Earliest)
        .build()
        .unwrap();
    let mut consumer = Consumer::new(config).unwrap();
    let partition = ackflow_client::consumer::TopicPartition::new(OUT, 0);
    consumer.assign([partition.clone()]).unwrap();
    let end = consumer.end_offsets([partition.clone()]).await.unwrap()[&partition];
    let mut values = Vec::new();
    while consumer.position(&partition).await.unwrap() < end {
        let records = consumer.poll(SECOND).await.unwrap();
        for record in &records {
            values.push(String::from_utf8(record.unwrap().value.unwrap().to_vec()).unwrap());
        }
    }
    consumer.close(10 * SECOND).await.unwrap();
    values
}

pub(crate) fn numbers(to: usize) -> Vec<String> {
    (0..to).map(|number| number.to_string()).collect()
}

/// How many records of the group wait for the end of a transaction.
pub(crate) async fn pending(broker: &EmbeddedBroker) -> i64 {
    let records = broker.share_records(GROUP, IN, 0).await.unwrap();
    let pending = records.iter().filter(|records| matches!(records.state, ShareRecordState::Pending { .. }));
    pending.map(|records| records.last - records.first + 1).sum()
}

pub(crate) async fn lag(broker: &EmbeddedBroker) -> i64 {
    broker.group_lag(GROUP, IN, 0).await.unwrap().unwrap()
}
