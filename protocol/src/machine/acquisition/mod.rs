//! From one partition of a ShareFetch response to what may be handed out.
//!
//! A broker sends whole batches and says which offsets it acquired. Only offsets that are acquired *and* have a record
//! may be handed out; an acquired offset without a record (compacted away, a control record) is a gap and has to be
//! acknowledged as such, or it stays locked. Batches and ranges are walked in step. Where the header of a batch says
//! that every offset has a record, the records are not looked at, so the cost grows with batches and ranges.

#[cfg(test)]
mod tests;

use bytes::Bytes;

use crate::{
    machine::{
        ranges::length,
        types::{AckRange, AckType, AcquiredRange},
    },
    messages::share_fetch::AcquiredRecords,
    records::{BatchError, Batches, RecordBatch},
};

/// The smallest record there is: its length, attributes, two deltas, two null lengths, a header count, one byte each.
const SMALLEST_RECORD: usize = 7;

/// What one partition of a response holds.
#[derive(Debug, Default)]
pub(crate) struct Content {
    /// Offsets to hand out, sorted and disjoint; neighbours of one delivery count are one range.
    pub(crate) ranges: Vec<AcquiredRange>,
    /// The batches that hold them, each ending behind the one before.
    pub(crate) batches: Vec<RecordBatch>,
    /// Acquired offsets that nobody can process: gaps, and batches that cannot be read.
    pub(crate) settled: Vec<AckRange>,
    pub(crate) bad: Vec<BadBatch>,
    /// A range that cannot be meant, if there was one. It is left out.
    pub(crate) nonsense: Option<(i64, i64)>,
    /// Records in `ranges`.
    pub(crate) records: u32,
    /// How large the batches are that hold anything acquired.
    pub(crate) size: Size,
}

/// How large batches are, as a broker stores and sends them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    /// Offsets that the largest of them covers.
    pub(crate) largest: u32,
    /// Offsets that they cover together.
    pub(crate) offsets: u64,
    /// Bytes of them together.
    pub(crate) bytes: u64,
}

#[derive(Debug)]
pub(crate) struct BadBatch {
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) settled: AckType,
    pub(crate) error: BatchError,
}

/// Reads one partition of a response.
pub(crate) fn read(
    records: Bytes,
    acquired: &[AcquiredRecords],
    check_crcs: bool,
    decompression_limit: usize,
) -> Content {
    let mut reader = Reader { acquired: Acquired::default(), content: Content::default() };
    reader.take_ranges(acquired);
    let mut batches = Batches::new(records);
    let mut next = batches.next();
    while let Some(batch) = next {
        if reader.acquired.is_empty() {
            return reader.content;
        }
        next = batches.next();
        match batch {
            Ok(batch) => reader.batch(batch, check_crcs, decompression_limit),
            Err(error) => {
                // Where the batch ends is not always known, but it ends before the next one.
                let end = next.as_ref().map_or(i64::MAX, |next| match next {
                    Ok(next) => next.base_offset(),
                    Err(next) => next.base_offset(),
                });
                reader.unreadable(error, end);
            }
        }
    }
    reader.finish(batches.remaining() > 0);
    reader.content
}

struct Reader {
    acquired: Acquired,
    content: Content,
}

/// The acquired ranges that were not reached yet, as a queue.
#[derive(Default)]
struct Acquired {
    ranges: Vec<AcquiredRange>,
    next: usize,
}

impl Acquired {
    fn is_empty(&self) -> bool {
        self.next == self.ranges.len()
    }

    /// The lowest acquired offset that was not reached yet.
    fn lowest(&self) -> Option<i64> {
        self.ranges.get(self.next).map(|range| range.first)
    }

    /// Takes the next piece that lies at or below `last`.
    fn pop_to(&mut self, last: i64) -> Option<AcquiredRange> {
        let range = self.ranges.get_mut(self.next)?;
        if range.first > last {
            return None;
        }
        let taken = AcquiredRange { last: range.last.min(last), ..*range };
        if range.last > last {
            range.first = last + 1;
        } else {
            self.next += 1;
        }
        Some(taken)
    }
}

impl Reader {
    /// Takes over the broker's ranges. They ascend without overlap; what does not is left out.
    fn take_ranges(&mut self, acquired: &[AcquiredRecords]) {
        self.acquired.ranges.reserve_exact(acquired.len());
        let mut lowest = 0;
        for range in acquired {
            let (first, last) = (range.first_offset, range.last_offset);
            if first < 0 || last < first {
                self.content.nonsense = Some((first, last));
            } else if last >= lowest {
                let first = first.max(lowest);
                self.acquired.ranges.push(AcquiredRange { first, last, delivery_count: range.delivery_count });
                match last.checked_add(1) {
                    Some(next) => lowest = next,
                    None => break,
                }
            }
        }
    }

    fn batch(&mut self, batch: RecordBatch, check_crcs: bool, decompression_limit: usize) {
        let (base, last) = (batch.base_offset(), batch.last_offset());
        self.gaps_before(base);
        if self.acquired.lowest().is_none_or(|lowest| lowest > last) {
            return;
        }
        let covered = batch.last_offset_delta().unsigned_abs().saturating_add(1);
        let size = &mut self.content.size;
        size.largest = size.largest.max(covered);
        size.offsets += u64::from(covered);
        size.bytes += batch.size_in_bytes() as u64;
        if check_crcs && let Err(error) = batch.verify_crc() {
            return self.bad(last, AckType::Reject, error);
        }
        if batch.is_control() {
            return self.gaps_before(last.saturating_add(1));
        }
        match batch.decompress(decompression_limit) {
            Ok(batch) => self.deliver(batch, last),
            Err(error) => self.bad(last, AckType::Release, error),
        }
    }

    /// Hands out the acquired offsets of a good batch that have a record.
    fn deliver(&mut self, batch: RecordBatch, last: i64) {
        let handed_out = |content: &Content| content.ranges.last().map(|range| range.last);
        let before = handed_out(&self.content);
        if batch.is_dense() && (batch.count() as usize) <= most_records(&batch) {
            while let Some(range) = self.acquired.pop_to(last) {
                self.hand_out(range);
            }
        } else if let Err(error) = self.deliver_sparse(&batch) {
            return self.bad(last, AckType::Reject, error);
        }
        // A damaged batch may begin before the end of the last one: its own offsets do not tell.
        if handed_out(&self.content) > before {
            self.content.batches.push(batch);
        }
        self.gaps_before(last.saturating_add(1));
    }

    /// As [`Self::deliver`] where some offsets have no record. Runs of records are found first, so that nothing of a
    /// batch that turns out to be corrupt half-way is handed out.
    fn deliver_sparse(&mut self, batch: &RecordBatch) -> Result<(), BatchError> {
        let mut runs: Vec<(i64, i64)> = Vec::new();
        for record in batch.records() {
            let offset = record?.offset;
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == offset => *last = offset,
                _ => runs.push((offset, offset)),
            }
        }
        for (first, last) in runs {
            self.gaps_before(first);
            while let Some(range) = self.acquired.pop_to(last) {
                self.hand_out(range);
            }
        }
        Ok(())
    }

    fn hand_out(&mut self, range: AcquiredRange) {
        self.content.records = self.content.records.saturating_add(length(range.first, range.last) as u32);
        match self.content.ranges.last_mut() {
            Some(previous) if previous.last + 1 == range.first && previous.delivery_count == range.delivery_count => {
                previous.last = range.last;
            }
            _ => self.content.ranges.push(range),
        }
    }

    fn gaps_before(&mut self, offset: i64) {
        let Some(last) = offset.checked_sub(1) else { return };
        while let Some(range) = self.acquired.pop_to(last) {
            self.content.settle(range.first, range.last, AckType::Gap);
        }
    }

    /// Settles what is acquired of a batch that cannot be handed out, up to its last offset.
    fn bad(&mut self, last: i64, ack: AckType, error: BatchError) {
        let Some(first) = self.acquired.lowest() else { return };
        let mut end = first;
        while let Some(range) = self.acquired.pop_to(last) {
            end = range.last;
            self.content.settle(range.first, range.last, ack);
        }
        self.content.bad.push(BadBatch { first, last: end, settled: ack, error });
    }

    /// A batch whose header cannot be read.
    fn unreadable(&mut self, error: BatchError, next: i64) {
        let (last, ack) = match error {
            // A codec of the future: another member may know it.
            BatchError::Codec { last_offset, .. } => (last_offset, AckType::Release),
            BatchError::Count { last_offset, .. } => (last_offset, AckType::Reject),
            // Where the next batch starts is lost, so good ones may lie behind.
            BatchError::Length { .. } => (i64::MAX, AckType::Release),
            // A message of the old formats has the offset of the last one within it.
            BatchError::Magic { base_offset, magic: 0 | 1 } => (base_offset, AckType::Reject),
            _ => (next.saturating_sub(1), AckType::Reject),
        };
        // Where an old one begins is written inside of it, so all that is acquired up to its end is taken to be in it.
        let is_old = matches!(error, BatchError::Magic { magic: 0 | 1, .. });
        if !is_old {
            self.gaps_before(error.base_offset());
        }
        if self.acquired.lowest().is_some_and(|lowest| lowest <= last) {
            self.bad(last, ack, error);
        }
    }

    /// Acquired offsets behind the data have no record, unless the data was cut: then it comes with another delivery.
    fn finish(&mut self, cut: bool) {
        let ack = if cut { AckType::Release } else { AckType::Gap };
        while let Some(range) = self.acquired.pop_to(i64::MAX) {
            self.content.settle(range.first, range.last, ack);
        }
    }
}

impl Content {
    fn settle(&mut self, first: i64, last: i64, ack: AckType) {
        match self.settled.last_mut() {
            Some(previous) if previous.ack == ack && previous.last + 1 == first => previous.last = last,
            _ => self.settled.push(AckRange { first, last, ack }),
        }
    }
}

/// How many records the body of a batch has room for.
fn most_records(batch: &RecordBatch) -> usize {
    batch.body_len() / SMALLEST_RECORD
}
