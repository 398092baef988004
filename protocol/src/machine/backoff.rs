//! The backoff of one machine: how often it has failed in a row, and its own jitter.

use std::time::Duration;

use crate::{backoff, random::SplitMix64};

/// Pauses that grow with each failure until there is a success.
#[derive(Debug, Clone)]
pub(crate) struct Backoff {
    pauses: backoff::Backoff,
    failures: u32,
    random: SplitMix64,
}

impl Backoff {
    /// `seed` decides the jitter.
    pub(crate) fn new(base: Duration, max: Duration, seed: u64) -> Self {
        Self { pauses: backoff::Backoff::new(base, max), failures: 0, random: SplitMix64::new(seed) }
    }

    /// The delay after one more failure.
    pub(crate) fn next_delay(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        self.pauses.pause(self.failures, self.random.next_u64())
    }

    /// After a success: the next delay is the base again.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_to_the_maximum_and_start_again_after_a_success() {
        let ms = Duration::from_millis;
        let mut backoff = Backoff::new(ms(100), ms(1_000), 7);
        for nominal in [100, 200, 400, 800, 1_000, 1_000] {
            let delay = backoff.next_delay();
            assert!(delay >= ms(nominal * 8 / 10) && delay <= ms(nominal * 12 / 10), "{delay:?} for {nominal}");
        }
        backoff.reset();
        assert!(backoff.next_delay() <= ms(120));
    }

    #[test]
    fn members_with_different_seeds_do_not_march_in_step() {
        let delays: Vec<Duration> = (0..8)
            .map(|seed| Backoff::new(Duration::from_millis(100), Duration::from_secs(1), seed).next_delay())
            .collect();
        assert!(delays.iter().any(|delay| *delay != delays[0]));
    }
}
