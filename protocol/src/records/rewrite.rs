//! What changes in a batch after it was built: a producer numbers it when it is sent, a broker when it is appended. All
//! functions take the bytes of one whole batch.

use super::{
    crc::crc32c,
    error::BatchError,
    header::{
        ATTRIBUTES_AT, BATCH_OVERHEAD, BatchHeader, CRC_AT, LEADER_EPOCH_AT, LOG_APPEND_TIME, MAX_TIMESTAMP_AT,
        PRODUCER_ID_AT,
    },
};

/// Sets the base offset and the leader epoch. The checksum does not cover them, and the records' offsets are relative,
/// so nothing else changes.
///
/// # Errors
/// [`BatchError::Length`] when `batch` is shorter than a header.
pub fn assign_offsets(batch: &mut [u8], base_offset: i64, leader_epoch: i32) -> Result<(), BatchError> {
    header_of(batch)?;
    batch[..8].copy_from_slice(&base_offset.to_be_bytes());
    batch[LEADER_EPOCH_AT..][..4].copy_from_slice(&leader_epoch.to_be_bytes());
    Ok(())
}

/// Makes `timestamp`, in ms, the time of every record ([`TimestampType::LogAppendTime`](super::TimestampType)) and
/// computes the checksum anew. Verify the old one before.
///
/// # Errors
/// [`BatchError::Length`] when `batch` is shorter than a header.
pub fn assign_append_time(batch: &mut [u8], timestamp: i64) -> Result<(), BatchError> {
    let attributes = header_of(batch)?.attributes | LOG_APPEND_TIME;
    batch[ATTRIBUTES_AT..][..2].copy_from_slice(&attributes.to_be_bytes());
    batch[MAX_TIMESTAMP_AT..][..8].copy_from_slice(&timestamp.to_be_bytes());
    set_crc(batch);
    Ok(())
}

/// Sets the id and epoch of the idempotent producer and the sequence number of the first record, and computes the
/// checksum anew.
///
/// # Errors
/// [`BatchError::Length`] when `batch` is shorter than a header.
pub fn assign_sequence(
    batch: &mut [u8],
    producer_id: i64,
    producer_epoch: i16,
    base_sequence: i32,
) -> Result<(), BatchError> {
    header_of(batch)?;
    let fields = &mut batch[PRODUCER_ID_AT..][..14];
    fields[..8].copy_from_slice(&producer_id.to_be_bytes());
    fields[8..10].copy_from_slice(&producer_epoch.to_be_bytes());
    fields[10..].copy_from_slice(&base_sequence.to_be_bytes());
    set_crc(batch);
    Ok(())
}

/// Computes the checksum of a batch of at least a header's size and stores it.
pub(super) fn set_crc(batch: &mut [u8]) {
    debug_assert!(batch.len() >= BATCH_OVERHEAD);
    let crc = crc32c(&batch[ATTRIBUTES_AT..]);
    batch[CRC_AT..][..4].copy_from_slice(&crc.to_be_bytes());
}

fn header_of(batch: &[u8]) -> Result<BatchHeader, BatchError> {
    match BatchHeader::parse(batch) {
        Some(header) => Ok(header),
        None => Err(BatchError::Length { base_offset: -1, length: batch.len() as i32 }),
    }
}
