//! Acknowledging in a transaction, as the draft KIP-1289 has it: staged first, settled when the transaction ends.
//!
//! ```text
//!   Acquired --stage--> Pending --commit--> Acknowledged (accept) or Archived (reject, gap)
//!                          '-----abort----> Available, or Archived at the delivery limit
//! ```
//!
//! A pending record is handed out to nobody. No lock, session or member epoch ends it, and it outlives its leader, because it is part of the durable
//! state: only the end of its own transaction settles it. None of that changes how often it was delivered.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use super::acknowledge::{Change, Effects};
use super::{
    AcknowledgeError, AcknowledgementRange, FailedAttempt, RecordEvent, RecordState, ShareLimits, SharePartition,
};
use crate::core::transactions::Producer;

/// An acknowledgement that waits for the end of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Staged {
    /// The member that held the record.
    pub(crate) member: Arc<str>,
    /// Whose transaction it is.
    pub(crate) producer: Producer,
    /// 0 gap, 1 accept, 3 reject.
    kind: i8,
}

impl Staged {
    pub(super) fn new(member: Arc<str>, producer: Producer, kind: i8) -> Self {
        Self { member, producer, kind }
    }
}

impl SharePartition {
    /// Makes the acknowledgements of `member` wait for the end of the producer's transaction, all of them or none. `ranges` ascend, and are gaps,
    /// accepted or rejected.
    pub(crate) fn stage(
        &mut self,
        now: Instant,
        limits: &ShareLimits,
        (member, producer): (&str, Producer),
        ranges: &[AcknowledgementRange<'_>],
    ) -> Result<(), AcknowledgeError> {
        let effects = Effects { staging: Some(producer), ..Effects::default() };
        let mut change = Change { now, limits, member, batches: BTreeMap::new(), effects };
        for range in ranges {
            // What lies below the start is done, by whomever: it cannot be done once more by the transaction.
            if range.first < self.start_offset {
                return Err(AcknowledgeError::RecordState("The offset is below the start of the share partition."));
            }
            self.acknowledge_range(&mut change, range)?;
        }
        let Change { batches, effects, .. } = change;
        self.note(effects.changes);
        self.has_state |= !batches.is_empty();
        self.batches.extend(batches);
        Ok(())
    }

    /// Ends what waits for the transaction of `producer`, and nothing else. Says whether there is more to acquire now.
    pub(crate) fn settle(&mut self, limits: &ShareLimits, producer: Producer, commit: bool) -> bool {
        let mut noted = Vec::new();
        let mut released = false;
        for batch in self.batches.values_mut() {
            let (first, last) = (batch.first(), batch.last());
            batch.update(first, last, |run| {
                let RecordState::Pending(staged) = &run.state else { return };
                if staged.producer != producer {
                    return;
                }
                let (member, kind) = (staged.member.clone(), staged.kind);
                let (state, event) = match (commit, kind) {
                    (true, 1) => (RecordState::Acknowledged, RecordEvent::Accepted),
                    (true, 0) => (RecordState::Archived, RecordEvent::Gap),
                    (true, _) => (RecordState::Archived, RecordEvent::Rejected),
                    (false, _) => {
                        let (state, archived) = limits.after_failure(run.delivery_count);
                        (state, RecordEvent::Failed { cause: FailedAttempt::TransactionAborted, archived })
                    }
                };
                released |= state == RecordState::Available;
                run.state = state;
                noted.push(run.change(member, event));
            });
        }
        self.search |= released;
        self.note_ends(limits, noted);
        self.move_start() || released
    }
}
