//! The walk over batches and ranges against a model that looks at every offset.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::records::{Compression, DEFAULT_DECOMPRESSION_LIMIT};

/// A batch to be made: which of its offsets have a record, and what is wrong with it.
#[derive(Debug, Clone)]
struct Made {
    /// Offsets that no batch covers, before this one.
    hole: i64,
    has_record: Vec<bool>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Good,
    Control,
    BadCrc,
    BadMagic,
    /// Says that it is compressed, which it is not.
    Undecodable,
    UnknownCodec,
    /// A record whose length is wrong, under a right checksum.
    BadRecord,
}

/// What should become of an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    HandedOut,
    Settled(AckType),
}

fn made() -> impl Strategy<Value = Made> {
    let kind = prop_oneof![
        6 => Just(Kind::Good),
        1 => Just(Kind::Control),
        1 => Just(Kind::BadCrc),
        1 => Just(Kind::BadMagic),
        1 => Just(Kind::Undecodable),
        1 => Just(Kind::UnknownCodec),
        1 => Just(Kind::BadRecord),
    ];
    let dense = (1..12usize).prop_map(|records| vec![true; records]);
    let sparse = prop::collection::vec(any::<bool>(), 1..12);
    (0..4i64, prop_oneof![dense, sparse], kind).prop_map(|(hole, has_record, kind)| Made { hole, has_record, kind })
}

fn encode(made: &Made, base: i64) -> Vec<u8> {
    let records: Vec<u8> = (0u8..).zip(&made.has_record).filter(|(_, has)| **has).map(|(delta, _)| delta).collect();
    let mut body = Vec::new();
    for delta in &records {
        // Length 6, then attributes, timestamp delta, offset delta, key and value null, no headers.
        let length = if made.kind == Kind::BadRecord { 14 } else { 12 };
        body.extend([length, 0, 0, delta * 2, 1, 1, 0]);
    }
    let mut batch = Vec::new();
    batch.extend(base.to_be_bytes());
    batch.extend((49 + body.len() as i32).to_be_bytes());
    batch.extend(0i32.to_be_bytes());
    batch.push(if made.kind == Kind::BadMagic { 3 } else { 2 });
    batch.extend([0; 4]);
    let attributes: i16 = match made.kind {
        Kind::Control => 0x20,
        Kind::Undecodable => Compression::Gzip.id().into(),
        Kind::UnknownCodec => 7,
        _ => 0,
    };
    batch.extend(attributes.to_be_bytes());
    batch.extend((made.has_record.len() as i32 - 1).to_be_bytes());
    batch.extend([0; 16]);
    batch.extend([0xff; 14]);
    batch.extend((records.len() as i32).to_be_bytes());
    batch.extend(body);
    let crc = crc32c::crc32c(&batch[21..]) ^ u32::from(made.kind == Kind::BadCrc);
    batch[17..21].copy_from_slice(&crc.to_be_bytes());
    batch
}

fn fate(made: &Made, has_record: bool) -> Fate {
    let is_empty = made.has_record.iter().all(|has| !has);
    let is_dense = made.has_record.iter().all(|has| *has);
    match made.kind {
        Kind::BadCrc | Kind::BadMagic => Fate::Settled(AckType::Reject),
        Kind::UnknownCodec => Fate::Settled(AckType::Release),
        Kind::Control => Fate::Settled(AckType::Gap),
        Kind::Undecodable if !is_empty => Fate::Settled(AckType::Release),
        // The records of a batch that says it has them all are not looked at here.
        Kind::BadRecord if !is_empty && !is_dense => Fate::Settled(AckType::Reject),
        _ if has_record => Fate::HandedOut,
        _ => Fate::Settled(AckType::Gap),
    }
}

proptest! {
    #[test]
    fn each_acquired_offset_is_handed_out_or_settled_as_its_batch_wants(
        batches in prop::collection::vec(made(), 0..6),
        acquired in prop::collection::vec((0..6i64, 0..15i64, 1..3i16), 0..6),
        cut in any::<bool>(),
    ) {
        let mut fates = BTreeMap::new();
        let mut bytes = Vec::new();
        let mut next = 0;
        for made in &batches {
            let base = next + made.hole;
            // A batch whose header cannot be read may reach up to the next one.
            next = base + made.has_record.len() as i64;
            fates.extend((base..).zip(&made.has_record).map(|(offset, has)| (offset, fate(made, *has))));
            bytes.extend(encode(made, base));
        }
        let magic_end = |offset: i64| {
            // The magic is checked before the offsets are: the batch is taken to end where the next begins.
            let before = fates.range(..offset).next_back();
            let made = batches.iter().scan(0, |next, made| {
                let base = *next + made.hole;
                *next = base + made.has_record.len() as i64;
                Some((base, made.kind))
            });
            let last = made.take_while(|(base, _)| *base <= offset).last();
            (last.map(|(_, kind)| kind) == Some(Kind::BadMagic) && before.is_some()).then_some(AckType::Reject)
        };
        if cut {
            bytes.extend(&encode(&Made { hole: 0, has_record: vec![true; 9], kind: Kind::Good }, next)[..60]);
        }
        let behind = if cut { AckType::Release } else { AckType::Gap };

        let mut ranges = Vec::new();
        let mut wanted = BTreeMap::new();
        let mut from = 0;
        for (hole, more, delivery_count) in acquired {
            let (first_offset, last_offset) = (from + hole, from + hole + more);
            from = last_offset + 1;
            ranges.push(AcquiredRecords { first_offset, last_offset, delivery_count });
            for offset in first_offset..=last_offset {
                let fate = fates.get(&offset).copied().unwrap_or_else(|| {
                    let ack = magic_end(offset).unwrap_or(if offset < next { AckType::Gap } else { behind });
                    Fate::Settled(ack)
                });
                wanted.insert(offset, (fate, delivery_count));
            }
        }

        let content = read(bytes.into(), &ranges, true, DEFAULT_DECOMPRESSION_LIMIT);
        let mut got = BTreeMap::new();
        for range in &content.ranges {
            for offset in range.first..=range.last {
                prop_assert!(got.insert(offset, Fate::HandedOut).is_none());
                prop_assert_eq!(range.delivery_count, wanted[&offset].1);
                let holds = |batch: &RecordBatch| batch.base_offset() <= offset && offset <= batch.last_offset();
                prop_assert_eq!(content.batches.iter().filter(|batch| holds(batch)).count(), 1);
            }
        }
        prop_assert_eq!(content.records as usize, got.len());
        for range in &content.settled {
            for offset in range.first..=range.last {
                prop_assert!(got.insert(offset, Fate::Settled(range.ack)).is_none());
            }
        }
        let wanted: BTreeMap<_, _> = wanted.into_iter().map(|(offset, (fate, _))| (offset, fate)).collect();
        prop_assert_eq!(got, wanted);
        prop_assert!(content.ranges.is_sorted_by(|a, b| a.last < b.first));
        prop_assert!(content.batches.is_sorted_by(|a, b| a.last_offset() < b.base_offset()));
        for batch in &content.batches {
            prop_assert!(content.ranges.iter().any(|range| range.first <= batch.last_offset() && batch.base_offset() <= range.last));
        }
        prop_assert!(content.nonsense.is_none());
    }
}

#[test]
fn batch_that_begins_within_the_one_before_and_holds_nothing_acquired_is_let_go() {
    let good = |has_record: Vec<bool>| Made { hole: 0, has_record, kind: Kind::Good };
    let mut without_16 = vec![true; 13];
    without_16[16 - 8] = false;
    let records = [encode(&good(vec![true; 5]), 10), encode(&good(without_16), 8)].concat();
    let acquired = |first_offset, last_offset| AcquiredRecords { first_offset, last_offset, delivery_count: 1 };
    let content = read(records.into(), &[acquired(10, 14), acquired(16, 16)], true, DEFAULT_DECOMPRESSION_LIMIT);
    assert_eq!(content.batches.iter().map(RecordBatch::base_offset).collect::<Vec<_>>(), [10]);
    assert_eq!(content.settled, [AckRange { first: 16, last: 16, ack: AckType::Gap }]);
}
