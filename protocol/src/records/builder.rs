//! Writing batches.

use bytes::Bytes;

use super::{
    append::{Usual, put_any, size_of_any},
    compression::{Compression, CompressionLevel},
    header::{BATCH_OVERHEAD, BatchHeader, LOG_OVERHEAD, TRANSACTIONAL},
    headers::Header,
    rewrite::set_crc,
    varint,
};

/// What a batch is made with. The default is that of a plain producer: uncompressed, 16 KiB, no producer id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchOptions {
    /// Codec of the records.
    pub compression: Compression,
    /// How hard the codec tries.
    pub level: CompressionLevel,
    /// Size in bytes, before compression, above which [`BatchBuilder::try_append`] says that the batch is full. The
    /// first record always fits.
    pub max_size: usize,
    /// Whether the batch is part of a transaction.
    pub transactional: bool,
    /// Id of the idempotent producer, or -1.
    pub producer_id: i64,
    /// Epoch of the idempotent producer, or -1.
    pub producer_epoch: i16,
    /// Sequence number of the first record, or -1.
    pub base_sequence: i32,
}

impl Default for BatchOptions {
    fn default() -> Self {
        Self {
            compression: Compression::None,
            level: CompressionLevel::default(),
            max_size: 16 << 10,
            transactional: false,
            producer_id: -1,
            producer_epoch: -1,
            base_sequence: -1,
        }
    }
}

/// Builds one batch in place: records are encoded as they come, into the buffer that becomes the batch.
#[derive(Debug, Clone)]
pub struct BatchBuilder {
    options: BatchOptions,
    /// Room for the header, then the records, not compressed yet, then room for more.
    buffer: Vec<u8>,
    /// Where the room for more begins.
    len: usize,
    count: i32,
    base_timestamp: i64,
    max_timestamp: i64,
}

/// Why a record or a batch cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The format holds 2^31-1 bytes a batch, and as many a record.
    #[error("a record of {size} bytes does not fit a batch; the format ends at 2147483647 bytes")]
    RecordTooLarge {
        /// Size of the record, encoded.
        size: usize,
    },
    /// A batch has at least one record.
    #[error("a batch without records cannot be written")]
    Empty,
    /// Compression made the batch larger than the format allows.
    #[error("a batch of {size} bytes does not fit the format, which ends at 2147483647 bytes")]
    BatchTooLarge {
        /// Size of the batch, compressed.
        size: usize,
    },
}

/// Largest batch, header included, that the format can describe.
const MAX_BATCH: usize = i32::MAX as usize;

impl BatchBuilder {
    /// An empty batch.
    pub fn new(options: BatchOptions) -> Self {
        Self::with_capacity(options, BATCH_OVERHEAD)
    }

    /// An empty batch with room for `bytes`, header included, before compression: nothing moves until it has more.
    pub fn with_capacity(options: BatchOptions, bytes: usize) -> Self {
        let mut buffer = Vec::with_capacity(bytes.max(BATCH_OVERHEAD) + Usual::SLACK);
        buffer.resize(BATCH_OVERHEAD, 0);
        Self { options, buffer, len: BATCH_OVERHEAD, count: 0, base_timestamp: -1, max_timestamp: -1 }
    }

    /// Appends a record with `timestamp` in ms and says its place in the batch, from 0; `None`, and nothing is
    /// appended, when the batch is full.
    ///
    /// # Errors
    /// [`BuildError::RecordTooLarge`] when no batch could hold the record.
    pub fn try_append<'h, H>(
        &mut self,
        timestamp: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: H,
    ) -> Result<Option<i32>, BuildError>
    where
        H: IntoIterator<Item = Header<'h>>,
        H::IntoIter: Clone,
    {
        let headers = headers.into_iter();
        let base_timestamp = if self.count == 0 { timestamp } else { self.base_timestamp };
        let timestamp_delta = timestamp.wrapping_sub(base_timestamp);
        let has_headers = headers.clone().next().is_some();

        let usual = if has_headers { None } else { Usual::new(timestamp_delta, self.count, key, value) };
        if let Some(usual) = usual {
            let end = self.len + usual.framed;
            if self.is_full_with(end) {
                return Ok(None);
            }
            if end + Usual::SLACK > self.buffer.len() {
                self.make_room(end + Usual::SLACK);
            }
            usual.put(&mut self.buffer[self.len..end + Usual::SLACK]);
            self.len = end;
        } else if !self.append_any(timestamp_delta, key, value, headers)? {
            return Ok(None);
        }

        let place = self.count;
        self.base_timestamp = base_timestamp;
        self.max_timestamp = if place == 0 { timestamp } else { self.max_timestamp.max(timestamp) };
        self.count += 1;
        Ok(Some(place))
    }

    /// Appends a record that is not a usual one; false where the batch is full.
    #[inline(never)]
    fn append_any<'h>(
        &mut self,
        timestamp_delta: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: impl Iterator<Item = Header<'h>> + Clone,
    ) -> Result<bool, BuildError> {
        let size = size_of_any(timestamp_delta, self.count, key, value, headers.clone());
        let framed = size.saturating_add(varint::size(size as i64));
        if framed > MAX_BATCH - BATCH_OVERHEAD {
            return Err(BuildError::RecordTooLarge { size });
        }
        let end = self.len + framed;
        if self.is_full_with(end) {
            return Ok(false);
        }
        self.buffer.truncate(self.len);
        self.buffer.reserve(framed + Usual::SLACK);
        put_any(&mut self.buffer, size, timestamp_delta, self.count, key, value, headers);
        debug_assert_eq!(self.buffer.len(), end);
        self.len = end;
        Ok(true)
    }

    /// Whether another record, with which the batch would have `size` bytes, is one too many.
    #[inline(always)]
    fn is_full_with(&self, size: usize) -> bool {
        self.count > 0 && size > self.options.max_size.min(MAX_BATCH)
    }

    /// Zeros a little more than is needed: not much, because a record that is not a usual one takes the room away.
    #[cold]
    fn make_room(&mut self, needed: usize) {
        self.buffer.resize(needed + self.len.clamp(256, 4096), 0);
    }

    /// Records so far.
    pub fn count(&self) -> i32 {
        self.count
    }

    /// Whether there is no record yet.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Size of the batch so far, header included, before compression.
    pub fn size_in_bytes(&self) -> usize {
        self.len
    }

    /// Sets what an idempotent producer knows only when the batch is sent: its id and epoch, and the sequence number of
    /// the first record.
    pub fn set_producer_state(&mut self, producer_id: i64, producer_epoch: i16, base_sequence: i32) {
        self.options.producer_id = producer_id;
        self.options.producer_epoch = producer_epoch;
        self.options.base_sequence = base_sequence;
    }

    /// Compresses the records and gives the batch, with base offset 0 and leader epoch -1 as a producer sends it.
    ///
    /// # Errors
    /// [`BuildError::Empty`] and [`BuildError::BatchTooLarge`].
    pub fn build(self) -> Result<Bytes, BuildError> {
        let mut batch = self.assemble()?;
        set_crc(&mut batch);
        Ok(Bytes::from(batch))
    }

    /// As [`build`](Self::build), without a checksum: [`assign_sequence`](super::assign_sequence) makes it, and has to come before the batch is sent.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn build_unnumbered(self) -> Result<Bytes, BuildError> {
        self.assemble().map(Bytes::from)
    }

    fn assemble(mut self) -> Result<Vec<u8>, BuildError> {
        if self.count == 0 {
            return Err(BuildError::Empty);
        }
        self.buffer.truncate(self.len);
        let options = self.options;
        let mut batch = match options.compression {
            Compression::None => self.buffer,
            codec => {
                let records = &self.buffer[BATCH_OVERHEAD..];
                let mut batch = Vec::with_capacity(BATCH_OVERHEAD + records.len() / 2);
                batch.resize(BATCH_OVERHEAD, 0);
                codec.compress_at(options.level, records, &mut batch);
                batch
            }
        };
        if batch.len() > MAX_BATCH {
            return Err(BuildError::BatchTooLarge { size: batch.len() });
        }
        let header = BatchHeader {
            base_offset: 0,
            length: (batch.len() - LOG_OVERHEAD) as i32,
            partition_leader_epoch: -1,
            magic: 2,
            crc: 0,
            attributes: i16::from(options.compression.id()) | if options.transactional { TRANSACTIONAL } else { 0 },
            last_offset_delta: self.count - 1,
            base_timestamp: self.base_timestamp,
            max_timestamp: self.max_timestamp,
            producer_id: options.producer_id,
            producer_epoch: options.producer_epoch,
            base_sequence: options.base_sequence,
            count: self.count,
        };
        let (room, _) = batch.split_first_chunk_mut().expect("room for the header was made first");
        header.write(room);
        Ok(batch)
    }
}
