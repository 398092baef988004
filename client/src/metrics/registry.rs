//! The metrics of one client: a name each, and how to read it.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use super::sensor::{Sensor, Stat};
use super::{Metric, Metrics, MetricsConfig};

/// All metrics of a client.
pub(super) struct Registry {
    client_id: Arc<str>,
    entries: Vec<Entry>,
}

struct Entry {
    group: &'static str,
    name: &'static str,
    description: &'static str,
    read: Box<dyn Fn(Instant) -> f64 + Send + Sync>,
}

/// A metric of a sensor: its name, what it says, and what it makes of the numbers.
pub(super) type Named = (&'static str, &'static str, Stat);

impl Registry {
    pub(super) fn read(&self, now: Instant) -> Vec<Metric> {
        let metric = |entry: &Entry| Metric {
            group: entry.group,
            name: entry.name,
            description: entry.description,
            client_id: self.client_id.clone(),
            value: (entry.read)(now),
        };
        self.entries.iter().map(metric).collect()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("client_id", &self.client_id).field("metrics", &self.entries.len()).finish()
    }
}

/// Puts the metrics of a client together.
pub(super) struct Builder<'a> {
    config: &'a MetricsConfig,
    registry: Registry,
}

impl<'a> Builder<'a> {
    pub(super) fn new(client_id: &Arc<str>, config: &'a MetricsConfig) -> Self {
        Self { config, registry: Registry { client_id: client_id.clone(), entries: Vec::new() } }
    }

    /// A sensor, and the metrics of it in a group.
    pub(super) fn sensor(&mut self, group: &'static str, metrics: &[Named]) -> Arc<Sensor> {
        let sensor = Arc::new(Sensor::new(self.config));
        for (name, description, stat) in metrics.iter().copied() {
            let sensor = Arc::clone(&sensor);
            self.gauge(group, name, description, move |now| sensor.read(now, stat));
        }
        sensor
    }

    /// A metric that is read in a way of its own.
    pub(super) fn gauge(
        &mut self,
        group: &'static str,
        name: &'static str,
        description: &'static str,
        read: impl Fn(Instant) -> f64 + Send + Sync + 'static,
    ) {
        self.registry.entries.push(Entry { group, name, description, read: Box::new(read) });
    }

    pub(super) fn build(self) -> Metrics {
        Metrics(Arc::new(self.registry))
    }
}
