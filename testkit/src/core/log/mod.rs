//! The log of one partition: the batches as producers sent them, or as compaction left them, in memory.

mod check;
mod compaction;
mod epochs;
mod producers;
mod read;
mod retention;
mod transactions;

use ackflow_protocol::records::{
    Batches, DEFAULT_DECOMPRESSION_LIMIT, RecordBatch, assign_append_time, assign_offsets, control,
};
use ackflow_protocol::wire::ErrorCode;
use bytes::{Bytes, BytesMut};

pub(crate) use check::{AppendError, AppendRules};
use check::{check, corrupt, only_batch};
pub(crate) use compaction::Compaction;
pub(crate) use epochs::LeaderEpochs;
use producers::Sequence;
pub(crate) use producers::{Marker, Producer, Producers};
pub(crate) use read::{Found, Isolation};
pub(crate) use retention::Retention;
use transactions::Transactions;

const MAGIC_AT: usize = 16;
const LAST_OFFSET_DELTA_AT: usize = 23;

/// Behind this offset no batch begins, so that offsets can be counted on from.
const LARGEST_OFFSET: i64 = i64::MAX / 2;

/// One batch of the log.
#[derive(Debug)]
pub(crate) struct StoredBatch {
    /// First offset.
    pub(crate) first: i64,
    /// Last offset, inclusive.
    pub(crate) last: i64,
    /// The bytes of the log before this batch.
    position: u64,
    /// The batch as fetch returns it.
    pub(crate) bytes: Bytes,
}

impl StoredBatch {
    /// What is stored, as it stands; `None` where it has no header that can be read.
    pub(crate) fn batch(&self) -> Option<RecordBatch> {
        Batches::new(self.bytes.clone()).next()?.ok()
    }

    /// The same, with records that can be read.
    pub(crate) fn decompressed(&self) -> Option<RecordBatch> {
        self.batch()?.decompress(DEFAULT_DECOMPRESSION_LIMIT).ok()
    }
}

/// The log of one partition. It grows until its topic or its records are deleted, or it is compacted.
#[derive(Debug, Default)]
pub(crate) struct PartitionLog {
    /// Ascending and disjoint; compaction leaves gaps between them.
    batches: Vec<StoredBatch>,
    /// The bytes of all batches, with those before the start of the log.
    size: u64,
    start_offset: i64,
    end_offset: i64,
    producers: Producers,
    transactions: Transactions,
    epochs: LeaderEpochs,
}

impl PartitionLog {
    /// The offset that the next record gets.
    pub(crate) fn end_offset(&self) -> i64 {
        self.end_offset
    }

    /// The first offset that may be read. Its batch may begin before it.
    pub(crate) fn start_offset(&self) -> i64 {
        self.start_offset
    }

    /// The offset before which every transaction is decided (LSO).
    pub(crate) fn last_stable_offset(&self) -> i64 {
        self.transactions.first_open().map_or(self.end_offset, |first| first.max(self.start_offset))
    }

    /// The idempotent producers that have written to it.
    pub(crate) fn producers(&self) -> &Producers {
        &self.producers
    }

    /// Its leader epochs.
    pub(crate) fn epochs(&self) -> &LeaderEpochs {
        &self.epochs
    }

    /// A leader of this epoch writes to it from now on.
    pub(crate) fn begin_epoch(&mut self, epoch: i32) {
        self.epochs.begin(epoch, self.end_offset);
    }

    /// Lets the log begin at `offset`, which lies within it. What lies before is gone.
    pub(crate) fn delete_before(&mut self, offset: i64) {
        if offset <= self.start_offset {
            return;
        }
        self.start_offset = offset;
        let gone = self.position_of(offset);
        self.batches.drain(..gone);
        self.transactions.truncate_before(offset);
        self.epochs.truncate_before(offset);
    }

    /// Appends the marker that ends a producer's transaction; where it has none here, the marker alone.
    ///
    /// # Errors
    /// As [`Producers::end_transaction`], and the log is unchanged.
    pub(crate) fn end_transaction(&mut self, marker: Marker, leader_epoch: i32) -> Result<(), ErrorCode> {
        let began = self.producers.end_transaction(&marker)?;
        let Marker { producer_id, epoch, committed, coordinator_epoch, timestamp, .. } = marker;
        let batch = control::end_of_transaction(committed, coordinator_epoch, producer_id, epoch, timestamp);
        let mut batch = BytesMut::from(&batch[..]);
        let offset = self.end_offset;
        assign_offsets(&mut batch, offset, leader_epoch).expect("a marker is a whole batch");
        if let Some(first) = began {
            self.transactions.end(producer_id, first, offset, committed);
        }
        self.push(offset, offset, batch.freeze());
        Ok(())
    }

    /// Checks what a producer sent as a broker does, appends it and gives its base offset; that of the first append
    /// where it is a retry of an idempotent producer.
    ///
    /// # Errors
    /// [`AppendError`], and the log is unchanged.
    pub(crate) fn produce(&mut self, records: &Bytes, rules: AppendRules) -> Result<i64, AppendError> {
        let batch = only_batch(records)?;
        if batch.size_in_bytes() > rules.max_message_bytes {
            return Err(AppendError::new(
                ErrorCode::MESSAGE_TOO_LARGE,
                format!(
                    "the batch has {} bytes, max.message.bytes of the topic is {}",
                    batch.size_in_bytes(),
                    rules.max_message_bytes
                ),
            ));
        }
        check(&batch, rules)?;
        let idempotent = batch.producer_id() >= 0;
        if idempotent {
            let sequence = self.producers.check(&batch).map_err(|code| {
                AppendError::new(
                    code,
                    format!(
                        "producer {} epoch {} sent sequence {}",
                        batch.producer_id(),
                        batch.producer_epoch(),
                        batch.base_sequence()
                    ),
                )
            })?;
            if let Sequence::Duplicate(base_offset) = sequence {
                return Ok(base_offset);
            }
        }
        let base_offset = self.end_offset;
        let mut bytes = BytesMut::from(&records[..]);
        if let Some(time) = rules.append_time {
            assign_append_time(&mut bytes, time).map_err(corrupt)?;
        }
        assign_offsets(&mut bytes, base_offset, rules.leader_epoch).map_err(corrupt)?;
        if idempotent && self.producers.note(&batch, base_offset) {
            self.transactions.begin(batch.producer_id(), base_offset);
        }
        self.push(base_offset, base_offset + i64::from(batch.last_offset_delta()), bytes.freeze());
        Ok(base_offset)
    }

    /// Appends a batch as it stands, unchecked and with the offsets that it names: damaged or compacted batches for
    /// tests.
    ///
    /// # Errors
    /// [`AppendError`] where `batch` has no readable header, or where its offsets lie before the end of the log.
    pub(crate) fn append_raw(&mut self, batch: Bytes) -> Result<(), AppendError> {
        let base = batch.first_chunk().map(|bytes| i64::from_be_bytes(*bytes));
        // Only format 2 says how many offsets the batch covers.
        let delta = match batch.get(MAGIC_AT) {
            Some(2) => batch.get(LAST_OFFSET_DELTA_AT..).and_then(|b| b.first_chunk()).map(|b| i32::from_be_bytes(*b)),
            Some(_) => Some(0),
            None => None,
        };
        let (Some(base), Some(delta)) = (base, delta) else {
            return Err(AppendError::new(ErrorCode::CORRUPT_MESSAGE, "the batch is shorter than a header"));
        };
        let last = base.saturating_add(i64::from(delta.max(0)));
        if base < self.end_offset || base > LARGEST_OFFSET {
            return Err(AppendError::new(
                ErrorCode::OFFSET_OUT_OF_RANGE,
                format!("the batch begins at offset {base}, the log ends at {}", self.end_offset),
            ));
        }
        self.push(base, last, batch);
        Ok(())
    }

    fn push(&mut self, first: i64, last: i64, bytes: Bytes) {
        let position = self.size;
        self.size += bytes.len() as u64;
        self.end_offset = last + 1;
        self.batches.push(StoredBatch { first, last, position, bytes });
    }
}
