//! What was fetched of one partition by one response, and the pieces that polls take of it.

use std::sync::Arc;

use ackflow_protocol::machine::consumer::{Fetched, Position, TopicPartition};
use ackflow_protocol::records::{RecordBatch, RecordCursor};

/// What all pieces of one fetch share.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) partition: TopicPartition,
    pub(super) batches: Vec<RecordBatch>,
}

/// A place between two records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// By its position in [`Source::batches`].
    pub(super) batch: usize,
    pub(super) cursor: RecordCursor,
}

/// What of a fetch is still to be handed out.
#[derive(Debug)]
pub(super) struct Part {
    source: Arc<Source>,
    /// Behind what was handed out; no later than the next record.
    place: Place,
    /// No record before this is to be handed out.
    first: i64,
    /// Where to read on after all of it.
    next: Position,
}

/// Records that a poll handed out.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) source: Arc<Source>,
    pub(super) begin: Place,
    /// How many batches are read to their ends, counted from the first of the source.
    pub(super) whole: usize,
    /// How many records of the batch behind those.
    pub(super) rest: u32,
    /// No record before this.
    pub(super) first: i64,
    /// How many records there are, by the headers of their batches.
    pub(super) records: u32,
}

impl Part {
    pub(super) fn new(fetched: Fetched) -> Self {
        let Fetched { partition, first, batches, next, .. } = fetched;
        let mut place = Place::default();
        // The first batch may begin before. Where a record on the way is malformed, whoever reads it gets the error.
        if let Some(batch) = batches.first().filter(|batch| batch.base_offset() < first) {
            place.cursor = batch.skip_to(place.cursor, first).unwrap_or_default();
        }
        Self { source: Arc::new(Source { partition, batches }), place, first, next }
    }

    /// Takes up to `max` records, of which there may be none. Gives where to read on after them, and whether that was all.
    pub(super) fn take(&mut self, max: u32) -> (Piece, Position, bool) {
        let begin = self.place;
        let first = self.first;
        let mut left = max;
        let mut rest = 0;
        let mut position = self.next;
        let mut all = true;
        while let Some(batch) = self.source.batches.get(self.place.batch) {
            let remaining = (batch.count() as u32).saturating_sub(self.place.cursor.index);
            if remaining <= left {
                left -= remaining;
                self.place = Place { batch: self.place.batch + 1, cursor: RecordCursor::default() };
                continue;
            }
            let cut = (left > 0).then(|| cut(batch, self.place.cursor, left)).flatten();
            if let Some((cursor, next)) = cut {
                self.place.cursor = cursor;
                self.first = self.first.max(next);
                rest = left;
                left = 0;
            } else if left > 0 {
                // It cannot be walked so far: all of it is handed out, and whoever reads it gets the error.
                left = 0;
                self.place = Place { batch: self.place.batch + 1, cursor: RecordCursor::default() };
                if self.place.batch == self.source.batches.len() {
                    break;
                }
                self.first = self.first.max(batch.last_offset() + 1);
            }
            all = false;
            position = self.position();
            break;
        }
        let whole = self.place.batch;
        let source = Arc::clone(&self.source);
        (Piece { source, begin, whole, rest, first, records: max - left }, position, all)
    }

    /// Where to read on, in the middle of it.
    fn position(&self) -> Position {
        let batch = &self.source.batches[self.place.batch];
        // The record before is of the same batch, or of the one before.
        let before = match self.place.cursor.index {
            0 => self.place.batch.checked_sub(1).and_then(|before| self.source.batches.get(before)),
            _ => Some(batch),
        };
        let offset = match before {
            Some(before) if self.place.cursor.index == 0 => self.first.max(before.last_offset() + 1),
            _ => self.first,
        };
        let leader_epoch = before.map(RecordBatch::partition_leader_epoch).filter(|epoch| *epoch >= 0);
        Position { offset, leader_epoch }
    }
}

/// The place behind so many more records of a batch, and the offset behind the last of them.
fn cut(batch: &RecordBatch, from: RecordCursor, records: u32) -> Option<(RecordCursor, i64)> {
    if batch.is_dense() {
        let next = batch.base_offset() + i64::from(from.index) + i64::from(records);
        let cursor = batch.skip_to(from, next).ok()?;
        return (cursor.index == from.index + records).then_some((cursor, next));
    }
    let mut walk = batch.records_from(from);
    let mut last = None;
    for _ in 0..records {
        last = Some(walk.next()?.ok()?.offset);
    }
    Some((walk.cursor(), last? + 1))
}
