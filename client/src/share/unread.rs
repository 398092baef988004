//! Records that were looked at and could not be read, and what becomes of them for that.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ackflow_protocol::machine::{AckRange, AckType, AcquiredRange};

use super::decisions::Decisions;
use super::ranges;

/// The records of one acquisition that could not be read, each with the verdict that Kafka's own client has for it. The verdict counts where
/// the application has none of its own about the record: accepting everything must not accept what it never got to see.
#[derive(Debug, Default)]
pub(super) struct Unread(Mutex<Decisions>);

impl Unread {
    #[cold]
    pub(super) fn note(&self, first: i64, last: i64, ack: AckType) {
        self.lock().set(first, last, ack);
    }

    /// Gives the offsets of `held` that could not be read, and that `decisions` do not have, their verdicts.
    pub(super) fn decide(&self, held: &[AcquiredRange], decisions: &mut Decisions) {
        for AckRange { first, last, ack } in self.lock().iter() {
            decisions.fill(&ranges::within(held, *first, *last), *ack);
        }
    }

    /// All of `held` accepted, but for what could not be read.
    pub(super) fn accepted(&self, held: &[AcquiredRange]) -> Vec<AckRange> {
        if self.lock().decided() == 0 {
            return ranges::acknowledged(held, AckType::Accept);
        }
        let mut decisions = Decisions::default();
        self.decide(held, &mut decisions);
        decisions.fill(held, AckType::Accept);
        decisions.take()
    }

    fn lock(&self) -> MutexGuard<'_, Decisions> {
        // No code that holds the lock can panic halfway through a change.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
