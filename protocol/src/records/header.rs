//! The fixed-size header of a batch.

/// Bytes of a batch before its first record.
pub const BATCH_OVERHEAD: usize = 61;

/// Bytes before the ones that the length field counts: the base offset and the length itself.
pub(super) const LOG_OVERHEAD: usize = 12;

/// Where the bytes start that the checksum covers; they end with the batch.
pub(super) const ATTRIBUTES_AT: usize = 21;

pub(super) const LEADER_EPOCH_AT: usize = 12;
pub(super) const MAGIC_AT: usize = 16;
pub(super) const CRC_AT: usize = 17;
pub(super) const MAX_TIMESTAMP_AT: usize = 35;
pub(super) const PRODUCER_ID_AT: usize = 43;

pub(super) const CODEC_MASK: i16 = 0x07;
pub(super) const LOG_APPEND_TIME: i16 = 0x08;
pub(super) const TRANSACTIONAL: i16 = 0x10;
pub(super) const CONTROL: i16 = 0x20;
pub(super) const DELETE_HORIZON: i16 = 0x40;

/// What the timestamps of a batch mean (`message.timestamp.type` of the topic).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimestampType {
    /// The producer's time, one a record.
    #[default]
    CreateTime,
    /// The time when the broker appended the batch, the same for all its records.
    LogAppendTime,
}

/// The header fields in wire order; sizes and meaning are those of the public format description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BatchHeader {
    pub(super) base_offset: i64,
    pub(super) length: i32,
    pub(super) partition_leader_epoch: i32,
    pub(super) magic: i8,
    pub(super) crc: u32,
    pub(super) attributes: i16,
    pub(super) last_offset_delta: i32,
    pub(super) base_timestamp: i64,
    pub(super) max_timestamp: i64,
    pub(super) producer_id: i64,
    pub(super) producer_epoch: i16,
    pub(super) base_sequence: i32,
    pub(super) count: i32,
}

impl BatchHeader {
    /// Reads the fields as they stand, if all are there; whether they make sense is for the caller to judge.
    #[inline]
    pub(super) fn parse(input: &[u8]) -> Option<Self> {
        let header: &[u8; BATCH_OVERHEAD] = input.first_chunk()?;
        let mut rest = &header[..];
        Some(Self {
            base_offset: i64::from_be_bytes(take(&mut rest)?),
            length: i32::from_be_bytes(take(&mut rest)?),
            partition_leader_epoch: i32::from_be_bytes(take(&mut rest)?),
            magic: i8::from_be_bytes(take(&mut rest)?),
            crc: u32::from_be_bytes(take(&mut rest)?),
            attributes: i16::from_be_bytes(take(&mut rest)?),
            last_offset_delta: i32::from_be_bytes(take(&mut rest)?),
            base_timestamp: i64::from_be_bytes(take(&mut rest)?),
            max_timestamp: i64::from_be_bytes(take(&mut rest)?),
            producer_id: i64::from_be_bytes(take(&mut rest)?),
            producer_epoch: i16::from_be_bytes(take(&mut rest)?),
            base_sequence: i32::from_be_bytes(take(&mut rest)?),
            count: i32::from_be_bytes(take(&mut rest)?),
        })
    }

    /// Writes the header; the exact mirror of [`parse`](Self::parse).
    pub(super) fn write(&self, out: &mut [u8; BATCH_OVERHEAD]) {
        let mut rest = &mut out[..];
        let mut put = |field: &[u8]| {
            let (head, tail) = std::mem::take(&mut rest).split_at_mut(field.len());
            head.copy_from_slice(field);
            rest = tail;
        };
        put(&self.base_offset.to_be_bytes());
        put(&self.length.to_be_bytes());
        put(&self.partition_leader_epoch.to_be_bytes());
        put(&self.magic.to_be_bytes());
        put(&self.crc.to_be_bytes());
        put(&self.attributes.to_be_bytes());
        put(&self.last_offset_delta.to_be_bytes());
        put(&self.base_timestamp.to_be_bytes());
        put(&self.max_timestamp.to_be_bytes());
        put(&self.producer_id.to_be_bytes());
        put(&self.producer_epoch.to_be_bytes());
        put(&self.base_sequence.to_be_bytes());
        put(&self.count.to_be_bytes());
    }
}

#[inline(always)]
fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (field, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*field)
}
