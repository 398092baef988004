//! What only a broker in the test's own hands can do.

use std::sync::Mutex;
use std::time::Duration;

use ackflow_client::share::{
    AckType, AcknowledgementMode, HeldRecord, Outcome, OwnedShareConsumer, ShareConsumer, ShareConsumerConfig,
};
use ackflow_client::{ClientError, ErrorKind};
use ackflow_protocol::records::{BatchBuilder, BatchOptions, assign_offsets};
use ackflow_protocol::wire::ErrorCode;
use ackflow_testkit::EmbeddedBroker;
use ackflow_testkit::core::{FaultAction, FaultRule, ShareRecordState, ShareRecords};
use bytes::Bytes;
use tokio::sync::Semaphore;

use crate::cluster::{Cluster, SECOND, within_a_minute};
use crate::support::eventually;

// Mutation: protocol/src/machine/share_consumer/node.rs
// - self.session.id() == session && self.session.is_open()
// + self.session.is_open()
#[tokio::test]
async fn row_04_what_was_acquired_over_a_lost_connection_cannot_be_acknowledged_and_comes_again() {
    within_a_minute(async {
        let cluster = Cluster::embedded().await;
        cluster.produce(0, 0..10).await;
        let mut consumer = cluster.owned(cluster.config());
        let held = consumer.poll(20 * SECOND).await.unwrap().unwrap();
        cluster.broker().disconnect_all().await.unwrap();
        let again = consumer.poll(20 * SECOND).await.unwrap().unwrap();
        assert_eq!((again.first_offset(), again.last_offset(), again.max_delivery_count()), (0, 9, 2));
        let error = held.accept().await.unwrap_err();
        let lost = [ErrorCode::NETWORK_EXCEPTION, ErrorCode::SHARE_SESSION_NOT_FOUND];
        assert!(error.code().is_some_and(|code| lost.contains(&code)), "{error}");
        again.accept().await.unwrap();
        let results = consumer.commit_sync(10 * SECOND).await.unwrap();
        assert!(results.first_error().is_some(), "a commit tells of what has failed since the last one");
        assert!(consumer.commit_sync(10 * SECOND).await.unwrap().is_empty());
        consumer.close(10 * SECOND).await.unwrap();
        cluster.no_lag_is_left().await;
    })
    .await;
}

// Mutation: client/src/share/driver.rs
// - Event::SessionLost { session, .. } => self.lost(|lost, _| lost == session),
// + Event::SessionLost { .. } => {}
#[tokio::test]
async fn row_04_what_waits_in_the_buffer_of_a_lost_session_is_never_handed_out() {
    within_a_minute(async {
        let cluster = Cluster::embedded().await;
        cluster.produce(0, 0..30).await;
        let mut consumer = cluster.owned(cluster.config().max_poll_records(10));
        let (first, held) = consumer.poll(20 * SECOND).await.unwrap().unwrap().split_at(5);
        let acquired = eventually("records in the buffer", async || {
            let records = cluster.broker().share_records(&cluster.group, &cluster.topic, 0).await.ok()?;
            let is_acquired = |range: &&ShareRecords| matches!(range.state, ShareRecordState::Acquired { .. });
            let acquired: i64 = records.iter().filter(is_acquired).map(|range| range.last - range.first + 1).sum();
            (acquired > 10).then_some(acquired)
        })
        .await;
        cluster.broker().disconnect_all().await.unwrap();
        // The consumer knows that the session is lost when it tells of an acknowledgement.
        first.accept().await.unwrap_err();
        let mut left = 30;
        while left > 0 {
            let delivery = consumer.poll(20 * SECOND).await.unwrap().unwrap();
            for record in delivery.records().map(|record| record.unwrap()) {
                let again = if record.offset < acquired { 2 } else { 1 };
                assert_eq!(record.delivery_count, again, "offset {}", record.offset);
                left -= 1;
            }
            drop(delivery.accept());
        }
        assert_eq!(consumer.dropped_records() as i64, acquired - 10);
        drop(held);
        consumer.close(10 * SECOND).await.unwrap();
        cluster.no_lag_is_left().await;
    })
    .await;
}

// Mutation: protocol/src/machine/acquisition/mod.rs
// - self.content.bad.push(BadBatch { first, last: end, settled: ack, error });
// +
#[tokio::test]
async fn row_16_a_corrupt_batch_is_told_of_once_and_the_next_one_delivered() {
    within_a_minute(async {
        let cluster = Cluster::embedded().await;
        cluster.produce(0, 0..10).await;
        let mut damaged = BatchBuilder::new(BatchOptions::default());
        for _ in 0..5 {
            damaged.try_append(0, None, Some(b"value"), []).unwrap();
        }
        let mut damaged = damaged.build().unwrap().to_vec();
        assign_offsets(&mut damaged, 10, 0).unwrap();
        *damaged.last_mut().unwrap() ^= 1;
        cluster.broker().append_raw(&cluster.topic, 0, Bytes::from(damaged)).await.unwrap();
        cluster.produce(0, 15..20).await;

        let mut consumer = cluster.consumer(cluster.config().acknowledgement_mode(AcknowledgementMode::Explicit));
        let (mut offsets, mut errors) = (Vec::new(), Vec::new());
        while offsets.len() < 15 {
            match consumer.poll(20 * SECOND).await {
                Ok(records) => offsets.extend(records.iter().map(|record| record.unwrap().offset)),
                Err(error) => errors.push(error),
            }
            consumer.acknowledge_all(AckType::Accept).unwrap();
        }
        assert_eq!(offsets, (0..10).chain(15..20).collect::<Vec<_>>());
        let [error] = <[ClientError; 1]>::try_from(errors).unwrap();
        assert_eq!(error.kind(), ErrorKind::Malformed);
        let expected = format!("offsets 10 to 14 of {}-0 cannot be read", cluster.topic);
        assert!(error.to_string().contains(&expected) && error.to_string().ends_with("(rejected)"), "{error}");
        consumer.close(10 * SECOND).await.unwrap();
        cluster.no_lag_is_left().await;
    })
    .await;
}

#[tokio::test]
async fn acknowledgements_that_are_refused_together_are_sent_again_in_parts() {
    within_a_minute(async {
        let cluster = Cluster::embedded().await;
        cluster.produce(0, 0..100).await;
        let mut consumer = cluster.owned(cluster.config());
        let (head, tail) = consumer.poll(20 * SECOND).await.unwrap().unwrap().split_at(50);
        let rule = FaultRule::new(FaultAction::RefuseAcknowledgements(ErrorCode::INVALID_RECORD_STATE));
        let refused = cluster.broker().add_fault(rule.times(3)).await.unwrap();
        let (head, tail) = (head.accept(), tail.accept());
        assert_eq!(consumer.commit_sync(10 * SECOND).await.unwrap().first_error(), None);
        head.await.unwrap();
        tail.await.unwrap();
        assert_eq!(cluster.broker().fault_hits(refused).await.unwrap(), 3);
        consumer.close(10 * SECOND).await.unwrap();
        cluster.no_lag_is_left().await;
    })
    .await;
}

#[tokio::test]
async fn a_cluster_without_share_groups_is_named_with_the_remedy() {
    within_a_minute(async {
        let broker = EmbeddedBroker::builder().fast().share_version(0).topic("orders", 1).start().await.unwrap();
        let config = ShareConsumerConfig::builder(&broker.bootstrap_servers(), "g").build().unwrap();
        let mut consumer = ShareConsumer::new(config).unwrap();
        consumer.subscribe(["orders"]).unwrap();
        let error = consumer.poll(20 * SECOND).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedVersion);
        assert!(error.to_string().contains("--feature share.version=1"), "{error}");
        assert!(consumer.failure().is_some());
        assert!(consumer.poll(20 * SECOND).await.is_err(), "there is no way on");
        consumer.close(10 * SECOND).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_cluster_that_is_not_there_is_named_after_a_few_seconds() {
    within_a_minute(async {
        let gone = EmbeddedBroker::start().await.unwrap();
        let servers = gone.bootstrap_servers();
        gone.shutdown().await;
        let mut consumer =
            OwnedShareConsumer::new(ShareConsumerConfig::builder(&servers, "g").build().unwrap()).unwrap();
        consumer.subscribe(["orders"]).unwrap();
        let asked = std::time::Instant::now();
        let error = consumer.poll(30 * SECOND).await.unwrap_err();
        assert!(asked.elapsed() < 10 * SECOND);
        assert_eq!(error.kind(), ErrorKind::Unreachable);
        assert!(error.to_string().contains(&format!("bootstrap.servers={servers}")), "{error}");
        assert!(error.is_retriable());
        consumer.close(SECOND).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_consumer_that_loses_the_broker_it_had_waits_for_it() {
    within_a_minute(async {
        let broker = EmbeddedBroker::start().await.unwrap();
        let config = ShareConsumerConfig::builder(&broker.bootstrap_servers(), "g").build().unwrap();
        let mut consumer = OwnedShareConsumer::new(config).unwrap();
        consumer.subscribe(["orders"]).unwrap();
        broker.create_topic("orders", 1).await.unwrap();
        while consumer.assignment().is_empty() {
            assert!(consumer.poll(SECOND / 20).await.unwrap().is_none());
        }
        broker.shutdown().await;
        assert!(consumer.poll(7 * SECOND).await.unwrap().is_none(), "no error: it was reached before");
        let error = consumer.close(SECOND).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    })
    .await;
}

// Mutation: client/src/share/consumer.rs
// - let dropped = self.renewed.extract_if(.., |part| !part.lock.is_worth_starting(now));
// + let dropped = self.renewed.extract_if(.., |_| false);
#[tokio::test]
async fn row_31_what_was_renewed_and_is_lost_since_is_not_handed_out_again() {
    within_a_minute(async {
        for session_ends in [false, true] {
            let cluster = Cluster::embedded().await;
            if !session_ends {
                cluster.set_group_config("share.record.lock.duration.ms", "1000").await;
            }
            cluster.produce(0, 0..5).await;
            let explicit = cluster.config().acknowledgement_mode(AcknowledgementMode::Explicit);
            let mut consumer = cluster.consumer(explicit);
            let records = consumer.poll(20 * SECOND).await.unwrap();
            assert_eq!(records.len(), 5);
            consumer.acknowledge_offset(&cluster.topic, 0, 0, AckType::Renew).unwrap();
            consumer.acknowledge_range(&cluster.topic, 0, 1..=4, AckType::Accept).unwrap();
            assert_eq!(consumer.commit_sync(10 * SECOND).await.unwrap().first_error(), None);
            match session_ends {
                true => {
                    cluster.broker().disconnect_all().await.unwrap();
                    // Nothing tells from outside when the consumer has noticed.
                    tokio::time::sleep(Duration::from_millis(500)).await;
                }
                false => tokio::time::sleep(Duration::from_millis(1_300)).await,
            }
            let again = eventually("the record to come again", async || {
                let records = consumer.poll(SECOND).await.unwrap();
                records.iter().next().map(|record| record.map(|record| (record.offset, record.delivery_count)).unwrap())
            })
            .await;
            assert_eq!((again, consumer.dropped_records()), ((0, 2), 1), "the session ends: {session_ends}");
            consumer.acknowledge_all(AckType::Accept).unwrap();
            assert_eq!(consumer.commit_sync(10 * SECOND).await.unwrap().first_error(), None);
            consumer.close(10 * SECOND).await.unwrap();
            cluster.no_lag_is_left().await;
        }
    })
    .await;
}

// Mutation: client/src/share/for_each/lot.rs
// - if self.is_lost() {
// + if false {
#[tokio::test]
async fn row_31_handlers_are_not_called_for_what_a_lost_session_held() {
    within_a_minute(async {
        let cluster = Cluster::embedded().await;
        cluster.produce(0, 0..100).await;
        let mut consumer = cluster.owned(cluster.config());
        let calls = Mutex::new(Vec::new());
        let done = Semaphore::new(0);
        let handle = async |held: HeldRecord| -> Result<Outcome, ClientError> {
            calls.lock().unwrap().push((held.offset(), held.delivery_count()));
            if held.offset() == 20 && held.delivery_count() == 1 {
                cluster.broker().disconnect_all().await.unwrap();
                // The consumer learns of it meanwhile.
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
            done.add_permits(1);
            Ok(Outcome::Accept)
        };
        // What was accepted before, but not sent, comes again as well.
        let all = async { done.acquire_many(100).await.unwrap().forget() };
        consumer.for_each_concurrent(1, handle).until(all).run().await.unwrap();
        consumer.close(10 * SECOND).await.unwrap();
        let calls = calls.into_inner().unwrap();
        let late = calls.iter().filter(|(offset, count)| *offset > 20 && *count == 1).count();
        assert_eq!(late, 0, "{calls:?}");
    })
    .await;
}
