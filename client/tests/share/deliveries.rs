//! The owned consumer.

use std::sync::Arc;

use ackflow_client::admin::NewTopic;
use ackflow_client::share::{AckError, AckType, AcquireMode, Delivery, OwnedShareConsumer};
use ackflow_client::{ClientError, ErrorKind};
use tokio::sync::Barrier;

use crate::cluster::{Cluster, SECOND, Seen};

pub(crate) async fn deliveries_settle_from_many_tasks_in_any_order(cluster: Cluster) {
    for batch in 0..30 {
        cluster.produce(batch % 3, 0..200).await;
    }
    let mut consumer = cluster.owned(cluster.config().max_poll_records(100));
    let mut seen = Seen::default();
    let mut tasks = tokio::task::JoinSet::new();
    let mut number = 0;
    while seen.len() < 6_000 {
        let Some(delivery) = consumer.poll(SECOND).await.unwrap() else { continue };
        assert!(delivery.len() <= 100);
        for record in delivery.records() {
            let record = record.unwrap();
            assert_eq!(record.delivery_count, 1);
            seen.add(record.partition, record.offset);
        }
        number += 1;
        tasks.spawn(async move {
            tokio::time::sleep(SECOND / 1000 * (number * 7 % 20)).await;
            delivery.accept().await
        });
    }
    for settled in tasks.join_all().await {
        settled.unwrap();
    }
    consumer.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;
}

pub(crate) async fn released_records_are_delivered_up_to_the_limit_of_the_group(cluster: Cluster) {
    cluster.set_group_config("share.delivery.count.limit", "3").await;
    cluster.produce(0, 0..1).await;
    let mut consumer = cluster.owned(cluster.config());
    for count in 1..=3 {
        let delivery = consumer.poll(20 * SECOND).await.unwrap().unwrap();
        assert_eq!(delivery.max_delivery_count(), count);
        // Both ways give the record back.
        if count == 2 {
            drop(delivery);
        } else {
            delivery.release().await.unwrap();
        }
    }
    cluster.no_lag_is_left().await;
    assert!(consumer.poll(SECOND).await.unwrap().is_none(), "the record is archived");
    consumer.close(10 * SECOND).await.unwrap();
}

pub(crate) async fn a_split_delivery_settles_in_halves(cluster: Cluster) {
    cluster.produce(2, 0..10).await;
    let mut consumer = cluster.owned(cluster.config());
    let delivery = consumer.poll(20 * SECOND).await.unwrap().unwrap();
    let (mut head, tail) = delivery.split_at(6);
    head.acknowledge(0..=1, AckType::Reject).await.unwrap();
    head.accept().await.unwrap();
    tail.release().await.unwrap();
    let again = consumer.poll(20 * SECOND).await.unwrap().unwrap();
    assert_eq!((again.first_offset(), again.last_offset(), again.max_delivery_count()), (6, 9, 2));
    again.accept().await.unwrap();
    consumer.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;
}

pub(crate) async fn settling_after_closing_fails_and_the_records_come_again(cluster: Cluster) {
    cluster.produce(0, 0..10).await;
    let mut consumer = cluster.owned(cluster.config());
    let delivery = consumer.poll(20 * SECOND).await.unwrap().unwrap();
    let (settled, held) = delivery.split_at(5);
    drop(settled.accept());
    consumer.close(10 * SECOND).await.unwrap();
    let error = held.accept().await.unwrap_err();
    assert!(matches!(error, AckError::Closed { .. }), "{error}");

    let mut consumer = cluster.owned(cluster.config());
    let again = consumer.poll(20 * SECOND).await.unwrap().unwrap();
    assert_eq!((again.first_offset(), again.last_offset(), again.max_delivery_count()), (5, 9, 2));
    again.accept().await.unwrap();
    consumer.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;
}

pub(crate) async fn a_batch_larger_than_a_poll_comes_in_slices(cluster: Cluster) {
    cluster.produce(0, 0..1_950).await;
    let mut consumer = cluster.owned(cluster.config().max_poll_records(100));
    let mut next = 0;
    while next < 1_950 {
        let delivery = consumer.poll(20 * SECOND).await.unwrap().unwrap();
        assert!(delivery.len() <= 100);
        for record in delivery.records() {
            let record = record.unwrap();
            assert_eq!(record.offset, next);
            assert_eq!(record.value, Some(next.to_string().as_bytes()));
            next += 1;
        }
        drop(delivery.accept());
    }
    assert_eq!(consumer.commit_sync(10 * SECOND).await.unwrap().first_error(), None);
    cluster.no_lag_is_left().await;
    consumer.close(10 * SECOND).await.unwrap();
}

/// A member that dies, sockets and all, in the middle of its work.
struct Doomed(tokio::runtime::Runtime);

impl Doomed {
    async fn poll(&self, cluster: &Cluster, records: usize) -> (OwnedShareConsumer, Vec<Delivery>) {
        let (config, topic) = (cluster.config().build().unwrap(), cluster.topic.clone());
        let polling = async move {
            let mut consumer = OwnedShareConsumer::new(config).unwrap();
            consumer.subscribe([topic]).unwrap();
            let mut held = Vec::new();
            while held.iter().map(Delivery::len).sum::<usize>() < records {
                held.extend(consumer.poll(20 * SECOND).await.unwrap());
            }
            (consumer, held)
        };
        self.0.spawn(polling).await.unwrap()
    }
}

// Mutation: client/src/share/records.rs
// - return Some(Ok(ShareRecord::new(self.source, &record, timestamp_type, range.delivery_count)));
// + return Some(Ok(ShareRecord::new(self.source, &record, timestamp_type, 1)));
pub(crate) async fn row_17_a_member_that_dies_costs_its_records_a_delivery_and_the_limit_ends_them(cluster: Cluster) {
    let cluster = cluster.with_one_partition().await;
    cluster.set_group_config("share.delivery.count.limit", "2").await;
    cluster.produce(0, 0..10).await;
    let doomed = Doomed(tokio::runtime::Runtime::new().unwrap());
    let (dead, held) = doomed.poll(&cluster, 10).await;
    assert!(held.iter().all(|delivery| delivery.max_delivery_count() == 1));
    // The last connection of a group takes the locks with it and counts no attempt, so there is another.
    let mut consumer = cluster.owned(cluster.config());
    while consumer.assignment().is_empty() {
        assert!(consumer.poll(SECOND / 20).await.unwrap().is_none());
    }
    assert!(consumer.poll(SECOND).await.unwrap().is_none());
    doomed.0.shutdown_background();

    let mut again = Seen::default();
    while again.len() < 10 {
        let delivery = consumer.poll(20 * SECOND).await.unwrap().unwrap();
        for record in delivery.records() {
            let record = record.unwrap();
            assert_eq!(record.delivery_count, 2);
            again.add(record.partition, record.offset);
        }
        delivery.release().await.unwrap();
    }
    assert!(consumer.poll(2 * SECOND).await.unwrap().is_none(), "the limit is reached");
    drop((dead, held));
    consumer.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;
}

// Mutation: protocol/src/machine/share_consumer/schedule.rs
// - true => node.ledger.take_last(now, ErrorCode::SHARE_SESSION_NOT_FOUND),
// + true => Vec::new(),
pub(crate) async fn row_18_what_other_tasks_have_decided_goes_out_before_the_member_leaves(cluster: Cluster) {
    for partition in 0..3 {
        cluster.produce(partition, 0..100).await;
    }
    let mut consumer = cluster.owned(cluster.config().max_poll_records(10));
    let mut deliveries = Vec::new();
    while deliveries.len() < 12 {
        deliveries.extend(consumer.poll(SECOND).await.unwrap());
    }
    let mut seen = Seen::default();
    for record in deliveries.iter().flat_map(|delivery| delivery.records()) {
        let record = record.unwrap();
        seen.add(record.partition, record.offset);
    }
    let decided = Arc::new(Barrier::new(deliveries.len() + 1));
    let mut handlers = tokio::task::JoinSet::new();
    for delivery in deliveries {
        let decided = Arc::clone(&decided);
        handlers.spawn(async move {
            let accepted = delivery.accept();
            decided.wait().await;
            accepted.await
        });
    }
    decided.wait().await;
    consumer.close(10 * SECOND).await.unwrap();
    for accepted in handlers.join_all().await {
        accepted.unwrap();
    }
    let mut consumer = cluster.owned(cluster.config());
    while seen.len() < 300 {
        let delivery = consumer.poll(20 * SECOND).await.unwrap().unwrap();
        for record in delivery.records() {
            let record = record.unwrap();
            seen.add(record.partition, record.offset);
        }
        drop(delivery.accept());
    }
    consumer.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;
}

// Mutation: client/src/cluster/connections.rs
// - outcomes.push(Outcome::Answered(id, result));
// + if is_over { self.end(role, generation, outcomes); } outcomes.push(Outcome::Answered(id, result));
pub(crate) async fn row_32_a_record_larger_than_a_fetch_comes_and_one_larger_than_a_frame_is_one_error(
    mut cluster: Cluster,
) {
    let configs = [("max.message.bytes".to_owned(), "3000000".to_owned())].into();
    let large =
        NewTopic { replication_factor: Some(1), configs, ..NewTopic::new(format!("{}-large", cluster.topic), 1) };
    cluster.use_new_topic(large).await;
    cluster.produce(0, 0..1).await;
    cluster.produce_large(0, 2_000_000).await;

    let small = cluster.config().fetch_max_bytes(10_000).acquire_mode(AcquireMode::RecordLimit);
    let mut consumer = cluster.owned(small);
    let largest = loop {
        let delivery = consumer.poll(20 * SECOND).await.unwrap().unwrap();
        let largest = delivery.records().map(|record| record.unwrap().value.map_or(0, <[u8]>::len)).max();
        delivery.accept().await.unwrap();
        if largest > Some(1_000) {
            break largest;
        }
    };
    assert_eq!(largest, Some(2_000_000));
    consumer.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;

    // Each attempt costs the record a delivery, so the next one is a minute later.
    cluster.produce_large(0, 2_000_000).await;
    let framed = cluster.config().client(|client| client.net.max_frame = 100_000);
    let mut consumer = cluster.owned(framed);
    let mut errors: Vec<ClientError> = Vec::new();
    let asked = std::time::Instant::now();
    while asked.elapsed() < 3 * SECOND {
        match consumer.poll(SECOND / 10).await {
            Ok(delivery) => drop(delivery.map(|delivery| delivery.accept())),
            Err(error) => errors.push(error),
        }
    }
    let [error] = <[ClientError; 1]>::try_from(errors).unwrap();
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert!(error.to_string().contains("receive.message.max.bytes"), "{error}");
    consumer.close(10 * SECOND).await.unwrap();
}
