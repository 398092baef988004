//! What is left of a batch when some of its records go.

use super::*;

/// Offsets 7 to 12: keys `k0` to `k5`, times from 1000 on, a header each; a null value for the last.
fn batch(compression: Compression) -> RecordBatch {
    only_batch(bytes(compression).into())
}

fn bytes(compression: Compression) -> Vec<u8> {
    let options = BatchOptions {
        compression,
        transactional: true,
        producer_id: 70,
        producer_epoch: 3,
        base_sequence: 40,
        ..BatchOptions::default()
    };
    let mut builder = BatchBuilder::new(options);
    for n in 0..6 {
        let (key, value) = (format!("k{n}"), vec![b'v'; 20]);
        let headers = [Header::new("h", None), Header::new("", Some(b"x"))];
        let value = (n < 5).then_some(&value[..]);
        builder.try_append(1000 + n, Some(key.as_bytes()), value, headers).unwrap().unwrap();
    }
    let mut bytes = builder.build().unwrap().to_vec();
    assign_offsets(&mut bytes, 7, 5).unwrap();
    bytes
}

fn retained(batch: &RecordBatch, horizon: Option<i64>, keep: &[i64]) -> RecordBatch {
    let batch = batch.clone().decompress(1 << 20).unwrap();
    let bytes = retain_records(&batch, horizon, |record| keep.contains(&record.offset)).unwrap();
    let retained = only_batch(bytes);
    retained.verify_crc().unwrap();
    retained
}

/// Offset, time, key, value and headers of each record.
fn content(batch: &RecordBatch) -> Vec<String> {
    let batch = batch.clone().decompress(1 << 20).unwrap();
    let text = |record: Record<'_>| {
        let headers: Vec<_> = record.headers().map(Result::unwrap).collect();
        format!("{}@{} {:?} {:?} {headers:?}", record.offset, record.timestamp, record.key, record.value)
    };
    batch.records().map(|record| text(record.unwrap())).collect()
}

#[test]
fn what_stays_has_its_offset_and_the_batch_covers_what_it_covered() {
    for codec in Compression::ALL {
        let before = batch(codec);
        for horizon in [None, Some(1_000_000), Some(0)] {
            let after = retained(&before, horizon, &[8, 11, 12]);
            let expected: Vec<_> = [1, 4, 5].map(|at| content(&before)[at].clone()).into();
            assert_eq!(content(&after), expected);
            assert_eq!((after.base_offset(), after.last_offset(), after.count()), (7, 12, 3));
            assert_eq!((after.compression(), after.is_transactional(), after.is_dense()), (codec, true, false));
            assert_eq!((after.producer_id(), after.producer_epoch(), after.base_sequence()), (70, 3, 40));
            assert_eq!((after.partition_leader_epoch(), after.max_timestamp()), (5, 1005));
            assert_eq!(after.has_delete_horizon(), horizon.is_some());
            assert_eq!(after.base_timestamp(), horizon.unwrap_or(1001));
        }
        assert_eq!(retained(&before, None, &[7, 9]).max_timestamp(), 1002);
    }
}

#[test]
fn a_horizon_stays_until_another_takes_its_place() {
    let first = retained(&batch(Compression::None), Some(5000), &[7, 8, 12]);
    let second = retained(&first, None, &[8, 12]);
    assert_eq!((second.has_delete_horizon(), second.base_timestamp()), (true, 5000));
    assert_eq!(retained(&second, Some(6000), &[12]).base_timestamp(), 6000);
    assert_eq!(content(&second)[0], content(&batch(Compression::None))[1]);
}

#[test]
fn a_batch_of_which_nothing_stays_is_a_bare_header() {
    for codec in Compression::ALL {
        let before = retained(&batch(codec), Some(5000), &[12]);
        let after = retained(&before, Some(9000), &[]);
        assert_eq!((after.base_offset(), after.last_offset(), after.count()), (7, 12, 0));
        assert_eq!((after.size_in_bytes(), after.compression()), (BATCH_OVERHEAD, Compression::None));
        assert_eq!((after.has_delete_horizon(), after.base_timestamp(), after.max_timestamp()), (false, -1, 1005));
        assert_eq!((after.producer_id(), after.base_sequence(), after.is_transactional()), (70, 40, true));
    }
}

#[test]
fn the_time_of_the_append_is_that_of_all_that_stays() {
    let mut bytes = bytes(Compression::None);
    assign_append_time(&mut bytes, 9999).unwrap();
    let after = retained(&only_batch(bytes.into()), Some(20_000), &[7, 12]);
    assert_eq!((after.timestamp_type(), after.max_timestamp()), (TimestampType::LogAppendTime, 9999));
    assert!(after.records().all(|record| record.unwrap().timestamp == 9999));
}

#[test]
fn a_batch_that_is_still_compressed_is_refused() {
    let batch = batch(Compression::Gzip);
    assert!(matches!(retain_records(&batch, None, |_| true), Err(BatchError::Compressed { .. })));
}
