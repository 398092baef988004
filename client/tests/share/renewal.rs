//! Renewing locks, and losing them.

use std::time::{Duration, Instant};

use ackflow_client::share::{AckType, AcknowledgementMode, AutoRenew};
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
    assert_eq!(again.len(), 10);
    assert_eq!(again.max_delivery_count(), 2, "the slow member has not acquired them again for nothing");
    let error = held.accept().await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::INVALID_RECORD_STATE), "{error}");
    again.accept().await.unwrap();
    slow.close(10 * SECOND).await.unwrap();
    quick.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;
}

// Mutation: client/src/share/buffer.rs
// - self.remove(|part| !part.lock.is_worth_starting(now))
// + self.remove(|part| part.records() == 0)
pub(crate) async fn row_31_records_that_wait_too_long_for_a_poll_are_not_handed_out(cluster: Cluster) {
    let cluster = cluster.with_one_partition().await;
    cluster.set_group_config("share.record.lock.duration.ms", "1000").await;
    cluster.produce(0, 0..30).await;
    let mut consumer = cluster.owned(cluster.config().max_poll_records(10));
    let first = consumer.poll(20 * SECOND).await.unwrap().unwrap();
    assert_eq!((first.first_offset(), first.len()), (0, 10));
    first.accept().await.unwrap();
    tokio::time::sleep(Duration::from_millis(1_300)).await;
    let (mut left, mut again) = (20, 0);
    while left > 0 {
        let delivery = consumer.poll(20 * SECOND).await.unwrap().unwrap();
        left -= delivery.len();
        again += delivery.records().filter(|record| record.as_ref().unwrap().delivery_count == 2).count();
        delivery.accept().await.unwrap();
    }
    assert!(again > 0, "something was fetched ahead");
    assert_eq!(consumer.dropped_records(), again as u64);
    consumer.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;
}

pub(crate) async fn deliveries_that_are_held_keep_their_locks_by_themselves(cluster: Cluster) {
    let cluster = cluster.with_one_partition().await;
    cluster.set_group_config("share.record.lock.duration.ms", "1000").await;
    cluster.produce(0, 0..10).await;
    let mut consumer = cluster.owned(cluster.config());
    let mut delivery = consumer.poll(20 * SECOND).await.unwrap().unwrap();
    delivery.hold(AutoRenew::default());
    let first_deadline = delivery.lock_deadline();
    let (head, tail) = delivery.split_at(4);
    // Who is idle would get the records when their lock ends.
    let mut idle = cluster.owned(cluster.config());
    assert!(idle.poll(5 * SECOND / 2).await.unwrap().is_none());
    assert!(first_deadline < Instant::now());
    assert!(head.lock_deadline() > Instant::now() && tail.lock_deadline() > Instant::now());
    head.accept().await.unwrap();
    assert!(idle.poll(3 * SECOND / 2).await.unwrap().is_none());
    tail.accept().await.unwrap();
    cluster.no_lag_is_left().await;
    for consumer in [consumer, idle] {
        consumer.close(10 * SECOND).await.unwrap();
    }
}

pub(crate) async fn what_was_handed_out_is_held_until_the_limit_where_that_is_configured(cluster: Cluster) {
    let cluster = cluster.with_one_partition().await;
    cluster.set_group_config("share.record.lock.duration.ms", "1000").await;
    cluster.produce(0, 0..10).await;
    let mut consumer = cluster.consumer(cluster.config().auto_renew(AutoRenew::default()));
    assert_eq!(consumer.poll(20 * SECOND).await.unwrap().len(), 10);
    tokio::time::sleep(5 * SECOND / 2).await;
    assert_eq!(consumer.commit_sync(10 * SECOND).await.unwrap().first_error(), None);
    consumer.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;

    cluster.produce(0, 10..20).await;
    let once = AutoRenew { max_renewals: 1, ..AutoRenew::default() };
    let mut consumer = cluster.owned(cluster.config().auto_renew(once));
    let held = consumer.poll(20 * SECOND).await.unwrap().unwrap();
    tokio::time::sleep(5 * SECOND / 2).await;
    let mut again = 0;
    while again < 10 {
        let delivery = consumer.poll(20 * SECOND).await.unwrap().unwrap();
        assert_eq!(delivery.max_delivery_count(), 2);
        again += delivery.len();
        delivery.accept().await.unwrap();
    }
    assert!(held.lock_deadline() < Instant::now());
    drop(held);
    consumer.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;
}

pub(crate) async fn a_group_that_does_not_allow_renewals_is_named_once_and_loses_nothing_else(cluster: Cluster) {
    cluster.set_group_config("share.record.lock.duration.ms", "2000").await;
    cluster.set_group_config("share.renew.acknowledge.enable", "false").await;
    cluster.produce(0, 0..10).await;
    let mut consumer = cluster.owned(cluster.config().auto_renew(AutoRenew::default()));
    let delivery = consumer.poll(20 * SECOND).await.unwrap().unwrap();
    let error = consumer.poll(20 * SECOND).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::INVALID_RECORD_STATE));
    assert!(error.to_string().contains("share.renew.acknowledge.enable=true"), "{error}");
    delivery.accept().await.unwrap();
    assert_eq!(consumer.commit_sync(10 * SECOND).await.unwrap().first_error(), None);
    consumer.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;
}
