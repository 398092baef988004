//! Transactions on an embedded broker: what only faults on demand, or many attempts, can show. The rest is in tests/consumer, on a real Kafka too.

use std::time::Duration;

use ackflow_client::admin::NewTopic;
use ackflow_client::consumer::{IsolationLevel, TopicPartition};
use ackflow_client::{
    Admin, ClientConfig, Consumer, ConsumerConfig, ErrorKind, Producer, ProducerConfig, ProducerRecord,
};
use ackflow_protocol::wire::ApiKey;
use ackflow_testkit::EmbeddedBroker;
use ackflow_testkit::core::{FaultAction, FaultRule};
use tokio::time::timeout;

async fn producer(broker: &EmbeddedBroker) -> Producer {
    let mut config = ProducerConfig::new(&broker.bootstrap_servers()).unwrap();
    config.transactional_id = Some("id".to_owned());
    let producer = Producer::new(config).unwrap();
    producer.init_transactions().await.unwrap();
    producer
}

/// All committed values of a partition, which has this many.
async fn committed(broker: &EmbeddedBroker, topic: &str, count: usize) -> Vec<String> {
    let config = ConsumerConfig::builder(&broker.bootstrap_servers()).isolation_level(IsolationLevel::ReadCommitted);
    let mut consumer = Consumer::new(config.build().unwrap()).unwrap();
    let partition = TopicPartition::new(topic, 0);
    consumer.assign([partition.clone()]).unwrap();
    consumer.seek_to_beginning(&[partition]).unwrap();
    let mut values = Vec::new();
    loop {
        let records =
            consumer.poll(Duration::from_millis(if values.len() < count { 5_000 } else { 100 })).await.unwrap();
        if records.is_empty() {
            return values;
        }
        let read = records.iter().map(|record| String::from_utf8_lossy(record.unwrap().value.unwrap()).into_owned());
        values.extend(read);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_a_commit_confirmed_is_there_whatever_became_of_the_transaction_before() {
    let broker = EmbeddedBroker::builder().fast().topic("good", 1).start().await.unwrap();
    let admin = Admin::new(ClientConfig::new(&broker.bootstrap_servers()).unwrap());
    admin.create_topics([NewTopic::new("small", 1).config("max.message.bytes", "50")]).await.unwrap();
    let producer = producer(&broker).await;
    let mut expected = Vec::new();
    for round in 0..150 {
        producer.begin_transaction().unwrap();
        for index in 0..50 {
            let topic = if index % 5 == 0 { "small" } else { "good" };
            let record = ProducerRecord::new(topic, format!("{round} is aborted {}", "x".repeat(50)));
            // It may have been refused already.
            drop(producer.send(record).await);
        }
        assert_eq!(producer.commit_transaction().await.unwrap_err().kind(), ErrorKind::Abortable);
        producer.abort_transaction().await.unwrap();
        producer.begin_transaction().unwrap();
        for index in 0..3 {
            let value = format!("{round} {index}");
            drop(producer.send(ProducerRecord::new("good", value.clone())).await.unwrap());
            expected.push(value);
        }
        producer.commit_transaction().await.unwrap();
    }
    assert_eq!(committed(&broker, "good", expected.len()).await, expected);
}

// Mutation: client/src/producer/transaction/mod.rs
// - if transactions.with(|machine| machine.is_committing()) {
// + if false {
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_waits_for_the_commit_that_is_under_way() {
    let broker = EmbeddedBroker::builder().fast().topic("orders", 1).start().await.unwrap();
    let producer = producer(&broker).await;
    let late = FaultRule::new(FaultAction::DelayRequest(Duration::from_millis(500)));
    broker.add_fault(late.api(ApiKey::PRODUCE)).await.unwrap();
    producer.begin_transaction().unwrap();
    drop(producer.send(ProducerRecord::new("orders", "x")).await.unwrap());
    timeout(Duration::from_millis(50), producer.commit_transaction()).await.unwrap_err();
    producer.close().await.unwrap();
    assert_eq!(committed(&broker, "orders", 1).await, ["x"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_producer_that_was_closed_says_so() {
    let broker = EmbeddedBroker::builder().fast().topic("orders", 1).start().await.unwrap();
    let producer = producer(&broker).await;
    producer.clone().close().await.unwrap();
    assert_eq!(producer.begin_transaction().unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(producer.commit_transaction().await.unwrap_err().kind(), ErrorKind::Closed);
}
