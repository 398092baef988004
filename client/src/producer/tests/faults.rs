//! Lost answers, lost sequences, leaders that move.

use super::broker::*;
use crate::error::ErrorKind;
use crate::producer::*;
use ackflow_protocol::messages::init_producer_id::InitProducerIdResponse;
use ackflow_protocol::wire::ErrorCode;
use std::time::Duration;
use tokio::time::timeout;

fn record(value: &str) -> ProducerRecord {
    ProducerRecord::new(TOPIC, value.to_owned())
}

// Mutation: client/src/producer/verdict.rs
// - if code.is_none() || (idempotent && code == ErrorCode::DUPLICATE_SEQUENCE_NUMBER) {
// + if code.is_none() {
#[tokio::test]
async fn row_60_a_batch_whose_answer_was_lost_comes_again_and_a_duplicate_is_a_success() {
    let (_cluster, mut broker) = single().await;
    let producer = Producer::new(ProducerConfig { linger: Duration::from_millis(20), ..broker.config() }).unwrap();
    let mut deliveries = Vec::new();
    for i in 0..10 {
        deliveries.push(producer.send(record(&i.to_string())).await.unwrap());
    }
    let first = broker.produce().await;
    let sent = first.only();
    assert_eq!((sent.producer_id, sent.epoch, sent.sequence, sent.values.len()), (1000, 0, 0, 10));
    first.cut();
    let second = broker.produce().await;
    assert_eq!(second.only(), sent);
    second.answer(ErrorCode::DUPLICATE_SEQUENCE_NUMBER);
    for delivery in deliveries {
        delivery.await.unwrap();
    }
}

// Mutation: client/src/producer/verdict.rs
// - _ if code.is_retriable() => Verdict::Again(error),
// + _ if code.is_retriable() && code != ErrorCode::REQUEST_TIMED_OUT => Verdict::Again(error),
#[tokio::test]
async fn row_60_a_time_out_on_the_broker_is_not_taken_for_not_written() {
    let (_cluster, mut broker) = single().await;
    let producer = Producer::new(broker.config()).unwrap();
    let delivery = producer.send(record("a")).await.unwrap();
    let first = broker.produce().await;
    let sent = first.only();
    first.answer(ErrorCode::REQUEST_TIMED_OUT);
    let second = broker.produce().await;
    assert_eq!(second.only(), sent);
    second.answer(ErrorCode::NONE);
    assert_eq!(delivery.await.unwrap().offset, Some(0));
}

// Mutation: client/src/producer/verdict.rs
// - ErrorCode::INVALID_PRODUCER_EPOCH | ErrorCode::PRODUCER_FENCED | ErrorCode::INVALID_PRODUCER_ID_MAPPING
// + ErrorCode::INVALID_PRODUCER_EPOCH | ErrorCode::INVALID_PRODUCER_ID_MAPPING
#[tokio::test]
async fn row_60_a_fenced_producer_does_not_try_again() {
    let (cluster, mut broker) = single().await;
    let producer = Producer::new(broker.config()).unwrap();
    let delivery = producer.send(record("a")).await.unwrap();
    broker.produce().await.answer(ErrorCode::PRODUCER_FENCED);
    assert_eq!(delivery.await.unwrap_err().code(), Some(ErrorCode::PRODUCER_FENCED));
    broker.nothing().await;
    // The next record goes under another id.
    let other = InitProducerIdResponse { producer_id: 2000, producer_epoch: 3, ..Default::default() };
    cluster.ids.lock().unwrap().push_back(other);
    let delivery = producer.send(record("b")).await.unwrap();
    let next = broker.produce().await;
    assert_eq!((next.only().producer_id, next.only().epoch, next.only().sequence), (2000, 3, 0));
    next.answer(ErrorCode::NONE);
    delivery.await.unwrap();
}

// Mutation: client/src/producer/queue/recovery.rs
// - self.next_sequence = 0;
// +
#[tokio::test]
async fn row_59_a_batch_without_an_answer_expires_and_those_behind_it_go_on_from_0() {
    let (_cluster, mut broker) = single().await;
    let mut config = ProducerConfig { delivery_timeout: Duration::from_millis(400), ..broker.config() };
    config.client.net.request_timeout = Duration::from_millis(300);
    let producer = Producer::new(config).unwrap();
    let first = producer.send(record("0")).await.unwrap();
    broker.produce().await.answer(ErrorCode::NONE);
    first.await.unwrap();
    let lost = producer.send(record("1")).await.unwrap();
    let without_answer = broker.produce().await;
    assert_eq!(without_answer.only().sequence, 1);
    // Again within the delivery time-out, with the same number; then it is over.
    let again = broker.produce().await;
    assert_eq!(again.only(), without_answer.only());
    let next = producer.send(record("2")).await.unwrap();
    let error = lost.await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.to_string().contains("delivery.timeout.ms=400"), "{error}");
    loop {
        let request = broker.produce().await;
        let sent = request.only();
        if sent.epoch == 1 {
            assert_eq!((sent.sequence, sent.values), (0, vec!["2".to_owned()]));
            request.answer(ErrorCode::NONE);
            break;
        }
        // It may have been in flight behind the other one.
        assert_eq!((sent.epoch, sent.sequence), (0, 2));
    }
    next.await.unwrap();
}

// Mutation: client/src/producer/queue/recovery.rs
// - match producer.epoch.checked_add(1) {
// + match Some(producer.epoch) {
#[tokio::test]
async fn row_59_a_broker_that_forgot_the_producer_gets_a_new_epoch_from_0() {
    for code in [ErrorCode::UNKNOWN_PRODUCER_ID, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER] {
        let (_cluster, mut broker) = single().await;
        let producer = Producer::new(broker.config()).unwrap();
        for i in 0..7 {
            let delivery = producer.send(record(&i.to_string())).await.unwrap();
            broker.produce().await.answer(ErrorCode::NONE);
            delivery.await.unwrap();
        }
        let delivery = producer.send(record("7")).await.unwrap();
        let forgotten = broker.produce().await;
        assert_eq!((forgotten.only().epoch, forgotten.only().sequence), (0, 7));
        forgotten.answer(code);
        let renumbered = broker.produce().await;
        assert_eq!((renumbered.only().epoch, renumbered.only().sequence), (1, 0));
        assert_eq!(renumbered.only().values, ["7"]);
        renumbered.answer(ErrorCode::NONE);
        delivery.await.unwrap();
    }
}

#[tokio::test]
async fn a_leader_that_moved_is_followed_by_the_hint_without_asking_for_metadata() {
    let cluster = Cluster::default();
    let (mut one, mut two) = (cluster.broker(1).await, cluster.broker(2).await);
    cluster.leaders(&[1], 4);
    let producer = Producer::new(one.config()).unwrap();
    let delivery = producer.send(record("a")).await.unwrap();
    let first = one.produce().await;
    let sent = first.only();
    // Metadata still names the old leader, with the older epoch.
    first.answer_with_leader(&two, 5);
    let second = two.produce().await;
    assert_eq!(second.only(), sent);
    second.answer(ErrorCode::NONE);
    delivery.await.unwrap();
    one.nothing().await;
}

#[tokio::test]
async fn a_leader_that_moved_is_found_by_metadata() {
    let cluster = Cluster::default();
    let (mut one, mut two) = (cluster.broker(1).await, cluster.broker(2).await);
    cluster.leaders(&[1], 4);
    let producer = Producer::new(one.config()).unwrap();
    let delivery = producer.send(record("a")).await.unwrap();
    let first = one.produce().await;
    cluster.leaders(&[2], 5);
    first.answer(ErrorCode::NOT_LEADER_OR_FOLLOWER);
    two.produce().await.answer(ErrorCode::NONE);
    delivery.await.unwrap();
}

#[tokio::test]
async fn a_partition_without_a_leader_waits_for_one() {
    let (cluster, mut broker) = single().await;
    cluster.leaders(&[-1], 0);
    let producer = Producer::new(broker.config()).unwrap();
    let delivery = producer.send(record("a")).await.unwrap();
    broker.nothing().await;
    cluster.leaders(&[1], 1);
    broker.produce().await.answer(ErrorCode::NONE);
    delivery.await.unwrap();
}

#[tokio::test]
async fn a_leader_that_never_comes_is_named_when_the_time_is_over() {
    let (cluster, broker) = single().await;
    cluster.leaders(&[-1], 0);
    let mut config = ProducerConfig { delivery_timeout: Duration::from_millis(300), ..broker.config() };
    config.client.net.request_timeout = Duration::from_millis(300);
    let producer = Producer::new(config).unwrap();
    let error = producer.send(record("a")).await.unwrap().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    for part in ["never sent", "no leader", "delivery.timeout.ms=300"] {
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[tokio::test]
async fn a_topic_that_is_deleted_is_named_when_the_time_is_over() {
    let (cluster, mut broker) = single().await;
    let mut config = ProducerConfig { delivery_timeout: Duration::from_millis(400), ..broker.config() };
    config.client.net.request_timeout = Duration::from_millis(300);
    config.client.metadata_max_age = Duration::from_millis(20);
    let producer = Producer::new(config).unwrap();
    let first = producer.send(record("a")).await.unwrap();
    broker.produce().await.answer(ErrorCode::NONE);
    first.await.unwrap();
    cluster.metadata.lock().unwrap().topics[0].error_code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let error = producer.send(record("b")).await.unwrap().await.unwrap_err();
    assert!(error.to_string().contains("UNKNOWN_TOPIC_OR_PARTITION"), "{error}");
}

#[tokio::test]
async fn a_leader_that_cannot_be_reached_is_named_when_the_time_is_over() {
    let (cluster, broker) = single().await;
    cluster.metadata.lock().unwrap().brokers[0].port = 1;
    let mut config = ProducerConfig { delivery_timeout: Duration::from_millis(300), ..broker.config() };
    config.client.net.request_timeout = Duration::from_millis(300);
    let producer = Producer::new(config).unwrap();
    let error = producer.send(record("a")).await.unwrap().await.unwrap_err();
    assert!(error.to_string().contains("127.0.0.1:1") && error.to_string().contains("refused"), "{error}");
}

// Mutation: client/src/producer/sender.rs
// - if link.connection.as_ref().is_some_and(|connection| !connection.is_closed()) {
// + if link.connection.is_some() {
#[tokio::test]
async fn row_75_a_connection_that_the_broker_closed_while_idle_is_no_ones_error() {
    let (_cluster, mut broker) = single().await;
    let producer = Producer::new(broker.config()).unwrap();
    for i in 0..5 {
        let delivery = producer.send(record(&i.to_string())).await.unwrap();
        let request = timeout(Duration::from_secs(10), broker.produce()).await.expect("another connection is made");
        assert_eq!(request.only().sequence, i);
        // Sometimes the end comes after the answer, sometimes just as the next request is written.
        request.answer_then_cut();
        delivery.await.unwrap();
    }
}

#[tokio::test]
async fn a_producer_id_that_is_refused_fails_the_records() {
    let (cluster, broker) = single().await;
    let refused = |code| InitProducerIdResponse { error_code: code, ..Default::default() };
    let answers = [ErrorCode::COORDINATOR_LOAD_IN_PROGRESS, ErrorCode::CLUSTER_AUTHORIZATION_FAILED];
    cluster.ids.lock().unwrap().extend(answers.map(refused));
    let producer = Producer::new(broker.config()).unwrap();
    let error = producer.send(record("a")).await.unwrap().await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::CLUSTER_AUTHORIZATION_FAILED));
    broker.confirm_all();
    producer.send(record("b")).await.unwrap().await.unwrap();
}
