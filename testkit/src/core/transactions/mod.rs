//! The transaction coordinator: who may write under a transactional id, what belongs to its transaction, and how that ends.
//!
//! ```text
//!            partitions, groups                 EndTxn, timeout, another InitProducerId
//!   Empty ----------------------> Ongoing -------------------------------------------> Prepare(Commit|Abort)
//!     ^                            ^                                                        |
//!     '--InitProducerId---.        '--partitions, groups--.                                 | markers in all partitions
//!                          '------------------------------ Complete(Commit|Abort) <---------'
//! ```

pub(crate) mod admit;
mod end;
mod init;
mod markers;
#[cfg(feature = "unstable-kip-1289")]
mod shares;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use ackflow_protocol::wire::ErrorCode;

use super::timers::TimerId;
use super::topics::TopicIdPartition;
use super::{Cluster, Due};
pub(crate) use end::Ended;
pub(crate) use init::{Init, Initialized};

/// Stands for a producer id where there is none.
pub(crate) const NO_PRODUCER: i64 = -1;
/// Stands for an epoch where there is none.
pub(crate) const NO_EPOCH: i16 = -1;
/// The last epoch that a producer gets; the largest number is kept for markers.
const LAST_EPOCH: i16 = i16::MAX - 1;

/// How far a transaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// There was none yet under this producer.
    Empty,
    /// It is open.
    Ongoing,
    /// It is decided, and markers are missing.
    Prepare {
        /// Whether it is committed.
        commit: bool,
    },
    /// It has ended.
    Complete {
        /// Whether it was committed.
        commit: bool,
    },
}

impl State {
    /// All of them.
    pub(crate) const ALL: [Self; 6] = [
        Self::Empty,
        Self::Ongoing,
        Self::Prepare { commit: true },
        Self::Prepare { commit: false },
        Self::Complete { commit: true },
        Self::Complete { commit: false },
    ];

    /// As descriptions name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::Ongoing => "Ongoing",
            Self::Prepare { commit: true } => "PrepareCommit",
            Self::Prepare { commit: false } => "PrepareAbort",
            Self::Complete { commit: true } => "CompleteCommit",
            Self::Complete { commit: false } => "CompleteAbort",
        }
    }
}

/// Who says that he writes under a transactional id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Producer {
    /// The producer's id.
    pub(crate) id: i64,
    /// Its epoch.
    pub(crate) epoch: i16,
}

/// What becomes part of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// What is written to a partition.
    Partition(TopicIdPartition),
    /// The offsets of a group.
    Group(String),
}

/// What there is under one transactional id.
#[derive(Debug)]
pub(crate) struct Transaction {
    /// Who may write.
    pub(crate) producer: Producer,
    /// The producer id of before, where the epochs of that one have run out.
    previous_id: i64,
    /// The producer id that follows when the transaction has ended, because the epochs of this one run out.
    next_id: i64,
    /// The epoch of before; a producer that says it has not heard of the new one.
    last_epoch: i16,
    /// How long a transaction may be open, in ms.
    pub(crate) timeout_ms: i32,
    /// How far the transaction is.
    pub(crate) state: State,
    /// What is part of it; while it ends, what has no marker yet.
    pub(crate) partitions: BTreeSet<TopicIdPartition>,
    /// Whose offsets are part of it; while it ends, those that are not decided yet.
    pub(crate) groups: BTreeSet<String>,
    /// When it began, in ms since 1970; -1 where there is none.
    pub(crate) started_ms: i64,
    /// Whether its end begins another epoch, which is in the markers already.
    raises_epoch: bool,
    timer: Option<TimerId>,
}

impl Transaction {
    fn new(producer_id: i64, timeout_ms: i32) -> Self {
        Self {
            producer: Producer { id: producer_id, epoch: NO_EPOCH },
            previous_id: NO_PRODUCER,
            next_id: NO_PRODUCER,
            last_epoch: NO_EPOCH,
            timeout_ms,
            state: State::Empty,
            partitions: BTreeSet::new(),
            groups: BTreeSet::new(),
            started_ms: -1,
            raises_epoch: false,
            timer: None,
        }
    }

    /// Puts the producer far ahead.
    #[cfg(test)]
    pub(crate) fn set_epoch(&mut self, epoch: i16) {
        self.producer.epoch = epoch;
    }

    /// Checks that this producer may write.
    fn check(&self, producer: Producer) -> Result<(), ErrorCode> {
        if producer.id != self.producer.id {
            return Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
        }
        if producer.epoch != self.producer.epoch {
            return Err(ErrorCode::PRODUCER_FENCED);
        }
        if matches!(self.state, State::Prepare { .. }) { Err(ErrorCode::CONCURRENT_TRANSACTIONS) } else { Ok(()) }
    }

    fn contains(&self, part: &Part) -> bool {
        match part {
            Part::Partition(partition) => self.partitions.contains(partition),
            Part::Group(group) => self.groups.contains(group),
        }
    }
}

/// All transactional ids, and the producer ids that were given out.
#[derive(Debug, Default)]
pub(crate) struct Transactions {
    by_id: BTreeMap<String, Transaction>,
    next_producer_id: i64,
    /// The transactions that are decided and whose markers are not all written.
    unfinished: BTreeSet<String>,
    /// By transactional id, the groups and partitions in which members acknowledge as part of the transaction (KIP-1289).
    #[cfg(feature = "unstable-kip-1289")]
    shares: BTreeMap<String, BTreeSet<(std::sync::Arc<str>, TopicIdPartition)>>,
}

impl Transactions {
    /// A producer id that nobody has.
    pub(crate) fn new_producer_id(&mut self) -> i64 {
        self.next_producer_id += 1;
        self.next_producer_id - 1
    }

    /// What there is under a transactional id.
    pub(crate) fn get(&self, id: &str) -> Option<&Transaction> {
        self.by_id.get(id)
    }

    /// What there is under a transactional id.
    #[cfg(test)]
    pub(crate) fn get_mut(&mut self, id: &str) -> Option<&mut Transaction> {
        self.by_id.get_mut(id)
    }

    /// All of them, by transactional id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &Transaction)> {
        self.by_id.iter()
    }
}

impl Cluster {
    /// Makes parts of a producer's transaction, which begins where there is none.
    ///
    /// # Errors
    /// INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED or CONCURRENT_TRANSACTIONS.
    pub(crate) fn add_to_transaction(
        &mut self,
        now: Instant,
        id: &str,
        producer: Producer,
        parts: &[Part],
    ) -> Result<(), ErrorCode> {
        let started_ms = self.clock.millis(now);
        let transaction = self.transactions.by_id.get_mut(id).ok_or(ErrorCode::INVALID_PRODUCER_ID_MAPPING)?;
        transaction.check(producer)?;
        if transaction.state != State::Ongoing {
            (transaction.state, transaction.started_ms) = (State::Ongoing, started_ms);
            let timeout = Duration::from_millis(u64::try_from(transaction.timeout_ms).unwrap_or_default());
            let timer = self.timers.schedule(now + timeout, Due::TransactionTimeout(id.to_owned()));
            if let Some(former) = transaction.timer.replace(timer) {
                self.timers.cancel(former);
            }
        }
        for part in parts {
            match part {
                Part::Partition(partition) => _ = transaction.partitions.insert(*partition),
                Part::Group(group) => _ = transaction.groups.insert(group.clone()),
            }
        }
        Ok(())
    }

    /// Checks that a part is one of a producer's transaction.
    ///
    /// # Errors
    /// As [`add_to_transaction`](Self::add_to_transaction), and TRANSACTION_ABORTABLE where it is no part of it.
    pub(crate) fn check_in_transaction(&self, id: &str, producer: Producer, part: &Part) -> Result<(), ErrorCode> {
        let transaction = self.transactions.get(id).ok_or(ErrorCode::INVALID_PRODUCER_ID_MAPPING)?;
        transaction.check(producer)?;
        if transaction.contains(part) { Ok(()) } else { Err(ErrorCode::TRANSACTION_ABORTABLE) }
    }

    /// Whether the node coordinates a transactional id.
    ///
    /// # Errors
    /// NOT_COORDINATOR.
    pub(crate) fn check_transaction_coordinator(&self, node: i32, id: &str) -> Result<(), ErrorCode> {
        if self.transaction_coordinator(id) == Some(node) { Ok(()) } else { Err(ErrorCode::NOT_COORDINATOR) }
    }

    /// A transaction has been open for too long.
    pub(crate) fn time_out_transaction(&mut self, now: Instant, id: &str) {
        let Some(transaction) = self.transactions.by_id.get_mut(id) else { return };
        transaction.timer = None;
        if transaction.state == State::Ongoing {
            self.abort_and_fence(now, id);
        }
    }
}
