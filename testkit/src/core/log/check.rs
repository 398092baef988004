//! What a broker takes from a producer.

use ackflow_protocol::records::{BatchError, Batches, DEFAULT_DECOMPRESSION_LIMIT, RecordBatch};
use ackflow_protocol::wire::ErrorCode;
use bytes::Bytes;

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
    pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
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

/// The batch that `records` consists of. A producer sends one batch a partition.
pub(super) fn only_batch(records: &Bytes) -> Result<RecordBatch, AppendError> {
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
pub(super) fn check(batch: &RecordBatch, rules: AppendRules) -> Result<(), AppendError> {
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

pub(super) fn corrupt(error: BatchError) -> AppendError {
    AppendError::new(ErrorCode::CORRUPT_MESSAGE, error.to_string())
}
