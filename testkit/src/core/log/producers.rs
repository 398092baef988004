//! What a partition remembers of idempotent producers: the last sequence numbers of each, and its open transaction.

use std::collections::{BTreeMap, VecDeque};

use ackflow_protocol::records::RecordBatch;
use ackflow_protocol::wire::ErrorCode;

/// How many batches of a producer are remembered, so that a retry of any request in flight is recognised.
const REMEMBERED: usize = 5;

#[derive(Debug)]
struct Appended {
    first_sequence: i32,
    last_sequence: i32,
    base_offset: i64,
}

/// One producer.
#[derive(Debug)]
pub(crate) struct Producer {
    /// Its newest epoch.
    pub(crate) epoch: i16,
    /// The time of its last batch or marker in ms.
    pub(crate) last_timestamp: i64,
    /// The epoch of the coordinator that wrote its last marker; -1 where it has none.
    pub(crate) coordinator_epoch: i32,
    /// The first offset of its open transaction.
    pub(crate) open_since: Option<i64>,
    /// Batches of its epoch.
    appended: VecDeque<Appended>,
}

impl Producer {
    fn new(epoch: i16) -> Self {
        let appended = VecDeque::with_capacity(REMEMBERED);
        Self { epoch, last_timestamp: -1, coordinator_epoch: -1, open_since: None, appended }
    }

    /// The sequence number of its last record; -1 where its epoch has none.
    pub(crate) fn last_sequence(&self) -> i32 {
        self.appended.back().map_or(-1, |appended| appended.last_sequence)
    }

    fn begin_epoch(&mut self, epoch: i16) {
        if self.epoch != epoch {
            self.epoch = epoch;
            self.appended.clear();
        }
    }
}

/// The idempotent producers of one partition, by producer id.
#[derive(Debug, Default)]
pub(crate) struct Producers {
    by_id: BTreeMap<i64, Producer>,
}

/// What to do with a batch of an idempotent producer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sequence {
    /// It is the next one.
    Next,
    /// It was appended before, at this base offset.
    Duplicate(i64),
}

impl Producers {
    /// The producer of this id.
    pub(crate) fn get(&self, producer_id: i64) -> Option<&Producer> {
        self.by_id.get(&producer_id)
    }

    /// Whether the last batch of a producer's epoch begins at `first`.
    pub(crate) fn ends_with(&self, producer_id: i64, first: i64) -> bool {
        let last = self.by_id.get(&producer_id).and_then(|producer| producer.appended.back());
        last.is_some_and(|last| last.base_offset == first)
    }

    /// All of them, by id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (i64, &Producer)> {
        self.by_id.iter().map(|(id, producer)| (*id, producer))
    }

    /// Checks the batch's place in its producer's sequence and transaction.
    ///
    /// # Errors
    /// INVALID_PRODUCER_EPOCH where a newer epoch was seen, OUT_OF_ORDER_SEQUENCE_NUMBER where a batch is missing before this one,
    /// INVALID_TXN_STATE where the batch is outside the transaction that its producer has open.
    pub(crate) fn check(&self, batch: &RecordBatch) -> Result<Sequence, ErrorCode> {
        // Of a producer that is not known, any sequence is taken: its earlier batches may be gone.
        let Some(producer) = self.by_id.get(&batch.producer_id()) else { return Ok(Sequence::Next) };
        let (first, last) = sequences(batch);
        let same = |a: &&Appended| a.first_sequence == first && a.last_sequence == last;
        if batch.producer_epoch() == producer.epoch
            && let Some(same) = producer.appended.iter().find(same)
        {
            return Ok(Sequence::Duplicate(same.base_offset));
        }
        if batch.producer_epoch() < producer.epoch {
            return Err(ErrorCode::INVALID_PRODUCER_EPOCH);
        }
        let is_next = if batch.producer_epoch() > producer.epoch {
            first == 0
        } else {
            // After a marker with this epoch there is no batch of it yet.
            first == producer.appended.back().map_or(0, |before| next_sequence(before.last_sequence, 1))
        };
        if !is_next {
            return Err(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
        }
        if producer.open_since.is_some() && !batch.is_transactional() {
            return Err(ErrorCode::INVALID_TXN_STATE);
        }
        Ok(Sequence::Next)
    }

    /// Notes that the batch was appended at `base_offset`. Says whether it begins a transaction.
    pub(crate) fn note(&mut self, batch: &RecordBatch, base_offset: i64) -> bool {
        let epoch = batch.producer_epoch();
        let producer = self.by_id.entry(batch.producer_id()).or_insert_with(|| Producer::new(epoch));
        producer.begin_epoch(epoch);
        if producer.appended.len() == REMEMBERED {
            producer.appended.pop_front();
        }
        let (first_sequence, last_sequence) = sequences(batch);
        producer.appended.push_back(Appended { first_sequence, last_sequence, base_offset });
        producer.last_timestamp = batch.max_timestamp();
        let begins = batch.is_transactional() && producer.open_since.is_none();
        if begins {
            producer.open_since = Some(base_offset);
        }
        begins
    }

    /// Notes a marker of a producer. Gives the first offset of the transaction that it ends, where there is one.
    ///
    /// # Errors
    /// INVALID_PRODUCER_EPOCH where a newer epoch was seen, TRANSACTION_COORDINATOR_FENCED where a newer coordinator was.
    pub(crate) fn end_transaction(&mut self, marker: &Marker) -> Result<Option<i64>, ErrorCode> {
        let Marker { producer_id, epoch, coordinator_epoch, timestamp, raises_epoch, .. } = *marker;
        if let Some(producer) = self.by_id.get(&producer_id) {
            let is_old = if raises_epoch { epoch <= producer.epoch } else { epoch < producer.epoch };
            if is_old {
                return Err(ErrorCode::INVALID_PRODUCER_EPOCH);
            }
            if coordinator_epoch < producer.coordinator_epoch {
                return Err(ErrorCode::TRANSACTION_COORDINATOR_FENCED);
            }
        }
        let producer = self.by_id.entry(producer_id).or_insert_with(|| Producer::new(epoch));
        producer.begin_epoch(epoch);
        (producer.coordinator_epoch, producer.last_timestamp) = (coordinator_epoch, timestamp);
        Ok(producer.open_since.take())
    }
}

/// The end of a producer's transaction in one partition.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Marker {
    /// The producer.
    pub(crate) producer_id: i64,
    /// Its epoch.
    pub(crate) epoch: i16,
    /// Whether that epoch is new with the end of the transaction (`transaction.version` 2).
    pub(crate) raises_epoch: bool,
    /// Whether the transaction was committed.
    pub(crate) committed: bool,
    /// The epoch of the coordinator.
    pub(crate) coordinator_epoch: i32,
    /// When, in ms.
    pub(crate) timestamp: i64,
}

fn sequences(batch: &RecordBatch) -> (i32, i32) {
    (batch.base_sequence(), next_sequence(batch.base_sequence(), batch.last_offset_delta()))
}

/// Sequence numbers go on at 0 after the largest.
fn next_sequence(sequence: i32, by: i32) -> i32 {
    ((i64::from(sequence) + i64::from(by)) & i64::from(i32::MAX)) as i32
}
