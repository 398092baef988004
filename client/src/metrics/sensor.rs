//! Numbers that come one by one, and what Kafka's metrics make of them.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::MetricsConfig;

/// Takes numbers, such as the bytes of requests.
#[derive(Debug)]
pub(crate) struct Sensor {
    window: Duration,
    windows: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    count: u64,
    total: f64,
    last: Option<Instant>,
    /// The latest windows, the oldest first. There is none for a time in which nothing came.
    samples: VecDeque<Sample>,
}

/// What came within one window.
#[derive(Debug)]
struct Sample {
    began: Instant,
    count: u64,
    sum: f64,
    max: f64,
}

/// What is made of the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stat {
    /// Their sum, since the beginning.
    Total,
    /// How many there were, since the beginning.
    Count,
    /// Their sum a second, lately.
    Rate,
    /// How many a second, lately.
    CountRate,
    /// How many an hour, lately.
    CountRatePerHour,
    /// Their mean, lately.
    Avg,
    /// The largest, lately.
    Max,
    /// Seconds since the last one; -1 before the first.
    SecondsAgo,
}

impl Sensor {
    pub(crate) fn new(config: &MetricsConfig) -> Self {
        Self { window: config.sample_window, windows: config.num_samples.max(1) as usize, state: Mutex::default() }
    }

    /// Takes a number.
    pub(crate) fn record(&self, value: f64) {
        self.record_at(Instant::now(), value);
    }

    /// Takes a time, in milliseconds.
    pub(crate) fn record_millis(&self, time: Duration) {
        self.record(time.as_secs_f64() * 1e3);
    }

    pub(super) fn record_at(&self, now: Instant, value: f64) {
        let mut state = self.lock();
        state.count += 1;
        state.total += value;
        state.last = Some(now);
        match state.samples.back_mut().filter(|sample| now < sample.began + self.window) {
            Some(sample) => {
                sample.count += 1;
                sample.sum += value;
                sample.max = sample.max.max(value);
            }
            None => {
                if state.samples.len() == self.windows {
                    state.samples.pop_front();
                }
                state.samples.push_back(Sample { began: now, count: 1, sum: value, max: value });
            }
        }
    }

    /// What is made of the numbers so far.
    pub(crate) fn read(&self, now: Instant, stat: Stat) -> f64 {
        let state = self.lock();
        let span = self.window.saturating_mul(self.windows as u32);
        let lately = || state.samples.iter().filter(|sample| now < sample.began + span);
        let sum = || lately().map(|sample| sample.sum).sum::<f64>();
        let count = || lately().map(|sample| sample.count).sum::<u64>() as f64;
        // As Kafka's: a rate is never taken over less than all windows but the one that is not full.
        let seconds = || {
            let least = self.window.saturating_mul(self.windows as u32 - 1);
            let since = lately().next().map_or(Duration::ZERO, |sample| now.duration_since(sample.began));
            since.max(least).max(Duration::from_millis(1)).as_secs_f64()
        };
        match stat {
            Stat::Total => state.total,
            Stat::Count => state.count as f64,
            Stat::Rate => sum() / seconds(),
            Stat::CountRate => count() / seconds(),
            Stat::CountRatePerHour => count() / seconds() * 3600.0,
            Stat::Avg => sum() / count(),
            Stat::Max => lately().map(|sample| sample.max).fold(f64::NAN, f64::max),
            Stat::SecondsAgo => state.last.map_or(-1.0, |last| now.duration_since(last).as_secs_f64()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that holds the lock can panic halfway through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
