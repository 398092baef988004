//! What a push says, and that counts neither get lost nor come twice.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ackflow_protocol::machine::{TelemetryMachine, TelemetryPush, TelemetryStep};
use ackflow_protocol::messages::get_telemetry_subscriptions::GetTelemetrySubscriptionsResponse;
use prost::Message;

use super::collect::Collector;
use super::otlp::{CUMULATIVE, DELTA, Data, MetricsData};
use crate::config::ClientConfig;
use crate::metrics::ShareMetrics;

/// A push that is due of these metrics.
fn push(requested: &str, max_bytes: i32, delta_temporality: bool, compression: i8) -> TelemetryPush {
    let now = Instant::now();
    let mut machine = TelemetryMachine::new(now, 1);
    machine.poll(now);
    machine.handle_subscription(
        now,
        &GetTelemetrySubscriptionsResponse {
            accepted_compression_types: vec![compression],
            telemetry_max_bytes: max_bytes,
            delta_temporality,
            requested_metrics: vec![requested.to_owned()],
            ..Default::default()
        },
    );
    match machine.poll(now + Duration::from_secs(1)) {
        TelemetryStep::Push(push) => push,
        step => panic!("{step:?}"),
    }
}

fn consumer() -> (Arc<ShareMetrics>, Collector) {
    let metrics = Arc::new(ShareMetrics::watch(&mut ClientConfig::new("localhost:9092").unwrap()));
    let collector = Collector::new(metrics.metrics().clone(), vec![("group_id", "g".to_owned())]);
    (metrics, collector)
}

/// The metrics of a push: name, value, temporality of sums.
fn told(body: &[u8]) -> Vec<(String, f64, Option<i32>)> {
    let data = MetricsData::decode(body).unwrap();
    let metrics = data.resource_metrics.into_iter().flat_map(|r| r.scope_metrics).flat_map(|s| s.metrics);
    let value = |data: Data| match data {
        Data::Gauge(gauge) => (gauge.data_points[0].as_double, None),
        Data::Sum(sum) => (sum.data_points[0].as_double, Some(sum.aggregation_temporality)),
    };
    metrics.map(|metric| (metric.name, value(metric.data.unwrap()))).map(|(name, (v, t))| (name, v, t)).collect()
}

const CONSUMED: &str = "org.apache.kafka.consumer.share.fetch.manager.records.consumed.total";

#[test]
fn what_is_wanted_is_told_under_kafkas_name_and_nothing_else() {
    let (metrics, mut collector) = consumer();
    metrics.consumed(5);
    let body = collector.body(&push(CONSUMED, i32::MAX, false, 0));
    assert_eq!(told(&body), [(CONSUMED.to_owned(), 5.0, Some(CUMULATIVE))]);
    let data = MetricsData::decode(&*body).unwrap();
    let resource = data.resource_metrics[0].resource.clone().unwrap();
    assert_eq!(resource.attributes[0].value.clone().unwrap().string_value.as_deref(), Some("g"));

    let all = told(&collector.body(&push("", i32::MAX, false, 0)));
    assert!(all.iter().all(|(name, value, _)| name.starts_with("org.apache.kafka.") && !value.is_nan()));
    assert!(all.iter().any(|(name, ..)| name == "org.apache.kafka.consumer.connection.creation.total"));
}

#[test]
fn differences_are_of_what_has_arrived() {
    let (metrics, mut collector) = consumer();
    let push = push(CONSUMED, i32::MAX, true, 0);
    let consumed = |records, collector: &mut Collector| {
        metrics.consumed(records);
        told(&collector.body(&push))[0].clone()
    };
    assert_eq!(consumed(5, &mut collector), (CONSUMED.to_owned(), 5.0, Some(DELTA)));
    assert_eq!(consumed(2, &mut collector).1, 7.0, "the push before was lost");
    collector.arrived();
    assert_eq!(consumed(1, &mut collector).1, 1.0);
}

#[test]
fn no_push_is_larger_than_the_cluster_wants_it() {
    let (_, mut collector) = consumer();
    let all = told(&collector.body(&push("", i32::MAX, false, 0))).len();
    let body = collector.body(&push("", 600, false, 0));
    assert!((1..all).contains(&told(&body).len()));
    assert!(body.len() <= 600, "{}", body.len());
    assert!(told(&collector.body(&push("", i32::MIN, false, 0))).is_empty());
}

#[test]
fn a_push_is_compressed_as_the_cluster_reads_it() {
    use ackflow_protocol::records::Compression;
    for compression in Compression::ALL {
        let (_, mut collector) = consumer();
        let body = collector.body(&push("", i32::MAX, false, compression.id() as i8));
        let plain = compression.decompress(&body, 1 << 20).unwrap();
        assert!(!told(&plain).is_empty(), "{compression:?}");
    }
}
