//! One batch: its header, checksum and decompression.

use bytes::Bytes;

use super::{
    compression::{Compression, DecompressError},
    crc::crc32c,
    error::BatchError,
    header::{
        ATTRIBUTES_AT, BATCH_OVERHEAD, BatchHeader, CODEC_MASK, CONTROL, DELETE_HORIZON, LOG_APPEND_TIME, LOG_OVERHEAD,
        MAGIC_AT, TRANSACTIONAL, TimestampType,
    },
    owned::OwnedRecord,
    record::{Record, RecordCursor, Records},
};

/// How far one batch may inflate unless told otherwise: 128 MiB, well above the batches that brokers accept
/// (`max.message.bytes` is 1 MiB by default and counts compressed bytes).
pub const DEFAULT_DECOMPRESSION_LIMIT: usize = 128 << 20;

/// One batch: the header parsed, the body untouched. A clone shares the bytes.
///
/// The batch is a slice of the response that it came in and keeps the whole response in memory while it lives. Read it
/// in the order [`verify_crc`](Self::verify_crc), [`decompress`](Self::decompress), [`records`](Self::records).
///
/// The offsets that a batch covers are [`base_offset`](Self::base_offset) to [`last_offset`](Self::last_offset). After
/// compaction some of them have no record, at either end or in between, or none has.
#[derive(Debug, Clone)]
pub struct RecordBatch {
    header: BatchHeader,
    compression: Compression,
    /// The batch as it came, or the bare records after decompression.
    bytes: Bytes,
    decompressed: bool,
}

impl RecordBatch {
    /// Reads the header of a batch that is known to be complete: `frame` has the size that its length field says.
    pub(super) fn parse(frame: Bytes) -> Result<Self, BatchError> {
        let header = match BatchHeader::parse(&frame) {
            Some(header) if header.magic == 2 => header,
            _ => return Err(foreign(&frame)),
        };
        let BatchHeader { base_offset, last_offset_delta, count, .. } = header;
        let last_offset = base_offset.checked_add(last_offset_delta.into());
        // The offset behind it, where reading goes on, is a number too.
        let is_offset = |last: &i64| *last >= base_offset && base_offset >= 0 && *last < i64::MAX;
        let Some(last_offset) = last_offset.filter(is_offset) else {
            return Err(BatchError::OffsetRange { base_offset, last_offset_delta });
        };
        if count < 0 {
            return Err(BatchError::Count { base_offset, last_offset, count });
        }
        let id = (header.attributes & CODEC_MASK) as u8;
        let Some(compression) = Compression::from_id(id) else {
            return Err(BatchError::Codec { base_offset, last_offset, id });
        };
        Ok(Self { header, compression, bytes: frame, decompressed: false })
    }

    /// First offset that the batch covers.
    pub fn base_offset(&self) -> i64 {
        self.header.base_offset
    }

    /// Last offset that the batch covers; it need not have a record.
    pub fn last_offset(&self) -> i64 {
        self.header.base_offset + i64::from(self.header.last_offset_delta)
    }

    /// Distance from the first to the last offset, 0 or more.
    pub fn last_offset_delta(&self) -> i32 {
        self.header.last_offset_delta
    }

    /// How many records the batch says it has, 0 or more. Do not size anything by it: it is checked only by walking.
    pub fn count(&self) -> i32 {
        self.header.count
    }

    /// The attribute bits as they came, unknown ones among them.
    pub fn attributes(&self) -> i16 {
        self.header.attributes
    }

    /// The codec that the batch came with, also after decompression.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// Whether the records must be decompressed before they can be read.
    #[inline]
    pub fn is_compressed(&self) -> bool {
        self.compression != Compression::None && !self.decompressed
    }

    /// What the timestamps mean.
    pub fn timestamp_type(&self) -> TimestampType {
        if self.header.attributes & LOG_APPEND_TIME == 0 {
            TimestampType::CreateTime
        } else {
            TimestampType::LogAppendTime
        }
    }

    /// Whether the records are written by the broker for itself (transaction markers) and never given to an
    /// application.
    pub fn is_control(&self) -> bool {
        self.header.attributes & CONTROL != 0
    }

    /// Whether the batch is part of a transaction.
    pub fn is_transactional(&self) -> bool {
        self.header.attributes & TRANSACTIONAL != 0
    }

    /// Whether [`base_timestamp`](Self::base_timestamp) is the time when tombstones may go, which compaction stores
    /// there. Record timestamps are deltas to it all the same.
    pub fn has_delete_horizon(&self) -> bool {
        self.header.attributes & DELETE_HORIZON != 0
    }

    /// What the timestamp deltas count from, in ms.
    pub fn base_timestamp(&self) -> i64 {
        self.header.base_timestamp
    }

    /// Largest timestamp of the records in ms; under [`TimestampType::LogAppendTime`] the timestamp of each. -1 when
    /// compaction left none.
    pub fn max_timestamp(&self) -> i64 {
        self.header.max_timestamp
    }

    /// Id of the idempotent producer, or -1.
    pub fn producer_id(&self) -> i64 {
        self.header.producer_id
    }

    /// Epoch of the idempotent producer, or -1.
    pub fn producer_epoch(&self) -> i16 {
        self.header.producer_epoch
    }

    /// Sequence number of the first record, or -1.
    pub fn base_sequence(&self) -> i32 {
        self.header.base_sequence
    }

    /// Epoch of the leader that appended the batch.
    pub fn partition_leader_epoch(&self) -> i32 {
        self.header.partition_leader_epoch
    }

    /// Size of the batch on the wire, header included, compressed as it came.
    pub fn size_in_bytes(&self) -> usize {
        LOG_OVERHEAD + self.header.length as usize
    }

    /// Whether every offset of the batch has a record for the application, by the header's word: then no walk is needed
    /// to find gaps.
    pub fn is_dense(&self) -> bool {
        !self.is_control() && i64::from(self.header.count) == i64::from(self.header.last_offset_delta) + 1
    }

    /// Compares the checksum with the bytes. Do it before [`decompress`](Self::decompress), which lets go of the bytes
    /// that are covered.
    ///
    /// # Errors
    /// [`BatchError::Crc`] when the batch is corrupt, [`BatchError::CrcGone`] when it was decompressed before.
    pub fn verify_crc(&self) -> Result<(), BatchError> {
        let BatchHeader { base_offset, crc: stored, .. } = self.header;
        if self.decompressed {
            return Err(BatchError::CrcGone { base_offset });
        }
        let computed = crc32c(&self.bytes[ATTRIBUTES_AT..]);
        if computed != stored {
            return Err(BatchError::Crc { base_offset, stored, computed });
        }
        Ok(())
    }

    /// The same batch with records that can be read. An uncompressed batch is given back as it is, without a copy.
    ///
    /// At most `limit` bytes come out ([`DEFAULT_DECOMPRESSION_LIMIT`] is a good value), whatever sizes the compressed
    /// data claims; what is allocated grows with what was really inflated, from 8 MiB on at most.
    ///
    /// # Errors
    /// [`BatchError::Decompress`] and [`BatchError::DecompressedTooLarge`].
    #[inline]
    pub fn decompress(self, limit: usize) -> Result<Self, BatchError> {
        if self.is_compressed() { self.inflate(limit) } else { Ok(self) }
    }

    fn inflate(self, limit: usize) -> Result<Self, BatchError> {
        let BatchHeader { base_offset, .. } = self.header;
        // Compaction that removes every record leaves a header without a body. Kafka's cleaner takes the codec out of it, but nothing in
        // the format says that it must.
        let records = if self.header.count == 0 {
            Vec::new()
        } else {
            // Positions in a batch are 32 bits wide.
            let limit = limit.min(u32::MAX as usize);
            self.compression.decompress(self.body(), limit).map_err(|error| match error {
                DecompressError::TooLarge { limit } => BatchError::DecompressedTooLarge { base_offset, limit },
                DecompressError::Corrupt { codec, reason } => BatchError::Decompress { base_offset, codec, reason },
            })?
        };
        Ok(Self { bytes: Bytes::from(records), decompressed: true, ..self })
    }

    /// Walks the records. Of a batch that is still compressed it gives one error and no record.
    pub fn records(&self) -> Records<'_> {
        self.records_from(RecordCursor::default())
    }

    /// Walks the records from where an earlier walk over this batch stood, by its [`Records::cursor`].
    pub fn records_from(&self, cursor: RecordCursor) -> Records<'_> {
        Records::new(self, cursor)
    }

    /// Goes on from `cursor` to the first record whose offset is `offset` or higher, or to the end. Records on the way
    /// are passed by their length; neither key nor value is looked at.
    ///
    /// # Errors
    /// As [`Records`], for what was passed.
    pub fn skip_to(&self, cursor: RecordCursor, offset: i64) -> Result<RecordCursor, BatchError> {
        let mut records = self.records_from(cursor);
        records.skip_to(offset)?;
        Ok(records.cursor())
    }

    /// An owned copy of a record's views that shares this batch's bytes.
    pub fn own(&self, record: &Record<'_>) -> OwnedRecord {
        OwnedRecord::new(&self.bytes, record)
    }

    /// Bytes of the encoded records, compressed unless this batch is not or no longer.
    pub(crate) fn body_len(&self) -> usize {
        self.body().len()
    }

    /// The encoded records, compressed unless this batch is not or no longer.
    pub(super) fn body(&self) -> &[u8] {
        if self.decompressed { &self.bytes } else { &self.bytes[BATCH_OVERHEAD..] }
    }
}

/// The error for a batch that is of another format, or shorter than a header of this one.
fn foreign(frame: &[u8]) -> BatchError {
    let base_offset = frame.first_chunk().map_or(-1, |bytes| i64::from_be_bytes(*bytes));
    match frame.get(MAGIC_AT) {
        Some(&magic) if magic != 2 => BatchError::Magic { base_offset, magic: magic as i8 },
        _ => BatchError::Length { base_offset, length: frame.len().saturating_sub(LOG_OVERHEAD) as i32 },
    }
}
