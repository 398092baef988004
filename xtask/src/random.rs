//! Randomness of the standard library's hash keys: enough to pick ports, ids and seeds.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A number that differs from call to call.
pub fn u64() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A seed that differs from call to call, of few digits: somebody may have to type it.
pub fn seed() -> u64 {
    u64() % 1_000_000_000
}

/// Sixteen random bytes in the url-safe base64 of Kafka's uuids.
pub fn uuid() -> String {
    use base64::Engine;
    let bytes = [u64().to_be_bytes(), u64().to_be_bytes()].concat();
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}

/// Numbers from a seed (SplitMix64), so that what they decide can be had again.
#[derive(Clone, Debug)]
pub struct Seeded(u64);

impl Seeded {
    /// The generator of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.u64() % limit as u64) as usize
    }

    /// So many bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.u64() as u8).collect()
    }
}
