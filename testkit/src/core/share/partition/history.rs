//! What happened to records, for whoever checks a client against it.

use std::sync::Arc;

/// What happened to neighbouring offsets of a share partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordChange {
    /// First offset.
    pub first: i64,
    /// Last offset, inclusive.
    pub last: i64,
    /// The member that held them, or holds them now.
    pub member: Arc<str>,
    /// How often they were acquired, this time included.
    pub delivery_count: i16,
    /// What happened.
    pub what: RecordEvent,
}

/// What happened to a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordEvent {
    /// The member acquired it.
    Acquired,
    /// The member accepted it.
    Accepted,
    /// The member said that there is no such record (type 0): it is archived.
    Gap,
    /// The member rejected it: it is archived.
    Rejected,
    /// The member has its lock for a whole lock duration again.
    Renewed,
    /// The attempt failed; at the delivery limit it is archived then, else available.
    Failed {
        /// Why.
        cause: FailedAttempt,
        /// Whether it was the last attempt.
        archived: bool,
    },
    /// The member acknowledged it in a transaction, whose end decides (KIP-1289).
    #[cfg(feature = "unstable-kip-1289")]
    Staged,
    /// The broker forgot who holds it, and the attempt does not count: it is available with one delivery less.
    Forgotten,
}

/// Why an attempt to process a record failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedAttempt {
    /// The member released it.
    Released,
    /// Its lock ran out.
    LockExpired,
    /// The share session ended that it was acquired in.
    SessionEnded,
    /// The transaction was aborted in which it was acknowledged (KIP-1289).
    #[cfg(feature = "unstable-kip-1289")]
    TransactionAborted,
}
