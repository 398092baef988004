//! The owned consumer.

use ackflow_client::share::{AckError, AckType};

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
