//! What the builder writes, and what a broker changes in it.

use proptest::{collection::vec, option, prelude::*};

use super::*;

/// The batch of `builder` as a broker appends it at offset 7.
fn appended(builder: BatchBuilder) -> Bytes {
    let mut batch = builder.build().unwrap().to_vec();
    assign_offsets(&mut batch, 7, 0).unwrap();
    batch.into()
}

#[test]
fn the_builder_writes_what_kafkas_client_writes_byte_for_byte() {
    let mut plain = BatchBuilder::new(BatchOptions::default());
    assert_eq!(plain.try_append(1000, None, Some(b"hello"), []), Ok(Some(0)));
    assert_eq!(appended(plain), fixture("plain"));

    let mut nulls = BatchBuilder::new(BatchOptions::default());
    let headers = [Header::new("h", None), Header::new("e", Some(b""))];
    assert_eq!(nulls.try_append(1000, Some(b""), None, headers), Ok(Some(0)));
    assert_eq!(appended(nulls), fixture("hdr_null_value"));
}

// Mutation: protocol/src/records/builder.rs
// - let timestamp_delta = timestamp.wrapping_sub(base_timestamp);
// + let timestamp_delta = i64::from(timestamp.wrapping_sub(base_timestamp) as i32);
#[test]
fn row_37_timestamps_2_to_the_31_apart_are_written_as_kafkas_client_writes_them() {
    let mut builder = BatchBuilder::new(BatchOptions::default());
    assert_eq!(builder.try_append(0, None, Some(b"a"), []), Ok(Some(0)));
    assert_eq!(builder.try_append(1 << 31, None, Some(b"b"), []), Ok(Some(1)));
    assert_eq!(appended(builder), fixture("ts_delta_varlong"));
}

#[test]
fn a_broker_assigns_offsets_without_touching_the_checksum() {
    let mut bytes = fixture("plain").to_vec();
    assign_offsets(&mut bytes, 1 << 40, 9).unwrap();
    let batch = only_batch(bytes.into());
    batch.verify_crc().unwrap();
    assert_eq!((batch.base_offset(), batch.partition_leader_epoch()), (1 << 40, 9));
    assert_eq!(batch.records().next().unwrap().unwrap().offset, 1 << 40);
}

#[test]
fn a_broker_sets_the_append_time_and_the_checksum_holds() {
    let mut bytes = fixture("plain").to_vec();
    assign_append_time(&mut bytes, 9999).unwrap();
    let batch = only_batch(bytes.into());
    batch.verify_crc().unwrap();
    assert_eq!((batch.timestamp_type(), batch.max_timestamp()), (TimestampType::LogAppendTime, 9999));
    assert_eq!(batch.records().next().unwrap().unwrap().timestamp, 9999);
}

#[test]
fn a_batch_that_was_numbered_later_is_the_one_that_was_built_with_the_numbers() {
    for compression in Compression::ALL {
        let builder = |options| {
            let mut builder = BatchBuilder::new(BatchOptions { compression, ..options });
            builder.try_append(5, Some(b"k"), Some(b"v"), []).unwrap();
            builder
        };
        let numbers =
            BatchOptions { producer_id: 1 << 40, producer_epoch: 7, base_sequence: 70_000, ..BatchOptions::default() };
        let built = builder(numbers).build().unwrap();
        for build in [BatchBuilder::build, BatchBuilder::build_unnumbered] {
            let mut later = build(builder(BatchOptions::default())).unwrap().to_vec();
            assign_sequence(&mut later, 1 << 40, 7, 70_000).unwrap();
            assert_eq!(later, built);
        }
    }
}

#[test]
fn what_is_shorter_than_a_header_cannot_be_rewritten() {
    let mut short = fixture("plain")[..60].to_vec();
    assert!(matches!(assign_offsets(&mut short, 0, 0), Err(BatchError::Length { .. })));
    assert!(matches!(assign_append_time(&mut short, 0), Err(BatchError::Length { .. })));
    assert!(matches!(assign_sequence(&mut short, 0, 0, 0), Err(BatchError::Length { .. })));
}

#[test]
fn a_batch_is_full_at_its_size_but_always_holds_one_record() {
    let options = BatchOptions { max_size: 200, ..BatchOptions::default() };
    let mut builder = BatchBuilder::new(options);
    assert!(builder.is_empty());
    assert_eq!(builder.try_append(0, None, Some(&[1; 500]), []), Ok(Some(0)));
    assert_eq!(builder.try_append(0, None, Some(b""), []), Ok(None));
    assert_eq!((builder.count(), builder.size_in_bytes()), (1, 61 + 2 + 507));

    let mut builder = BatchBuilder::new(options);
    while builder.try_append(0, None, Some(b"0123456789"), []).unwrap().is_some() {}
    assert_eq!((builder.count(), builder.size_in_bytes()), (8, 61 + 8 * 17));
    let size = builder.size_in_bytes();
    assert_eq!(builder.build().unwrap().len(), size);
}

#[test]
fn a_batch_without_records_is_not_written() {
    assert_eq!(BatchBuilder::new(BatchOptions::default()).build(), Err(BuildError::Empty));
}

#[test]
fn the_producers_state_can_be_set_when_the_batch_is_sent() {
    let mut builder = BatchBuilder::new(BatchOptions { transactional: true, ..BatchOptions::default() });
    builder.try_append(5, None, None, []).unwrap();
    builder.try_append(3, None, None, []).unwrap();
    builder.set_producer_state(77, 3, 1000);
    let batch = only_batch(builder.build().unwrap());
    batch.verify_crc().unwrap();
    assert_eq!((batch.producer_id(), batch.producer_epoch(), batch.base_sequence()), (77, 3, 1000));
    assert_eq!((batch.base_timestamp(), batch.max_timestamp(), batch.partition_leader_epoch()), (5, 5, -1));
    assert!(batch.is_transactional() && batch.is_dense());
}

type Written = (i64, Option<Vec<u8>>, Option<Vec<u8>>, Vec<(String, Option<Vec<u8>>)>);

fn any_records() -> impl Strategy<Value = Vec<Written>> {
    let bytes = || option::of(vec(any::<u8>(), 0..300));
    vec((any::<i64>(), bytes(), bytes(), vec((any::<String>(), bytes()), 0..4)), 1..40)
}

proptest! {
    #[test]
    fn what_is_written_is_read_under_every_codec(
        codec in proptest::sample::select(&Compression::ALL[..]),
        written in any_records(),
    ) {
        let mut builder =
            BatchBuilder::new(BatchOptions { compression: codec, max_size: usize::MAX, ..BatchOptions::default() });
        for (timestamp, key, value, headers) in &written {
            let headers = headers.iter().map(|(key, value)| Header::new(key, value.as_deref()));
            builder.try_append(*timestamp, key.as_deref(), value.as_deref(), headers).unwrap();
        }
        let batch = only_batch(builder.build().unwrap());
        batch.verify_crc().unwrap();
        prop_assert_eq!(batch.compression(), codec);
        let batch = batch.decompress(1 << 20).unwrap();
        let mut read = Vec::new();
        for (i, record) in batch.records().enumerate() {
            let record = record.unwrap();
            prop_assert_eq!(record.offset, i as i64);
            let headers = record.headers().map(Result::unwrap);
            let headers = headers.map(|h| (h.key_str().into_owned(), h.value.map(<[u8]>::to_vec))).collect();
            let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
            read.push((record.timestamp, owned(record.key), owned(record.value), headers));
        }
        prop_assert_eq!(read, written);
    }
}
