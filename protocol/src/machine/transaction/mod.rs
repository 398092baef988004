//! The transactions of a producer (KIP-98), in the version that the cluster has finalized: 1, where partitions are added to a transaction before
//! they are written to, or 2 (KIP-890), where writing adds them and each end gives the producer a new epoch.
//!
//! ```text
//!   Uninitialized --init--> Initializing --> Ready --begin--> InTransaction --commit--> Ending --> Ready
//!                                              ^                 | an error       |       ^
//!                                              |                 v                |       | abort
//!                                              +--- Ending <-- abort -- Abortable <-------+
//!   any --- fenced, no right to it --> Fatal
//! ```
//!
//! One request is out at a time. What was asked for goes on whether or not somebody waits for it; asking for the same again joins it.
//! This file has the commands and inputs, `asking.rs` decides what to send next, `answers.rs` what answers mean.

mod answers;
mod asking;
mod fault;
#[cfg(feature = "unstable-kip-1289")]
mod shares;
#[cfg(test)]
mod tests;
mod types;

pub use fault::{TransactionError, TransactionFault};
#[cfg(feature = "unstable-kip-1289")]
pub use shares::{ShareAcknowledgements, ShareGroupMetadata, ShareLack, SourceAcknowledgements};
pub use types::{
    FlushId, GroupMetadata, OperationId, ProducerIdentity, TransactionEvent, TransactionOptions, TransactionRequest,
    TransactionResponse, TransactionStep,
};

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Instant,
};

use crate::{
    machine::{
        backoff::Backoff,
        consumer::{Offsets, TopicPartition},
        coordinator::{CoordinatorMachine, KeyType},
        types::RequestId,
    },
    wire::ErrorCode,
};

/// The transactions of one producer.
///
/// # Contract
/// - After each command and each input, call [`poll`](Self::poll) until it gives [`TransactionStep::Wait`]; then again at that instant.
/// - Each [`TransactionStep::Send`] is answered by one [`handle_response`](Self::handle_response).
/// - [`TransactionEvent::Flush`] is answered by [`flushed`](Self::flushed), once no record of the transaction is under way: all were written or
///   have failed, which [`record_failed`](Self::record_failed) told before.
/// - A record is sent only where [`may_send`](Self::may_send) says so, under [`producer`](Self::producer).
/// - `now` never goes back.
#[derive(Debug)]
pub struct TransactionMachine {
    options: TransactionOptions,
    seed: u64,
    state: State,
    producer: Option<ProducerIdentity>,
    /// Whether the cluster has transactions of version 2, as far as is known.
    supports_v2: bool,
    /// The version of the transaction that is under way.
    is_v2: bool,
    partitions: Partitions,
    started: Started,
    /// Whether a broker may have another last sequence number of this producer than the producer.
    lost_count: bool,
    offsets: VecDeque<OffsetsCall>,
    #[cfg(feature = "unstable-kip-1289")]
    shares: VecDeque<shares::SharesCall>,
    coordinator: CoordinatorMachine,
    groups: BTreeMap<String, CoordinatorMachine>,
    in_flight: Option<(RequestId, Asked)>,
    retry_at: Option<Instant>,
    backoff: Backoff,
    /// Who waits for the state to be left.
    waiting: Vec<OperationId>,
    /// How the last transaction ended, until the next begins.
    last_end: Option<bool>,
    last_request: u64,
    last_operation: u64,
    last_flush: FlushId,
    events: VecDeque<TransactionEvent>,
}

#[derive(Debug)]
enum State {
    Uninitialized,
    Initializing,
    Ready,
    InTransaction,
    Ending {
        commits: bool,
        /// Whether no record is under way any more.
        is_flushed: bool,
    },
    /// The transaction is aborted, and the producer needs another epoch, since brokers may count otherwise than it does.
    Bumping,
    Abortable(TransactionFault),
    Fatal(TransactionFault),
}

/// The partitions of a transaction of version 1.
#[derive(Debug, Default)]
struct Partitions {
    to_add: BTreeSet<TopicPartition>,
    added: BTreeSet<TopicPartition>,
}

/// Whether the coordinator knows of the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Started {
    No,
    /// It was asked to, or a broker was to tell it.
    Maybe,
    Yes,
}

/// Offsets that are to become the group's with the transaction.
#[derive(Debug)]
struct OffsetsCall {
    id: OperationId,
    group: GroupMetadata,
    left: Offsets,
    /// Whether the coordinator knows of the group; version 2 needs no telling.
    is_added: bool,
}

/// What the request that is out was sent for.
#[derive(Debug)]
enum Asked {
    Coordinator,
    GroupCoordinator(String),
    Init,
    Partitions,
    Offsets,
    GroupOffsets,
    #[cfg(feature = "unstable-kip-1289")]
    Shares,
    End {
        commits: bool,
    },
}

impl TransactionMachine {
    /// A machine that does nothing until it is told to. `seed` decides the jitter of backoffs.
    pub fn new(seed: u64, options: TransactionOptions) -> Self {
        let TransactionOptions { retry_backoff, retry_backoff_max, .. } = options;
        let id = options.transactional_id.clone();
        Self {
            state: State::Uninitialized,
            producer: None,
            supports_v2: false,
            is_v2: false,
            partitions: Partitions::default(),
            started: Started::No,
            lost_count: false,
            offsets: VecDeque::new(),
            #[cfg(feature = "unstable-kip-1289")]
            shares: VecDeque::new(),
            coordinator: CoordinatorMachine::new(KeyType::Transaction, id, retry_backoff, retry_backoff_max, seed ^ 1),
            groups: BTreeMap::new(),
            in_flight: None,
            retry_at: None,
            backoff: Backoff::new(retry_backoff, retry_backoff_max, seed ^ 2),
            waiting: Vec::new(),
            last_end: None,
            last_request: 0,
            last_operation: 0,
            last_flush: FlushId(0),
            events: VecDeque::new(),
            seed,
            options,
        }
    }

    /// Takes over what the cluster has finalized: whether `transaction.version` is 2 or more, and brokers speak what that needs. It counts from
    /// the next transaction on.
    pub fn supports_v2(&mut self, supports: bool) {
        self.supports_v2 = supports;
    }

    /// The id and epoch to write under, once initialized.
    pub fn producer(&self) -> Option<ProducerIdentity> {
        self.producer
    }

    /// Whether the transaction that is under way is of version 2.
    pub fn is_v2(&self) -> bool {
        self.is_v2
    }

    /// Takes the place of every earlier producer of this transactional id, whose open transaction is aborted. Joins what is under way.
    pub fn init(&mut self) -> OperationId {
        let id = self.operation();
        match &self.state {
            State::Uninitialized => {
                self.state = State::Initializing;
                self.waiting.push(id);
            }
            State::Initializing => self.waiting.push(id),
            // The first call was given up before its result came.
            State::Ready if self.last_end.is_none() => self.answer(id, Ok(())),
            _ => {
                let error = self.refusal("initialize transactions");
                self.answer(id, Err(error));
            }
        }
        id
    }

    /// Begins a transaction.
    ///
    /// # Errors
    /// Where there is one already, transactions are not initialized, or cannot go on.
    pub fn begin(&mut self) -> Result<(), TransactionError> {
        match self.state {
            State::Ready => {
                self.state = State::InTransaction;
                self.is_v2 = self.supports_v2;
                self.last_end = None;
                Ok(())
            }
            _ => Err(self.refusal("begin a transaction")),
        }
    }

    /// Whether records can be taken into the transaction.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self) -> Result<(), TransactionError> {
        match self.state {
            State::InTransaction => Ok(()),
            _ => Err(self.refusal("send a record")),
        }
    }

    /// Whether a commit is under way.
    pub fn is_committing(&self) -> bool {
        matches!(self.state, State::Ending { commits: true, .. })
    }

    /// Whether there is a transaction that has not ended.
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::InTransaction | State::Ending { .. } | State::Abortable(_) | State::Bumping)
    }

    /// Why nothing more of the transaction may be sent, and what was not sent yet has failed.
    pub fn failure(&self) -> Option<TransactionFault> {
        match &self.state {
            State::Abortable(fault) | State::Fatal(fault) => Some(fault.clone()),
            State::Ending { commits: false, .. } | State::Bumping => Some(TransactionFault::Aborted),
            _ => None,
        }
    }

    /// Whether records of the transaction may be sent to a partition now. Where that takes a request, [`TransactionEvent::Changed`] tells when
    /// to ask again.
    pub fn may_send(&mut self, partition: &TopicPartition) -> bool {
        if !matches!(self.state, State::InTransaction | State::Ending { commits: true, is_flushed: false }) {
            return false;
        }
        if self.is_v2 {
            self.started = self.started.at_least(Started::Maybe);
            return true;
        }
        if self.partitions.added.contains(partition) {
            return true;
        }
        if !self.partitions.to_add.contains(partition) {
            self.partitions.to_add.insert(partition.clone());
        }
        false
    }

    /// Records of the transaction were given up: because a broker refused them with `code`, or because of `reason` alone. `was_sent` tells
    /// whether a broker may have them all the same. The transaction has to be aborted.
    pub fn record_failed(&mut self, code: Option<ErrorCode>, reason: String, was_sent: bool) {
        self.lost_count |= was_sent;
        if !matches!(self.state, State::InTransaction | State::Ending { commits: true, .. }) {
            // It is aborted, or has to be, whatever becomes of its records.
            return;
        }
        let fault = TransactionFault::Records { code, reason };
        match code {
            Some(
                ErrorCode::PRODUCER_FENCED
                | ErrorCode::INVALID_TXN_STATE
                | ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED
                | ErrorCode::CLUSTER_AUTHORIZATION_FAILED
                | ErrorCode::UNSUPPORTED_FOR_MESSAGE_FORMAT,
            ) => self.fail(fault),
            _ => self.make_abortable(fault),
        }
    }

    /// Makes these offsets the group's where the transaction is committed. The answer tells that the group's coordinator has them.
    pub fn send_offsets(&mut self, offsets: Offsets, group: GroupMetadata) -> OperationId {
        let id = self.operation();
        match self.state {
            State::InTransaction if offsets.is_empty() => self.answer(id, Ok(())),
            State::InTransaction => {
                let (retry, max) = (self.options.retry_backoff, self.options.retry_backoff_max);
                let seed = self.seed ^ id.0;
                let name = group.group_id.clone();
                let finder = || CoordinatorMachine::new(KeyType::Group, group.group_id.clone(), retry, max, seed);
                self.groups.entry(name).or_insert_with(finder);
                self.offsets.push_back(OffsetsCall { id, group, left: offsets, is_added: false });
            }
            _ => {
                let error = self.refusal("send offsets to the transaction");
                self.answer(id, Err(error));
            }
        }
        id
    }

    /// Ends the transaction so that all of it counts. Joins a commit that is under way, and confirms one that was.
    pub fn commit(&mut self) -> OperationId {
        self.end(true)
    }

    /// Ends the transaction so that nothing of it counts. Joins an abort that is under way, and confirms one that was.
    pub fn abort(&mut self) -> OperationId {
        self.end(false)
    }

    fn end(&mut self, commits: bool) -> OperationId {
        let id = self.operation();
        match &self.state {
            State::InTransaction => self.begin_end(id, commits),
            State::Abortable(_) if !commits => self.begin_end(id, false),
            State::Ending { commits: under_way, .. } if *under_way == commits => self.waiting.push(id),
            State::Bumping if !commits => self.waiting.push(id),
            State::Ready if self.last_end == Some(commits) => self.answer(id, Ok(())),
            _ => {
                let error = self.refusal(if commits { "commit" } else { "abort" });
                self.answer(id, Err(error));
            }
        }
        id
    }

    fn begin_end(&mut self, id: OperationId, commits: bool) {
        self.waiting.push(id);
        self.state = State::Ending { commits, is_flushed: false };
        if !commits {
            self.fail_offsets(&TransactionError::abortable(TransactionFault::Aborted));
        }
        self.events.push_back(TransactionEvent::Changed);
        self.last_flush.0 += 1;
        self.events.push_back(TransactionEvent::Flush(self.last_flush));
    }

    /// No record of the transaction is under way any more. The flush of an end that was given up since may report late: it knows nothing of what was
    /// sent after it had looked.
    pub fn flushed(&mut self, flush: FlushId) {
        if let State::Ending { is_flushed, .. } = &mut self.state {
            *is_flushed |= flush == self.last_flush;
        }
    }

    /// What to do next.
    pub fn poll(&mut self, now: Instant) -> TransactionStep {
        loop {
            if let Some(event) = self.events.pop_front() {
                return TransactionStep::Event(event);
            }
            if self.in_flight.is_some() {
                return TransactionStep::Wait(None);
            }
            if let Some(at) = self.retry_at.filter(|at| now < *at) {
                return TransactionStep::Wait(Some(at));
            }
            if let Some(step) = self.advance(now) {
                return step;
            }
        }
    }

    /// The transaction cannot be committed any more.
    fn make_abortable(&mut self, fault: TransactionFault) {
        if matches!(self.state, State::InTransaction | State::Ending { .. }) {
            let error = TransactionError::abortable(fault.clone());
            self.state = State::Abortable(fault);
            self.stop(&error);
        }
    }

    /// Nothing can go on any more.
    fn fail(&mut self, fault: TransactionFault) {
        if !matches!(self.state, State::Fatal(_)) {
            let error = TransactionError::fatal(fault.clone());
            self.state = State::Fatal(fault);
            self.stop(&error);
        }
    }

    fn stop(&mut self, error: &TransactionError) {
        self.retry_at = None;
        self.fail_offsets(error);
        self.answer_waiting(&Err(error.clone()));
        self.events.push_back(TransactionEvent::Changed);
    }

    /// The transaction has ended.
    fn ended(&mut self, commits: bool) {
        self.partitions = Partitions::default();
        self.started = Started::No;
        self.last_end = Some(commits);
        let needs_epoch = std::mem::take(&mut self.lost_count) && !self.is_v2;
        if needs_epoch {
            self.state = State::Bumping;
            return;
        }
        self.ready();
    }

    fn ready(&mut self) {
        self.state = State::Ready;
        self.backoff.reset();
        self.answer_waiting(&Ok(()));
        self.events.push_back(TransactionEvent::Changed);
    }

    fn fail_offsets(&mut self, error: &TransactionError) {
        #[cfg(feature = "unstable-kip-1289")]
        self.fail_shares(error);
        for call in std::mem::take(&mut self.offsets) {
            self.answer(call.id, Err(error.clone()));
        }
    }

    fn answer_waiting(&mut self, result: &Result<(), TransactionError>) {
        for id in std::mem::take(&mut self.waiting) {
            self.answer(id, result.clone());
        }
    }

    fn answer(&mut self, id: OperationId, result: Result<(), TransactionError>) {
        self.events.push_back(TransactionEvent::Answered { id, result });
    }

    fn operation(&mut self) -> OperationId {
        self.last_operation += 1;
        OperationId(self.last_operation)
    }

    /// Why something cannot be done in this state.
    fn refusal(&self, what: &'static str) -> TransactionError {
        let state = match &self.state {
            State::Abortable(fault) => return TransactionError::abortable(fault.clone()),
            State::Fatal(fault) => return TransactionError::fatal(fault.clone()),
            State::Uninitialized => "transactions are not initialized",
            State::Initializing => "transactions are being initialized",
            State::Ready => "there is no transaction",
            State::InTransaction => "there is a transaction already",
            State::Ending { commits: true, .. } => "the transaction is being committed",
            State::Ending { commits: false, .. } | State::Bumping => "the transaction is being aborted",
        };
        TransactionError::refused(TransactionFault::State { what, state })
    }
}

impl Started {
    fn at_least(self, other: Self) -> Self {
        if self == Self::No { other } else { self }
    }
}
