//! What a member of a group has to do with its coordinator.

use std::sync::Arc;

use ackflow_protocol::wire::ApiKey;

use super::connections::ConnectionMetrics;
use super::named::counted;
use super::registry::Builder;
use super::sensor::{Sensor, Stat};

/// Watches heartbeats and assignments.
#[derive(Debug)]
pub(super) struct Membership {
    rebalances: Arc<Sensor>,
}

impl Membership {
    /// Metrics in a group such as `consumer-coordinator-metrics`, of the heartbeats by an API.
    pub(super) fn new(
        builder: &mut Builder<'_>,
        connections: &mut ConnectionMetrics,
        (group, api): (&'static str, ApiKey),
    ) -> Self {
        let [rate, total] = counted!("heartbeat", "Heartbeats");
        let slowest = ("heartbeat-response-time-max", "The largest: the time of a heartbeat, in ms.", Stat::Max);
        let last = ("last-heartbeat-seconds-ago", "Seconds since the last heartbeat was answered.", Stat::SecondsAgo);
        let heartbeats = builder.sensor(group, &[rate, total, slowest, last]);
        connections.time(api, &heartbeats);
        let rebalances = builder.sensor(
            group,
            &[
                ("rebalance-total", "Changes of the assignment.", Stat::Count),
                ("rebalance-rate-per-hour", "Changes of the assignment an hour.", Stat::CountRatePerHour),
            ],
        );
        Self { rebalances }
    }

    /// Partitions were assigned or taken away.
    pub(super) fn rebalanced(&self) {
        self.rebalances.record(1.0);
    }
}
