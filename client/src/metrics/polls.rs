//! How often an application polls.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::named::measured;
use super::registry::Builder;
use super::sensor::{Sensor, Stat};

/// Watches the polls of a consumer.
#[derive(Debug)]
pub(super) struct Polls {
    polls: Arc<Sensor>,
    between: Arc<Sensor>,
    idle_ratio: Arc<Sensor>,
    last: Mutex<Last>,
}

/// When the application polled last, and when it got an answer.
#[derive(Debug, Default)]
struct Last {
    began: Option<Instant>,
    ended: Option<Instant>,
}

impl Polls {
    /// Metrics in a group such as `consumer-metrics`.
    pub(super) fn new(builder: &mut Builder<'_>, group: &'static str) -> Self {
        Self {
            polls: builder.sensor(
                group,
                &[("last-poll-seconds-ago", "Seconds since the last poll; -1 before the first.", Stat::SecondsAgo)],
            ),
            between: builder.sensor(group, &measured!("time-between-poll", "the time between two polls, in ms")),
            idle_ratio: builder.sensor(
                group,
                &[("poll-idle-ratio-avg", "Mean part of the time in which the consumer is polled.", Stat::Avg)],
            ),
            last: Mutex::default(),
        }
    }

    /// The application polls.
    pub(super) fn begin(&self) {
        let now = Instant::now();
        self.polls.record_at(now, 1.0);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(before), Some(ended)) = (last.began.replace(now), last.ended) {
            let between = now.duration_since(before).as_secs_f64();
            self.between.record_at(now, between * 1e3);
            let polled = ended.saturating_duration_since(before).as_secs_f64();
            self.idle_ratio.record_at(now, polled / between.max(1e-9));
        }
    }

    /// The poll gives something, or nothing.
    pub(super) fn end(&self) {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).ended = Some(Instant::now());
    }
}
