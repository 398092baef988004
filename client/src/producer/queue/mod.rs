//! The records of one partition on their way to its leader.
//!
//! ```text
//!   append --> open --(full, linger, flush)--> sealed --take--> in flight --appended--> done
//!                                                ^                  |
//!                                                |                  +-- failed for good --> done
//!                                                |                  |
//!                                                +---- settle <-----+-- failed, may pass
//! ```
//!
//! After the first failure nothing more is taken until every batch in flight has its answer (`draining`). Then those that
//! may be sent again go back in their order, with the same bytes and sequence numbers. Where a batch was given up or the
//! leader has lost count, those behind it get new numbers under a new epoch once those before it are done. So a leader
//! always sees one unbroken sequence.

mod recovery;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use ackflow_protocol::random::SplitMix64;
use ackflow_protocol::records::{BatchBuilder, BatchOptions, BuildError, Compression, CompressionLevel, Header};
use ackflow_protocol::wire::Uuid;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::error::{ClientError, ErrorKind};
use crate::metrics::ProducerMetrics;
use crate::net::Backoff;
use crate::producer::batch::{Batch, ProducerId, sequence_after};
use crate::producer::delivery::{Appended, Completion, DeliveryFuture, Promise};
use crate::producer::record::ProducerRecord;
use crate::producer::transaction::Transactions;

/// What all queues of a producer have in common.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    /// Those that the records belong to, if they do.
    pub(super) transactions: Option<Arc<Transactions>>,
    pub(super) batch_size: usize,
    pub(super) linger: Duration,
    pub(super) compression: Compression,
    pub(super) compression_level: CompressionLevel,
    pub(super) delivery_timeout: Duration,
    pub(super) retries: u32,
    pub(super) max_in_flight: usize,
    pub(super) idempotent: bool,
    pub(super) backoff: Backoff,
    pub(super) metrics: Arc<ProducerMetrics>,
}

#[derive(Debug)]
pub(super) struct Queue {
    topic: Arc<str>,
    partition: i32,
    limits: Arc<Limits>,
    leader: Leader,
    open: Option<Open>,
    /// What can be sent, those that were sent before in front.
    sealed: VecDeque<Batch>,
    in_flight: usize,
    /// How many of those were sent before. A leader remembers five batches of a producer, so until it has answered them
    /// nothing new is sent that would push them out of its memory.
    sent_again: usize,
    /// What came back and may be sent again.
    returned: Vec<Batch>,
    draining: bool,
    /// Where the sequence is broken, if it is.
    broken: Option<Break>,
    producer: Option<ProducerId>,
    /// Whether the leader has confirmed a batch of the sequence. A leader takes any number for the first one that it sees
    /// of a producer, so until then one batch goes at a time, lest the second one be taken for the first.
    established: bool,
    /// The producer id that a broker has refused.
    refused: Option<i64>,
    next_sequence: i32,
    next_order: u64,
    failures: u32,
    /// The jitter of pauses.
    random: SplitMix64,
    retry_at: Option<Instant>,
    /// Why nothing can be sent just now.
    blocked: Option<ClientError>,
    /// Of all batches that are not done, oldest first; and of some that are.
    incomplete: VecDeque<Arc<Completion>>,
    /// Bytes since the partition was chosen for records without a key.
    since_chosen: usize,
    /// Whether the sender knows that there is something to send.
    active: bool,
    /// Whether the producer was closed.
    closed: bool,
}

/// Where the partition is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Leader {
    /// The broker that leads it, or -1.
    pub(super) node: i32,
    /// Counts the changes of leader; -1 where it is unknown.
    pub(super) epoch: i32,
    /// The id of the topic.
    pub(super) topic_id: Uuid,
}

#[derive(Debug)]
struct Open {
    builder: BatchBuilder,
    promise: Promise,
    room: OwnedSemaphorePermit,
    since: Instant,
}

/// A hole in the sequence. What comes before it keeps its numbers, which tell the leader whether it has it already; what
/// comes after it gets new ones. That cannot have been written where the leader misses or refuses the batch at the hole.
/// Where that batch was given up instead, nobody knows, and what comes after it may be written twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Break {
    /// The order of the first batch that needs a new number, if it is still there.
    at: u64,
    /// Whether the producer id is of no use any more; else its next epoch will do.
    id_is_refused: bool,
}

/// What came of appending a record.
#[derive(Debug)]
pub(super) enum Append {
    /// It is in a batch.
    Queued {
        delivery: DeliveryFuture,
        /// The sender has to be told of the partition.
        activated: bool,
        /// The sender has to look at the partition: a batch has ended or begun.
        changed: bool,
    },
    /// A batch has to be begun, for which there must be room in `buffer.memory`.
    NeedsRoom,
    /// The partition has had its share of records without a key.
    MoveOn,
    /// The producer was closed.
    Closed,
}

/// What can be taken from a queue.
#[derive(Debug)]
pub(super) enum Take {
    Batch(Batch),
    /// Nothing before then, or before something else happens.
    Nothing(Option<Instant>),
    /// Nothing without a producer id other than this.
    NeedsProducerId {
        other_than: Option<i64>,
    },
}

/// What a broker's answer means for a batch.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It is written.
    Appended(Appended),
    /// It may be sent again.
    Again(ClientError),
    /// The broker misses records before it, or does not know the producer.
    OutOfSequence(ClientError),
    /// It is refused for good.
    Refused(ClientError),
    /// It is refused for good, and so will be all under the same producer id.
    Fenced(ClientError),
}

impl Queue {
    /// `seed` decides the jitter of pauses.
    pub(super) fn new(topic: Arc<str>, partition: i32, limits: Arc<Limits>, leader: Leader, seed: u64) -> Self {
        Self {
            topic,
            partition,
            limits,
            leader,
            open: None,
            sealed: VecDeque::new(),
            in_flight: 0,
            sent_again: 0,
            returned: Vec::new(),
            draining: false,
            broken: None,
            producer: None,
            established: false,
            refused: None,
            next_sequence: 0,
            next_order: 0,
            failures: 0,
            random: SplitMix64::new(seed),
            retry_at: None,
            blocked: None,
            incomplete: VecDeque::new(),
            since_chosen: 0,
            active: false,
            closed: false,
        }
    }

    /// Appends a record; `room` is taken where a batch is begun. With `may_move_on`, a record that has no key is sent
    /// elsewhere after about half a batch here, at the end of a batch.
    pub(super) fn append(
        &mut self,
        record: &ProducerRecord,
        timestamp: i64,
        now: impl Fn() -> Instant,
        room: &mut Option<OwnedSemaphorePermit>,
        may_move_on: bool,
    ) -> Result<Append, BuildError> {
        if self.closed {
            return Ok(Append::Closed);
        }
        if let Some(index) = self.append_to_open(record, timestamp)? {
            return Ok(self.queued(index, timestamp, false));
        }
        if self.open.is_some() {
            self.seal(now());
        }
        if may_move_on && self.since_chosen >= self.limits.batch_size / 2 {
            self.since_chosen = 0;
            return Ok(Append::MoveOn);
        }
        let Some(room) = room.take() else {
            return Ok(Append::NeedsRoom);
        };
        let promise = Promise::new(self.topic.clone(), self.partition);
        while self.incomplete.front().is_some_and(|completion| completion.is_done()) {
            self.incomplete.pop_front();
        }
        self.incomplete.push_back(promise.completion().clone());
        let options = BatchOptions {
            compression: self.limits.compression,
            level: self.limits.compression_level,
            max_size: self.limits.batch_size,
            transactional: self.limits.transactions.is_some(),
            ..BatchOptions::default()
        };
        // All that it may ever take, so that no record moves.
        let builder = BatchBuilder::with_capacity(options, room.num_permits());
        self.open = Some(Open { builder, promise, room, since: now() });
        let index = self.append_to_open(record, timestamp)?.expect("the first record of a batch always fits");
        Ok(self.queued(index, timestamp, true))
    }

    fn append_to_open(&mut self, record: &ProducerRecord, timestamp: i64) -> Result<Option<i32>, BuildError> {
        let Some(open) = &mut self.open else {
            return Ok(None);
        };
        let before = open.builder.size_in_bytes();
        let headers = record.headers.iter().map(|(key, value)| Header::new(key, value.as_deref()));
        let index = open.builder.try_append(timestamp, record.key.as_deref(), record.value.as_deref(), headers)?;
        self.since_chosen += open.builder.size_in_bytes() - before;
        Ok(index)
    }

    fn queued(&mut self, index: i32, timestamp: i64, changed: bool) -> Append {
        let open = self.open.as_ref().expect("a record was just appended to it");
        let delivery = DeliveryFuture::new(open.promise.completion().clone(), index, timestamp);
        let activated = !std::mem::replace(&mut self.active, true);
        Append::Queued { delivery, activated, changed }
    }

    /// Ends the open batch, if there is one. Compression happens here, in the caller that fills the batch.
    pub(super) fn seal(&mut self, now: Instant) {
        let Some(Open { builder, promise, room, since }) = self.open.take() else {
            return;
        };
        let count = builder.count();
        // The checksum is made once: where the batch gets a number, with that.
        let built = if self.limits.idempotent { builder.build_unnumbered() } else { builder.build() };
        match built {
            Ok(records) => {
                self.sealed.push_back(Batch {
                    records,
                    count,
                    order: self.next_order,
                    sequence: None,
                    attempts: 0,
                    deadline: since + self.limits.delivery_timeout,
                    last_error: None,
                    promise,
                    room,
                });
                self.next_order += 1;
            }
            Err(error) => {
                self.limits.metrics.failed(count);
                let error = ClientError::new(ErrorKind::Invalid, self.doing(), error.to_string());
                if let Some(transactions) = &self.limits.transactions {
                    transactions.batch_failed(&error, false);
                }
                promise.keep(Err(error));
            }
        }
        tracing::trace!(topic = &*self.topic, partition = self.partition, count, age = ?now - since, "batch sealed");
    }

    /// Takes the next batch to be sent. `hurry` ends the wait of `linger.ms`; `producer` is the id that new sequences
    /// begin with.
    pub(super) fn take(&mut self, now: Instant, hurry: bool, producer: Option<ProducerId>) -> Take {
        self.expire(now);
        let at_a_time = if self.limits.idempotent && !self.established { 1 } else { self.limits.max_in_flight };
        if self.draining || self.in_flight >= at_a_time {
            return Take::Nothing(self.next_expiry());
        }
        if let Some(retry_at) = self.retry_at.filter(|retry_at| now < *retry_at) {
            return Take::Nothing(Some(self.next_expiry().map_or(retry_at, |expiry| retry_at.min(expiry))));
        }
        if self.sealed.is_empty() {
            let Some(open) = &self.open else {
                return Take::Nothing(None);
            };
            let due = open.since + self.limits.linger;
            if !hurry && now < due {
                return Take::Nothing(Some(due));
            }
            self.seal(now);
        }
        if self.limits.transactions.is_some() {
            self.adopt(producer);
        } else if self.limits.idempotent && self.producer.is_none() {
            match producer.filter(|producer| Some(producer.id) != self.refused) {
                Some(producer) => self.producer = Some(producer),
                None => return Take::NeedsProducerId { other_than: self.refused },
            }
        }
        let waits = |batch: &Batch| {
            let is_behind_break = self.broken.is_some_and(|broken| batch.order >= broken.at);
            is_behind_break || (self.sent_again > 0 && batch.attempts == 0)
        };
        if self.sealed.front().is_some_and(waits) {
            return Take::Nothing(self.next_expiry());
        }
        let Some(mut batch) = self.sealed.pop_front() else {
            return Take::Nothing(None);
        };
        if let (Some(producer), None) = (self.producer, batch.sequence) {
            batch.assign(producer, self.next_sequence);
            self.next_sequence = sequence_after(self.next_sequence, batch.count);
        }
        self.sent_again += usize::from(batch.attempts > 0);
        batch.attempts += 1;
        self.in_flight += 1;
        Take::Batch(batch)
    }

    /// Goes on under the id and epoch of the transaction: from the start, where they are others than before.
    fn adopt(&mut self, producer: Option<ProducerId>) {
        if self.producer != producer {
            self.producer = producer;
            self.next_sequence = 0;
            self.established = false;
        }
    }

    /// When the first batch is given up, unless its answer comes before.
    pub(super) fn next_expiry(&self) -> Option<Instant> {
        let open = self.open.as_ref().map(|open| open.since + self.limits.delivery_timeout);
        let sealed = self.sealed.front().filter(|_| self.in_flight == 0).map(|batch| batch.deadline);
        [open, sealed].into_iter().flatten().min()
    }

    /// The size of the batch that comes next, before compression where it is open.
    pub(super) fn next_size(&self) -> usize {
        let open = || self.open.as_ref().map_or(0, |open| open.builder.size_in_bytes());
        self.sealed.front().map_or_else(open, |batch| batch.records.len())
    }

    /// How many batches wait to be sent, where there is a leader to send them to.
    pub(super) fn waiting(&self) -> Option<usize> {
        (self.leader.node >= 0).then_some(self.sealed.len())
    }

    /// Where the partition is.
    pub(super) fn leader(&self) -> Leader {
        self.leader
    }

    /// Takes over where the partition is, unless that is older than what is known. What is in flight to the old leader is
    /// waited for first.
    pub(super) fn lead(&mut self, leader: Leader) {
        let is_same_topic = leader.topic_id == self.leader.topic_id;
        if is_same_topic && leader.epoch >= 0 && leader.epoch < self.leader.epoch {
            return;
        }
        if leader.node != self.leader.node && self.in_flight > 0 {
            self.draining = true;
        }
        if !is_same_topic {
            // Another topic of the same name, whose leaders have not seen this producer.
            self.established = false;
        }
        if leader.node >= 0 && leader != self.leader {
            self.retry_at = None;
            self.blocked = None;
        }
        self.leader = leader;
    }

    /// Forgets who leads the partition, until metadata says it.
    pub(super) fn lose_leader(&mut self) {
        self.lead(Leader { node: -1, ..self.leader });
    }

    /// Says why nothing can be sent, for the error of those that expire.
    pub(super) fn block(&mut self, error: ClientError) {
        self.blocked = Some(error);
    }

    /// The same, unless something more telling is known.
    pub(super) fn block_at_least(&mut self, error: ClientError) {
        self.blocked.get_or_insert(error);
    }

    /// Whether there is nothing to send and nothing under way; then the sender forgets the partition until a record comes.
    pub(super) fn rest(&mut self) -> bool {
        let rests = self.open.is_none() && self.sealed.is_empty() && self.in_flight == 0 && self.returned.is_empty();
        if rests {
            self.active = false;
        }
        rests
    }

    /// The batches that are not done.
    pub(super) fn incomplete(&self) -> impl Iterator<Item = &Arc<Completion>> {
        self.incomplete.iter().filter(|completion| !completion.is_done())
    }

    fn doing(&self) -> String {
        format!("producing to {}-{}", self.topic, self.partition)
    }
}
