//! Members that come, share, leave and vanish.

use std::time::Instant;

use ackflow_client::share::{OwnedShareConsumer, ShareConsumer};
use ackflow_client::{ClientError, ErrorKind};
use ackflow_protocol::wire::ErrorCode;

use crate::cluster::{Cluster, SECOND, Seen};
use crate::support::eventually;

/// Accepts what comes until nothing has come for two seconds.
async fn consume(mut consumer: OwnedShareConsumer) -> Vec<(i32, i64)> {
    let mut got = Vec::new();
    while let Some(delivery) = consumer.poll(2 * SECOND).await.unwrap() {
        got.extend(delivery.records().map(|record| record.unwrap()).map(|record| (record.partition, record.offset)));
        tokio::time::sleep(SECOND / 500).await;
        drop(delivery.accept());
    }
    consumer.close(10 * SECOND).await.unwrap();
    got
}

pub(crate) async fn two_members_share_one_partition(cluster: Cluster) {
    let cluster = cluster.with_one_partition().await;
    let member = || cluster.owned(cluster.config().max_poll_records(50));
    let (mut first, mut second) = (member(), member());
    let deadline = Instant::now() + 20 * SECOND;
    while first.assignment().is_empty() || second.assignment().is_empty() {
        assert!(first.poll(SECOND / 20).await.unwrap().is_none());
        assert!(second.poll(SECOND / 20).await.unwrap().is_none());
        assert!(Instant::now() < deadline);
    }
    let consuming = [tokio::spawn(consume(first)), tokio::spawn(consume(second))];
    for _ in 0..60 {
        cluster.produce(0, 0..100).await;
    }
    let mut seen = Seen::default();
    for consumed in consuming {
        let got = consumed.await.unwrap();
        assert!(!got.is_empty(), "each member gets a share");
        got.into_iter().for_each(|(partition, offset)| seen.add(partition, offset));
    }
    assert_eq!(seen.len(), 6_000);
    cluster.no_lag_is_left().await;
}

pub(crate) async fn a_consumer_that_is_dropped_gives_its_records_back_at_once(cluster: Cluster) {
    cluster.produce(0, 0..10).await;
    let mut consumer = cluster.consumer(cluster.config());
    assert_eq!(consumer.poll(20 * SECOND).await.unwrap().len(), 10);
    let dropped = Instant::now();
    drop(consumer);
    let mut consumer = cluster.owned(cluster.config());
    let again = consumer.poll(20 * SECOND).await.unwrap().unwrap();
    assert_eq!(again.len(), 10);
    // A real broker may unload the group, whose last member this was, before it has written that a delivery is over.
    let counts = if cluster.is_embedded() { 2..=2 } else { 1..=2 };
    assert!(counts.contains(&again.max_delivery_count()), "{}", again.max_delivery_count());
    assert!(dropped.elapsed() < 10 * SECOND, "a lock would have lasted 30 s");
    again.accept().await.unwrap();
    consumer.close(10 * SECOND).await.unwrap();
}

pub(crate) async fn a_consumer_can_leave_and_subscribe_again(cluster: Cluster) {
    cluster.produce(0, 0..10).await;
    let mut consumer = cluster.consumer(cluster.config());
    assert_eq!(consumer.poll(20 * SECOND).await.unwrap().len(), 10);
    assert_eq!(consumer.commit_sync(10 * SECOND).await.unwrap().first_error(), None);
    consumer.unsubscribe().unwrap();
    assert!(consumer.poll(SECOND).await.unwrap_err().to_string().contains("call subscribe first"));
    cluster.produce(0, 10..20).await;
    consumer.subscribe([&cluster.topic]).unwrap();
    let offsets: Vec<_> = consumer.poll(20 * SECOND).await.unwrap().iter().map(|r| r.unwrap().offset).collect();
    assert_eq!(offsets, (10..20).collect::<Vec<_>>());
    assert_eq!(consumer.commit_sync(10 * SECOND).await.unwrap().first_error(), None);
    consumer.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;
}

/// A process with a member in it, of which nothing is left from one moment to the next.
fn process() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

pub(crate) async fn a_member_that_comes_back_under_its_id_takes_the_place_of_its_dead_self_at_once(cluster: Cluster) {
    for partition in 0..3 {
        cluster.produce(partition, 0..10).await;
    }
    let config = || cluster.config().member_id("the-one");
    let dying = process();
    let (end, ended) = tokio::sync::oneshot::channel();
    let (dead_config, topic) = (config().build().unwrap(), cluster.topic.clone());
    dying.spawn(async move {
        let mut consumer = OwnedShareConsumer::new(dead_config).unwrap();
        consumer.subscribe([topic]).unwrap();
        let mut held = Vec::new();
        while held.len() < 3 {
            held.extend(consumer.poll(20 * SECOND).await.unwrap());
        }
        end.send(()).unwrap();
        std::future::pending::<()>().await;
    });
    ended.await.unwrap();
    // Its sockets are closed when this is done, as when a process is killed.
    tokio::task::spawn_blocking(move || dying.shutdown_timeout(5 * SECOND)).await.unwrap();
    cluster.has_noticed_that_all_are_gone().await;
    let begun = Instant::now();
    let mut consumer = cluster.owned(config());
    let mut seen = Seen::default();
    let first = consumer.poll(20 * SECOND).await.unwrap().unwrap();
    assert!(begun.elapsed() < 2 * SECOND, "{:?}", begun.elapsed());
    let mut next = Some(first);
    while let Some(delivery) = next.take() {
        delivery.records().for_each(|record| record.map(|r| seen.add(r.partition, r.offset)).unwrap());
        delivery.accept().await.unwrap();
        if seen.len() < 30 {
            next = consumer.poll(20 * SECOND).await.unwrap();
        }
    }
    assert!(
        begun.elapsed() < 4 * SECOND,
        "all three partitions, and not after a session timeout: {:?}",
        begun.elapsed()
    );
    consumer.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;
}

pub(crate) async fn of_two_that_live_under_one_id_the_older_stops_with_an_error_and_disturbs_the_other_no_more(
    cluster: Cluster,
) {
    let cluster = cluster.with_one_partition().await;
    let config = || cluster.config().member_id("the-one");
    let mut older = cluster.owned(config());
    cluster.produce(0, 0..10).await;
    older.poll(20 * SECOND).await.unwrap().unwrap().accept().await.unwrap();
    let held = {
        cluster.produce(0, 10..20).await;
        older.poll(20 * SECOND).await.unwrap().unwrap()
    };
    let older = tokio::spawn(async move {
        let error = older.poll(20 * SECOND).await.unwrap_err();
        (older, error)
    });
    let mut newer = cluster.owned(config());
    while newer.assignment().is_empty() {
        assert!(newer.poll(SECOND / 20).await.unwrap().is_none());
    }
    let newer = tokio::spawn(async move {
        let delivery = newer.poll(30 * SECOND).await.unwrap().unwrap();
        (newer, delivery)
    });
    let (older, error) = older.await.unwrap();
    assert_eq!((error.kind(), error.is_retriable()), (ErrorKind::Fenced, false));
    let text = error.to_string();
    assert!(text.contains("the-one") && text.contains("ackflow.member.id") && text.contains(&cluster.group), "{text}");
    assert!(older.failure().is_some());
    assert!(held.accept().await.is_err());
    older.close(10 * SECOND).await.unwrap();

    cluster.produce(0, 20..30).await;
    let (mut newer, delivery) = newer.await.unwrap();
    assert_eq!((delivery.first_offset(), delivery.max_delivery_count()), (20, 1));
    delivery.accept().await.unwrap();
    // It heartbeats while it waits, and would hear that the group knows it no more.
    assert!(newer.poll(6 * SECOND).await.unwrap().is_none());
    assert_eq!(newer.assignment().len(), 1);
    cluster.produce(0, 30..40).await;
    let delivery = newer.poll(20 * SECOND).await.unwrap().unwrap();
    assert_eq!((delivery.first_offset(), delivery.max_delivery_count()), (30, 1));
    delivery.accept().await.unwrap();
    newer.close(10 * SECOND).await.unwrap();
}

pub(crate) async fn an_unknown_topic_is_named_and_served_once_it_exists(cluster: Cluster) {
    let topic = format!("{}-later", cluster.topic);
    let mut consumer = ShareConsumer::new(cluster.config().build().unwrap()).unwrap();
    consumer.subscribe([&topic]).unwrap();
    let error = consumer.poll(20 * SECOND).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
    assert!(error.to_string().contains(&topic), "{error}");

    let id = cluster.create_topic(&topic, 1).await;
    cluster.produce_to(&topic, id, 0, 0..10).await;
    let mut got = 0;
    let deadline = Instant::now() + 30 * SECOND;
    while got < 10 && Instant::now() < deadline {
        got += consumer.poll(SECOND).await.map_or(0, |records| records.len());
    }
    assert_eq!(got, 10);
    consumer.close(10 * SECOND).await.unwrap();
}

pub(crate) async fn a_topic_may_be_created_by_subscribing_to_it_where_that_is_allowed(cluster: Cluster) {
    let topic = format!("{}-made", cluster.topic);
    let mut consumer = ShareConsumer::new(cluster.config().allow_auto_create_topics(true).build().unwrap()).unwrap();
    consumer.subscribe([&topic]).unwrap();
    let deadline = Instant::now() + 30 * SECOND;
    while consumer.assignment().is_empty() {
        assert!(Instant::now() < deadline, "the topic is not assigned within 30 s");
        // Until it is there, it does not exist.
        let polled = consumer.poll(SECOND / 10).await;
        let is_unknown = |error: &ClientError| error.code() == Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
        assert!(polled.as_ref().err().is_none_or(is_unknown), "{polled:?}");
    }
    let described = cluster.admin.describe_topics([&topic]).await.unwrap().remove(&topic).unwrap().unwrap();
    assert_eq!(described.partitions.len(), consumer.assignment().len());
    consumer.close(10 * SECOND).await.unwrap();
}

// Mutation: protocol/src/machine/share_consumer/schedule.rs
// - if self.phase != Phase::Active || !self.membership.is_member() {
// + if true {
pub(crate) async fn row_35_a_member_that_does_not_poll_leaves_and_comes_back_with_its_next_poll(cluster: Cluster) {
    cluster.produce(0, 0..10).await;
    let mut consumer = cluster.owned(cluster.config().max_poll_interval(SECOND / 2));
    let held = consumer.poll(20 * SECOND).await.unwrap().unwrap();
    eventually("the end of the membership", async || consumer.assignment().is_empty().then_some(())).await;
    // The session ends a moment after the membership; until then it can still be acknowledged with.
    tokio::time::sleep(SECOND / 2).await;
    let error = held.accept().await.unwrap_err();
    assert!(error.code().is_some(), "{error}");
    let mut left = 10;
    while left > 0 {
        let again = consumer.poll(20 * SECOND).await.unwrap().unwrap();
        assert!(again.ranges().iter().all(|range| range.delivery_count == 2));
        left -= again.len();
        again.accept().await.unwrap();
    }

    // A poll that waits is a poll all the time.
    assert!(consumer.poll(2 * SECOND).await.unwrap().is_none());
    assert!(!consumer.assignment().is_empty());
    consumer.close(10 * SECOND).await.unwrap();
}
