//! What is due when.

use std::collections::BTreeMap;
use std::time::Instant;

/// Names one entry, to cancel it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TimerId(Instant, u64);

/// Entries by the time at which they are due; those of the same instant in the order in which they were made.
#[derive(Debug)]
pub(crate) struct Timers<T> {
    queue: BTreeMap<TimerId, T>,
    next: u64,
}

impl<T> Timers<T> {
    /// None.
    pub(crate) fn new() -> Self {
        Self { queue: BTreeMap::new(), next: 0 }
    }

    /// Makes `what` due at `at`.
    pub(crate) fn schedule(&mut self, at: Instant, what: T) -> TimerId {
        let id = TimerId(at, self.next);
        self.next += 1;
        self.queue.insert(id, what);
        id
    }

    /// Forgets an entry; one that was due already is no error.
    pub(crate) fn cancel(&mut self, id: TimerId) {
        self.queue.remove(&id);
    }

    /// When the next entry is due.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.queue.first_key_value().map(|(id, _)| id.0)
    }

    /// Takes the next entry that is due at `now`.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<T> {
        if self.next_deadline()? > now {
            return None;
        }
        self.queue.pop_first().map(|(_, what)| what)
    }
}
