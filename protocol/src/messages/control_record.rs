//! Key and value of control records: what a broker writes into a log to end a transaction. Version 0, never flexible.
//!
//! [`ControlRecord`](crate::records::control::ControlRecord) reads both from a record at once, without copying them.

use std::ops::RangeInclusive;

use super::embedded::Embedded;
use crate::wire::{Decode, DecodeError, Decoder, Encode, Encoder};

/// The key of a control record.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ControlRecordTypeSchema {
    /// What the record says: [`ABORT`](Self::ABORT), [`COMMIT`](Self::COMMIT), or something of the metadata quorum.
    pub r#type: i16,
}

impl ControlRecordTypeSchema {
    /// The producer's transaction was aborted.
    pub const ABORT: i16 = 0;
    /// The producer's transaction was committed.
    pub const COMMIT: i16 = 1;
}

/// The value of a control record that ends a transaction.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EndTxnMarker {
    /// The epoch of the transaction coordinator that ended it.
    pub coordinator_epoch: i32,
}

impl Encode for ControlRecordTypeSchema {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i16("type", self.r#type);
    }
}

impl Decode for ControlRecordTypeSchema {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { r#type: r.i16("type")? })
    }
}

impl Encode for EndTxnMarker {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("coordinatorEpoch", self.coordinator_epoch);
    }
}

impl Decode for EndTxnMarker {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { coordinator_epoch: r.i32("coordinatorEpoch")? })
    }
}

impl Embedded for ControlRecordTypeSchema {
    const NAME: &'static str = "ControlRecordTypeSchema";
    const VERSIONS: RangeInclusive<i16> = 0..=0;
}

impl Embedded for EndTxnMarker {
    const NAME: &'static str = "EndTxnMarker";
    const VERSIONS: RangeInclusive<i16> = 0..=0;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::control::ControlRecord;
    use crate::records::{BatchBuilder, BatchOptions, Batches};

    #[test]
    fn record_of_these_is_the_control_record() {
        let key = ControlRecordTypeSchema { r#type: ControlRecordTypeSchema::COMMIT }.to_versioned_bytes(0).unwrap();
        let value = EndTxnMarker { coordinator_epoch: 258 }.to_versioned_bytes(0).unwrap();
        assert_eq!((&key[..], &value[..]), (&[0, 0, 0, 1][..], &[0, 0, 0, 0, 1, 2][..]));

        let mut batch = BatchBuilder::new(BatchOptions::default());
        batch.try_append(0, Some(&key), Some(&value), []).unwrap();
        let batch = Batches::new(batch.build().unwrap()).next().unwrap().unwrap();
        let record = batch.records().next().unwrap().unwrap();
        assert_eq!(ControlRecord::parse(&record).unwrap(), ControlRecord::Commit { coordinator_epoch: 258 });
    }
}
