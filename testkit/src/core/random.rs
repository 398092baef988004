//! Random ids from a seed, so that a run can be repeated.

use ackflow_protocol::{random::SplitMix64, wire::Uuid};

/// Ids from a seed.
#[derive(Debug)]
pub(crate) struct Random(SplitMix64);

impl Random {
    /// The generator of this seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    /// A random (version 4) id that does not look like an option on a command line.
    pub(crate) fn uuid(&mut self) -> Uuid {
        loop {
            let bits = (u128::from(self.0.next_u64()) << 64) | u128::from(self.0.next_u64());
            let bits = (bits & !(0xF << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
            let uuid = Uuid(bits.to_be_bytes());
            if !uuid.to_string().starts_with('-') {
                return uuid;
            }
        }
    }

    /// A random number above 0.
    pub(crate) fn positive(&mut self) -> i32 {
        i32::try_from(self.0.next_u64() >> 33).map_or(i32::MAX, |number| number.max(1))
    }
}
