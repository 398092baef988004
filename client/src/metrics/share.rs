//! The metrics of a share consumer.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ackflow_protocol::messages::share_fetch::ShareFetchResponse;
use ackflow_protocol::wire::ApiKey;

use super::Metrics;
use super::connections::ConnectionMetrics;
use super::registry::Builder;
use super::sensor::{Sensor, Stat};
use crate::config::ClientConfig;

const FETCH: &str = "consumer-share-fetch-manager-metrics";
const COORDINATOR: &str = "consumer-share-coordinator-metrics";
const CONSUMER: &str = "consumer-share-metrics";

/// What a share consumer measures.
#[derive(Debug)]
pub(crate) struct ShareMetrics {
    metrics: Metrics,
    fetched_bytes: Arc<Sensor>,
    fetched_records: Arc<Sensor>,
    throttle: Arc<Sensor>,
    consumed: Arc<Sensor>,
    acknowledged: Arc<Sensor>,
    refused: Arc<Sensor>,
    rebalances: Arc<Sensor>,
    polls: Arc<Sensor>,
    between_polls: Arc<Sensor>,
    idle_ratio: Arc<Sensor>,
    polling: Mutex<Polling>,
}

/// When the application polled last, and when it last got an answer.
#[derive(Debug, Default)]
struct Polling {
    began: Option<Instant>,
    ended: Option<Instant>,
}

impl ShareMetrics {
    /// The metrics of a consumer with this configuration, whose connections they watch from now on.
    pub(crate) fn watch(config: &mut ClientConfig) -> Self {
        let measured = config.metrics.clone();
        let mut builder = Builder::new(&config.net.client_id, &measured);
        let mut connections = ConnectionMetrics::new(&mut builder, "consumer-metrics");
        let latency = builder.sensor(
            FETCH,
            &[
                ("fetch-latency-avg", "Mean time of a fetch, in ms.", Stat::Avg),
                ("fetch-latency-max", "Longest time of a fetch, in ms.", Stat::Max),
                ("fetch-rate", "Fetches a second.", Stat::CountRate),
                ("fetch-total", "Fetches.", Stat::Count),
            ],
        );
        connections.time(ApiKey::SHARE_FETCH, &latency);
        let heartbeat = builder.sensor(
            COORDINATOR,
            &[
                ("heartbeat-rate", "Heartbeats a second.", Stat::CountRate),
                ("heartbeat-total", "Heartbeats.", Stat::Count),
                ("heartbeat-response-time-max", "Longest time of a heartbeat, in ms.", Stat::Max),
                ("last-heartbeat-seconds-ago", "Seconds since the last heartbeat was answered.", Stat::SecondsAgo),
            ],
        );
        connections.time(ApiKey::SHARE_GROUP_HEARTBEAT, &heartbeat);
        config.net.hooks.push(Arc::new(connections));
        Self {
            fetched_bytes: builder.sensor(
                FETCH,
                &[
                    ("fetch-size-avg", "Mean bytes of records in a fetch.", Stat::Avg),
                    ("fetch-size-max", "Most bytes of records in a fetch.", Stat::Max),
                    ("bytes-consumed-rate", "Bytes of records fetched a second.", Stat::Rate),
                    ("bytes-consumed-total", "Bytes of records fetched.", Stat::Total),
                ],
            ),
            fetched_records: builder.sensor(
                FETCH,
                &[
                    ("records-per-request-avg", "Mean number of records acquired by a fetch.", Stat::Avg),
                    ("records-per-request-max", "Most records acquired by a fetch.", Stat::Max),
                ],
            ),
            throttle: builder.sensor(
                FETCH,
                &[
                    ("fetch-throttle-time-avg", "Mean throttle time of a fetch, in ms.", Stat::Avg),
                    ("fetch-throttle-time-max", "Longest throttle time of a fetch, in ms.", Stat::Max),
                ],
            ),
            consumed: builder.sensor(
                FETCH,
                &[
                    ("records-consumed-rate", "Records handed to the application a second.", Stat::Rate),
                    ("records-consumed-total", "Records handed to the application.", Stat::Total),
                ],
            ),
            acknowledged: builder.sensor(
                FETCH,
                &[
                    ("acknowledgements-send-rate", "Records acknowledged a second.", Stat::Rate),
                    ("acknowledgements-send-total", "Records acknowledged.", Stat::Total),
                ],
            ),
            refused: builder.sensor(
                FETCH,
                &[
                    ("acknowledgements-error-rate", "Records a second whose acknowledgement failed.", Stat::Rate),
                    ("acknowledgements-error-total", "Records whose acknowledgement failed.", Stat::Total),
                ],
            ),
            rebalances: builder.sensor(
                COORDINATOR,
                &[
                    ("rebalance-total", "Changes of the assignment.", Stat::Count),
                    ("rebalance-rate-per-hour", "Changes of the assignment an hour.", Stat::CountRatePerHour),
                ],
            ),
            polls: builder.sensor(
                CONSUMER,
                &[("last-poll-seconds-ago", "Seconds since the last poll; -1 before the first.", Stat::SecondsAgo)],
            ),
            between_polls: builder.sensor(
                CONSUMER,
                &[
                    ("time-between-poll-avg", "Mean time between two polls, in ms.", Stat::Avg),
                    ("time-between-poll-max", "Longest time between two polls, in ms.", Stat::Max),
                ],
            ),
            idle_ratio: builder.sensor(
                CONSUMER,
                &[("poll-idle-ratio-avg", "Mean part of the time in which the consumer is polled.", Stat::Avg)],
            ),
            metrics: builder.build(),
            polling: Mutex::default(),
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
            records +=
                partition.acquired_records.iter().map(|range| range.last_offset - range.first_offset + 1).sum::<i64>();
        }
        self.throttle.record(response.throttle_time_ms.into());
        self.fetched_bytes.record(bytes as f64);
        self.fetched_records.record(records as f64);
    }

    /// Records were handed to the application.
    pub(crate) fn consumed(&self, records: u32) {
        self.consumed.record(records.into());
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
        self.rebalances.record(1.0);
    }

    /// The application polls.
    pub(crate) fn poll_begins(&self) {
        let now = Instant::now();
        self.polls.record_at(now, 1.0);
        let mut polling = self.polling.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(before), Some(ended)) = (polling.began.replace(now), polling.ended) {
            let between = now.duration_since(before);
            self.between_polls.record_at(now, millis(between));
            let polled = ended.saturating_duration_since(before);
            self.idle_ratio.record_at(now, polled.as_secs_f64() / between.as_secs_f64().max(1e-9));
        }
    }

    /// The poll gives something, or nothing.
    pub(crate) fn poll_ends(&self) {
        self.polling.lock().unwrap_or_else(PoisonError::into_inner).ended = Some(Instant::now());
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
