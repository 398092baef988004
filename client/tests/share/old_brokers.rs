//! Brokers that know less than the newest ones, and brokers that are full.

use ackflow_client::share::{AckType, AcknowledgementMode, AcquireMode, AutoRenew, OwnedShareConsumer};
use ackflow_client::{ClientError, ErrorKind};
use ackflow_protocol::wire::{ApiKey, ErrorCode};
use ackflow_testkit::EmbeddedBroker;
use ackflow_testkit::core::{ShareRecordState, ShareRecords};

use crate::cluster::{Cluster, SECOND, Seen, within_a_minute};

/// A broker as Kafka 4.1 is.
async fn old() -> Cluster {
    let broker = EmbeddedBroker::builder().fast();
    let broker = broker.limit_version(ApiKey::SHARE_FETCH, 1).limit_version(ApiKey::SHARE_ACKNOWLEDGE, 1);
    Cluster::of(broker.start().await.unwrap()).await
}

fn says(error: &ClientError, parts: &[&str]) {
    for part in parts {
        assert!(error.to_string().contains(part), "{part}: {error}");
    }
}

/// Polls until all records have come, each once; gives the errors.
async fn consume(consumer: &mut OwnedShareConsumer, records: usize) -> Vec<ClientError> {
    let (mut seen, mut errors) = (Seen::default(), Vec::new());
    while seen.len() < records {
        match consumer.poll(20 * SECOND).await {
            Ok(delivery) => {
                let delivery = delivery.expect("records come within 20 s");
                for record in delivery.records().map(|record| record.unwrap()) {
                    assert_eq!(record.delivery_count, 1);
                    seen.add(record.partition, record.offset);
                }
                delivery.accept().await.unwrap();
            }
            Err(error) => errors.push(error),
        }
    }
    errors
}

// Mutation: protocol/src/machine/share_consumer/schedule.rs
// - let least_version = feature.map_or(0, |_| FEATURES_SINCE);
// + let least_version = 0;
#[tokio::test]
async fn record_limit_acquires_nothing_of_a_broker_that_does_not_know_it_until_it_is_upgraded() {
    within_a_minute(async {
        let cluster = old().await;
        cluster.produce(0, 0..100).await;
        let mut consumer = cluster.owned(cluster.config().acquire_mode(AcquireMode::RecordLimit).max_poll_records(10));
        let error = consumer.poll(20 * SECOND).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedVersion);
        let address = cluster.broker().addr().to_string();
        says(&error, &["share.acquire.mode=record_limit", &address, "ShareFetch version 2", "no more than version 1"]);
        says(&error, &["Kafka 4.2 or later", "upgrade it", "share.acquire.mode=batch_optimized"]);
        assert!(consumer.failure().is_none());
        assert!(consumer.poll(2 * SECOND).await.unwrap().is_none(), "told once");
        let records = cluster.broker().share_records(&cluster.group, &cluster.topic, 0).await.unwrap();
        let is_acquired = |range: &ShareRecords| matches!(range.state, ShareRecordState::Acquired { .. });
        assert!(!records.iter().any(is_acquired), "{records:?}");

        cluster.broker().limit_version(None, ApiKey::SHARE_FETCH, 2).await.unwrap();
        cluster.broker().disconnect_all().await.unwrap();
        assert!(consume(&mut consumer, 100).await.is_empty());
        consumer.close(10 * SECOND).await.unwrap();
        cluster.no_lag_is_left().await;
    })
    .await;
}

#[tokio::test]
async fn record_limit_goes_on_with_the_newer_brokers_of_a_cluster_that_is_being_upgraded() {
    within_a_minute(async {
        let broker = EmbeddedBroker::builder().fast().nodes(3).limit_version_of(1, ApiKey::SHARE_FETCH, 1);
        let cluster = Cluster::of(broker.start().await.unwrap()).await;
        let leaders = [0, 1, 2].map(|partition| cluster.broker().leader(&cluster.topic, partition));
        let [a, b, c] = leaders;
        let leaders = [a.await.unwrap(), b.await.unwrap(), c.await.unwrap()];
        for (partition, leader) in leaders.into_iter().enumerate() {
            if leader != Some(1) {
                cluster.produce(partition as i32, 0..50).await;
            }
        }
        let mut consumer = cluster.owned(cluster.config().acquire_mode(AcquireMode::RecordLimit).max_poll_records(10));
        let mut errors = consume(&mut consumer, 100).await;
        errors.extend(consumer.poll(SECOND).await.err());
        let [error] = <[ClientError; 1]>::try_from(errors).unwrap();
        says(&error, &[&cluster.broker().node_addr(1).unwrap().to_string(), "share.acquire.mode=record_limit"]);
        consumer.close(10 * SECOND).await.unwrap();
        cluster.no_lag_is_left().await;
    })
    .await;
}

#[tokio::test]
async fn a_broker_of_kafka_4_1_is_consumed_from_in_every_way_that_it_knows() {
    within_a_minute(async {
        let cluster = old().await;
        for partition in 0..3 {
            cluster.produce(partition, 0..500).await;
        }
        let mut consumer = cluster.owned(cluster.config().max_poll_records(100));
        assert!(consume(&mut consumer, 1_500).await.is_empty());
        consumer.close(10 * SECOND).await.unwrap();
        cluster.no_lag_is_left().await;

        cluster.produce(0, 0..10).await;
        let mut consumer = cluster.consumer(cluster.config().acknowledgement_mode(AcknowledgementMode::Explicit));
        assert_eq!(consumer.poll(20 * SECOND).await.unwrap().len(), 10);
        consumer.acknowledge_range(&cluster.topic, 0, 500..=504, AckType::Release).unwrap();
        consumer.acknowledge_all(AckType::Accept).unwrap();
        let again = consumer.poll(20 * SECOND).await.unwrap();
        assert_eq!(again.iter().map(|record| record.unwrap().offset).collect::<Vec<_>>(), [500, 501, 502, 503, 504]);
        consumer.acknowledge_all(AckType::Reject).unwrap();
        consumer.close(10 * SECOND).await.unwrap();
        cluster.no_lag_is_left().await;
    })
    .await;
}

// Mutation: client/src/share/consumer.rs
// - if let Some((_, part)) = self.renewing.pop().filter(|_| is_held) {
// + if let Some((_, part)) = self.renewing.pop().filter(|_| result.is_ok()) {
#[tokio::test]
async fn a_renewal_that_an_old_broker_refuses_is_named_and_its_records_are_handed_out_again() {
    within_a_minute(async {
        let cluster = old().await;
        cluster.produce(0, 0..10).await;
        let mut consumer = cluster.consumer(cluster.config().acknowledgement_mode(AcknowledgementMode::Explicit));
        assert_eq!(consumer.poll(20 * SECOND).await.unwrap().len(), 10);
        let address = cluster.broker().addr().to_string();
        for round in 0..2 {
            consumer.acknowledge_range(&cluster.topic, 0, 0..=4, AckType::Renew).unwrap();
            consumer.acknowledge_all(AckType::Accept).unwrap();
            if round == 0 {
                let error = consumer.poll(20 * SECOND).await.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::UnsupportedVersion);
                says(&error, &["renewing locks", &address, "ShareAcknowledge version 2", "no more than version 1"]);
                says(&error, &["Kafka 4.2 or later", "share.record.lock.duration.ms"]);
            }
            let again = consumer.poll(20 * SECOND).await.unwrap();
            let again: Vec<_> = again.iter().map(|r| r.unwrap()).map(|r| (r.offset, r.delivery_count)).collect();
            assert_eq!(again, [0, 1, 2, 3, 4].map(|offset| (offset, 1)), "round {round}");
        }
        consumer.acknowledge_all(AckType::Accept).unwrap();
        let results = consumer.commit_sync(10 * SECOND).await.unwrap();
        assert_eq!(results.get(&cluster.topic, 0), Some(Err(ErrorCode::UNSUPPORTED_VERSION)), "the renewals before");
        assert!(consumer.commit_sync(10 * SECOND).await.unwrap().is_empty());
        consumer.close(10 * SECOND).await.unwrap();
        cluster.no_lag_is_left().await;
    })
    .await;
}

#[tokio::test]
async fn deliveries_that_an_old_broker_cannot_renew_can_still_be_settled() {
    within_a_minute(async {
        let cluster = old().await;
        cluster.set_group_config("share.record.lock.duration.ms", "3000").await;
        cluster.produce(0, 0..10).await;
        let mut consumer = cluster.owned(cluster.config());
        let mut delivery = consumer.poll(20 * SECOND).await.unwrap().unwrap();
        let error = delivery.renew().await.unwrap_err();
        assert_eq!(error.code(), Some(ErrorCode::UNSUPPORTED_VERSION));
        assert!(error.to_string().contains("Kafka 4.2"), "{error}");
        says(&consumer.poll(SECOND).await.unwrap_err(), &["renewing locks", "no more than version 1"]);
        delivery.accept().await.unwrap();
        consumer.close(10 * SECOND).await.unwrap();

        cluster.produce(0, 10..20).await;
        let at_once = AutoRenew { at_percent: 10, ..AutoRenew::default() };
        let mut consumer = cluster.owned(cluster.config().auto_renew(at_once));
        let delivery = consumer.poll(20 * SECOND).await.unwrap().unwrap();
        says(&consumer.poll(20 * SECOND).await.unwrap_err(), &["ackflow.renew.enable=true", "no more than version 1"]);
        assert!(consumer.poll(SECOND / 2).await.unwrap().is_none(), "told once");
        delivery.accept().await.unwrap();
        consumer.close(10 * SECOND).await.unwrap();
        cluster.no_lag_is_left().await;
    })
    .await;
}

/// A consumer that finds no room hears of it once, and gets the records when the other one leaves.
async fn waits_for_room(cluster: Cluster, code: ErrorCode, parts: &[&str]) {
    let mut first = cluster.owned(cluster.config());
    while first.assignment().len() < 3 {
        assert!(first.poll(SECOND / 20).await.unwrap().is_none());
    }
    // Its session is open.
    assert!(first.poll(SECOND).await.unwrap().is_none());
    let mut second = cluster.owned(cluster.config());
    let error = second.poll(20 * SECOND).await.unwrap_err();
    assert_eq!(error.code(), Some(code), "{error}");
    assert!(error.is_retriable() || code == ErrorCode::GROUP_MAX_SIZE_REACHED);
    says(&error, parts);
    assert!(second.failure().is_none());
    assert!(second.poll(3 * SECOND).await.unwrap().is_none(), "told once");
    first.close(10 * SECOND).await.unwrap();
    cluster.produce(0, 0..10).await;
    assert!(consume(&mut second, 10).await.is_empty());
    second.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;
}

#[tokio::test]
async fn a_member_of_a_full_group_waits_for_room_and_says_so() {
    within_a_minute(async {
        let broker = EmbeddedBroker::builder().fast().config("group.share.max.size", "1").start().await.unwrap();
        let cluster = Cluster::of(broker).await;
        let group = cluster.group.clone();
        waits_for_room(cluster, ErrorCode::GROUP_MAX_SIZE_REACHED, &[&group, "group.share.max.size"]).await;
    })
    .await;
}

#[tokio::test]
async fn a_broker_without_room_for_a_session_is_named_and_asked_again() {
    within_a_minute(async {
        let broker = EmbeddedBroker::builder().fast().config("group.share.max.share.sessions", "1");
        let broker = broker.start().await.unwrap();
        let address = broker.addr().to_string();
        let parts = [&*address, "group.share.max.share.sessions"];
        waits_for_room(Cluster::of(broker).await, ErrorCode::SHARE_SESSION_LIMIT_REACHED, &parts).await;
    })
    .await;
}
