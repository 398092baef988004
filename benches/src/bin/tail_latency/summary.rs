//! Percentiles of what was measured.

use std::fmt;
use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};

/// Durations in order.
pub(crate) struct Summary(Vec<Duration>);

impl Summary {
    /// Fails on fewer than a hundred: then there is no 99th percentile.
    pub(crate) fn of(mut durations: Vec<Duration>) -> anyhow::Result<Self> {
        ensure!(durations.len() >= 100, "{} measurements are too few for a percentile", durations.len());
        durations.sort_unstable();
        Ok(Self(durations))
    }

    /// The smallest value that so many percent do not exceed, in milliseconds.
    fn percentile(&self, percent: usize) -> f64 {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0[rank - 1].as_secs_f64() * 1000.0
    }

    pub(crate) fn to_json(&self) -> Value {
        let [p50, p99, max] = [50, 99, 100].map(|percent| (self.percentile(percent) * 1000.0).round() / 1000.0);
        json!({"p50_ms": p50, "p99_ms": p99, "max_ms": max, "count": self.0.len()})
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [p50, p99, max] = [50, 99, 100].map(|percent| self.percentile(percent));
        write!(f, "p50 {p50:.2} ms  p99 {p99:.2} ms  max {max:.2} ms  of {}", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_ranks() {
        let summary = Summary::of((1..=200).map(Duration::from_millis).collect()).unwrap();
        assert_eq!(summary.to_json(), json!({"p50_ms": 100.0, "p99_ms": 198.0, "max_ms": 200.0, "count": 200}));
        assert!(Summary::of(vec![Duration::ZERO; 99]).is_err());
    }
}
