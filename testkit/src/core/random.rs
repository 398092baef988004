//! Random ids from a seed, so that a run can be repeated.

use ackflow_protocol::wire::Uuid;

/// SplitMix64: small, and good enough for ids.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The generator of this seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A random (version 4) id that does not look like an option on a command line.
    pub(crate) fn uuid(&mut self) -> Uuid {
        loop {
            let bits = (u128::from(self.next_u64()) << 64) | u128::from(self.next_u64());
            let bits = (bits & !(0xF << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
            let uuid = Uuid(bits.to_be_bytes());
            if !uuid.to_string().starts_with('-') {
                return uuid;
            }
        }
    }
}
