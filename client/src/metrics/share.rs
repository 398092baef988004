//! The metrics of a share consumer.

use std::sync::Arc;

use ackflow_protocol::messages::share_fetch::ShareFetchResponse;
use ackflow_protocol::wire::ApiKey;

use super::Metrics;
use super::connections::ConnectionMetrics;
use super::fetches::Fetches;
use super::membership::Membership;
use super::named::{measured, summed};
use super::polls::Polls;
use super::registry::Builder;
use super::sensor::Sensor;
use crate::config::ClientConfig;

const FETCH: &str = "consumer-share-fetch-manager-metrics";

/// What a share consumer measures.
#[derive(Debug)]
pub(crate) struct ShareMetrics {
    metrics: Metrics,
    fetches: Fetches,
    records: Arc<Sensor>,
    acknowledged: Arc<Sensor>,
    refused: Arc<Sensor>,
    membership: Membership,
    polls: Polls,
}

impl ShareMetrics {
    /// The metrics of a consumer with this configuration, whose connections they watch from now on.
    pub(crate) fn watch(config: &mut ClientConfig) -> Self {
        let measured = config.metrics.clone();
        let mut builder = Builder::new(&config.net.client_id, &measured);
        let mut connections = ConnectionMetrics::new(&mut builder, "consumer-metrics");
        let fetches = Fetches::new(&mut builder, &mut connections, FETCH, ApiKey::SHARE_FETCH);
        let heartbeats = ("consumer-share-coordinator-metrics", ApiKey::SHARE_GROUP_HEARTBEAT);
        let membership = Membership::new(&mut builder, &mut connections, heartbeats);
        config.net.hooks.push(Arc::new(connections));
        Self {
            fetches,
            membership,
            records: builder.sensor(FETCH, &measured!("records-per-request", "records acquired by a fetch")),
            acknowledged: builder.sensor(FETCH, &summed!("acknowledgements-send", "Records acknowledged")),
            refused: builder.sensor(FETCH, &summed!("acknowledgements-error", "Records whose acknowledgement failed")),
            polls: Polls::new(&mut builder, "consumer-share-metrics"),
            metrics: builder.build(),
        }
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// A fetch was answered.
    pub(crate) fn fetched(&self, response: &ShareFetchResponse) {
        let (mut bytes, mut records) = (0, 0);
        for partition in response.responses.iter().flat_map(|topic| &topic.partitions) {
            bytes += partition.records.as_ref().map_or(0, |records| records.len());
            let acquired = partition.acquired_records.iter();
            // Nobody has looked at them yet, and they may be anything.
            let lengths = acquired.map(|range| range.last_offset.saturating_sub(range.first_offset).saturating_add(1));
            records = lengths.fold(records, i64::saturating_add);
        }
        self.fetches.answered(bytes, response.throttle_time_ms);
        self.records.record(records as f64);
    }

    /// Records were handed to the application.
    pub(crate) fn consumed(&self, records: u32) {
        self.fetches.consumed(records);
    }

    /// An acknowledgement of so many records ended, of which so many failed.
    pub(crate) fn acknowledged(&self, records: u64, failed: u64) {
        self.acknowledged.record(records as f64);
        if failed > 0 {
            self.refused.record(failed as f64);
        }
    }

    /// Partitions were assigned or taken away.
    pub(crate) fn rebalanced(&self) {
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
