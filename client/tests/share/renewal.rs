//! Renewing locks, and losing them.

use std::time::{Duration, Instant};

use ackflow_client::share::{AckType, AcknowledgementMode};
use ackflow_protocol::wire::ErrorCode;

use crate::cluster::{Cluster, SECOND};

pub(crate) async fn renewed_records_are_handed_out_again_and_kept_beyond_their_lock(cluster: Cluster) {
    cluster.set_group_config("share.record.lock.duration.ms", "1000").await;
    cluster.produce(0, 0..10).await;
    let mut consumer = cluster.consumer(cluster.config().acknowledgement_mode(AcknowledgementMode::Explicit));
    let mut records = consumer.poll(20 * SECOND).await.unwrap();
    assert_eq!(consumer.acquisition_lock_timeout(), Some(SECOND));
    let begun = Instant::now();
    while begun.elapsed() < 2 * SECOND {
        assert_eq!(records.len(), 10);
        assert!(records.iter().all(|record| record.unwrap().delivery_count == 1));
        consumer.acknowledge_all(AckType::Renew).unwrap();
        assert_eq!(consumer.commit_sync(10 * SECOND).await.unwrap().first_error(), None);
        tokio::time::sleep(Duration::from_millis(300)).await;
        records = consumer.poll(10 * SECOND).await.unwrap();
    }
    consumer.acknowledge_all(AckType::Accept).unwrap();
    assert_eq!(consumer.commit_sync(10 * SECOND).await.unwrap().first_error(), None);
    consumer.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;
}

pub(crate) async fn deliveries_are_kept_by_renewing_them(cluster: Cluster) {
    cluster.set_group_config("share.record.lock.duration.ms", "1000").await;
    cluster.produce(0, 0..10).await;
    let mut consumer = cluster.owned(cluster.config());
    let mut delivery = consumer.poll(20 * SECOND).await.unwrap().unwrap();
    let first_deadline = delivery.lock_deadline();
    for _ in 0..6 {
        tokio::time::sleep(Duration::from_millis(300)).await;
        delivery.renew().await.unwrap();
        assert!(delivery.lock_deadline() > Instant::now());
    }
    assert!(first_deadline < Instant::now());
    delivery.accept().await.unwrap();
    consumer.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;
}

pub(crate) async fn records_whose_lock_ends_are_delivered_to_others(cluster: Cluster) {
    let cluster = cluster.with_one_partition().await;
    cluster.set_group_config("share.record.lock.duration.ms", "1000").await;
    cluster.produce(0, 0..10).await;
    let mut slow = cluster.owned(cluster.config());
    let held = slow.poll(20 * SECOND).await.unwrap().unwrap();
    let mut quick = cluster.owned(cluster.config());
    let again = quick.poll(20 * SECOND).await.unwrap().unwrap();
    assert_eq!((again.len(), again.max_delivery_count()), (10, 2));
    let error = held.accept().await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::INVALID_RECORD_STATE), "{error}");
    again.accept().await.unwrap();
    slow.close(10 * SECOND).await.unwrap();
    quick.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;
}
