//! The body of a push, out of a client's metrics.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use ackflow_protocol::machine::TelemetryPush;
use bytes::Bytes;
use prost::Message;

use super::otlp::{
    AnyValue, CUMULATIVE, DELTA, Data, Gauge, KeyValue, Metric, MetricsData, NumberDataPoint, Resource,
    ResourceMetrics, ScopeMetrics, Sum,
};
use crate::metrics::Metrics;

/// Makes the bodies of pushes, and remembers what was told.
#[derive(Debug)]
pub(super) struct Collector {
    metrics: Metrics,
    /// Names the client beyond what the broker knows of it: `group_id` and such.
    labels: Vec<(&'static str, String)>,
    began: u64,
    /// Since when differences count: the last push that arrived.
    told_at: u64,
    /// The totals of that push.
    told: HashMap<String, f64>,
    /// The same of the push under way.
    telling: Option<(u64, HashMap<String, f64>)>,
}

impl Collector {
    pub(super) fn new(metrics: Metrics, labels: Vec<(&'static str, String)>) -> Self {
        let now = nanos();
        Self { metrics, labels, began: now, told_at: now, told: HashMap::new(), telling: None }
    }

    /// The body of a push, compressed. Metrics that were never measured are left out, and so are those that would make it larger than the
    /// cluster wants it.
    pub(super) fn body(&mut self, push: &TelemetryPush) -> Bytes {
        let now = nanos();
        let mut totals = HashMap::new();
        let mut metrics = Vec::new();
        let mut size = 0;
        for metric in self.metrics.snapshot() {
            let name = full_name(metric.group, metric.name);
            if metric.value.is_nan() || !push.subscription.wants(&name) {
                continue;
            }
            let data = match metric.is_total() {
                true => Data::Sum(self.sum(push.subscription.delta_temporality, &name, metric.value, now)),
                false => Data::Gauge(Gauge { data_points: vec![point(self.began, now, metric.value)] }),
            };
            let made = Metric { name: name.clone(), data: Some(data) };
            size += made.encoded_len() + FRAMING;
            if size > push.subscription.max_bytes {
                tracing::debug!(name, "the cluster wants no more bytes of metrics");
                break;
            }
            if metric.is_total() {
                totals.insert(name, metric.value);
            }
            metrics.push(made);
        }
        self.telling = Some((now, totals));
        let attributes = self.labels.iter().map(|(key, value)| label(key, value)).collect();
        let resource = Some(Resource { attributes });
        let of_client = ResourceMetrics { resource, scope_metrics: vec![ScopeMetrics { metrics }] };
        let plain = MetricsData { resource_metrics: vec![of_client] }.encode_to_vec();
        let mut compressed = Vec::new();
        push.compression.compress(&plain, &mut compressed);
        compressed.into()
    }

    /// What was made last has arrived.
    pub(super) fn arrived(&mut self) {
        if let Some((at, totals)) = self.telling.take() {
            self.told_at = at;
            self.told.extend(totals);
        }
    }

    fn sum(&self, delta: bool, name: &str, total: f64, now: u64) -> Sum {
        let (since, value, aggregation_temporality) = match delta {
            true => (self.told_at, total - self.told.get(name).copied().unwrap_or(0.0), DELTA),
            false => (self.began, total, CUMULATIVE),
        };
        Sum { data_points: vec![point(since, now, value)], aggregation_temporality, is_monotonic: true }
    }
}

/// What a metric takes beside its own bytes: its tag and length.
const FRAMING: usize = 4;

/// As Kafka's clients name it: `org.apache.kafka.` and group and name with dots.
fn full_name(group: &str, name: &str) -> String {
    let group = group.strip_suffix("-metrics").unwrap_or(group);
    format!("org.apache.kafka.{group}.{name}").replace('-', ".")
}

fn point(since: u64, now: u64, value: f64) -> NumberDataPoint {
    NumberDataPoint { start_time_unix_nano: since, time_unix_nano: now, as_double: value }
}

fn label(key: &str, value: &str) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { string_value: Some(value.to_owned()) }) }
}

fn nanos() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
