//! Control records: transaction markers, written by the broker into control batches.

use bytes::Bytes;
use nom::{
    IResult, Parser,
    number::complete::{be_i16, be_i32},
};

use super::{
    builder::{BatchBuilder, BatchOptions},
    header::{ATTRIBUTES_AT, CONTROL, TRANSACTIONAL},
    record::Record,
    rewrite::set_crc,
};

/// What a control record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlRecord {
    /// The transaction of the batch's producer was aborted.
    Abort {
        /// Epoch of the transaction coordinator that wrote the marker.
        coordinator_epoch: i32,
    },
    /// The transaction of the batch's producer was committed.
    Commit {
        /// Epoch of the transaction coordinator that wrote the marker.
        coordinator_epoch: i32,
    },
    /// Anything else: of the metadata quorum, or not known yet. Clients pass over it.
    Other {
        /// The type in the key.
        kind: i16,
    },
}

impl ControlRecord {
    /// Reads a record of a batch that [is control](super::RecordBatch::is_control).
    ///
    /// # Errors
    /// When key or value is missing, shorter than its version demands, or of a negative version.
    pub fn parse(record: &Record<'_>) -> Result<Self, MalformedControlRecord> {
        let malformed = MalformedControlRecord { offset: record.offset };
        let (_, kind) = key(record.key.unwrap_or_default()).map_err(|_| malformed)?;
        if kind != ABORT && kind != COMMIT {
            return Ok(Self::Other { kind });
        }
        let (_, coordinator_epoch) = marker(record.value.unwrap_or_default()).map_err(|_| malformed)?;
        Ok(if kind == ABORT { Self::Abort { coordinator_epoch } } else { Self::Commit { coordinator_epoch } })
    }
}

/// A control record that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the control record at offset {offset} is malformed")]
pub struct MalformedControlRecord {
    /// Offset of the record.
    pub offset: i64,
}

/// The control batch that ends the transaction of a producer at `timestamp`, in ms: of base offset 0, as
/// [`BatchBuilder::build`] gives a batch.
pub fn end_of_transaction(
    committed: bool,
    coordinator_epoch: i32,
    producer_id: i64,
    producer_epoch: i16,
    timestamp: i64,
) -> Bytes {
    let kind = if committed { COMMIT } else { ABORT };
    let mut key = [0; 4];
    key[2..].copy_from_slice(&kind.to_be_bytes());
    let mut value = [0; 6];
    value[2..].copy_from_slice(&coordinator_epoch.to_be_bytes());
    let options = BatchOptions { transactional: true, producer_id, producer_epoch, ..BatchOptions::default() };
    let mut builder = BatchBuilder::new(options);
    let built = builder.try_append(timestamp, Some(&key), Some(&value), []).and_then(|_| builder.build());
    let mut batch = built.expect("one record of a few bytes fits any batch").to_vec();
    batch[ATTRIBUTES_AT..][..2].copy_from_slice(&(TRANSACTIONAL | CONTROL).to_be_bytes());
    set_crc(&mut batch);
    batch.into()
}

const ABORT: i16 = 0;
const COMMIT: i16 = 1;

/// Versions only add fields at the end, so every one that is not negative can be read.
fn version(input: &[u8]) -> IResult<&[u8], i16> {
    nom::combinator::verify(be_i16, |version| *version >= 0).parse(input)
}

/// The key of any control record: version, type.
fn key(input: &[u8]) -> IResult<&[u8], i16> {
    (version, be_i16).map(|(_, kind)| kind).parse(input)
}

/// The value of a transaction marker: version, coordinator epoch.
fn marker(input: &[u8]) -> IResult<&[u8], i32> {
    (version, be_i32).map(|(_, epoch)| epoch).parse(input)
}
