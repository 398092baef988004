//! The log of one partition: the batches as producers sent them, in memory.

mod producers;

use ackflow_protocol::records::{
    BatchError, Batches, DEFAULT_DECOMPRESSION_LIMIT, RecordBatch, assign_append_time, assign_offsets,
};
use ackflow_protocol::wire::ErrorCode;
use bytes::{Bytes, BytesMut};

use producers::{Producers, Sequence};

const MAGIC_AT: usize = 16;
const LAST_OFFSET_DELTA_AT: usize = 23;

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

/// The log of one partition. It grows until its topic is deleted; nothing expires.
#[derive(Debug, Default)]
pub(crate) struct PartitionLog {
    /// Ascending and disjoint.
    batches: Vec<StoredBatch>,
    size: u64,
    end_offset: i64,
    producers: Producers,
}

/// Why a record set was not appended: the code for the client, and the reason for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code:?}: {message}")]
pub(crate) struct AppendError {
    /// The error code of the response.
    pub(crate) code: ErrorCode,
    /// What is wrong.
    pub(crate) message: String,
}

impl AppendError {
    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// What a produce request has to meet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AppendRules {
    /// `max.message.bytes` of the topic.
    pub(crate) max_message_bytes: usize,
    /// The time of the append in ms where `message.timestamp.type` is `LogAppendTime`.
    pub(crate) append_time: Option<i64>,
    /// The oldest record timestamp in ms that is taken (`message.timestamp.before.max.ms`).
    pub(crate) earliest_timestamp: i64,
    /// The youngest record timestamp in ms that is taken (`message.timestamp.after.max.ms`).
    pub(crate) latest_timestamp: i64,
    /// Whether every record needs a key, because the topic is compacted.
    pub(crate) keys_required: bool,
    /// The leader epoch that the batch is marked with.
    pub(crate) leader_epoch: i32,
}

impl PartitionLog {
    /// The offset that the next record gets.
    pub(crate) fn end_offset(&self) -> i64 {
        self.end_offset
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
        if idempotent {
            self.producers.note(&batch, base_offset);
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
        if base < self.end_offset {
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

    /// The batches from the one that holds `offset` on: as many whole ones as `max_bytes` allows, and the first one
    /// whatever its size where `at_least_one`.
    pub(crate) fn read(&self, offset: i64, max_bytes: u64, at_least_one: bool) -> &[StoredBatch] {
        let from = self.position_of(offset);
        let Some(first) = self.batches.get(from) else { return &[] };
        let limit = first.position.saturating_add(max_bytes);
        let end_of = |batch: &StoredBatch| batch.position + batch.bytes.len() as u64;
        let mut to = from + self.batches[from..].partition_point(|batch| end_of(batch) <= limit);
        if to == from && at_least_one {
            to += 1;
        }
        &self.batches[from..to]
    }

    /// The bytes from the batch that holds `offset` to the end.
    pub(crate) fn bytes_from(&self, offset: i64) -> u64 {
        self.batches.get(self.position_of(offset)).map_or(0, |batch| self.size - batch.position)
    }

    /// The offset of the first record that is not older than `timestamp` in ms; the end where there is none.
    pub(crate) fn offset_for_timestamp(&self, timestamp: i64) -> i64 {
        for stored in &self.batches {
            let Some(Ok(batch)) = Batches::new(stored.bytes.clone()).next() else { continue };
            if batch.max_timestamp() < timestamp {
                continue;
            }
            let Ok(batch) = batch.decompress(DEFAULT_DECOMPRESSION_LIMIT) else { return stored.first };
            let found = batch.records().map_while(Result::ok).find(|record| record.timestamp >= timestamp);
            return found.map_or(stored.first, |record| record.offset);
        }
        self.end_offset
    }

    fn position_of(&self, offset: i64) -> usize {
        self.batches.partition_point(|batch| batch.last < offset)
    }
}

/// The batch that `records` consists of. A producer sends one batch a partition.
fn only_batch(records: &Bytes) -> Result<RecordBatch, AppendError> {
    let mut batches = Batches::new(records.clone());
    let batch = match batches.next() {
        Some(Ok(batch)) => batch,
        Some(Err(error @ BatchError::Magic { .. })) => {
            return Err(AppendError::new(ErrorCode::INVALID_RECORD, error.to_string()));
        }
        Some(Err(error)) => return Err(corrupt(error)),
        None => {
            return Err(AppendError::new(ErrorCode::INVALID_RECORD, "a produce request carries one batch a partition"));
        }
    };
    if batches.remaining() > 0 {
        return Err(AppendError::new(
            ErrorCode::INVALID_RECORD,
            format!("{} bytes follow the batch; a produce request carries one batch a partition", batches.remaining()),
        ));
    }
    Ok(batch)
}

/// Refuses what a broker refuses: a bad checksum, control records, gaps, records that cannot be read.
fn check(batch: &RecordBatch, rules: AppendRules) -> Result<(), AppendError> {
    batch.verify_crc().map_err(corrupt)?;
    if batch.is_control() {
        return Err(AppendError::new(ErrorCode::INVALID_RECORD, "clients may not write control records"));
    }
    if !batch.is_dense() || batch.count() == 0 {
        return Err(AppendError::new(
            ErrorCode::INVALID_RECORD,
            format!("the batch has {} records and last offset delta {}", batch.count(), batch.last_offset_delta()),
        ));
    }
    if batch.producer_id() >= 0 && (batch.base_sequence() < 0 || batch.producer_epoch() < 0) {
        return Err(AppendError::new(
            ErrorCode::INVALID_RECORD,
            format!(
                "producer {} sent epoch {} and sequence {}",
                batch.producer_id(),
                batch.producer_epoch(),
                batch.base_sequence()
            ),
        ));
    }
    let batch = batch.clone().decompress(DEFAULT_DECOMPRESSION_LIMIT).map_err(corrupt)?;
    let timestamps = rules.earliest_timestamp..=rules.latest_timestamp;
    for record in batch.records() {
        let record = record.map_err(|error| AppendError::new(ErrorCode::INVALID_RECORD, error.to_string()))?;
        if rules.append_time.is_none() && record.timestamp >= 0 && !timestamps.contains(&record.timestamp) {
            return Err(AppendError::new(
                ErrorCode::INVALID_TIMESTAMP,
                format!(
                    "timestamp {} of a record is outside {} to {}, which message.timestamp.before.max.ms and \
                     message.timestamp.after.max.ms allow",
                    record.timestamp, rules.earliest_timestamp, rules.latest_timestamp
                ),
            ));
        }
        if rules.keys_required && record.key.is_none() {
            return Err(AppendError::new(
                ErrorCode::INVALID_RECORD,
                "a compacted topic (cleanup.policy) takes no record without a key",
            ));
        }
    }
    Ok(())
}

fn corrupt(error: BatchError) -> AppendError {
    AppendError::new(ErrorCode::CORRUPT_MESSAGE, error.to_string())
}
