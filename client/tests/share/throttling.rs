//! Brokers that throttle this client (KIP-219).

use std::time::{Duration, Instant};

use ackflow_client::{Producer, ProducerConfig, ProducerRecord};
use ackflow_protocol::wire::ApiKey;
use ackflow_testkit::core::{FaultAction, FaultRule};

use crate::cluster::{Cluster, SECOND, within_a_minute};

/// Each answer of the API says that the client is throttled.
fn throttle(api: ApiKey, time: Duration) -> FaultRule {
    FaultRule::new(FaultAction::Throttle(time)).api(api)
}

// Mutation: client/src/net/queue.rs
// - let not_before = state.throttled_until.filter(|until| Instant::now() < *until);
// + let not_before: Option<Instant> = None;
#[tokio::test]
async fn a_consumer_that_is_throttled_keeps_quiet_and_loses_nothing() {
    within_a_minute(async {
        let cluster = Cluster::embedded().await;
        for partition in 0..3 {
            cluster.produce(partition, 0..100).await;
        }
        let (broker, time) = (cluster.broker(), SECOND / 4);
        let apis = [ApiKey::SHARE_GROUP_HEARTBEAT, ApiKey::SHARE_FETCH, ApiKey::SHARE_ACKNOWLEDGE];
        let mut met = Vec::new();
        for api in apis {
            met.push(broker.add_fault(throttle(api, time).times(5)).await.unwrap());
        }
        let mut consumer = cluster.owned(cluster.config().max_poll_records(20));
        let mut records = 0;
        while records < 300 {
            let delivery = consumer.poll(20 * SECOND).await.unwrap().unwrap();
            assert_eq!(delivery.max_delivery_count(), 1);
            records += delivery.len();
            delivery.accept().await.unwrap();
        }
        consumer.close(10 * SECOND).await.unwrap();
        for (api, met) in apis.into_iter().zip(met) {
            assert!(broker.fault_hits(met).await.unwrap() > 0, "{api} was throttled");
            assert_eq!(broker.early_requests(api).await.unwrap(), 0, "{api}");
        }
        cluster.no_lag_is_left().await;
    })
    .await;
}

#[tokio::test]
async fn a_throttle_beyond_the_time_of_a_request_delays_it_and_closing_stays_bounded() {
    within_a_minute(async {
        let cluster = Cluster::embedded().await;
        cluster.produce(0, 0..10).await;
        let config =
            || cluster.config().fetch_max_wait(SECOND / 10).client(|client| client.net.request_timeout = SECOND);
        let mut consumer = cluster.owned(config());
        let rule = throttle(ApiKey::SHARE_FETCH, 3 * SECOND).after(1).times(1);
        let throttled = cluster.broker().add_fault(rule).await.unwrap();
        let delivery = consumer.poll(20 * SECOND).await.unwrap().unwrap();
        while cluster.broker().fault_hits(throttled).await.unwrap() == 0 {
            consumer.poll(SECOND / 20).await.unwrap();
        }
        let asked = Instant::now();
        delivery.accept().await.unwrap();
        assert!(asked.elapsed() > 2 * SECOND, "it waits for its turn: {:?}", asked.elapsed());
        consumer.close(10 * SECOND).await.unwrap();
        cluster.no_lag_is_left().await;

        cluster.produce(0, 10..20).await;
        let mut consumer = cluster.owned(config());
        cluster.broker().add_fault(throttle(ApiKey::SHARE_FETCH, 60 * SECOND)).await.unwrap();
        let delivery = consumer.poll(20 * SECOND).await.unwrap().unwrap();
        let closed = Instant::now();
        drop(delivery);
        let error = consumer.close(SECOND).await.unwrap_err();
        assert_eq!(error.kind(), ackflow_client::ErrorKind::TimedOut);
        assert!(closed.elapsed() < 5 * SECOND);
    })
    .await;
}

#[tokio::test]
async fn producers_and_admins_obey_as_well() {
    within_a_minute(async {
        let cluster = Cluster::embedded().await;
        let broker = cluster.broker();
        let apis = [ApiKey::PRODUCE, ApiKey::METADATA, ApiKey::DESCRIBE_CLUSTER, ApiKey::INIT_PRODUCER_ID];
        for api in apis {
            broker.add_fault(throttle(api, SECOND / 4).times(3)).await.unwrap();
        }
        let producer = Producer::new(ProducerConfig::new(&cluster.bootstrap).unwrap()).unwrap();
        let began = Instant::now();
        for number in 0..3 {
            let record = ProducerRecord::new(cluster.topic.as_str(), number.to_string());
            producer.send(record).await.unwrap().await.unwrap();
            cluster.admin.describe_cluster().await.unwrap();
        }
        assert!(began.elapsed() > SECOND / 2, "{:?}", began.elapsed());
        for api in apis {
            assert_eq!(broker.early_requests(api).await.unwrap(), 0, "{api}");
        }
        producer.close().await.unwrap();
    })
    .await;
}
