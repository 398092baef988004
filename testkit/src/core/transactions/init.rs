//! InitProducerId: a producer comes, or comes back.

use std::time::Instant;

use ackflow_protocol::wire::ErrorCode;

use super::{LAST_EPOCH, NO_EPOCH, NO_PRODUCER, Producer, State, Transaction};
use crate::core::Cluster;

/// What a producer wants.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Init {
    /// How long its transactions may be open, in ms.
    pub(crate) timeout_ms: i32,
    /// Who it was so far, where it goes on after an error.
    pub(crate) expected: Option<Producer>,
}

/// Who the producer is from now on.
pub(crate) type Initialized = Result<Producer, ErrorCode>;

impl Cluster {
    /// Gives the producer of a transactional id its epoch, and fences the one before.
    ///
    /// # Errors
    /// PRODUCER_FENCED, and CONCURRENT_TRANSACTIONS while a transaction ends; one that is open is aborted first.
    pub(crate) fn init_producer(&mut self, now: Instant, id: &str, init: Init) -> Initialized {
        if self.transactions.get(id).is_none() {
            let producer_id = self.transactions.new_producer_id();
            self.transactions.by_id.insert(id.to_owned(), Transaction::new(producer_id, init.timeout_ms));
        }
        let new_id = self.transactions.next_producer_id;
        let Some(transaction) = self.transactions.by_id.get_mut(id) else { return Err(ErrorCode::NOT_COORDINATOR) };
        if !init.expected.is_none_or(|expected| transaction.knows(expected)) {
            return Err(ErrorCode::PRODUCER_FENCED);
        }
        match transaction.state {
            State::Prepare { .. } => Err(ErrorCode::CONCURRENT_TRANSACTIONS),
            State::Ongoing => {
                self.abort_and_fence(now, id);
                Err(ErrorCode::CONCURRENT_TRANSACTIONS)
            }
            State::Empty | State::Complete { .. } => {
                transaction.next_producer(init, new_id)?;
                let producer = transaction.producer;
                if producer.id == new_id {
                    self.transactions.new_producer_id();
                }
                Ok(producer)
            }
        }
    }
}

impl Transaction {
    /// Whether the producer may be one of before. One that has not heard of a new producer id says the last epoch of the old one.
    fn knows(&self, expected: Producer) -> bool {
        self.producer.epoch == NO_EPOCH
            || expected.id == self.producer.id
            || (expected.id == self.previous_id && expected.epoch >= LAST_EPOCH)
    }

    fn next_producer(&mut self, init: Init, new_id: i64) -> Result<(), ErrorCode> {
        let Producer { id, epoch } = self.producer;
        let expected = init.expected.map(|expected| expected.epoch);
        if epoch >= LAST_EPOCH && expected.is_none_or(|expected| expected == epoch) {
            self.last_epoch = if expected.is_some() { epoch } else { NO_EPOCH };
            self.previous_id = id;
            self.producer = Producer { id: new_id, epoch: 0 };
        } else {
            match expected {
                None => (self.producer.epoch, self.last_epoch) = (epoch + 1, NO_EPOCH),
                Some(expected) if epoch == NO_EPOCH || expected == epoch => {
                    (self.producer.epoch, self.last_epoch) = (epoch + 1, epoch);
                }
                // It has not heard of the epoch that it was given.
                Some(expected) if expected == self.last_epoch => {}
                Some(_) => return Err(ErrorCode::PRODUCER_FENCED),
            }
        }
        self.timeout_ms = init.timeout_ms;
        (self.state, self.started_ms, self.next_id) = (State::Empty, -1, NO_PRODUCER);
        Ok(())
    }
}
