//! When a token is replaced.

use std::time::Duration;

/// How long before its end a token is replaced. Each field names the property that sets it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refresh {
    /// `sasl.login.refresh.window.factor`: the part of its lifetime after which a token is replaced.
    pub(crate) factor: f64,
    /// `sasl.login.refresh.window.jitter`: the part of its lifetime by which that is put off, at most and at random.
    pub(crate) jitter: f64,
    /// `sasl.login.refresh.min.period.seconds`: how long a token is kept at least.
    pub(crate) min_period: Duration,
    /// `sasl.login.refresh.buffer.seconds`: how long before its end a token is replaced at the latest.
    pub(crate) buffer: Duration,
}

impl Default for Refresh {
    fn default() -> Self {
        Self { factor: 0.8, jitter: 0.05, min_period: Duration::from_secs(60), buffer: Duration::from_secs(300) }
    }
}

/// However short tokens last, they are not asked for more often.
const LEAST_PERIOD: Duration = Duration::from_secs(1);
/// Clocks cannot count much further.
const LONGEST: Duration = Duration::from_secs(60 * 60 * 24 * 365);

impl Refresh {
    /// How long to keep a token that lasts so long. `random` is any number.
    ///
    /// As in Kafka's client, the least period and the buffer count where the lifetime has room for both, and nowhere else.
    pub(super) fn pause(&self, lasts: Duration, random: u64) -> Duration {
        let lasts = lasts.min(LONGEST);
        let part = self.factor + self.jitter * (random % 1024) as f64 / 1024.0;
        let pause = lasts.mul_f64(part.clamp(0.0, 1.0));
        let pause = match lasts.checked_sub(self.buffer) {
            Some(latest) if latest >= self.min_period => pause.clamp(self.min_period, latest),
            _ => pause,
        };
        pause.max(LEAST_PERIOD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_replaced_in_its_window_and_not_all_the_time() {
        let default = Refresh::default();
        let all = Refresh { factor: 1.0, jitter: 0.25, ..default.clone() };
        for (refresh, lasts, least, most) in [
            (&default, 10_000, 8_000, 8_500),
            // 5 minutes before the end.
            (&default, 1_000_000, 700_000, 700_000),
            (&default, 3_600_000, 2_880_000, 3_060_000),
            (&default, 1, 1_000, 1_000),
            (&default, u64::MAX, 0, LONGEST.as_millis() as u64),
            (&all, 10_000, 10_000, 10_000),
        ] {
            for random in [0, 512, 1023, u64::MAX] {
                let pause = refresh.pause(Duration::from_millis(lasts), random).as_millis() as u64;
                assert!((least..=most).contains(&pause), "{lasts}: {pause}");
            }
        }
    }
}
