//! The broker's dead letter queue (KIP-1191).

use ackflow_client::admin::NewTopic;
use ackflow_client::consumer::{Consumer, ConsumerConfig, TopicPartition};
use ackflow_client::share::{AckType, AcknowledgementMode};

use crate::cluster::{Cluster, SECOND};
use crate::support::unique;

pub(crate) async fn what_a_group_gives_up_is_in_its_dead_letter_queue_with_why(cluster: Cluster) {
    let queue = unique("dlq.test");
    let topic = NewTopic::new(&queue, 2).config("errors.deadletterqueue.group.enable", "true");
    cluster.create(NewTopic { replication_factor: Some(1), ..topic }).await;
    cluster.set_group_config("share.delivery.count.limit", "2").await;
    cluster.set_group_config("errors.deadletterqueue.copy.record.enable", "true").await;
    cluster.set_group_config("errors.deadletterqueue.topic.name", &queue).await;

    cluster.produce(2, 100..104).await;
    let mut consumer = cluster.consumer(cluster.config().acknowledgement_mode(AcknowledgementMode::Explicit));
    let mut settled = 0;
    while settled < 5 {
        let records = consumer.poll(20 * SECOND).await.unwrap();
        for record in &records {
            let record = record.unwrap();
            // Offset 3 is given up after two deliveries.
            let ack = match record.offset {
                1 => AckType::Reject,
                3 => AckType::Release,
                _ => AckType::Accept,
            };
            settled += 1;
            consumer.acknowledge(&record, ack).unwrap();
        }
        assert_eq!(consumer.commit_sync(10 * SECOND).await.unwrap().first_error(), None);
    }
    consumer.close(10 * SECOND).await.unwrap();

    let mut reader = Consumer::new(ConsumerConfig::builder(&cluster.bootstrap).build().unwrap()).unwrap();
    // The partition of a letter is that of its record, as far as the queue has as many.
    let partition = TopicPartition::new(&*queue, 0);
    reader.assign([partition.clone()]).unwrap();
    reader.seek_to_beginning(&[partition]).unwrap();
    let mut letters = Vec::new();
    while letters.len() < 2 {
        for record in &reader.poll(SECOND).await.unwrap() {
            let record = record.unwrap();
            let headers = record.headers().map(|header| {
                let header = header.unwrap();
                format!("{}={}", header.key_str(), String::from_utf8_lossy(header.value.unwrap()))
            });
            letters.push((String::from_utf8_lossy(record.value.unwrap()).into_owned(), headers.collect::<Vec<_>>()));
        }
    }
    letters.sort();
    let letter = |value: &str, offset, count, message: &str| {
        let (topic, group) = (&cluster.topic, &cluster.group);
        let headers = [
            format!("__dlq.errors.topic={topic}"),
            "__dlq.errors.partition=2".to_owned(),
            format!("__dlq.errors.offset={offset}"),
            format!("__dlq.errors.group={group}"),
            format!("__dlq.errors.delivery.count={count}"),
            format!("__dlq.errors.message={message}"),
        ];
        (value.to_owned(), headers.to_vec())
    };
    let rejected = letter("101", 1, 1, "Offset rejected by client.");
    let failed = letter("103", 3, 2, "Offset delivery count exceeded the threshold.");
    assert_eq!(letters, [rejected, failed]);
    cluster.no_lag_is_left().await;
}
