//! When a future loses its race.

use std::future::pending;
use std::time::{Duration, Instant};

use ackflow_protocol::random::SplitMix64;
use tokio::task::yield_now;

/// Choices from a seed.
pub(crate) struct Random {
    numbers: SplitMix64,
    /// Whether nothing is dropped any more, and everything accepted.
    pub(crate) is_calm: bool,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self { numbers: SplitMix64::new(seed), is_calm: false }
    }

    /// A number below `limit`, which is not 0.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.numbers.next_u64() % limit
    }

    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// A moment: at the first look, after a few, after microseconds, after milliseconds.
    pub(crate) fn moment(&mut self) -> Moment {
        match self.below(10) {
            _ if self.is_calm => Moment::Never,
            0 => Moment::Looks(0),
            1 | 2 => Moment::Looks(1 + self.below(20) as u32),
            3..=5 => Moment::Spin(Duration::from_micros(self.below(1_000))),
            6..=8 => Moment::Sleep(Duration::from_millis(1 + self.below(10))),
            _ => Moment::Sleep(Duration::from_millis(10 + self.below(60))),
        }
    }
}

/// How long the other side of a race takes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Moment {
    /// The future is polled once more than so often.
    Looks(u32),
    /// Shorter than the timer can measure: it looks again and again.
    Spin(Duration),
    Sleep(Duration),
    Never,
}

impl Moment {
    async fn come(self) {
        match self {
            Self::Looks(looks) => {
                for _ in 0..looks {
                    yield_now().await;
                }
            }
            Self::Spin(time) => {
                let end = Instant::now() + time;
                while Instant::now() < end {
                    yield_now().await;
                }
            }
            Self::Sleep(time) => tokio::time::sleep(time).await,
            Self::Never => pending().await,
        }
    }
}

/// What a future gives that is dropped when the moment comes; `None` where it was.
pub(crate) async fn race<T>(moment: Moment, future: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        outcome = future => Some(outcome),
        () = moment.come() => None,
    }
}
