//! Where records without a key go.

use std::time::Duration;

use super::broker::*;
use crate::producer::*;

/// With what a record takes besides, eight of these fill a batch of 1000 bytes.
const BYTES: usize = 100;

fn record() -> ProducerRecord {
    ProducerRecord::new(TOPIC, "x".repeat(BYTES))
}

async fn partitions_of(deliveries: Vec<DeliveryFuture>) -> Vec<i32> {
    let mut partitions = Vec::new();
    for delivery in deliveries {
        partitions.push(delivery.await.unwrap().partition);
    }
    partitions
}

async fn seven_partitions() -> Producer {
    let cluster = Cluster::default();
    let broker = cluster.broker(1).await;
    cluster.leaders(&[1; 7], 0);
    let config = ProducerConfig { batch_size: 1000, linger: Duration::from_secs(60), ..broker.config() };
    broker.confirm_all();
    Producer::new(config).unwrap()
}

#[tokio::test]
async fn records_stay_with_a_partition_for_a_batch_and_then_go_to_another() {
    let producer = seven_partitions().await;
    let mut deliveries = Vec::new();
    for _ in 0..80 {
        deliveries.push(producer.send(record()).await.unwrap());
    }
    producer.flush().await.unwrap();
    let partitions = partitions_of(deliveries).await;
    let batches: Vec<_> = partitions.chunks(8).collect();
    assert!(batches.iter().all(|batch| batch.iter().all(|partition| *partition == batch[0])), "{batches:?}");
    assert!(batches.windows(2).all(|two| two[0][0] != two[1][0]), "{batches:?}");
}

// Mutation: client/src/producer/queue/mod.rs
// - if may_move_on && self.since_chosen >= self.limits.batch_size / 2 {
// + if may_move_on {
#[tokio::test]
async fn small_batches_stay_with_a_partition_until_they_are_half_a_batch_together() {
    let producer = seven_partitions().await;
    let mut partitions = Vec::new();
    for _ in 0..6 {
        let pair = vec![producer.send(record()).await.unwrap(), producer.send(record()).await.unwrap()];
        producer.flush().await.unwrap();
        let pair = partitions_of(pair).await;
        assert_eq!(pair[0], pair[1]);
        partitions.push(pair[0]);
    }
    // Two pairs are less than 500 bytes, three are more.
    assert_eq!((partitions[0], partitions[1]), (partitions[2], partitions[2]), "{partitions:?}");
    assert_ne!(partitions[2], partitions[3], "{partitions:?}");
    assert_eq!((partitions[3], partitions[4]), (partitions[5], partitions[5]), "{partitions:?}");
}

/// How many batches of 50 go to a partition that has 60 to send, while the broker answers nothing.
async fn sent_to_the_slowest(adaptive_partitioning: bool) -> usize {
    let (cluster, broker) = single().await;
    cluster.leaders(&[1; 3], 0);
    let config = ProducerConfig { batch_size: 200, adaptive_partitioning, ..broker.config() };
    let producer = Producer::new(config).unwrap();
    for _ in 0..60 {
        drop(producer.send(record().partition(1)).await.unwrap());
    }
    let topic = producer.0.0.topics.wait_for(&TOPIC.into()).await.unwrap();
    let count = || topic.partitions[1].lock().incomplete().count();
    let before = count();
    for _ in 0..50 {
        drop(producer.send(record()).await.unwrap());
    }
    count() - before
}

// Mutation: client/src/producer/topics.rs
// - let with_least = [one, two].into_iter().flatten().min_by_key(|(waiting, _)| *waiting);
// + let with_least = one;
#[tokio::test]
async fn a_partition_that_is_slow_gets_no_more_unless_adapting_is_off() {
    // The one that was chosen when the topic became known may be it.
    assert!(sent_to_the_slowest(true).await <= 1);
    assert!(sent_to_the_slowest(false).await > 1);
}
