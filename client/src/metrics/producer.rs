//! The metrics of a producer.

use std::sync::Arc;
use std::time::Duration;

use ackflow_protocol::wire::ApiKey;

use super::Metrics;
use super::connections::ConnectionMetrics;
use super::named::{measured, summed};
use super::registry::Builder;
use super::sensor::{Sensor, Stat};
use crate::config::ClientConfig;

const GROUP: &str = "producer-metrics";

/// What a producer measures.
#[derive(Debug)]
pub(crate) struct ProducerMetrics {
    metrics: Metrics,
    sent: Arc<Sensor>,
    failed: Arc<Sensor>,
    retried: Arc<Sensor>,
    queued: Arc<Sensor>,
    batches: Arc<Sensor>,
    requests: Arc<Sensor>,
    throttle: Arc<Sensor>,
}

impl ProducerMetrics {
    /// The metrics of a producer with this configuration, whose connections they watch from now on.
    pub(crate) fn watch(config: &mut ClientConfig) -> Self {
        let measured = config.metrics.clone();
        let mut builder = Builder::new(&config.net.client_id, &measured);
        let mut connections = ConnectionMetrics::new(&mut builder, GROUP);
        let latency = builder.sensor(GROUP, &measured!("request-latency", "the time of a produce request, in ms"));
        connections.time(ApiKey::PRODUCE, &latency);
        config.net.hooks.push(Arc::new(connections));
        Self {
            sent: builder.sensor(GROUP, &summed!("record-send", "Records sent")),
            failed: builder.sensor(GROUP, &summed!("record-error", "Records that failed")),
            retried: builder.sensor(GROUP, &summed!("record-retry", "Records that were sent again")),
            queued: builder.sensor(GROUP, &measured!("record-queue-time", "how long a batch waited to be sent, in ms")),
            batches: builder.sensor(GROUP, &measured!("batch-size", "bytes of a batch")),
            requests: builder
                .sensor(GROUP, &[("records-per-request-avg", "The mean: records in a request.", Stat::Avg)]),
            throttle: builder
                .sensor(GROUP, &measured!("produce-throttle-time", "the throttle time of a request, in ms")),
            metrics: builder.build(),
        }
    }

    /// Metrics that nobody reads, of no connection.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn unwatched() -> Self {
        Self::watch(&mut ClientConfig::new("localhost:9092").expect("an address"))
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// A batch goes out for the first time.
    pub(crate) fn sent(&self, records: i32, bytes: usize, waited: Duration) {
        self.sent.record(records.into());
        self.batches.record(bytes as f64);
        self.queued.record_millis(waited);
    }

    /// A batch goes out once more.
    pub(crate) fn sent_again(&self, records: i32) {
        self.retried.record(records.into());
    }

    /// Records were given up.
    pub(crate) fn failed(&self, records: i32) {
        self.failed.record(records.into());
    }

    /// A request has so many records.
    pub(crate) fn requested(&self, records: i32) {
        self.requests.record(records.into());
    }

    /// A request was answered, with this throttle time in milliseconds.
    pub(crate) fn answered(&self, throttle_ms: i32) {
        self.throttle.record(throttle_ms.into());
    }
}
