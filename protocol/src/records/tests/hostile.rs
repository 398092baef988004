//! Bytes that lie: a typed error, never a panic, never a wrong value.

use proptest::prelude::*;

use super::*;

/// The error of the first record that a body gives.
fn fault(body: &[u8]) -> BatchError {
    let batch = only_batch(handmade(Compression::None, 1, 0, body));
    let mut walk = batch.records();
    let error = walk.find_map(Result::err).expect("an error");
    assert!(walk.next().is_none(), "an error ends the walk");
    error
}

fn record_fault(fault: RecordFault) -> BatchError {
    BatchError::Record { base_offset: 7, index: 0, fault }
}

// Mutation: protocol/src/records/batches.rs
// - (length >= SHORTEST_LENGTH).then(|| LOG_OVERHEAD + length as usize)
// + (length >= SHORTEST_LENGTH).then_some(LOG_OVERHEAD + length as usize)
#[test]
fn a_length_that_makes_no_sense_is_that_of_no_partial_batch() {
    for length in [i32::MIN, -13, -12, -1, 0, 4] {
        let field = [&[0; 8][..], &length.to_be_bytes()].concat();
        let mut batches = Batches::new(field.into());
        assert!(batches.by_ref().all(|batch| batch.is_err()), "{length}");
        assert_eq!((batches.remaining(), batches.partial_size()), (12, None), "{length}");
    }
    let mut partial = Batches::new([&[0; 8][..], &49_i32.to_be_bytes()].concat().into());
    assert!(partial.next().is_none());
    assert_eq!((partial.remaining(), partial.partial_size()), (12, Some(61)));
}

// Mutation: protocol/src/records/headers.rs
// - Ok(left) if left as usize <= bytes.len() / SMALLEST_HEADER =>
// + Ok(left) =>
#[test]
fn row_45_lengths_and_counts_that_lie_are_typed_errors() {
    let cases: [(&[u8], RecordFault); 12] = [
        (b"", RecordFault::Truncated),
        (b"\x01", RecordFault::Length(-1)),
        (b"\x00", RecordFault::Truncated),
        (b"\x18\0\0\0\x01\x0ahello\0", RecordFault::Truncated),
        // Key length -2, value length -2, key longer than the record.
        (b"\x0c\0\0\0\x03\x01\0", RecordFault::Length(-2)),
        (b"\x0c\0\0\0\x01\x03\0", RecordFault::Length(-2)),
        (b"\x0c\0\0\0\x7e\x01\0", RecordFault::Truncated),
        // Header count -1, 2^31-1, and one more than there is room for.
        (b"\x0c\0\0\0\x01\x01\x01", RecordFault::HeaderCount(-1)),
        (b"\x14\0\0\0\x01\x01\xfe\xff\xff\xff\x0f", RecordFault::HeaderCount(i32::MAX)),
        (b"\x10\0\0\0\x01\x01\x04\x00\x01", RecordFault::HeaderCount(2)),
        // No header and a byte after it; an offset beyond the batch.
        (b"\x0e\0\0\0\x01\x01\0\0", RecordFault::Trailing(1)),
        (b"\x0c\0\0\x02\x01\x01\0", RecordFault::OffsetDelta(1)),
    ];
    for (body, expected) in cases {
        assert_eq!(fault(body), record_fault(expected), "{body:02x?}");
    }
    let huge = only_batch(fixture("huge_count"));
    assert_eq!(huge.records().map_while(Result::ok).count(), 1);
    let error = huge.records().find_map(Result::err).unwrap();
    assert_eq!(error, BatchError::Record { base_offset: 7, index: 1, fault: RecordFault::Truncated });
}

// Mutation: protocol/src/records/headers.rs
// - let key = take_nullable(&mut self.rest)?.ok_or(RecordFault::Length(-1))?;
// + let key = take_nullable(&mut self.rest)?.unwrap_or_default();
#[test]
fn row_45_malformed_headers_end_their_iterator_with_an_error() {
    let cases: [(&[u8], RecordFault); 4] = [
        (b"\x10\0\0\0\x01\x01\x02\x01\x01", RecordFault::Length(-1)),
        (b"\x10\0\0\0\x01\x01\x02\x00\x03", RecordFault::Length(-2)),
        (b"\x10\0\0\0\x01\x01\x02\x02\x01", RecordFault::Truncated),
        (b"\x12\0\0\0\x01\x01\x02\x00\x01\x00", RecordFault::Trailing(1)),
    ];
    for (body, expected) in cases {
        let batch = only_batch(handmade(Compression::None, 1, 0, body));
        let mut headers = batch.records().next().unwrap().unwrap().headers();
        assert_eq!(headers.next(), Some(Err(expected)), "{body:02x?}");
        assert_eq!(headers.next(), None);
    }
}

// Mutation: protocol/src/records/record.rs
// - Finish::Check if !self.rest.is_empty() => {
// + Finish::Check if false => {
#[test]
fn row_45_bytes_after_the_last_record_are_an_error() {
    let body = [HELLO, b"\0"].concat();
    assert_eq!(fault(&body), BatchError::Trailing { base_offset: 7, bytes: 1 });
    let empty = only_batch(handmade(Compression::None, 0, 0, HELLO));
    assert_eq!(
        empty.records().next().map(|r| r.map(drop)),
        Some(Err(BatchError::Trailing { base_offset: 7, bytes: HELLO.len() }))
    );
}

// Mutation: protocol/src/records/batch.rs
// - if count < 0 {
// + if false {
#[test]
fn row_45_counts_and_offset_ranges_of_the_header_are_checked() {
    let parse = |bytes: Bytes| Batches::new(bytes).next().unwrap().map(drop);
    let (base_offset, last_offset) = (7, 7);
    assert_eq!(
        parse(handmade(Compression::None, -1, 0, b"")),
        Err(BatchError::Count { base_offset, last_offset, count: -1 })
    );
    assert_eq!(
        parse(handmade(Compression::None, 0, -1, b"")),
        Err(BatchError::OffsetRange { base_offset, last_offset_delta: -1 })
    );
    for (base_offset, delta) in [(i64::MAX, 1), (i64::MAX, 0), (i64::MAX - 1, 1), (-1, 1), (i64::MIN, 0)] {
        let mut bytes = handmade(Compression::None, 1, delta, HELLO).to_vec();
        assign_offsets(&mut bytes, base_offset, 0).unwrap();
        let error = BatchError::OffsetRange { base_offset, last_offset_delta: delta };
        assert_eq!(parse(bytes.into()), Err(error));
    }
    let mut bytes = fixture("plain").to_vec();
    bytes[header::ATTRIBUTES_AT + 1] = 5;
    assert_eq!(parse(bytes.into()), Err(BatchError::Codec { base_offset, last_offset, id: 5 }));
}

// Mutation: protocol/src/records/batch.rs
// - i64::from(self.header.count) == i64::from(self.header.last_offset_delta) + 1
// + self.header.count == self.header.last_offset_delta + 1
#[test]
fn row_20_the_largest_offset_range_stays_a_range() {
    let batch = only_batch(handmade(Compression::None, 1, i32::MAX, HELLO));
    assert_eq!((batch.base_offset(), batch.last_offset()), (7, 7 + i64::from(i32::MAX)));
    assert!(!batch.is_dense());
    assert_eq!(batch.records().map(|r| r.unwrap().offset).collect::<Vec<_>>(), [7]);
}

#[test]
fn offsets_must_rise_within_a_batch() {
    let body = [HELLO, HELLO].concat();
    let batch = only_batch(handmade(Compression::None, 2, 1, &body));
    let error = batch.records().nth(1).unwrap().unwrap_err();
    assert_eq!(error, BatchError::Record { base_offset: 7, index: 1, fault: RecordFault::OffsetDelta(0) });
}

#[test]
fn a_length_field_that_makes_no_sense_ends_the_walk_with_an_error() {
    for length in [13, 0, -1, i32::MIN] {
        let mut bytes = [fixture("plain"), fixture("plain")].concat();
        bytes[8..12].copy_from_slice(&i32::to_be_bytes(length));
        let mut batches = Batches::new(bytes.into());
        assert_eq!(batches.next().unwrap().unwrap_err(), BatchError::Length { base_offset: 7, length });
        assert!(batches.next().is_none());
    }
    // Long enough for a message of the oldest format, too short for a header of this one.
    for length in 14..49 {
        let mut bytes = fixture("plain")[..12 + length as usize].to_vec();
        bytes[8..12].copy_from_slice(&i32::to_be_bytes(length));
        let mut batches = Batches::new(bytes.into());
        assert_eq!(batches.next().unwrap().unwrap_err(), BatchError::Length { base_offset: 7, length });
        assert!(batches.next().is_none());
    }
}

#[test]
fn records_of_a_compressed_batch_and_the_crc_of_a_decompressed_one_are_refused() {
    let batch = only_batch(fixture("lz4"));
    let mut walk = batch.records();
    let error = BatchError::Compressed { base_offset: 7, codec: Compression::Lz4 };
    assert_eq!(walk.next().map(|r| r.map(drop)), Some(Err(error.clone())));
    assert!(walk.next().is_none());
    assert_eq!(batch.skip_to(RecordCursor::default(), 8), Err(error));
    let batch = batch.decompress(1 << 20).unwrap();
    assert_eq!(batch.verify_crc(), Err(BatchError::CrcGone { base_offset: 7 }));
    assert_eq!(batch.compression(), Compression::Lz4);
}

// Mutation: protocol/src/wire/varint.rs
// - if i == 9 && byte > 0x01 {
// + if i == 9 && byte > 0x7f {
#[test]
fn row_47_varints_end_in_time_or_not_at_all() {
    let small = |mut input: &[u8]| varint::take_i32(&mut input).map(|value| (value, input.len()));
    let large = |mut input: &[u8]| varint::take_i64(&mut input).map(|value| (value, input.len()));

    assert_eq!(small(b"\xff\xff\xff\xff\xff\xff"), Err(RecordFault::Varint));
    assert_eq!(small(b"\xff\xff\xff\xff\x1f"), Err(RecordFault::Varint), "bits above 32");
    assert_eq!(small(b"\xff\xff\xff\xff\x0f!"), Ok((i32::MIN, 1)));
    assert_eq!(small(b"\xfe\xff\xff\xff\x0f"), Ok((i32::MAX, 0)));
    assert_eq!(large(&[0xff; 10]), Err(RecordFault::Varint));
    assert_eq!(large(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x03"), Err(RecordFault::Varint), "bits above 64");
    assert_eq!(large(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01!"), Ok((i64::MIN, 1)));
    for short in [&b""[..], b"\x80", b"\x80\x80", b"\x80\x80\x80"] {
        assert_eq!(small(short), Err(RecordFault::Truncated));
        assert_eq!(large(short), Err(RecordFault::Truncated));
    }
    // As a record's length, in a batch.
    assert_eq!(fault(b"\xff\xff\xff\xff\xff\xff"), record_fault(RecordFault::Varint));
    assert_eq!(fault(b"\x80"), record_fault(RecordFault::Truncated));
}

/// Looks at everything that can be looked at.
fn exhaust(field: Bytes) {
    for batch in Batches::new(field).filter_map(Result::ok) {
        let _ = batch.verify_crc();
        let Ok(batch) = batch.decompress(1 << 16) else { continue };
        for record in batch.records().map_while(Result::ok) {
            record.headers().for_each(drop);
            batch.own(&record).detach().headers().for_each(drop);
            let _ = control::ControlRecord::parse(&record);
        }
        let _ = batch.skip_to(RecordCursor::default(), i64::MAX);
    }
}

proptest! {
    #[test]
    fn varints_round_trip(value: i64) {
        let mut bytes = Vec::new();
        varint::put(&mut bytes, value);
        prop_assert_eq!(bytes.len(), varint::size(value));
        prop_assert_eq!(varint::take_i64(&mut &bytes[..]), Ok(value));
        let small = value as i32;
        bytes.clear();
        varint::put(&mut bytes, small.into());
        prop_assert_eq!(varint::take_i32(&mut &bytes[..]), Ok(small));
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        exhaust(bytes.into());
    }

    #[test]
    fn no_body_panics_under_any_codec(
        codec in proptest::sample::select(&Compression::ALL[..]),
        body in proptest::collection::vec(any::<u8>(), 0..400),
        count in -1..1_000_i32,
    ) {
        exhaust(handmade(codec, count, count.max(0), &body));
    }

    #[test]
    fn no_damage_to_a_good_batch_panics(
        codec in proptest::sample::select(&Compression::ALL[..]),
        records in 1..40_usize,
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let body = (0..records).map(|i| format!("\x16\0\0{}\x01\x0ahello\0", (2 * i) as u8 as char)).collect::<String>();
        let mut compressed = Vec::new();
        codec.compress(body.as_bytes(), &mut compressed);
        for (at, byte) in damage {
            let at = at.index(compressed.len());
            compressed[at] = byte;
        }
        exhaust(handmade(codec, records as i32, records as i32, &compressed));
    }
}
