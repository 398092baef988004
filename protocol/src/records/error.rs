//! What can be wrong with a batch and with a record in it.

use super::compression::Compression;

/// Why a batch, or a record in it, cannot be read. Bytes that come from a broker never do worse than this.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// The length field is too small for a header. When it is too small for any format (below 14), where the next batch
    /// starts is unknown, and the walk over the field ends.
    #[error("batch at offset {base_offset} says it is {length} bytes long, less than any batch is")]
    Length {
        /// First offset of the batch, as it says itself.
        base_offset: i64,
        /// The length field: bytes that follow it.
        length: i32,
    },

    /// A batch of another format. Magic 0 and 1 were written by brokers and clients before Kafka 0.11. There
    /// `base_offset` is the offset of one message, or of the last one in a compressed set, so the offsets that the
    /// batch covers are not known.
    #[error("batch at offset {base_offset} has magic {magic}, {}", of_magic(*.magic))]
    Magic {
        /// The offset field, in the same place in every format.
        base_offset: i64,
        /// The magic byte.
        magic: i8,
    },

    /// The offsets of the batch run backwards, or leave none for the record behind it.
    #[error("batch at offset {base_offset} has last offset delta {last_offset_delta}")]
    OffsetRange {
        /// First offset of the batch.
        base_offset: i64,
        /// The field `lastOffsetDelta`.
        last_offset_delta: i32,
    },

    /// The record count is negative.
    #[error("batch of offsets {base_offset} to {last_offset} has record count {count}")]
    Count {
        /// First offset of the batch.
        base_offset: i64,
        /// Last offset of the batch.
        last_offset: i64,
        /// The field `recordsCount`.
        count: i32,
    },

    /// The attributes name a codec that does not exist.
    #[error("batch of offsets {base_offset} to {last_offset} has unknown compression codec {id}")]
    Codec {
        /// First offset of the batch.
        base_offset: i64,
        /// Last offset of the batch.
        last_offset: i64,
        /// The codec bits of the attributes.
        id: u8,
    },

    /// The checksum does not match: the batch was damaged on disk or on its way.
    #[error("batch at offset {base_offset} is corrupt: stored crc {stored:#010x}, computed {computed:#010x}")]
    Crc {
        /// First offset of the batch.
        base_offset: i64,
        /// The checksum in the header.
        stored: u32,
        /// The checksum of the bytes.
        computed: u32,
    },

    /// The checksum was asked for after decompression, when the bytes that it covers are gone. A mistake of the caller.
    #[error("batch at offset {base_offset} is decompressed already; its crc must be verified before")]
    CrcGone {
        /// First offset of the batch.
        base_offset: i64,
    },

    /// Records were asked for before decompression. A mistake of the caller.
    #[error("batch at offset {base_offset} is compressed with {codec}; decompress it first")]
    Compressed {
        /// First offset of the batch.
        base_offset: i64,
        /// The codec of the batch.
        codec: Compression,
    },

    /// The codec refused the compressed bytes.
    #[error("batch at offset {base_offset} cannot be decompressed with {codec}: {reason}")]
    Decompress {
        /// First offset of the batch.
        base_offset: i64,
        /// The codec of the batch.
        codec: Compression,
        /// What the codec says.
        reason: String,
    },

    /// The batch inflates to more than is allowed.
    #[error("batch at offset {base_offset} inflates to more than {limit} bytes; raise the decompression limit")]
    DecompressedTooLarge {
        /// First offset of the batch.
        base_offset: i64,
        /// The limit that was given, in bytes.
        limit: usize,
    },

    /// A record is malformed. The records before it are good, and none after it can be found.
    #[error("record {index} of the batch at offset {base_offset} is malformed: {fault}")]
    Record {
        /// First offset of the batch.
        base_offset: i64,
        /// Which record of the batch, from 0.
        index: u32,
        /// What is wrong with it.
        fault: RecordFault,
    },

    /// Bytes are left after the last record.
    #[error("batch at offset {base_offset} has {bytes} bytes after its last record")]
    Trailing {
        /// First offset of the batch.
        base_offset: i64,
        /// How many bytes are left.
        bytes: usize,
    },
}

/// What a batch of another magic is, and what helps.
fn of_magic(magic: i8) -> &'static str {
    match magic {
        0 | 1 => {
            "the message format from before Kafka 0.11, and only magic 2 is read here: fetch with version 4 or newer; where the log itself \
            is so old, copy the topic to a new one with Kafka's own consumer and producer"
        }
        _ => "which is no message format of Kafka 4.4.0: the bytes are damaged, or those of another format",
    }
}

impl BatchError {
    /// First offset of the batch that is at fault, as the batch says itself.
    pub fn base_offset(&self) -> i64 {
        match *self {
            Self::Length { base_offset, .. }
            | Self::Magic { base_offset, .. }
            | Self::OffsetRange { base_offset, .. }
            | Self::Count { base_offset, .. }
            | Self::Codec { base_offset, .. }
            | Self::Crc { base_offset, .. }
            | Self::CrcGone { base_offset }
            | Self::Compressed { base_offset, .. }
            | Self::Decompress { base_offset, .. }
            | Self::DecompressedTooLarge { base_offset, .. }
            | Self::Record { base_offset, .. }
            | Self::Trailing { base_offset, .. } => base_offset,
        }
    }

    /// Whether decompression failed. Kafka's client releases the records of such a batch, since another member may be
    /// able to read them, and rejects those of a batch that is corrupt.
    pub fn is_decompression(&self) -> bool {
        matches!(self, Self::Decompress { .. } | Self::DecompressedTooLarge { .. })
    }
}

/// What is wrong with one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordFault {
    /// The batch or the record ends before the field does.
    #[error("it ends too early")]
    Truncated,

    /// A variable-length integer is longer than its type allows, or has bits above it.
    #[error("a variable-length integer does not fit its type")]
    Varint,

    /// A length is below -1 (null), or is null where nothing may be null.
    #[error("a field has length {0}")]
    Length(i32),

    /// The record's offset lies outside its batch, or not after the offset of the record before it.
    #[error("its offset delta is {0}")]
    OffsetDelta(i32),

    /// The header count is negative or larger than the record has room for.
    #[error("it has header count {0}")]
    HeaderCount(i32),

    /// The record is longer than its fields.
    #[error("{0} bytes are left after its last field")]
    Trailing(usize),
}
