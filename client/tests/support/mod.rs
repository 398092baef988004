//! What the tests of several targets need.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Looks every 20 ms until something is there: brokers learn of changes a moment after the controller has made them.
pub(crate) async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    for _ in 0..1000 {
        if let Some(found) = look().await {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{what} did not come within 20 s");
}

/// A name that no other test has.
pub(crate) fn unique(prefix: &str) -> String {
    format!("{prefix}-{:016x}", RandomState::new().hash_one(0))
}
