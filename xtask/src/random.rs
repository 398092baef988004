//! Randomness of the standard library's hash keys: enough to pick ports, ids and seeds.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A number that differs from call to call.
pub fn u64() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Sixteen random bytes in the url-safe base64 of Kafka's uuids.
pub fn uuid() -> String {
    use base64::Engine;
    let bytes = [u64().to_be_bytes(), u64().to_be_bytes()].concat();
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}
