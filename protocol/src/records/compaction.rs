//! What the compaction of a log does to a batch: some records go, and everything else stays where it was.

use bytes::Bytes;

use super::{
    append::put_nullable,
    batch::RecordBatch,
    error::BatchError,
    header::{BATCH_OVERHEAD, BatchHeader, CODEC_MASK, DELETE_HORIZON, LOG_OVERHEAD, TimestampType},
    record::Record,
    rewrite::set_crc,
    varint,
};

/// The batch with those of its records that `keep` picks, under a new checksum: they keep their offsets, and the batch what it covers, its
/// producer, its codec and its kind of timestamps. A batch that is compressed has to be [decompressed](RecordBatch::decompress) before.
///
/// With `delete_horizon`, in ms, the batch says from when on its tombstones may go ([`RecordBatch::has_delete_horizon`]); without, it says what it
/// said before. Where no record is left, the batch is the bare header, as Kafka's cleaner leaves it: without codec and horizon.
///
/// # Errors
/// As [`RecordBatch::records`]; [`BatchError::DecompressedTooLarge`] where the format has no room for what is left.
pub fn retain_records(
    batch: &RecordBatch,
    delete_horizon: Option<i64>,
    mut keep: impl FnMut(&Record<'_>) -> bool,
) -> Result<Bytes, BatchError> {
    let own = batch.has_delete_horizon().then(|| batch.base_timestamp());
    let horizon = delete_horizon.or(own);
    let (mut records, mut record_bytes) = (Vec::new(), Vec::new());
    let (mut count, mut base_timestamp, mut max_timestamp) = (0, -1, -1);
    for record in batch.records() {
        let record = record?;
        if !keep(&record) {
            continue;
        }
        if count == 0 {
            (base_timestamp, max_timestamp) = (horizon.unwrap_or(record.timestamp), record.timestamp);
        }
        max_timestamp = record.timestamp.max(max_timestamp);
        put(&mut record_bytes, &record, record.timestamp.wrapping_sub(base_timestamp), batch.base_offset());
        varint::put(&mut records, record_bytes.len() as i64);
        records.extend_from_slice(&record_bytes);
        count += 1;
    }

    let mut compacted = vec![0; BATCH_OVERHEAD];
    let mut attributes = batch.attributes() & !(CODEC_MASK | DELETE_HORIZON);
    if count > 0 {
        batch.compression().compress(&records, &mut compacted);
        attributes |= i16::from(batch.compression().id()) | if horizon.is_some() { DELETE_HORIZON } else { 0 };
    }
    if count == 0 || batch.timestamp_type() == TimestampType::LogAppendTime {
        max_timestamp = batch.max_timestamp();
    }
    let too_large = BatchError::DecompressedTooLarge { base_offset: batch.base_offset(), limit: i32::MAX as usize };
    let header = BatchHeader {
        base_offset: batch.base_offset(),
        length: i32::try_from(compacted.len() - LOG_OVERHEAD).map_err(|_| too_large)?,
        partition_leader_epoch: batch.partition_leader_epoch(),
        magic: 2,
        crc: 0,
        attributes,
        last_offset_delta: batch.last_offset_delta(),
        base_timestamp,
        max_timestamp,
        producer_id: batch.producer_id(),
        producer_epoch: batch.producer_epoch(),
        base_sequence: batch.base_sequence(),
        count,
    };
    let (room, _) = compacted.split_first_chunk_mut().expect("room for the header was made first");
    header.write(room);
    set_crc(&mut compacted);
    Ok(compacted.into())
}

/// Encodes a record into `out`, without the length before it.
fn put(out: &mut Vec<u8>, record: &Record<'_>, timestamp_delta: i64, base_offset: i64) {
    out.clear();
    out.push(0);
    varint::put(out, timestamp_delta);
    varint::put(out, record.offset - base_offset);
    put_nullable(out, record.key);
    put_nullable(out, record.value);
    let headers = record.headers();
    varint::put(out, headers.len() as i64);
    out.extend_from_slice(headers.bytes());
}
