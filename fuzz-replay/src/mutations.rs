//! Mutations, the same in every run.

use ackflow_protocol::random::SplitMix64;

/// Changes inputs as a fuzzer would that knows nothing of the target.
pub struct Mutator(SplitMix64);

impl Mutator {
    /// The mutations of this seed.
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    fn next(&mut self) -> u64 {
        self.0.next_u64() >> 16
    }

    /// A number below `end`, which is at least 1.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// `seed` with one to four changes.
    pub fn mutate(&mut self, seed: &[u8], other: &[u8]) -> Vec<u8> {
        let mut data = seed.to_vec();
        for _ in 0..=self.below(4) {
            self.change(&mut data, other);
        }
        data
    }

    fn change(&mut self, data: &mut Vec<u8>, other: &[u8]) {
        let at = self.below(data.len() + 1);
        if at == data.len() {
            data.push(self.next() as u8);
            return;
        }
        let end = at + 1 + self.below((data.len() - at).min(16));
        match self.below(8) {
            0 => data[at] ^= 1 << self.below(8),
            1 => data[at] = self.next() as u8,
            // Lengths and counts at the edges of their types.
            2 => data[at] = [0, 1, 0x7f, 0x80, 0xff][self.below(5)],
            3 => data[at..end].fill([0, 0x7f, 0x80, 0xff][self.below(4)]),
            4 => drop(data.drain(at..end)),
            5 => {
                let copy = data[at..end].to_vec();
                data.splice(at..at, copy);
            }
            6 => data.truncate(at),
            _ => {
                let from = self.below(other.len() + 1);
                data.truncate(at);
                data.extend_from_slice(&other[from..]);
            }
        }
    }
}
