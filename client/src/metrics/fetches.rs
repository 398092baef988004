//! What the fetches of a consumer bring.

use std::sync::Arc;

use ackflow_protocol::wire::ApiKey;

use super::connections::ConnectionMetrics;
use super::registry::Builder;
use super::sensor::{Sensor, Stat};

/// Watches the fetches of a consumer.
#[derive(Debug)]
pub(super) struct Fetches {
    bytes: Arc<Sensor>,
    throttle: Arc<Sensor>,
    consumed: Arc<Sensor>,
}

impl Fetches {
    /// Metrics in a group such as `consumer-fetch-manager-metrics`, of the fetches by this API.
    pub(super) fn new(
        builder: &mut Builder<'_>,
        connections: &mut ConnectionMetrics,
        group: &'static str,
        api: ApiKey,
    ) -> Self {
        let latency = builder.sensor(
            group,
            &[
                ("fetch-latency-avg", "Mean time of a fetch, in ms.", Stat::Avg),
                ("fetch-latency-max", "Longest time of a fetch, in ms.", Stat::Max),
                ("fetch-rate", "Fetches a second.", Stat::CountRate),
                ("fetch-total", "Fetches.", Stat::Count),
            ],
        );
        connections.time(api, &latency);
        Self {
            bytes: builder.sensor(
                group,
                &[
                    ("fetch-size-avg", "Mean bytes of records in a fetch.", Stat::Avg),
                    ("fetch-size-max", "Most bytes of records in a fetch.", Stat::Max),
                    ("bytes-consumed-rate", "Bytes of records fetched a second.", Stat::Rate),
                    ("bytes-consumed-total", "Bytes of records fetched.", Stat::Total),
                ],
            ),
            throttle: builder.sensor(
                group,
                &[
                    ("fetch-throttle-time-avg", "Mean throttle time of a fetch, in ms.", Stat::Avg),
                    ("fetch-throttle-time-max", "Longest throttle time of a fetch, in ms.", Stat::Max),
                ],
            ),
            consumed: builder.sensor(
                group,
                &[
                    ("records-consumed-rate", "Records handed to the application a second.", Stat::Rate),
                    ("records-consumed-total", "Records handed to the application.", Stat::Total),
                ],
            ),
        }
    }

    /// A fetch was answered, with this throttle time in milliseconds.
    pub(super) fn answered(&self, bytes: usize, throttle_ms: i32) {
        self.throttle.record(throttle_ms.into());
        self.bytes.record(bytes as f64);
    }

    /// Records were handed to the application.
    pub(super) fn consumed(&self, records: u32) {
        self.consumed.record(records.into());
    }
}
