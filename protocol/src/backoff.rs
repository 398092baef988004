//! How long to wait before trying again.

use std::time::Duration;

use crate::random::fraction;

/// Pauses that double with each failure, up to a maximum, and differ by up to a fifth so that clients that failed
/// together do not come back together. As in Kafka's own client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    max: Duration,
}

/// By how much a pause may be longer or shorter.
const JITTER: f64 = 0.2;

impl Backoff {
    /// Pauses from `first` up to `max`.
    pub fn new(first: Duration, max: Duration) -> Self {
        Self { first, max: max.max(first) }
    }

    /// The pause after `failures` in a row, of which there is at least one. `random` is any number.
    pub fn pause(&self, failures: u32, random: u64) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        let pause = self.first.saturating_mul(1 << doublings).min(self.max);
        pause.mul_f64(1.0 - JITTER + 2.0 * JITTER * fraction(random))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_to_the_maximum_with_a_fifth_of_jitter() {
        let backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1));
        for (failures, expected) in
            [(1, 100.0), (2, 200.0), (3, 400.0), (4, 800.0), (5, 1000.0), (4_000_000_000, 1000.0)]
        {
            for random in [0, u64::MAX / 2, u64::MAX] {
                let pause = backoff.pause(failures, random).as_secs_f64() * 1000.0;
                assert!((pause / expected - 1.0).abs() <= JITTER + 1e-9, "{failures} failures: {pause} ms");
            }
        }
        assert!(backoff.pause(1, 0) < backoff.pause(1, u64::MAX));
    }
}
