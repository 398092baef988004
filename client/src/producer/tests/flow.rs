//! Batches, order, back-pressure, flush and close.

use std::time::Duration;

use ackflow_protocol::messages::metadata::MetadataResponseTopic;
use ackflow_protocol::wire::ErrorCode;
use tokio::time::timeout;

use super::broker::*;
use crate::error::ErrorKind;
use crate::net::testing::Peer;
use crate::producer::*;

fn record(value: &str) -> ProducerRecord {
    ProducerRecord::new(TOPIC, value.to_owned())
}

#[tokio::test]
async fn five_requests_are_in_flight_in_order_and_the_rest_gathers_in_a_batch() {
    let (_cluster, mut broker) = single().await;
    let producer = Producer::new(broker.config()).unwrap();
    let first = producer.send(record("first")).await.unwrap();
    broker.produce().await.answer(ErrorCode::NONE);
    first.await.unwrap();

    let mut requests = Vec::new();
    for i in 1..=5 {
        drop(producer.send(record(&i.to_string())).await.unwrap());
        requests.push(broker.produce().await);
        assert_eq!((requests[i - 1].only().sequence, requests[i - 1].only().values), (i as i32, vec![i.to_string()]));
    }
    let rest: Vec<String> = (6..100).map(|i| i.to_string()).collect();
    let mut last = None;
    for value in &rest {
        last = Some(producer.send(record(value)).await.unwrap());
    }
    broker.nothing().await;
    requests.into_iter().for_each(|request| request.answer(ErrorCode::NONE));
    let batch = broker.produce().await;
    assert_eq!((batch.only().sequence, batch.only().values), (6, rest));
    batch.answer(ErrorCode::NONE);
    assert_eq!(last.unwrap().await.unwrap().offset, Some(600 + 93));
}

// Mutation: client/src/producer/queue/mod.rs
// - let built = if self.limits.idempotent { builder.build_unnumbered() } else { builder.build() };
// + let built = builder.build_unnumbered();
#[tokio::test]
async fn batches_of_a_producer_that_is_not_idempotent_have_no_number_but_a_checksum() {
    let (_cluster, mut broker) = single().await;
    let config = ProducerConfig { acks: Acks::Leader, idempotence: false, ..broker.config() };
    let producer = Producer::new(config).unwrap();
    let delivery = producer.send(record("a")).await.unwrap();
    let request = broker.produce().await;
    // Which looks at the checksum.
    let sent = request.only();
    assert_eq!((sent.producer_id, sent.epoch, sent.sequence, &*sent.values), (-1, -1, -1, &["a".to_owned()][..]));
    request.answer(ErrorCode::NONE);
    delivery.await.unwrap();
}

#[tokio::test]
async fn one_request_carries_a_batch_of_each_partition_that_a_broker_leads() {
    let cluster = Cluster::default();
    let (mut one, mut two) = (cluster.broker(1).await, cluster.broker(2).await);
    cluster.leaders(&[1, 2, 1, 2], 0);
    let producer = Producer::new(ProducerConfig { linger: Duration::from_secs(60), ..one.config() }).unwrap();
    let mut deliveries = Vec::new();
    for i in 0..8 {
        deliveries.push(producer.send(record(&i.to_string()).partition(i % 4)).await.unwrap());
    }
    let partitions = |request: &Produce| {
        let mut partitions: Vec<_> = request.batches().iter().map(|sent| sent.partition).collect();
        partitions.sort_unstable();
        partitions
    };
    let flushing = tokio::spawn(async move { producer.flush().await });
    let (to_one, to_two) = (one.produce().await, two.produce().await);
    assert_eq!((partitions(&to_one), partitions(&to_two)), (vec![0, 2], vec![1, 3]));
    to_two.answer(ErrorCode::NONE);
    to_one.answer(ErrorCode::NONE);
    for (i, delivery) in deliveries.into_iter().enumerate() {
        let report = delivery.await.unwrap();
        assert_eq!((report.partition, report.offset), (i as i32 % 4, Some(i as i64 / 4)));
    }
    flushing.await.unwrap().unwrap();
}

#[tokio::test]
async fn where_the_buffer_is_full_sending_waits_and_says_so_when_it_takes_too_long() {
    let (_cluster, mut broker) = single().await;
    let config = ProducerConfig {
        batch_size: 1000,
        buffer_memory: 2500,
        max_block: Duration::from_millis(100),
        linger: Duration::from_secs(5),
        ..broker.config()
    };
    let producer = Producer::new(config).unwrap();
    let value = "x".repeat(800);
    let first = producer.send(record(&value)).await.unwrap();
    let second = producer.send(record(&value)).await.unwrap();
    let error = producer.send(record(&value)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    for part in ["buffer.memory=2500", "max.block.ms=100", "raise buffer.memory"] {
        assert!(error.to_string().contains(part), "{error}");
    }

    // Who waits gets the room as soon as it is free; and one who gives up has put its record nowhere.
    assert!(timeout(Duration::from_millis(20), producer.send(record("gave up"))).await.is_err());
    let waiting = producer.send(record("waited"));
    let answering = async {
        let request = broker.produce().await;
        request.answer(ErrorCode::NONE);
        broker.produce().await.answer(ErrorCode::NONE);
    };
    let (waited, ()) = tokio::join!(waiting, answering);
    first.await.unwrap();
    second.await.unwrap();
    let flushing = producer.flush();
    let answering = async {
        let request = broker.produce().await;
        assert_eq!(request.only().values, ["waited"]);
        request.answer(ErrorCode::NONE);
    };
    let (flushed, ()) = tokio::join!(flushing, answering);
    flushed.unwrap();
    waited.unwrap().await.unwrap();
}

#[tokio::test]
async fn flush_ends_the_lingering_and_waits_for_every_record_also_those_whose_futures_were_dropped() {
    let (_cluster, mut broker) = single().await;
    let producer = Producer::new(ProducerConfig { linger: Duration::from_secs(60), ..broker.config() }).unwrap();
    for i in 0..3 {
        drop(producer.send(record(&i.to_string())).await.unwrap());
    }
    let flushing = tokio::spawn({
        let producer = producer.clone();
        async move { producer.flush().await }
    });
    let request = broker.produce().await;
    assert_eq!(request.only().values, ["0", "1", "2"]);
    tokio::task::yield_now().await;
    assert!(!flushing.is_finished());
    request.answer(ErrorCode::NONE);
    flushing.await.unwrap().unwrap();

    drop(producer.send(record("refused")).await.unwrap());
    let flushing = tokio::spawn(async move { producer.flush().await });
    broker.produce().await.answer(ErrorCode::INVALID_RECORD);
    assert_eq!(flushing.await.unwrap().unwrap_err().code(), Some(ErrorCode::INVALID_RECORD));
}

#[tokio::test]
async fn close_flushes_and_a_closed_producer_takes_nothing() {
    let (_cluster, mut broker) = single().await;
    let producer = Producer::new(ProducerConfig { linger: Duration::from_secs(60), ..broker.config() }).unwrap();
    let other = producer.clone();
    let delivery = producer.send(record("a")).await.unwrap();
    let closing = tokio::spawn(producer.close());
    broker.produce().await.answer(ErrorCode::NONE);
    closing.await.unwrap().unwrap();
    delivery.await.unwrap();
    let error = match other.send(record("b")).await {
        Ok(delivery) => delivery.await.unwrap_err(),
        Err(error) => error,
    };
    assert_eq!(error.kind(), ErrorKind::Closed);
}

// Mutation: client/src/producer/mod.rs
// - if let Ok(closed) = timeout(limit, self.close()).await {
// + if let Ok(closed) = timeout(limit * 1000, self.close()).await {
#[tokio::test]
async fn a_close_that_takes_too_long_gives_up_what_is_not_confirmed_and_says_so() {
    let (_cluster, mut broker) = single().await;
    let producer = Producer::new(ProducerConfig { linger: Duration::from_secs(60), ..broker.config() }).unwrap();
    let other = producer.clone();
    let delivery = producer.send(record("a")).await.unwrap();
    let closing = tokio::spawn(producer.close_within(Duration::from_millis(100)));
    let _request = broker.produce().await;
    let error = timeout(SOON, closing).await.unwrap().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.to_string().contains("closing the producer") && error.to_string().contains("100 ms"), "{error}");
    assert_eq!(timeout(SOON, delivery).await.unwrap().unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(other.send(record("b")).await.unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn a_close_within_its_time_is_a_close() {
    let (_cluster, broker) = single().await;
    let producer = Producer::new(ProducerConfig { linger: Duration::from_secs(60), ..broker.config() }).unwrap();
    let delivery = producer.send(record("a")).await.unwrap();
    broker.confirm_all();
    producer.close_within(SOON).await.unwrap();
    assert_eq!(timeout(SOON, delivery).await.unwrap().unwrap().offset, Some(0));
}

#[tokio::test]
async fn a_producer_that_is_dropped_fails_what_is_not_confirmed() {
    let (_cluster, mut broker) = single().await;
    let producer = Producer::new(broker.config()).unwrap();
    let first = producer.send(record("in flight")).await.unwrap();
    let _request = broker.produce().await;
    let second = producer.send(record("in a batch")).await.unwrap();
    drop(producer);
    for delivery in [first, second] {
        assert_eq!(timeout(SOON, delivery).await.unwrap().unwrap_err().kind(), ErrorKind::Closed);
    }
}

#[tokio::test]
async fn a_topic_that_stays_unknown_is_an_error_that_names_it() {
    let (cluster, broker) = single().await;
    cluster.metadata.lock().unwrap().topics = vec![MetadataResponseTopic {
        error_code: ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        name: Some(TOPIC.into()),
        ..Default::default()
    }];
    let producer = Producer::new(ProducerConfig { max_block: Duration::from_millis(100), ..broker.config() }).unwrap();
    let error = producer.send(record("a")).await.unwrap_err();
    for part in ["topic t", "max.block.ms=100", "UNKNOWN_TOPIC_OR_PARTITION", "create the topic"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    // It can be created later.
    cluster.leaders(&[1], 0);
    broker.confirm_all();
    producer.send(record("b")).await.unwrap().await.unwrap();
}

// Mutation: client/src/producer/mod.rs
// - longer if longer > patience => patience = longer,
// + longer if longer < patience => patience = longer,
#[tokio::test]
async fn a_topic_that_comes_late_is_waited_for_though_the_cluster_was_never_reached_before() {
    let (cluster, broker) = single().await;
    let known = std::mem::take(&mut cluster.metadata.lock().unwrap().topics);
    cluster.metadata.lock().unwrap().topics = vec![MetadataResponseTopic {
        error_code: ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        name: Some(TOPIC.into()),
        ..Default::default()
    }];
    let mut config = ProducerConfig { max_block: SOON, ..broker.config() };
    config.client.bootstrap_resolve_timeout = Duration::from_millis(50);
    let producer = Producer::new(config).unwrap();
    let sending = producer.send(record("a"));
    let creating = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        cluster.metadata.lock().unwrap().topics = known;
    };
    broker.confirm_all();
    let (sent, ()) = tokio::join!(sending, creating);
    sent.unwrap().await.unwrap();
}

#[tokio::test]
async fn a_topic_that_is_forbidden_is_refused_at_once_and_asked_for_again_the_next_time() {
    let (cluster, broker) = single().await;
    cluster.metadata.lock().unwrap().topics = vec![MetadataResponseTopic {
        error_code: ErrorCode::TOPIC_AUTHORIZATION_FAILED,
        name: Some(TOPIC.into()),
        ..Default::default()
    }];
    let producer = Producer::new(broker.config()).unwrap();
    let error = timeout(SOON, producer.send(record("a"))).await.unwrap().unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::TOPIC_AUTHORIZATION_FAILED));
    cluster.leaders(&[1], 0);
    broker.confirm_all();
    producer.send(record("b")).await.unwrap().await.unwrap();
}

#[tokio::test]
async fn brokers_that_cannot_be_reached_are_named() {
    let port = Peer::bind().await.port();
    let mut config = ProducerConfig::new(&format!("127.0.0.1:{port}")).unwrap();
    config.max_block = Duration::from_millis(200);
    let error = Producer::new(config).unwrap().send(record("a")).await.unwrap_err();
    for part in ["max.block.ms=200", "refused", "bootstrap.servers", &port.to_string()] {
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[tokio::test]
async fn records_that_are_too_large_are_refused_by_the_setting_that_says_so() {
    let (_cluster, broker) = single().await;
    let producer = Producer::new(ProducerConfig { max_request_size: 1000, ..broker.config() }).unwrap();
    let error = producer.send(record(&"x".repeat(1001))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("max.request.size=1000"), "{error}");
}

#[tokio::test]
async fn records_of_one_key_meet_in_the_partition_that_kafka_chooses_and_those_without_are_spread() {
    let cluster = Cluster::default();
    let broker = cluster.broker(1).await;
    cluster.leaders(&[1; 7], 0);
    let producer = Producer::new(ProducerConfig { batch_size: 200, ..broker.config() }).unwrap();
    broker.confirm_all();
    // As Kafka's Java client places them among seven partitions.
    for (key, partition) in [("foobar", 0), ("21", 3), ("abcd", 5), ("foobar", 0)] {
        let report = producer.send(record("v").key(key)).await.unwrap().await.unwrap();
        assert_eq!(report.partition, partition, "{key}");
    }
    let mut partitions = std::collections::BTreeSet::new();
    for i in 0..500 {
        partitions.insert(producer.send(record(&i.to_string())).await.unwrap().await.unwrap().partition);
    }
    assert_eq!(partitions.len(), 7);
}

#[tokio::test]
async fn a_partition_that_was_added_is_found_and_one_that_was_not_is_refused() {
    let (cluster, broker) = single().await;
    let producer = Producer::new(broker.config()).unwrap();
    broker.confirm_all();
    producer.send(record("a")).await.unwrap().await.unwrap();
    let error = producer.send(record("b").partition(1)).await.unwrap_err();
    assert!(error.to_string().contains("no partition 1, the topic has 1"), "{error}");
    cluster.leaders(&[1, 1], 0);
    let report = producer.send(record("b").partition(1)).await.unwrap().await.unwrap();
    assert_eq!(report.partition, 1);
}

#[tokio::test]
async fn records_for_a_partition_that_is_gone_expire_and_say_why() {
    let (cluster, mut broker) = single().await;
    cluster.leaders(&[1, 1], 0);
    let mut config = ProducerConfig { delivery_timeout: Duration::from_millis(400), ..broker.config() };
    config.client.net.request_timeout = Duration::from_millis(300);
    let producer = Producer::new(config).unwrap();
    let delivery = producer.send(record("a").partition(1)).await.unwrap();
    let request = broker.produce().await;
    cluster.leaders(&[1], 0);
    request.answer(ErrorCode::UNKNOWN_TOPIC_ID);
    let error = delivery.await.unwrap_err();
    assert!(error.to_string().contains("delivery.timeout.ms=400"), "{error}");
    broker.confirm_all();
    producer.send(record("b")).await.unwrap().await.unwrap();
}

// Mutation: client/src/producer/mod.rs
// - check_topic(&record.topic).map_err(|error| error.while_doing("producing"))?;
// + check_topic("t").map_err(|error| error.while_doing("producing"))?;
#[tokio::test]
async fn a_name_that_no_topic_can_have_is_refused_at_once_and_others_are_learnt_all_the_same() {
    let (_cluster, broker) = single().await;
    let producer = Producer::new(broker.config()).unwrap();
    broker.confirm_all();
    for name in ["x".repeat(40_000), "x".repeat(250), "a b".to_owned(), String::new(), "..".to_owned()] {
        let error = producer.send(ProducerRecord::new(name, "a")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().starts_with("producing") && error.to_string().contains("1 to 249"), "{error}");
    }
    producer.send(record("a")).await.unwrap().await.unwrap();
}

#[tokio::test]
async fn a_topic_that_was_refused_is_asked_for_no_more_until_somebody_wants_it_again() {
    let (cluster, broker) = single().await;
    let refused = |name: &str| MetadataResponseTopic {
        name: Some(name.to_owned()),
        error_code: ErrorCode::INVALID_TOPIC_EXCEPTION,
        ..Default::default()
    };
    cluster.metadata.lock().unwrap().topics.push(refused("refused"));
    let producer = Producer::new(broker.config()).unwrap();
    broker.confirm_all();
    for _ in 0..2 {
        let error = producer.send(ProducerRecord::new("refused", "a")).await.unwrap_err();
        assert_eq!(error.code(), Some(ErrorCode::INVALID_TOPIC_EXCEPTION), "{error}");
        assert!(producer.0.0.topics.names().is_empty());
    }
    producer.send(record("a")).await.unwrap().await.unwrap();
}
