//! What a task has done so far, in numbers.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The counters of one task. They are changed a batch at a time.
#[derive(Debug, Default)]
pub(super) struct Counters {
    read: AtomicU64,
    redelivered: AtomicU64,
    put: AtomicU64,
    accepted: AtomicU64,
    released: AtomicU64,
    skipped: AtomicU64,
    ack_failed: AtomicU64,
    failures: AtomicU64,
}

/// The counters of one task, or of several together, at one moment. All but the last are records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TaskCounters {
    /// Acquired from the group.
    pub read: u64,
    /// Of these, acquired before.
    pub redelivered: u64,
    /// Given to `put`, each time they were.
    pub put: u64,
    /// Accepted, and the broker has confirmed it.
    pub accepted: u64,
    /// Given back undecided.
    pub released: u64,
    /// Passed over, because `errors.tolerance=all` lets records fail.
    pub skipped: u64,
    /// Written, but the broker did not take the acknowledgement: they come again.
    pub ack_failed: u64,
    /// Calls to the task that failed.
    pub failures: u64,
}

/// One of the counters.
#[derive(Debug, Clone, Copy)]
pub(super) enum Count {
    Read,
    Redelivered,
    Put,
    Accepted,
    Released,
    Skipped,
    AckFailed,
    Failures,
}

impl Counters {
    pub(super) fn add(&self, count: Count, number: u64) {
        let counter = match count {
            Count::Read => &self.read,
            Count::Redelivered => &self.redelivered,
            Count::Put => &self.put,
            Count::Accepted => &self.accepted,
            Count::Released => &self.released,
            Count::Skipped => &self.skipped,
            Count::AckFailed => &self.ack_failed,
            Count::Failures => &self.failures,
        };
        counter.fetch_add(number, Relaxed);
    }

    pub(super) fn snapshot(&self) -> TaskCounters {
        TaskCounters {
            read: self.read.load(Relaxed),
            redelivered: self.redelivered.load(Relaxed),
            put: self.put.load(Relaxed),
            accepted: self.accepted.load(Relaxed),
            released: self.released.load(Relaxed),
            skipped: self.skipped.load(Relaxed),
            ack_failed: self.ack_failed.load(Relaxed),
            failures: self.failures.load(Relaxed),
        }
    }
}

impl std::ops::AddAssign for TaskCounters {
    fn add_assign(&mut self, other: Self) {
        self.read += other.read;
        self.redelivered += other.redelivered;
        self.put += other.put;
        self.accepted += other.accepted;
        self.released += other.released;
        self.skipped += other.skipped;
        self.ack_failed += other.ack_failed;
        self.failures += other.failures;
    }
}
