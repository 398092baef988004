//! The implicit and the explicit consumer.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ackflow_client::share::{AckType, AcknowledgementMode, AcquireMode, ShareRecords};
use ackflow_protocol::wire::ErrorCode;

use crate::cluster::{Cluster, SECOND, Seen};

fn offsets(records: &ShareRecords) -> Vec<i64> {
    records.iter().map(|record| record.unwrap().offset).collect()
}

pub(crate) async fn implicit_mode_consumes_everything_once_and_leaves_no_lag(cluster: Cluster) {
    for partition in 0..3 {
        for batch in 0..4 {
            cluster.produce(partition, batch * 500..batch * 500 + 500).await;
        }
    }
    let mut consumer = cluster.consumer(cluster.config());
    let mut seen = Seen::default();
    while seen.len() < 6_000 {
        let records = consumer.poll(SECOND).await.unwrap();
        assert!(records.len() <= 500);
        seen.add_all(&records);
    }
    let results = consumer.commit_sync(10 * SECOND).await.unwrap();
    assert_eq!(results.first_error(), None);
    assert_eq!(consumer.assignment().len(), 3);
    assert!(consumer.acquisition_lock_timeout().is_some());
    cluster.no_lag_is_left().await;
    consumer.close(10 * SECOND).await.unwrap();
    assert_eq!(cluster.lag().await, Some(0));
}

pub(crate) async fn implicit_closing_does_not_accept_the_last_poll(cluster: Cluster) {
    cluster.produce(0, 0..10).await;
    let mut consumer = cluster.consumer(cluster.config());
    let records = consumer.poll(20 * SECOND).await.unwrap();
    assert_eq!(records.len(), 10);
    consumer.close(10 * SECOND).await.unwrap();

    let mut consumer = cluster.consumer(cluster.config());
    let records = consumer.poll(20 * SECOND).await.unwrap();
    let counts: Vec<_> = records.iter().map(|record| record.unwrap().delivery_count).collect();
    assert_eq!(counts, [2; 10]);
    consumer.commit_sync(10 * SECOND).await.unwrap();
    consumer.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;
}

pub(crate) async fn explicit_released_records_come_again_and_rejected_ones_do_not(cluster: Cluster) {
    cluster.produce(1, 0..10).await;
    let mut consumer = cluster.consumer(cluster.config().acknowledgement_mode(AcknowledgementMode::Explicit));
    let records = consumer.poll(20 * SECOND).await.unwrap();
    assert_eq!(offsets(&records), (0..10).collect::<Vec<_>>());
    for record in &records {
        let record = record.unwrap();
        let ack = match record.offset {
            3 => AckType::Release,
            5 => AckType::Reject,
            _ => AckType::Accept,
        };
        consumer.acknowledge(&record, ack).unwrap();
    }
    let results = consumer.commit_sync(10 * SECOND).await.unwrap();
    assert_eq!(results.get(&cluster.topic, 1), Some(Ok(())));

    let records = consumer.poll(20 * SECOND).await.unwrap();
    let again: Vec<_> = records.iter().map(|record| record.unwrap()).map(|r| (r.offset, r.delivery_count)).collect();
    assert_eq!(again, [(3, 2)]);
    consumer.acknowledge_offset(&cluster.topic, 1, 3, AckType::Accept).unwrap();
    consumer.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;
}

pub(crate) async fn commits_whose_future_is_dropped_are_sent_all_the_same(cluster: Cluster) {
    cluster.produce(0, 0..10).await;
    let mut consumer = cluster.consumer(cluster.config());
    assert_eq!(consumer.poll(20 * SECOND).await.unwrap().len(), 10);
    drop(consumer.commit_async());
    cluster.no_lag_is_left().await;
    assert!(consumer.commit_async().await.unwrap().is_empty(), "nothing is outstanding");
    consumer.close(10 * SECOND).await.unwrap();
}

pub(crate) async fn the_callback_hears_of_every_acknowledgement_once(cluster: Cluster) {
    for partition in 0..3 {
        cluster.produce(partition, 0..400).await;
    }
    let mut consumer = cluster.consumer(cluster.config().max_poll_records(100));
    let heard = Arc::new(Mutex::new(Seen::default()));
    let hearing = Arc::clone(&heard);
    consumer.set_acknowledgement_callback(Box::new(move |acknowledged| {
        assert_eq!(acknowledged.result, Ok(()));
        for range in &acknowledged.ranges {
            assert_eq!(range.ack, AckType::Accept);
            (range.first..=range.last).for_each(|offset| hearing.lock().unwrap().add(acknowledged.partition, offset));
        }
    }));
    let mut seen = Seen::default();
    while seen.len() < 1_200 {
        seen.add_all(&consumer.poll(SECOND).await.unwrap());
    }
    consumer.commit_sync(10 * SECOND).await.unwrap();
    assert_eq!(heard.lock().unwrap().len(), 1_200);
    consumer.close(10 * SECOND).await.unwrap();
}

// Mutation: client/src/share/handle.rs
// - Ok(part) => part.map(Some),
// + Ok(part) => { tokio::task::yield_now().await; part.map(Some) }
pub(crate) async fn row_62_records_survive_polls_that_are_dropped(cluster: Cluster) {
    for batch in 0..20 {
        cluster.produce(batch % 3, 0..500).await;
    }
    let mut consumer = cluster.consumer(cluster.config().max_poll_records(50));
    let mut tick = tokio::time::interval(Duration::from_millis(1));
    let mut seen = Seen::default();
    while seen.len() < 10_000 {
        tokio::select! {
            records = consumer.poll(SECOND) => seen.add_all(&records.unwrap()),
            _ = tick.tick() => {}
        }
    }
    let results = consumer.commit_sync(10 * SECOND).await.unwrap();
    assert_eq!(results.first_error(), None);
    consumer.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;
}

pub(crate) async fn record_limit_never_acquires_more_than_a_poll_may_have(cluster: Cluster) {
    let cluster = cluster.with_one_partition().await;
    cluster.produce(0, 0..300).await;
    let limited = cluster.config().acquire_mode(AcquireMode::RecordLimit).max_poll_records(7);
    let mut limited = cluster.owned(limited);
    let delivery = limited.poll(20 * SECOND).await.unwrap().unwrap();
    assert!(delivery.len() <= 7);
    let held = delivery.len() + std::iter::from_fn(|| limited.try_poll()).map(|delivery| delivery.len()).sum::<usize>();
    assert!(held <= 7, "{held} records are held");
    // Another member gets all the others.
    let mut other = cluster.owned(cluster.config());
    let mut got = 0;
    while got < 293 {
        let delivery = other.poll(SECOND).await.unwrap().expect("the other records are free");
        got += delivery.len();
        drop(delivery.accept());
    }
    assert_eq!(delivery.accept().await.map_err(|error| error.code()), Ok::<(), Option<ErrorCode>>(()));
    other.close(10 * SECOND).await.unwrap();
    limited.close(10 * SECOND).await.unwrap();
}
