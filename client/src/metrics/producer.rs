//! The metrics of a producer.

use std::sync::Arc;
use std::time::Duration;

use ackflow_protocol::wire::ApiKey;

use super::Metrics;
use super::connections::ConnectionMetrics;
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
        let latency = builder.sensor(
            GROUP,
            &[
                ("request-latency-avg", "Mean time of a produce request, in ms.", Stat::Avg),
                ("request-latency-max", "Longest time of a produce request, in ms.", Stat::Max),
            ],
        );
        connections.time(ApiKey::PRODUCE, &latency);
        config.net.hooks.push(Arc::new(connections));
        Self {
            sent: builder.sensor(
                GROUP,
                &[
                    ("record-send-rate", "Records sent a second.", Stat::Rate),
                    ("record-send-total", "Records sent.", Stat::Total),
                ],
            ),
            failed: builder.sensor(
                GROUP,
                &[
                    ("record-error-rate", "Records a second that failed.", Stat::Rate),
                    ("record-error-total", "Records that failed.", Stat::Total),
                ],
            ),
            retried: builder.sensor(
                GROUP,
                &[
                    ("record-retry-rate", "Records a second that were sent again.", Stat::Rate),
                    ("record-retry-total", "Records that were sent again.", Stat::Total),
                ],
            ),
            queued: builder.sensor(
                GROUP,
                &[
                    ("record-queue-time-avg", "Mean time that a batch waited to be sent, in ms.", Stat::Avg),
                    ("record-queue-time-max", "Longest time that a batch waited to be sent, in ms.", Stat::Max),
                ],
            ),
            batches: builder.sensor(
                GROUP,
                &[
                    ("batch-size-avg", "Mean bytes of a batch.", Stat::Avg),
                    ("batch-size-max", "Bytes of the largest batch.", Stat::Max),
                ],
            ),
            requests: builder
                .sensor(GROUP, &[("records-per-request-avg", "Mean number of records in a request.", Stat::Avg)]),
            throttle: builder.sensor(
                GROUP,
                &[
                    ("produce-throttle-time-avg", "Mean throttle time of a request, in ms.", Stat::Avg),
                    ("produce-throttle-time-max", "Longest throttle time of a request, in ms.", Stat::Max),
                ],
            ),
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
