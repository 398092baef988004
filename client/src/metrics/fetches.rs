//! What the fetches of a consumer bring.

use std::sync::Arc;

use ackflow_protocol::wire::ApiKey;

use super::connections::ConnectionMetrics;
use super::named::{counted, measured, summed};
use super::registry::Builder;
use super::sensor::Sensor;

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
        let fetches = [counted!("fetch", "Fetches"), measured!("fetch-latency", "the time of a fetch, in ms")];
        connections.time(api, &builder.sensor(group, fetches.as_flattened()));
        let bytes = [
            measured!("fetch-size", "bytes of records in a fetch"),
            summed!("bytes-consumed", "Bytes of records fetched"),
        ];
        Self {
            bytes: builder.sensor(group, bytes.as_flattened()),
            throttle: builder.sensor(group, &measured!("fetch-throttle-time", "the throttle time of a fetch, in ms")),
            consumed: builder.sensor(group, &summed!("records-consumed", "Records handed to the application")),
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
