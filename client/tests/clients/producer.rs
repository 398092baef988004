//! Records in, confirmations out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ackflow_client::admin::{Admin, ConfigChange, ConfigResource, NewTopic};
use ackflow_client::share::{OwnedShareConsumer, ShareConsumerConfig};
use ackflow_client::{ErrorKind, Producer, ProducerConfig, ProducerRecord};
use ackflow_protocol::records::Compression;
use ackflow_protocol::wire::ErrorCode;
use bytes::Bytes;

use crate::{eventually, unique};

fn config(servers: &str) -> ProducerConfig {
    ProducerConfig::new(servers).unwrap()
}

/// A new topic.
async fn topic(servers: &str, partitions: i32) -> Arc<str> {
    let name = unique("producer");
    let admin = Admin::new(config(servers).client);
    let created = admin.create_topics([NewTopic::new(&name, partitions)]).await.unwrap();
    assert!(created[&name].is_ok(), "{created:?}");
    name.into()
}

async fn configure(servers: &str, resource: ConfigResource, key: &str, value: &str) {
    let change = (resource.clone(), vec![ConfigChange::set(key, value)]);
    let admin = Admin::new(config(servers).client);
    admin.alter_configs([change]).await.unwrap().remove(&resource).unwrap().unwrap();
    admin.await_configs(&resource, &[(key, value)]).await.unwrap();
}

pub(crate) async fn every_record_is_confirmed_with_its_own_offset_whatever_the_compression(servers: &str) {
    for compression in Compression::ALL {
        let topic = topic(servers, 3).await;
        let mut config = config(servers);
        config.compression = compression;
        let producer = Producer::new(config).unwrap();
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

pub(crate) async fn records_without_a_key_reach_every_partition(servers: &str) {
    let topic = topic(servers, 6).await;
    let producer = Producer::new(config(servers)).unwrap();
    let mut deliveries = Vec::new();
    for i in 0..20_000 {
        deliveries.push(producer.send(ProducerRecord::new(topic.clone(), format!("{i:0100}"))).await.unwrap());
    }
    let mut offsets: BTreeMap<i32, Vec<i64>> = BTreeMap::new();
    for delivery in deliveries {
        let report = delivery.await.unwrap();
        offsets.entry(report.partition).or_default().push(report.offset.unwrap());
    }
    // How many each gets depends on how quickly its leader answers: batches go where less waits. What it gets, it has in the order in
    // which it was sent, and all of it.
    assert_eq!(offsets.keys().copied().collect::<Vec<_>>(), (0..6).collect::<Vec<_>>());
    for (partition, offsets) in &offsets {
        assert_eq!(*offsets, (0..offsets.len() as i64).collect::<Vec<_>>(), "partition {partition}");
    }
    assert_eq!(offsets.values().map(Vec::len).sum::<usize>(), 20_000);
}

pub(crate) async fn the_brokers_time_is_reported_where_the_topic_wants_it(servers: &str) {
    let topic = topic(servers, 1).await;
    configure(servers, ConfigResource::topic(&*topic), "message.timestamp.type", "LogAppendTime").await;
    let producer = Producer::new(config(servers)).unwrap();
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

pub(crate) async fn what_the_broker_refuses_is_an_error_and_the_rest_goes_on(servers: &str) {
    let topic = topic(servers, 1).await;
    configure(servers, ConfigResource::topic(&*topic), "max.message.bytes", "1000").await;
    let mut config = config(servers);
    config.batch_size = 500;
    let producer = Producer::new(config).unwrap();
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

pub(crate) async fn a_topic_that_cannot_be_is_refused_at_once(servers: &str) {
    let producer = Producer::new(config(servers)).unwrap();
    let error = producer.send(ProducerRecord::new("no/such/topic", "v")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("no/such/topic"), "{error}");
}

pub(crate) async fn a_partition_that_does_not_exist_is_refused(servers: &str) {
    let topic = topic(servers, 2).await;
    let producer = Producer::new(config(servers)).unwrap();
    let error = producer.send(ProducerRecord::new(topic.clone(), "v").partition(2)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("no partition 2, the topic has 2"), "{error}");
}

/// Nulls, empty values, repeated header keys and times survive.
pub(crate) async fn what_is_consumed_is_what_was_produced_whatever_the_compression(servers: &str) {
    for compression in Compression::ALL {
        let (topic, group) = (topic(servers, 1).await, unique("producer"));
        configure(servers, ConfigResource::group(&group), "share.auto.offset.reset", "earliest").await;
        let bytes = |text: &str| Some(Bytes::from(text.to_owned()));
        let record = |i: i64| ProducerRecord {
            topic: topic.clone(),
            partition: None,
            key: [None, bytes(""), bytes("key")][i as usize % 3].clone(),
            value: [bytes("v"), bytes(""), None, bytes(&"long".repeat(100))][i as usize % 4].clone(),
            headers: match i % 2 {
                0 => Vec::new(),
                _ => vec![("h".into(), bytes("1")), ("h".into(), None), (String::new(), bytes(""))],
            },
            timestamp: Some(1_700_000_000_000 + i * 86_400_000 * (i % 2)),
        };
        let mut config = config(servers);
        config.compression = compression;
        let producer = Producer::new(config).unwrap();
        for i in 0..1000 {
            drop(producer.send(record(i)).await.unwrap());
        }
        producer.close().await.unwrap();

        let mut consumer =
            OwnedShareConsumer::new(ShareConsumerConfig::builder(servers, &group).build().unwrap()).unwrap();
        consumer.subscribe([&*topic]).unwrap();
        let mut next = 0;
        while next < 1000 {
            let Some(delivery) = consumer.poll(Duration::from_secs(10)).await.unwrap() else { continue };
            for read in delivery.records() {
                let (read, wrote) = (read.unwrap(), record(next));
                assert_eq!((read.offset, read.timestamp), (next, wrote.timestamp.unwrap()), "{compression}");
                assert_eq!((read.key, read.value), (wrote.key.as_deref(), wrote.value.as_deref()), "{compression}");
                let headers = read.headers().map(|header| header.unwrap());
                let headers: Vec<_> =
                    headers.map(|h| (h.key_str().into_owned(), h.value.map(<[u8]>::to_vec))).collect();
                let wrote: Vec<_> = wrote.headers.into_iter().map(|(k, v)| (k, v.map(|v| v.to_vec()))).collect();
                assert_eq!(headers, wrote, "{compression}");
                next += 1;
            }
            delivery.accept().await.unwrap();
        }
        consumer.close(Duration::from_secs(10)).await.unwrap();
    }
}

pub(crate) async fn records_of_many_tasks_are_all_written_in_the_order_of_each(servers: &str) {
    let topic = topic(servers, 2).await;
    let producer = Producer::new(config(servers)).unwrap();
    let tasks: Vec<_> = (0..8)
        .map(|task| {
            let (producer, topic) = (producer.clone(), topic.clone());
            tokio::spawn(async move {
                let mut deliveries = Vec::new();
                for i in 0..2000 {
                    let record = ProducerRecord::new(topic.clone(), format!("{task} {i}")).partition(task % 2);
                    deliveries.push(producer.send(record).await.unwrap());
                }
                let mut offsets = Vec::new();
                for delivery in deliveries {
                    offsets.push(delivery.await.unwrap().offset.unwrap());
                }
                assert!(offsets.is_sorted_by(|a, b| a < b), "task {task}");
                (task % 2, offsets)
            })
        })
        .collect();
    let mut written: BTreeMap<i32, Vec<i64>> = BTreeMap::new();
    for task in tasks {
        let (partition, offsets) = task.await.unwrap();
        written.entry(partition).or_default().extend(offsets);
    }
    for offsets in written.values_mut() {
        offsets.sort_unstable();
        assert_eq!(*offsets, (0..8000).collect::<Vec<_>>());
    }
}

pub(crate) async fn a_topic_that_is_deleted_and_created_again_is_produced_to(servers: &str) {
    let topic = topic(servers, 1).await;
    let admin = Admin::new(config(servers).client);
    let producer = Producer::new(config(servers)).unwrap();
    let send = async || {
        let delivery = producer.send(ProducerRecord::new(topic.clone(), "v").partition(0)).await.unwrap();
        delivery.await.unwrap().offset
    };
    for offset in 0..5 {
        assert_eq!(send().await, Some(offset));
    }
    admin.delete_topics([&*topic]).await.unwrap().remove(&*topic).unwrap().unwrap();
    let create = async || admin.create_topics([NewTopic::new(&*topic, 1)]).await.unwrap().remove(&*topic).unwrap();
    eventually("the name is free", async || create().await.ok()).await;
    assert_eq!(send().await, Some(0));
    assert_eq!(send().await, Some(1));
    producer.close().await.unwrap();
}
