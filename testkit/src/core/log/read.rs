//! Reading a log: batches from an offset on, and the offset of a time.

use ackflow_protocol::records::DEFAULT_DECOMPRESSION_LIMIT;
use bytes::Bytes;

use super::transactions::Aborted;
use super::{PartitionLog, StoredBatch};

/// Up to where a log is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// To its end.
    Uncommitted,
    /// To the last stable offset.
    Committed,
}

impl Isolation {
    /// That of a request.
    pub(crate) fn of(level: i8) -> Self {
        if level == 1 { Self::Committed } else { Self::Uncommitted }
    }
}

/// A record that was looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// Its offset.
    pub(crate) offset: i64,
    /// Its time in ms.
    pub(crate) timestamp: i64,
}

impl PartitionLog {
    /// The offset behind the last record that may be read.
    pub(crate) fn readable_end(&self, isolation: Isolation) -> i64 {
        match isolation {
            Isolation::Uncommitted => self.end_offset,
            Isolation::Committed => self.last_stable_offset(),
        }
    }

    /// The batches from the one that holds `offset` on: as many whole ones as `max_bytes` allows, and the first one
    /// whatever its size where `at_least_one`.
    pub(crate) fn read(&self, offset: i64, max_bytes: u64, at_least_one: bool) -> &[StoredBatch] {
        let from = self.position_of(offset);
        let Some(first) = self.batches.get(from) else { return &[] };
        let limit = first.position.saturating_add(max_bytes);
        let mut to = from + self.batches[from..].partition_point(|batch| end_of(batch) <= limit);
        if to == from && at_least_one {
            to += 1;
        }
        &self.batches[from..to]
    }

    /// As [`read`](Self::read), up to the offset `end` and in pieces for a fetch, which ends as a file does that is cut: within a batch.
    /// A batch that would be the only one comes whole or not at all.
    pub(crate) fn fetch(&self, offset: i64, end: i64, max_bytes: u64, at_least_one: bool) -> Vec<Bytes> {
        let whole = self.read(offset, max_bytes, at_least_one);
        let whole = &whole[..whole.partition_point(|batch| batch.first < end)];
        let Some(last) = whole.last() else { return Vec::new() };
        let mut pieces: Vec<Bytes> = whole.iter().map(|batch| batch.bytes.clone()).collect();
        let taken = end_of(last) - whole[0].position;
        let room = usize::try_from(max_bytes.saturating_sub(taken)).unwrap_or(usize::MAX);
        if let Some(next) =
            self.batches.get(self.position_of(last.last + 1)).filter(|next| room > 0 && next.first < end)
        {
            pieces.push(next.bytes.slice(..room.min(next.bytes.len())));
        }
        pieces
    }

    /// The aborted transactions that reach into what a fetch from `offset` gave.
    pub(crate) fn aborted(&self, offset: i64, pieces: usize) -> impl Iterator<Item = Aborted> {
        let from = self.position_of(offset);
        let read = self.batches.get(from..from.saturating_add(pieces)).unwrap_or_default();
        let end = read.last().map_or(offset, |batch| batch.last + 1);
        self.transactions.aborted(offset, end)
    }

    /// The bytes from the batch that holds `offset` to the one that holds `end`.
    pub(crate) fn bytes_between(&self, offset: i64, end: i64) -> u64 {
        let position = |offset| self.batches.get(self.position_of(offset)).map_or(self.size, |batch| batch.position);
        position(end).saturating_sub(position(offset))
    }

    /// Whether a batch is part of a transaction that was aborted.
    pub(crate) fn is_aborted(&self, stored: &StoredBatch) -> bool {
        let mut aborted = self.transactions.aborted(stored.first, stored.last + 1).peekable();
        if aborted.peek().is_none() {
            return false;
        }
        let batch = stored.batch().filter(|batch| batch.is_transactional() && !batch.is_control());
        batch.is_some_and(|batch| aborted.any(|aborted| aborted.producer_id == batch.producer_id()))
    }

    /// The first record that is not older than `timestamp` in ms.
    pub(crate) fn find_time(&self, timestamp: i64) -> Option<Found> {
        self.batches.iter().find_map(|stored| {
            let batch = stored.batch()?;
            if batch.max_timestamp() < timestamp {
                return None;
            }
            let whole = Found { offset: stored.first.max(self.start_offset), timestamp: batch.max_timestamp() };
            let Ok(batch) = batch.decompress(DEFAULT_DECOMPRESSION_LIMIT) else { return Some(whole) };
            let records = batch.records().map_while(Result::ok);
            let found = records.filter(|record| record.offset >= self.start_offset).find(|r| r.timestamp >= timestamp);
            found.map(|record| Found { offset: record.offset, timestamp: record.timestamp })
        })
    }

    /// The first record of the largest time.
    pub(crate) fn find_latest_time(&self) -> Option<Found> {
        let largest = |stored: &StoredBatch| {
            let batch = stored.batch()?;
            // What compaction emptied still says how young it was.
            (batch.count() > 0).then(|| batch.max_timestamp())
        };
        self.find_time(self.batches.iter().filter_map(largest).max()?)
    }

    /// The offset of the first record that is not older than `timestamp` in ms; the end where there is none.
    pub(crate) fn offset_for_timestamp(&self, timestamp: i64) -> i64 {
        self.find_time(timestamp).map_or(self.end_offset, |found| found.offset)
    }

    pub(super) fn position_of(&self, offset: i64) -> usize {
        self.batches.partition_point(|batch| batch.last < offset)
    }
}

/// The bytes of the log up to the end of a batch.
fn end_of(batch: &StoredBatch) -> u64 {
    batch.position + batch.bytes.len() as u64
}
