//! What good batches give: offsets, times, nulls, cursors, owned records.

use super::*;

fn records(batch: &RecordBatch) -> Vec<Record<'_>> {
    batch.records().collect::<Result<_, _>>().unwrap()
}

/// `count` records whose values are their offsets from 0, the value growing from one to more than 100 bytes.
fn numbered(count: i32) -> RecordBatch {
    let mut builder = BatchBuilder::new(BatchOptions { max_size: usize::MAX, ..BatchOptions::default() });
    for i in 0..count {
        let value = format!("{i}{}", "-".repeat(i as usize % 120));
        builder.try_append(i.into(), Some(b"key"), Some(value.as_bytes()), [Header::new("h", None)]).unwrap();
    }
    only_batch(builder.build().unwrap())
}

// Mutation: protocol/src/records/record.rs
// - Ok((take_i64(fields)?, take_i32(fields)?))
// + Ok((take_i32(fields)?.into(), take_i32(fields)?))
#[test]
fn row_37_timestamp_deltas_are_64_bits_wide() {
    let times = |name| records(&only_batch(fixture(name))).iter().map(|r| r.timestamp).collect::<Vec<_>>();
    assert_eq!(times("ts_delta_varlong"), [0, 1 << 31]);
    assert_eq!(times("delete_horizon"), [1005]);
}

// Mutation: protocol/src/records/batch.rs
// - self.header.base_offset + i64::from(self.header.last_offset_delta)
// + self.header.base_offset + i64::from(self.header.count) - 1
#[test]
fn row_43_compacted_batches_cover_the_offsets_of_their_header() {
    let field = [fixture("empty_after_compaction"), fixture("compacted_tail")].concat();
    let batches: Vec<_> = Batches::new(field.into()).map(Result::unwrap).collect();
    let ranges: Vec<_> = batches.iter().map(|b| (b.base_offset(), b.last_offset(), b.is_dense())).collect();
    assert_eq!(ranges, [(10, 14, false), (20, 29, false)]);
    assert_eq!((batches[0].base_timestamp(), batches[0].max_timestamp()), (-1, -1));
    assert!(records(&batches[0]).is_empty());
    assert_eq!(records(&batches[1])[0].offset, 23);
}

// Mutation: protocol/src/records/batch.rs
// - let records = if self.header.count == 0 {
// + let records = if false {
#[test]
fn row_43_a_batch_emptied_by_compaction_keeps_its_codec_and_has_nothing_to_inflate() {
    for codec in Compression::ALL {
        let batch = only_batch(handmade(codec, 0, 4, b"")).decompress(1 << 20).unwrap();
        assert_eq!((batch.base_offset(), batch.last_offset()), (7, 11));
        assert!(records(&batch).is_empty());
    }
}

// Mutation: protocol/src/records/record.rs
// - TimestampType::LogAppendTime => (batch.max_timestamp(), 0),
// + TimestampType::LogAppendTime => (batch.base_timestamp(), -1),
#[test]
fn row_48_log_append_time_is_the_time_of_the_batch() {
    let batch = only_batch(fixture("log_append_time"));
    assert_eq!(batch.timestamp_type(), TimestampType::LogAppendTime);
    assert_eq!(records(&batch).iter().map(|r| r.timestamp).collect::<Vec<_>>(), [9999, 9999]);
}

// Mutation: protocol/src/records/header.rs
// - pub(super) const CODEC_MASK: i16 = 0x07;
// + pub(super) const CODEC_MASK: i16 = 0x87;
#[test]
fn row_48_the_delete_horizon_does_not_disturb_timestamps_and_unknown_bits_are_ignored() {
    let batch = only_batch(fixture("delete_horizon"));
    assert!(batch.has_delete_horizon() && !batch.is_control() && !batch.is_transactional());
    assert_eq!(records(&batch)[0].timestamp, 1005);

    let mut bytes = fixture("plain").to_vec();
    bytes[header::ATTRIBUTES_AT] |= 0xff;
    bytes[header::ATTRIBUTES_AT + 1] |= 0x80;
    let batch = only_batch(bytes.into());
    assert_eq!(batch.attributes() as u16, 0xff80);
    assert!(!batch.is_compressed() && !batch.is_control() && !batch.has_delete_horizon());
    assert_eq!(records(&batch)[0].value, Some(&b"hello"[..]));
}

// Mutation: protocol/src/records/record.rs
// - return if length == -1 { Ok(None) }
// + return if length == -1 { Ok(Some(&[])) }
#[test]
fn row_49_null_and_empty_are_kept_apart_and_headers_keep_order_and_duplicates() {
    let batch = only_batch(fixture("hdr_null_value"));
    let record = records(&batch)[0];
    assert_eq!((record.key, record.value), (Some(&b""[..]), None));
    let headers: Vec<_> = record.headers().map(Result::unwrap).collect();
    assert_eq!(headers, [Header::new("h", None), Header::new("e", Some(b""))]);

    let written = [Header::new("b", Some(b"1")), Header::new("a", Some(b"")), Header::new("b", None)];
    let mut builder = BatchBuilder::new(BatchOptions::default());
    builder.try_append(0, None, Some(b""), written).unwrap();
    builder.try_append(0, Some(b""), None, []).unwrap();
    let batch = only_batch(builder.build().unwrap());
    let found = records(&batch);
    assert_eq!((found[0].key, found[0].value), (None, Some(&b""[..])));
    assert_eq!((found[1].key, found[1].value), (Some(&b""[..]), None));
    assert_eq!(found[0].headers().map(Result::unwrap).collect::<Vec<_>>(), written);
    assert!(found[1].headers().is_empty());
}

#[test]
fn a_header_key_that_is_no_text_is_kept_and_shown_with_replacement_characters() {
    let batch = only_batch(handmade(Compression::None, 1, 0, b"\x14\0\0\0\x01\x01\x02\x04\xff\x41\x01"));
    let header = records(&batch)[0].headers().next().unwrap().unwrap();
    assert_eq!((header.key, header.value), (&b"\xffA"[..], None));
    assert_eq!(header.key_str(), "\u{fffd}A");
}

#[test]
fn a_field_ends_quietly_in_a_partial_batch() {
    let whole = [fixture("plain"), fixture("compacted_tail")].concat();
    let first = fixture("plain").len();
    for cut in 0..whole.len() {
        let mut batches = Batches::new(Bytes::copy_from_slice(&whole[..cut]));
        let found = batches.by_ref().map(|batch| batch.unwrap().base_offset()).collect::<Vec<_>>();
        assert_eq!(found, if cut < first { vec![] } else { vec![7] }, "cut at {cut}");
        assert_eq!(batches.remaining(), if cut < first { cut } else { cut - first });
        assert!(batches.next().is_none());
    }
}

// Mutation: protocol/src/records/batches.rs
// - Some(RecordBatch::parse(frame))
// + let parsed = RecordBatch::parse(frame); self.ended |= parsed.is_err(); Some(parsed)
#[test]
fn row_16_a_bad_batch_does_not_hide_the_next_one() {
    let lz4_garbage = handmade(Compression::Lz4, 1, 0, b"garbage");
    for bad in [fixture("crc_bad"), fixture("magic3"), lz4_garbage] {
        let mut later = fixture("plain").to_vec();
        assign_offsets(&mut later, 8, 0).unwrap();
        let field = [&bad[..], &later].concat();
        let read = |batch: Result<RecordBatch, BatchError>| {
            let batch = batch?;
            batch.verify_crc()?;
            batch.decompress(1 << 20)
        };
        let batches: Vec<_> = Batches::new(field.into()).map(read).collect();
        let [Err(error), Ok(good)] = &batches[..] else { panic!("{batches:?}") };
        assert_eq!(error.base_offset(), 7);
        assert_eq!(records(good)[0].offset, 8);
    }
}

// Mutation: protocol/src/records/batch.rs
// - Some(&magic) if magic != 2 =>
// + Some(&magic) if magic > 2 =>
#[test]
fn row_51_messages_of_magic_0_and_1_are_refused_by_name_and_passed_over() {
    for magic in [0, 1] {
        let field = [&legacy_wrapper(magic)[..], &fixture("compacted_tail")].concat();
        let batches: Vec<_> = Batches::new(field.into()).collect();
        let [Err(error), Ok(good)] = &batches[..] else { panic!("{batches:?}") };
        assert_eq!(*error, BatchError::Magic { base_offset: 9, magic: magic as i8 });
        assert!(error.to_string().contains(&format!("magic {magic}")), "{error}");
        assert_eq!(good.base_offset(), 20);
    }
}

/// A gzip message set of the old format: offset of the last inner message, size, crc, magic, attributes, time (magic 1), key, value.
fn legacy_wrapper(magic: u8) -> Vec<u8> {
    let message = |offset: i64, attributes: u8, value: &[u8]| {
        let mut body = vec![magic, attributes];
        if magic == 1 {
            body.extend_from_slice(&1_000_i64.to_be_bytes());
        }
        body.extend_from_slice(&(-1_i32).to_be_bytes());
        body.extend_from_slice(&(value.len() as i32).to_be_bytes());
        body.extend_from_slice(value);
        let mut out = offset.to_be_bytes().to_vec();
        out.extend_from_slice(&(body.len() as i32 + 4).to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&body);
        out
    };
    let inner: Vec<_> = (0..3).flat_map(|i| message(if magic == 1 { i } else { 7 + i }, 0, b"old")).collect();
    let mut compressed = Vec::new();
    Compression::Gzip.compress(&inner, &mut compressed);
    message(9, 1, &compressed)
}

#[test]
fn a_cursor_goes_on_where_a_walk_stood() {
    let batch = numbered(300);
    let mut walk = batch.records();
    for i in 0..=300 {
        let cursor = walk.cursor();
        assert_eq!(cursor.index, i);
        let rest: Vec<_> = batch.records_from(cursor).map(|r| r.unwrap().offset).collect();
        assert_eq!(rest, (i64::from(i)..300).collect::<Vec<_>>());
        walk.next();
    }
    assert!(walk.next().is_none());
}

#[test]
fn skipping_stops_at_the_first_record_that_is_not_before_the_offset() {
    let batch = numbered(300);
    for offset in [-5, 0, 1, 63, 64, 128, 299] {
        let cursor = batch.skip_to(RecordCursor::default(), offset).unwrap();
        assert_eq!(batch.records_from(cursor).next().unwrap().unwrap().offset, offset.max(0));
    }
    let end = batch.skip_to(RecordCursor::default(), 300).unwrap();
    assert!(batch.records_from(end).next().is_none());
    let middle = batch.skip_to(RecordCursor::default(), 100).unwrap();
    assert_eq!(batch.skip_to(middle, 5), Ok(middle), "never back");

    let compacted = only_batch(fixture("compacted_tail"));
    let cursor = compacted.skip_to(RecordCursor::default(), 21).unwrap();
    assert_eq!(compacted.records_from(cursor).next().unwrap().unwrap().offset, 23);
}

#[test]
fn a_cursor_of_another_batch_leads_to_an_error_and_no_panic() {
    let batch = only_batch(fixture("plain"));
    for (position, index) in [(u32::MAX, 0), (u32::MAX, u32::MAX), (3, 0), (0, u32::MAX), (13, 1)] {
        let cursor = RecordCursor { position, index };
        let walked: Result<Vec<_>, _> = batch.records_from(cursor).collect();
        assert!(walked.is_err() || position == u32::MAX || walked.unwrap().is_empty());
        let _ = batch.skip_to(cursor, 8);
    }
}

#[test]
fn an_owned_record_shares_the_bytes_until_it_is_detached() {
    let field = fixture("hdr_null_value");
    let batch = only_batch(field.clone());
    let within = |owned: &OwnedRecord| field.as_ptr_range().contains(&owned.key().unwrap().as_ptr());
    let owned = batch.own(&records(&batch)[0]);
    drop(batch);
    for owned in [owned.clone(), owned.clone().detach()] {
        assert_eq!((owned.offset(), owned.timestamp(), owned.key(), owned.value()), (7, 1000, Some(&b""[..]), None));
        let headers: Vec<_> = owned.headers().map(Result::unwrap).collect();
        assert_eq!(headers, [Header::new("h", None), Header::new("e", Some(b""))]);
    }
    assert!(within(&owned) && !within(&owned.detach()));
}

#[test]
fn owned_records_are_those_of_the_walk() {
    let (batch, other) = (numbered(300), only_batch(fixture("plain")));
    for record in batch.records().map(Result::unwrap) {
        // By a batch that it does not belong to, a record is copied.
        for owned in [batch.own(&record), other.own(&record)] {
            assert_eq!((owned.key(), owned.value()), (record.key, record.value));
            assert_eq!(owned.headers().next().unwrap(), Ok(Header::new("h", None)));
        }
    }
}
