//! Wall-clock time, derived from the instants that the caller passes in.

use std::time::Instant;

/// Maps instants to milliseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    started: Instant,
    started_ms: i64,
}

impl Clock {
    /// A clock that shows `started_ms` at `started`.
    pub(crate) fn new(started: Instant, started_ms: i64) -> Self {
        Self { started, started_ms }
    }

    /// Milliseconds since 1970 at `now`.
    pub(crate) fn millis(&self, now: Instant) -> i64 {
        let passed = now.saturating_duration_since(self.started).as_millis();
        self.started_ms.saturating_add(i64::try_from(passed).unwrap_or(i64::MAX))
    }
}
