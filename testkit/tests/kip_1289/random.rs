//! Choices from a seed.

use std::time::Duration;

use ackflow_protocol::random::SplitMix64;

/// The generator that all choices of a run come from.
#[derive(Debug)]
pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `limit`, which is not 0.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.number() % limit
    }

    /// A number of `least..=most`.
    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    pub(crate) fn millis(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_millis(self.between(least, most))
    }

    pub(crate) fn micros(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_micros(self.between(least, most))
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    pub(crate) fn pick_any<T: Copy>(&mut self, choices: impl IntoIterator<Item = T>) -> Option<T> {
        let choices: Vec<T> = choices.into_iter().collect();
        (!choices.is_empty()).then(|| self.pick(&choices))
    }
}
