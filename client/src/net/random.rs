//! A little randomness, for jitter and for spreading load.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A number that differs from call to call and from process to process. Not for secrets.
pub(crate) fn random() -> u64 {
    // Each RandomState has keys of its own.
    RandomState::new().build_hasher().finish()
}
