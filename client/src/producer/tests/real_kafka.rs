//! Against a real Kafka.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ackflow_protocol::records::Compression;
use ackflow_protocol::wire::ErrorCode;

use crate::admin::{Admin, ConfigChange, ConfigResource, NewTopic};
use crate::error::ErrorKind;
use crate::producer::*;

fn config() -> ProducerConfig {
    let servers = std::env::var("ACKFLOW_BOOTSTRAP").expect("ACKFLOW_BOOTSTRAP has to name a Kafka");
    ProducerConfig::new(&servers).unwrap()
}

/// A new topic on the real Kafka.
async fn topic(partitions: i32) -> Arc<str> {
    let name = format!("producer-{:x}", crate::net::random());
    let topic = NewTopic { replication_factor: Some(1), ..NewTopic::new(&name, partitions) };
    let created = Admin::new(config().client).create_topics([topic]).await.unwrap();
    assert!(created[&name].is_ok(), "{created:?}");
    name.into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a real Kafka"]
async fn real_kafka_every_record_is_confirmed_with_its_own_offset_whatever_the_compression() {
    for compression in Compression::ALL {
        let topic = topic(3).await;
        let producer = Producer::new(ProducerConfig { compression, ..config() }).unwrap();
        let mut deliveries = Vec::new();
        for i in 0..10_000 {
            let record = ProducerRecord::new(topic.clone(), format!("value {i} {}", "x".repeat(i % 200)))
                .key(format!("key {}", i % 100))
                .header("i", i.to_string());
            deliveries.push(producer.send(record).await.unwrap());
        }
        let mut next: BTreeMap<i32, i64> = BTreeMap::new();
        for delivery in deliveries {
            let report = delivery.await.unwrap();
            let next = next.entry(report.partition).or_default();
            assert_eq!(report.offset, Some(*next), "{compression}");
            *next += 1;
        }
        assert_eq!(next.len(), 3, "{compression}");
        producer.close().await.unwrap();
    }
}

#[tokio::test]
#[ignore = "needs a real Kafka"]
async fn real_kafka_records_without_a_key_reach_every_partition() {
    let topic = topic(6).await;
    let producer = Producer::new(config()).unwrap();
    let mut deliveries = Vec::new();
    for i in 0..20_000 {
        deliveries.push(producer.send(ProducerRecord::new(topic.clone(), format!("{i:0100}"))).await.unwrap());
    }
    let mut counts = [0; 6];
    for delivery in deliveries {
        counts[delivery.await.unwrap().partition as usize] += 1;
    }
    assert!(counts.iter().all(|count| *count > 500), "{counts:?}");
}

#[tokio::test]
#[ignore = "needs a real Kafka"]
async fn real_kafka_the_brokers_time_is_reported_where_the_topic_wants_it() {
    let topic = topic(1).await;
    let resource = ConfigResource::topic(&*topic);
    let change = (resource, vec![ConfigChange::set("message.timestamp.type", "LogAppendTime")]);
    Admin::new(config().client).alter_configs([change]).await.unwrap();
    let producer = Producer::new(config()).unwrap();
    // The broker learns of the change a moment later.
    for _ in 0..500 {
        let record = ProducerRecord { timestamp: Some(1000), ..ProducerRecord::new(topic.clone(), "v") };
        let report = producer.send(record).await.unwrap().await.unwrap();
        if report.timestamp > 1_600_000_000_000 {
            return;
        }
        assert_eq!(report.timestamp, 1000);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the broker's time was never reported");
}

#[tokio::test]
#[ignore = "needs a real Kafka"]
async fn real_kafka_what_the_broker_refuses_is_an_error_and_the_rest_goes_on() {
    let topic = topic(1).await;
    let change = (ConfigResource::topic(&*topic), vec![ConfigChange::set("max.message.bytes", "1000")]);
    Admin::new(config().client).alter_configs([change]).await.unwrap();
    let producer = Producer::new(ProducerConfig { batch_size: 500, ..config() }).unwrap();
    let large = || ProducerRecord::new(topic.clone(), vec![b'x'; 5000]);
    let mut refused = None;
    for _ in 0..500 {
        if let Err(error) = producer.send(large()).await.unwrap().await {
            refused = Some(error);
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let error = refused.expect("the limit holds after a moment");
    assert_eq!(error.code(), Some(ErrorCode::MESSAGE_TOO_LARGE));
    assert!(error.to_string().contains("max.message.bytes"), "{error}");

    let mut deliveries = Vec::new();
    for i in 0..50 {
        let record = if i % 10 == 5 { large() } else { ProducerRecord::new(topic.clone(), vec![b'x'; 400]) };
        deliveries.push(producer.send(record).await.unwrap());
    }
    let mut offsets = Vec::new();
    for (i, delivery) in deliveries.into_iter().enumerate() {
        match delivery.await {
            Ok(report) => offsets.push(report.offset.unwrap()),
            Err(error) => assert_eq!((i % 10, error.code()), (5, Some(ErrorCode::MESSAGE_TOO_LARGE))),
        }
    }
    assert_eq!(offsets.len(), 45);
    assert!(offsets.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{offsets:?}");
}

#[tokio::test]
#[ignore = "needs a real Kafka"]
async fn real_kafka_a_topic_that_cannot_be_is_refused_at_once() {
    let producer = Producer::new(config()).unwrap();
    let error = producer.send(ProducerRecord::new("no/such/topic", "v")).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::INVALID_TOPIC_EXCEPTION));
    assert!(error.to_string().contains("no/such/topic"), "{error}");
}

#[tokio::test]
#[ignore = "needs a real Kafka"]
async fn real_kafka_a_partition_that_does_not_exist_is_refused() {
    let topic = topic(2).await;
    let producer = Producer::new(config()).unwrap();
    let error = producer.send(ProducerRecord::new(topic.clone(), "v").partition(2)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("no partition 2, the topic has 2"), "{error}");
}

/// 500 000 records of 100 bytes a second is what the product asks for; a debug build is slower.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a real Kafka"]
async fn real_kafka_throughput() {
    let topic = topic(3).await;
    let producer = Producer::new(config()).unwrap();
    let value = bytes::Bytes::from(vec![b'x'; 100]);
    let count = 2_000_000;
    let begin = Instant::now();
    for _ in 0..count {
        drop(producer.send(ProducerRecord::new(topic.clone(), value.clone())).await.unwrap());
    }
    producer.close().await.unwrap();
    println!("{:.0} records/s", f64::from(count) / begin.elapsed().as_secs_f64());
}
