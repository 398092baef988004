//! What a partition remembers of idempotent producers: the last sequence numbers of each.

use std::collections::{HashMap, VecDeque};

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

#[derive(Debug)]
struct Producer {
    epoch: i16,
    appended: VecDeque<Appended>,
}

/// The idempotent producers of one partition, by producer id.
#[derive(Debug, Default)]
pub(crate) struct Producers {
    by_id: HashMap<i64, Producer>,
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
    /// Checks the batch's place in its producer's sequence.
    ///
    /// # Errors
    /// INVALID_PRODUCER_EPOCH where a newer epoch was seen, OUT_OF_ORDER_SEQUENCE_NUMBER where a batch is missing
    /// before this one.
    pub(crate) fn check(&self, batch: &RecordBatch) -> Result<Sequence, ErrorCode> {
        // Of a producer that is not known, any sequence is taken: its earlier batches may be gone.
        let Some(producer) = self.by_id.get(&batch.producer_id()) else { return Ok(Sequence::Next) };
        if batch.producer_epoch() < producer.epoch {
            return Err(ErrorCode::INVALID_PRODUCER_EPOCH);
        }
        if batch.producer_epoch() > producer.epoch {
            let first = batch.base_sequence() == 0;
            return if first { Ok(Sequence::Next) } else { Err(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER) };
        }
        let (first, last) = sequences(batch);
        if let Some(same) = producer.appended.iter().find(|a| a.first_sequence == first && a.last_sequence == last) {
            return Ok(Sequence::Duplicate(same.base_offset));
        }
        match producer.appended.back() {
            Some(before) if next_sequence(before.last_sequence, 1) != first => {
                Err(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER)
            }
            _ => Ok(Sequence::Next),
        }
    }

    /// Notes that the batch was appended at `base_offset`.
    pub(crate) fn note(&mut self, batch: &RecordBatch, base_offset: i64) {
        let epoch = batch.producer_epoch();
        let producer = self
            .by_id
            .entry(batch.producer_id())
            .or_insert_with(|| Producer { epoch, appended: VecDeque::with_capacity(REMEMBERED) });
        if producer.epoch != epoch {
            producer.epoch = epoch;
            producer.appended.clear();
        }
        if producer.appended.len() == REMEMBERED {
            producer.appended.pop_front();
        }
        let (first_sequence, last_sequence) = sequences(batch);
        producer.appended.push_back(Appended { first_sequence, last_sequence, base_offset });
    }
}

fn sequences(batch: &RecordBatch) -> (i32, i32) {
    (batch.base_sequence(), next_sequence(batch.base_sequence(), batch.last_offset_delta()))
}

/// Sequence numbers go on at 0 after the largest.
fn next_sequence(sequence: i32, by: i32) -> i32 {
    ((i64::from(sequence) + i64::from(by)) & i64::from(i32::MAX)) as i32
}
