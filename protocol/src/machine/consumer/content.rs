//! From one partition of a Fetch response to what may be handed out.
//!
//! A broker sends whole batches, of which the first may begin before the offset that was asked for and the last may be cut off. Under
//! read_committed it says which transactions of the stretch were aborted: from the first offset of each, batches of its producer are passed
//! over until the marker that ended it.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::{
    options::{ConsumerOptions, IsolationLevel},
    types::{BadBatch, Position, epoch},
};
use crate::{
    messages::fetch::AbortedTransaction,
    records::{BatchError, Batches, RecordBatch, control::ControlRecord},
};

/// What one partition of a response holds.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) batches: Vec<RecordBatch>,
    /// Where to read on.
    pub(super) next: Position,
    pub(super) error: Option<BadBatch>,
}

/// Reads one partition of a response that was asked for from `from` on.
pub(super) fn read(
    records: Bytes,
    from: Position,
    aborted: Option<Vec<AbortedTransaction>>,
    options: &ConsumerOptions,
) -> Content {
    let mut aborted = match options.isolation {
        IsolationLevel::ReadCommitted => Aborted::new(aborted.unwrap_or_default()),
        IsolationLevel::ReadUncommitted => Aborted::default(),
    };
    let mut content = Content { batches: Vec::new(), next: from, error: None };
    let mut batches = Batches::new(records);
    while let Some(batch) = batches.next() {
        // One that begins within those before would have their offsets handed out again: it comes first in the next answer.
        if batch.as_ref().is_ok_and(|batch| overlaps(batch, &content)) {
            break;
        }
        let read = batch.and_then(|batch| take(batch, content.next.offset, &mut aborted, options));
        match read {
            Ok((next, batch)) => {
                if next.offset > content.next.offset {
                    content.next = next;
                    content.batches.extend(batch);
                }
            }
            Err(error) => {
                // Where the batch ends is known by the next one, if by itself it is not.
                let end = batches.next().and_then(|next| match next {
                    Ok(next) => Some(next.base_offset()),
                    Err(_) => None,
                });
                let first = content.next.offset.max(error.base_offset());
                content.error = Some(BadBatch { first, last: end.map_or(first, |end| (end - 1).max(first)), error });
                break;
            }
        }
    }
    content
}

/// Whether a batch begins within those that are to be handed out and goes on behind them, which no log has.
fn overlaps(batch: &RecordBatch, content: &Content) -> bool {
    let next = content.next.offset;
    !content.batches.is_empty() && batch.base_offset() < next && next <= batch.last_offset()
}

/// Where to read on after a batch, and the batch, if its records are to be handed out.
fn take(
    batch: RecordBatch,
    from: i64,
    aborted: &mut Aborted,
    options: &ConsumerOptions,
) -> Result<(Position, Option<RecordBatch>), BatchError> {
    let last = batch.last_offset();
    let next = Position { offset: last.saturating_add(1), leader_epoch: epoch(batch.partition_leader_epoch()) };
    if last < from && !batch.is_control() {
        return Ok((next, None));
    }
    if options.check_crcs {
        batch.verify_crc()?;
    }
    if aborted.passes_over(&batch) || batch.is_control() || batch.count() == 0 {
        return Ok((next, None));
    }
    Ok((next, Some(batch.decompress(options.decompression_limit)?)))
}

/// Which producers' transactions are aborted, batch by batch.
#[derive(Debug, Default)]
struct Aborted {
    /// Those that have not begun yet, the next one last.
    ahead: Vec<AbortedTransaction>,
    producers: BTreeSet<i64>,
}

impl Aborted {
    fn new(mut ahead: Vec<AbortedTransaction>) -> Self {
        ahead.sort_by_key(|transaction| std::cmp::Reverse(transaction.first_offset));
        Self { ahead, producers: BTreeSet::new() }
    }

    /// Whether the batch belongs to an aborted transaction.
    fn passes_over(&mut self, batch: &RecordBatch) -> bool {
        while let Some(begun) = self.ahead.pop_if(|transaction| transaction.first_offset <= batch.last_offset()) {
            self.producers.insert(begun.producer_id);
        }
        if batch.is_control() {
            if self.producers.contains(&batch.producer_id()) && is_abort(batch) {
                self.producers.remove(&batch.producer_id());
            }
            return false;
        }
        batch.is_transactional() && self.producers.contains(&batch.producer_id())
    }
}

/// Whether the batch holds the marker of an aborted transaction.
fn is_abort(batch: &RecordBatch) -> bool {
    let first = batch.records().next().and_then(Result::ok);
    matches!(first.map(|record| ControlRecord::parse(&record)), Some(Ok(ControlRecord::Abort { .. })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{BatchBuilder, BatchOptions, assign_offsets};

    fn batch(first: i64, last: i64) -> Vec<u8> {
        let mut builder = BatchBuilder::new(BatchOptions::default());
        for offset in first..=last {
            builder.try_append(1, None, Some(offset.to_string().as_bytes()), []).unwrap();
        }
        let mut bytes = builder.build().unwrap().to_vec();
        assign_offsets(&mut bytes, first, 3).unwrap();
        bytes
    }

    /// The same by a transactional producer.
    fn transactional(producer_id: i64, first: i64, last: i64) -> Vec<u8> {
        let options = BatchOptions { transactional: true, producer_id, producer_epoch: 0, ..BatchOptions::default() };
        let mut builder = BatchBuilder::new(options);
        for offset in first..=last {
            builder.try_append(1, None, Some(offset.to_string().as_bytes()), []).unwrap();
        }
        let mut bytes = builder.build().unwrap().to_vec();
        assign_offsets(&mut bytes, first, 3).unwrap();
        bytes
    }

    /// The marker that ends a transaction: 0 aborts it, 1 commits it.
    fn marker(producer_id: i64, offset: i64, kind: u8) -> Vec<u8> {
        let options = BatchOptions { transactional: true, producer_id, producer_epoch: 0, ..BatchOptions::default() };
        let mut builder = BatchBuilder::new(options);
        builder.try_append(1, Some(&[0, 0, 0, kind]), Some(&[0, 0, 0, 0, 0, 1]), []).unwrap();
        let mut bytes = builder.build().unwrap().to_vec();
        assign_offsets(&mut bytes, offset, 3).unwrap();
        bytes[22] |= 0x20;
        let crc = crate::records::crc32c(&bytes[21..]);
        bytes[17..21].copy_from_slice(&crc.to_be_bytes());
        bytes
    }

    /// The first offsets of the batches that are read of a log with aborted transactions, where its first offset is that of a batch.
    fn committed(log: &[Vec<u8>], aborted: &[(i64, i64)], from: i64) -> (Vec<i64>, i64) {
        let options =
            ConsumerOptions { isolation: IsolationLevel::ReadCommitted, ..ConsumerOptions::new(Some("group"), "") };
        let aborted = aborted.iter().map(|(producer_id, first_offset)| AbortedTransaction {
            producer_id: *producer_id,
            first_offset: *first_offset,
        });
        let position = Position { offset: from, leader_epoch: None };
        let content = read(log.concat().into(), position, Some(aborted.collect()), &options);
        assert!(content.error.is_none());
        (content.batches.iter().map(RecordBatch::base_offset).collect(), content.next.offset)
    }

    // Mutation: protocol/src/machine/consumer/content.rs
    // - self.producers.remove(&batch.producer_id());
    // + _ = &self.producers;
    #[test]
    fn aborted_transactions_are_passed_over_and_what_lies_between_them_is_not() {
        let log = [
            transactional(1, 0, 1),
            batch(2, 3),
            transactional(2, 4, 5),
            marker(1, 6, 0),
            transactional(1, 7, 7),
            marker(2, 8, 1),
            transactional(2, 9, 9),
            marker(1, 10, 1),
            marker(2, 11, 0),
            batch(12, 12),
        ];
        assert_eq!(committed(&log, &[(2, 9), (1, 0)], 0), (vec![2, 4, 7, 12], 13));
        assert_eq!(committed(&log, &[], 0).0, [0, 2, 4, 7, 9, 12]);
        // A stretch that begins in the middle of a transaction.
        assert_eq!(committed(&log[2..], &[(1, 0), (2, 9)], 4), (vec![4, 7, 12], 13));
        // Nothing to hand out, and still on.
        assert_eq!(committed(&log[..1], &[(1, 0)], 0), (vec![], 2));
    }

    #[test]
    fn uncommitted_reading_has_all_but_the_markers() {
        let log = [transactional(1, 0, 1), marker(1, 2, 0), batch(3, 3)].concat();
        let content = read_from(0, log);
        assert_eq!(content.batches.iter().map(RecordBatch::base_offset).collect::<Vec<_>>(), [0, 3]);
        assert_eq!(content.next.offset, 4);
    }

    fn read_from(offset: i64, bytes: Vec<u8>) -> Content {
        let options = ConsumerOptions::new(None, "");
        read(bytes.into(), Position { offset, leader_epoch: None }, None, &options)
    }

    #[test]
    fn whole_batches_are_taken_and_a_cut_one_is_left() {
        let mut bytes = [batch(0, 4), batch(5, 9)].concat();
        bytes.extend_from_slice(&batch(10, 12)[..40]);
        let content = read_from(3, bytes);
        assert_eq!(content.batches.len(), 2);
        assert_eq!(content.next, Position { offset: 10, leader_epoch: Some(3) });
        assert!(content.error.is_none());
    }

    #[test]
    fn a_damaged_batch_ends_what_is_read_and_names_its_offsets() {
        let mut bad = batch(5, 9);
        let at = bad.len() - 1;
        bad[at] ^= 1;
        let content = read_from(0, [batch(0, 4), bad, batch(10, 12)].concat());
        assert_eq!((content.batches.len(), content.next.offset), (1, 5));
        let error = content.error.unwrap();
        assert_eq!((error.first, error.last), (5, 9));
        assert!(matches!(error.error, BatchError::Crc { base_offset: 5, .. }));
    }

    #[test]
    fn a_batch_that_begins_within_the_one_before_is_left_to_the_next_answer() {
        let log = [batch(0, 4), batch(3, 9)].concat();
        let content = read_from(0, log.clone());
        assert_eq!((content.batches.len(), content.next.offset), (1, 5));
        let content = read_from(5, log);
        assert_eq!((content.batches.len(), content.next.offset), (1, 10));
    }

    #[test]
    fn a_batch_that_lies_before_is_passed_over_though_it_is_damaged() {
        let mut bad = batch(0, 4);
        let at = bad.len() - 1;
        bad[at] ^= 1;
        let content = read_from(5, [bad, batch(5, 9)].concat());
        assert_eq!((content.batches.len(), content.next.offset), (1, 10));
        assert!(content.error.is_none());
    }
}
