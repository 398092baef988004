//! The metrics of a consumer in a consumer group.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ackflow_protocol::messages::fetch::FetchResponse;
use ackflow_protocol::wire::ApiKey;

use super::Metrics;
use super::connections::ConnectionMetrics;
use super::fetches::Fetches;
use super::membership::Membership;
use super::named::{counted, measured};
use super::polls::Polls;
use super::registry::Builder;
use super::sensor::{Sensor, Stat};
use crate::config::ClientConfig;

const CONSUMER: &str = "consumer-metrics";
const FETCH: &str = "consumer-fetch-manager-metrics";
const COORDINATOR: &str = "consumer-coordinator-metrics";

/// What a consumer measures.
#[derive(Debug)]
pub(crate) struct ConsumerMetrics {
    metrics: Metrics,
    fetches: Fetches,
    lag: Arc<Sensor>,
    membership: Membership,
    assigned: Arc<AtomicUsize>,
    polls: Polls,
}

impl ConsumerMetrics {
    /// The metrics of a consumer with this configuration, whose connections they watch from now on.
    pub(crate) fn watch(config: &mut ClientConfig) -> Self {
        let measured = config.metrics.clone();
        let mut builder = Builder::new(&config.net.client_id, &measured);
        let mut connections = ConnectionMetrics::new(&mut builder, CONSUMER);
        let fetches = Fetches::new(&mut builder, &mut connections, FETCH, ApiKey::FETCH);
        let lag = ("records-lag-max", "The largest: records behind the end of a partition after a poll.", Stat::Max);
        let lag = builder.sensor(FETCH, &[lag]);
        let heartbeats = (COORDINATOR, ApiKey::CONSUMER_GROUP_HEARTBEAT);
        let membership = Membership::new(&mut builder, &mut connections, heartbeats);
        let commits = [counted!("commit", "Commits"), measured!("commit-latency", "the time of a commit, in ms")];
        let commits = builder.sensor(COORDINATOR, commits.as_flattened());
        connections.time(ApiKey::OFFSET_COMMIT, &commits);
        let assigned = Arc::<AtomicUsize>::default();
        let now_assigned = assigned.clone();
        builder.gauge(COORDINATOR, "assigned-partitions", "Partitions that are assigned.", move |_| {
            now_assigned.load(Ordering::Relaxed) as f64
        });
        config.net.hooks.push(Arc::new(connections));
        let polls = Polls::new(&mut builder, CONSUMER);
        Self { metrics: builder.build(), fetches, lag, membership, assigned, polls }
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// A fetch was answered.
    pub(crate) fn fetched(&self, response: &FetchResponse) {
        let partitions = response.responses.iter().flat_map(|topic| &topic.partitions);
        let bytes = partitions.filter_map(|partition| partition.records.as_ref()).map(|records| records.len()).sum();
        self.fetches.answered(bytes, response.throttle_time_ms);
    }

    /// Records were handed to the application.
    pub(crate) fn consumed(&self, records: u32) {
        self.fetches.consumed(records);
    }

    /// So many records lie behind those that were handed out of a partition.
    pub(crate) fn lags(&self, records: i64) {
        self.lag.record(records as f64);
    }

    /// The assignment is another one, of so many partitions.
    pub(crate) fn assigned(&self, partitions: usize) {
        self.assigned.store(partitions, Ordering::Relaxed);
        self.membership.rebalanced();
    }

    /// The application polls.
    pub(crate) fn poll_begins(&self) {
        self.polls.begin();
    }

    /// The poll gives something, or nothing.
    pub(crate) fn poll_ends(&self) {
        self.polls.end();
    }
}
