//! EndTxn: a transaction is decided.

use std::time::Instant;

use ackflow_protocol::wire::ErrorCode;

use super::{LAST_EPOCH, NO_EPOCH, NO_PRODUCER, Producer, State, Transaction};
use crate::core::Cluster;

/// Who the producer is after a transaction.
pub(crate) type Ended = Result<Producer, ErrorCode>;

/// What is to be done about the end of a transaction.
enum Decision {
    /// It is decided now.
    Prepare,
    /// It was before; the producer has not heard of it.
    Done,
}

impl Cluster {
    /// Ends a producer's transaction as the producer says. Where ends raise epochs (KIP-890), that gives the producer another epoch.
    ///
    /// # Errors
    /// INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS or INVALID_TXN_STATE.
    pub(crate) fn end_transaction(
        &mut self,
        now: Instant,
        id: &str,
        producer: Producer,
        commit: bool,
        raises_epoch: bool,
    ) -> Ended {
        let new_id = self.transactions.next_producer_id;
        let transaction = self.transactions.by_id.get_mut(id).ok_or(ErrorCode::INVALID_PRODUCER_ID_MAPPING)?;
        let decision = if raises_epoch {
            transaction.decide_raising(producer, commit)?
        } else {
            transaction.decide(producer, commit)?
        };
        if let Decision::Done = decision {
            return Ok(transaction.producer);
        }
        if raises_epoch && producer.epoch >= LAST_EPOCH {
            transaction.next_id = new_id;
            self.transactions.next_producer_id += 1;
        }
        if raises_epoch {
            transaction.raise_epoch(producer.epoch);
        }
        self.prepare(now, id, commit, raises_epoch);
        let transaction = self.transactions.get(id).ok_or(ErrorCode::INVALID_PRODUCER_ID_MAPPING)?;
        Ok(transaction.next_producer_of_end())
    }

    /// Aborts an open transaction whose producer is not to write any more. The epoch rises once, whether ends raise it or not.
    pub(super) fn abort_and_fence(&mut self, now: Instant, id: &str) {
        if let Some(transaction) = self.transactions.by_id.get_mut(id) {
            transaction.raise_epoch(NO_EPOCH);
        }
        let raises_epoch = self.transaction_version >= 2;
        self.prepare(now, id, false, raises_epoch);
    }

    fn prepare(&mut self, now: Instant, id: &str, commit: bool, raises_epoch: bool) {
        let started_ms = self.clock.millis(now);
        let Some(transaction) = self.transactions.by_id.get_mut(id) else { return };
        if let Some(timer) = transaction.timer.take() {
            self.timers.cancel(timer);
        }
        if transaction.state != State::Ongoing {
            // A transaction in which nothing was written.
            transaction.started_ms = started_ms;
        }
        (transaction.state, transaction.raises_epoch) = (State::Prepare { commit }, raises_epoch);
        self.transactions.unfinished.insert(id.to_owned());
        self.finish_transactions(now);
    }
}

impl Transaction {
    /// The end of a transaction begins another epoch. The largest one is never given out, so that this is one more always.
    fn raise_epoch(&mut self, last: i16) {
        (self.producer.epoch, self.last_epoch) = (self.producer.epoch.saturating_add(1), last);
    }

    /// Up to version 4 of EndTxn the epoch stays.
    fn decide(&self, producer: Producer, commit: bool) -> Result<Decision, ErrorCode> {
        if producer.id != self.producer.id {
            return Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
        }
        if producer.epoch != self.producer.epoch {
            return Err(ErrorCode::PRODUCER_FENCED);
        }
        match self.state {
            State::Ongoing => Ok(Decision::Prepare),
            State::Complete { commit: before } if before == commit => Ok(Decision::Done),
            State::Prepare { commit: before } if before == commit => Err(ErrorCode::CONCURRENT_TRANSACTIONS),
            State::Empty | State::Complete { .. } | State::Prepare { .. } => Err(ErrorCode::INVALID_TXN_STATE),
        }
    }

    /// Since version 5 each end begins another epoch, so that a retry is known by the epoch of before.
    fn decide_raising(&self, producer: Producer, commit: bool) -> Result<Decision, ErrorCode> {
        let retries_last = self.previous_id == producer.id && producer.epoch == LAST_EPOCH && self.producer.epoch == 0;
        let retries = producer.epoch.checked_add(1) == Some(self.producer.epoch);
        if producer.id != self.producer.id && !retries_last {
            return Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
        }
        let is_current = producer.epoch == self.producer.epoch;
        let is_valid = match self.state {
            State::Empty | State::Ongoing => is_current,
            State::Prepare { .. } => retries,
            State::Complete { .. } => retries || retries_last || is_current,
        };
        if !is_valid {
            return Err(ErrorCode::PRODUCER_FENCED);
        }
        let is_retry = retries || retries_last;
        match self.state {
            State::Ongoing => Ok(Decision::Prepare),
            // Nothing was written, and nothing is to be.
            State::Empty if !commit => Ok(Decision::Prepare),
            State::Complete { commit: before } if is_retry && before == commit => Ok(Decision::Done),
            State::Complete { .. } if !is_retry && !commit => Ok(Decision::Prepare),
            State::Prepare { commit: before } if before == commit => Err(ErrorCode::CONCURRENT_TRANSACTIONS),
            State::Empty | State::Complete { .. } | State::Prepare { .. } => Err(ErrorCode::INVALID_TXN_STATE),
        }
    }

    /// Who writes after the end that is decided.
    fn next_producer_of_end(&self) -> Producer {
        match self.next_id {
            NO_PRODUCER => self.producer,
            id => Producer { id, epoch: 0 },
        }
    }

    /// All markers are written.
    pub(super) fn complete(&mut self) {
        let State::Prepare { commit } = self.state else { return };
        if self.next_id != NO_PRODUCER {
            self.previous_id = self.producer.id;
            self.producer = self.next_producer_of_end();
            self.next_id = NO_PRODUCER;
        }
        self.state = State::Complete { commit };
    }
}
