//! The records between the start and the end of a share partition, as batches of runs.

use std::sync::Arc;
use std::time::Instant;

#[cfg(feature = "unstable-kip-1289")]
use super::Staged;
use super::{RecordChange, RecordEvent};

/// What one record of a share partition is up to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RecordState {
    /// May be acquired by any member.
    Available,
    /// Locked for one member until the deadline.
    Acquired {
        /// The member that holds it.
        member: Arc<str>,
        /// When the lock runs out.
        deadline: Instant,
    },
    /// Acknowledged in a transaction that is open (KIP-1289): whose end decides, and no lock ends it.
    #[cfg(feature = "unstable-kip-1289")]
    Pending(Staged),
    /// Done: accepted.
    Acknowledged,
    /// Done: rejected, a gap, or delivered too often.
    Archived,
}

impl RecordState {
    /// Whether nothing can happen to the record any more.
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self, Self::Acknowledged | Self::Archived)
    }

    /// Whether `member` holds the record.
    pub(crate) fn is_held_by(&self, member: &str) -> bool {
        matches!(self, Self::Acquired { member: holder, .. } if &**holder == member)
    }
}

/// Neighbouring offsets in the same state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    /// First offset.
    pub(crate) first: i64,
    /// Last offset, inclusive.
    pub(crate) last: i64,
    /// The state of each record of the run.
    pub(crate) state: RecordState,
    /// How often each was acquired.
    pub(crate) delivery_count: i16,
}

impl Run {
    /// What happened to the records of the run.
    pub(crate) fn change(&self, member: Arc<str>, what: RecordEvent) -> RecordChange {
        let Self { first, last, delivery_count, .. } = *self;
        RecordChange { first, last, member, delivery_count, what }
    }

    fn continues(&self, next: &Self) -> bool {
        self.last + 1 == next.first && self.delivery_count == next.delivery_count && self.state == next.state
    }
}

/// Offsets that were acquired together for the first time. They are delivered again together as well, unless their
/// states have come apart.
#[derive(Debug, Clone)]
pub(crate) struct InFlightBatch {
    /// Ascending and without holes; never empty.
    runs: Vec<Run>,
    /// Whether the states have come apart once. They may agree again since; the broker treats them one by one then.
    split: bool,
}

impl InFlightBatch {
    /// A batch whose records all have the state of `run`.
    pub(crate) fn new(run: Run) -> Self {
        Self { runs: vec![run], split: false }
    }

    /// First offset.
    pub(crate) fn first(&self) -> i64 {
        self.runs[0].first
    }

    /// Last offset.
    pub(crate) fn last(&self) -> i64 {
        self.runs[self.runs.len() - 1].last
    }

    /// The number of offsets.
    pub(crate) fn len(&self) -> i64 {
        self.last() - self.first() + 1
    }

    /// Ascending runs that cover the batch.
    pub(crate) fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Whether the records are treated one by one.
    pub(crate) fn is_split(&self) -> bool {
        self.split
    }

    /// Treats the records one by one from now on.
    pub(crate) fn split(&mut self) {
        self.split = true;
    }

    /// Calls `change` for each run within `first..=last`, cut to that range, and puts the runs together again.
    pub(crate) fn update(&mut self, first: i64, last: i64, mut change: impl FnMut(&mut Run)) {
        let mut runs: Vec<Run> = Vec::with_capacity(self.runs.len() + 2);
        let mut push = |run: Run| match runs.last_mut() {
            Some(before) if before.continues(&run) => before.last = run.last,
            _ => runs.push(run),
        };
        for run in self.runs.drain(..) {
            if run.last < first || run.first > last {
                push(run);
                continue;
            }
            if run.first < first {
                push(Run { last: first - 1, ..run.clone() });
            }
            let mut inside = Run { first: run.first.max(first), last: run.last.min(last), ..run.clone() };
            change(&mut inside);
            push(inside);
            if run.last > last {
                push(Run { first: last + 1, ..run });
            }
        }
        self.runs = runs;
    }
}
