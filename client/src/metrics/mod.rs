//! What a client counts, by the names that Kafka's own clients give it.
//!
//! Numbers are taken once a request, a poll or a batch, never once a record. Rates, averages and maxima are of the last
//! `metrics.num.samples` windows of `metrics.sample.window.ms`, totals are since the client was made. Where the cluster wants to know them, they are
//! pushed to its brokers ([`telemetry`](crate::telemetry), KIP-714).

mod connections;
mod consumer;
mod fetches;
mod membership;
mod named;
mod polls;
mod producer;
mod registry;
mod sensor;
mod share;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) use connections::watch_admin;
pub(crate) use consumer::ConsumerMetrics;
pub(crate) use producer::ProducerMetrics;
pub(crate) use share::ShareMetrics;

use registry::Registry;

/// How a client measures, and whether it tells its brokers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MetricsConfig {
    /// `metrics.sample.window.ms`: how long a window of rates, averages and maxima is.
    pub sample_window: Duration,
    /// `metrics.num.samples`: over how many windows they are taken.
    pub num_samples: u32,
    /// `enable.metrics.push`: whether metrics are pushed to a cluster that wants them (KIP-714).
    pub push: bool,
}

impl Default for MetricsConfig {
    fn default() -> Self {
        Self { sample_window: Duration::from_secs(30), num_samples: 2, push: true }
    }
}

/// One metric, at one moment.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Metric {
    /// Kafka's group of metrics, such as `consumer-share-fetch-manager-metrics`.
    pub group: &'static str,
    /// Its name in the group, such as `records-consumed-total`. Totals, which never fall, end with `-total`.
    pub name: &'static str,
    /// What it says, and in which unit.
    pub description: &'static str,
    /// `client.id`.
    pub client_id: Arc<str>,
    /// The value; NaN where nothing was measured lately.
    pub value: f64,
}

impl Metric {
    /// Whether it is a count since the client was made.
    pub fn is_total(&self) -> bool {
        self.name.ends_with("-total")
    }
}

/// The metrics of a client. It is a handle: clones read the same, also after the client is closed.
#[derive(Debug, Clone)]
pub struct Metrics(Arc<Registry>);

impl Metrics {
    /// All of them, as they are now.
    pub fn snapshot(&self) -> Vec<Metric> {
        self.0.read(Instant::now())
    }

    /// The value of one of them now, by its name, where there is such a metric.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.snapshot().into_iter().find(|metric| metric.name == name).map(|metric| metric.value)
    }
}
