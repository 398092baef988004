//! However what was fetched is cut into polls, each record is handed out once, and positions lie behind what was handed out.

use ackflow_protocol::machine::consumer::{Fetched, Position, Run, TopicPartition};
use ackflow_protocol::records::{BatchBuilder, BatchOptions, Batches, RecordBatch, assign_offsets, crc32c};
use proptest::prelude::*;

use super::super::part::Part;
use super::super::records::ConsumerRecords;
use crate::deserialize::{ByteArrayDeserializer, Deserializers};

/// A batch of the records of these offsets, none missing.
fn dense(first: i64, count: i64) -> RecordBatch {
    let mut builder = BatchBuilder::new(BatchOptions { max_size: 1 << 20, ..Default::default() });
    for offset in first..first + count {
        builder.try_append(1, None, Some(offset.to_string().as_bytes()), []).unwrap();
    }
    let mut bytes = builder.build().unwrap().to_vec();
    assign_offsets(&mut bytes, first, 5).unwrap();
    Batches::new(bytes.into()).next().unwrap().unwrap()
}

/// The same, with offsets behind the last that have no record, as compaction leaves them.
fn sparse(first: i64, count: i64, missing: i32) -> RecordBatch {
    let mut builder = BatchBuilder::new(BatchOptions { max_size: 1 << 20, ..Default::default() });
    for offset in first..first + count {
        builder.try_append(1, None, Some(offset.to_string().as_bytes()), []).unwrap();
    }
    let mut bytes = builder.build().unwrap().to_vec();
    assign_offsets(&mut bytes, first, 5).unwrap();
    let delta = i32::from_be_bytes(bytes[23..27].try_into().unwrap()) + missing;
    bytes[23..27].copy_from_slice(&delta.to_be_bytes());
    let crc = crc32c(&bytes[21..]);
    bytes[17..21].copy_from_slice(&crc.to_be_bytes());
    Batches::new(bytes.into()).next().unwrap().unwrap()
}

fn part(batches: Vec<RecordBatch>, first: i64) -> Part {
    let next = batches.last().map_or(first, |batch| batch.last_offset() + 1);
    Part::new(Fetched {
        partition: TopicPartition::new("t", 0),
        run: Run::default(),
        first,
        batches,
        next: Position { offset: next, leader_epoch: Some(5) },
        high_watermark: next,
        error: None,
    })
}

fn read(piece: super::super::part::Piece) -> (Vec<i64>, usize) {
    let bytes = Deserializers { key: ByteArrayDeserializer, value: ByteArrayDeserializer };
    let records = ConsumerRecords::new(vec![piece], bytes.into());
    (records.iter().map(|record| record.unwrap().offset).collect(), records.len())
}

proptest! {
    #[test]
    fn every_record_is_handed_out_once_however_it_is_cut(
        batches in prop::collection::vec((1..12i64, 0..3i32), 1..6),
        skip in 0..10i64,
        cuts in prop::collection::vec(1..20u32, 1..40),
    ) {
        let mut made = Vec::new();
        let mut offset = 100;
        let mut expected = Vec::new();
        for (count, missing) in batches {
            made.push(if missing > 0 { sparse(offset, count, missing) } else { dense(offset, count) });
            expected.extend(offset..offset + count);
            offset += count + i64::from(missing);
        }
        let first = (100 + skip).min(made[0].last_offset());
        expected.retain(|offset| *offset >= first);
        let mut part = part(made, first);
        let mut handed = Vec::new();
        let mut cuts = cuts.into_iter().cycle();
        loop {
            let max = cuts.next().unwrap();
            let (piece, position, all) = part.take(max);
            let (offsets, len) = read(piece);
            prop_assert_eq!(offsets.len(), len);
            prop_assert!(len as u32 <= max);
            handed.extend(offsets);
            if let Some(last) = handed.last() {
                prop_assert!(position.offset > *last, "{} after {}", position.offset, last);
            }
            let next = expected.get(handed.len());
            prop_assert!(next.is_none_or(|next| position.offset <= *next), "{} before {:?}", position.offset, next);
            prop_assert_eq!(position.leader_epoch, if position.offset == first { position.leader_epoch } else { Some(5) });
            if all {
                prop_assert_eq!(position.offset, offset);
                break;
            }
        }
        prop_assert_eq!(handed, expected);
    }
}

#[test]
fn a_malformed_record_is_an_error_that_names_the_rest_of_its_batch_and_the_next_batch_goes_on() {
    let mut bytes = BatchBuilder::new(BatchOptions::default());
    for offset in 0..5 {
        bytes.try_append(1, None, Some(format!("{offset}").as_bytes()), []).unwrap();
    }
    let mut bytes = bytes.build().unwrap().to_vec();
    assign_offsets(&mut bytes, 0, 5).unwrap();
    // The length of the last record.
    let at = bytes.len() - 8;
    bytes[at] = 0x7f;
    let bad = Batches::new(bytes.into()).next().unwrap().unwrap();
    let (piece, position, all) = part(vec![bad, dense(5, 2)], 0).take(100);
    assert!(all && position.offset == 7);
    let deserializers = Deserializers { key: ByteArrayDeserializer, value: ByteArrayDeserializer };
    let records = ConsumerRecords::new(vec![piece], deserializers.into());
    let read: Vec<_> = records.iter().map(|record| record.map(|record| record.offset)).collect();
    let good: Vec<i64> = read.iter().flatten().copied().collect();
    assert_eq!(good, [0, 1, 2, 3, 5, 6]);
    let error = read.iter().find_map(|record| record.as_ref().err()).unwrap();
    assert_eq!((error.first, error.last, &*error.topic), (4, 4, "t"));
}
