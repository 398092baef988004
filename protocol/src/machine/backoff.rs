//! Exponential backoff with jitter, as `retry.backoff.ms` and `retry.backoff.max.ms` describe it.

use std::time::Duration;

/// Delays that double from a base to a maximum, each spread by a fifth up or down so that members do not march in step.
#[derive(Debug, Clone)]
pub(crate) struct Backoff {
    base: Duration,
    max: Duration,
    failures: u32,
    random: u64,
}

impl Backoff {
    /// `seed` decides the jitter.
    pub(crate) fn new(base: Duration, max: Duration, seed: u64) -> Self {
        Self { base, max: max.max(base), failures: 0, random: seed }
    }

    /// The delay after one more failure.
    pub(crate) fn next_delay(&mut self) -> Duration {
        let doubled = self.base.saturating_mul(1 << self.failures.min(16));
        self.failures = self.failures.saturating_add(1);
        doubled.min(self.max).mul_f64(0.8 + 0.4 * self.unit())
    }

    /// After a success: the next delay is the base again.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }

    /// A number in 0..1, by SplitMix64.
    fn unit(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
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
