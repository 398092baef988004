//! Record batches: walked, owned, written again, with each compression.

use bytes::Bytes;

use super::bounded;
use crate::records::control::ControlRecord;
use crate::records::{
    BatchBuilder, BatchOptions, Batches, Compression, OwnedRecord, Record, RecordBatch, RecordCursor, TimestampType,
    crc32c,
};

/// How far a batch may inflate, in bytes.
const INFLATED: usize = 1 << 20;

/// What the bytes of an input of [`records`] are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchForm {
    /// A whole `records` field.
    Field,
    /// The encoded records of one batch, which the target compresses.
    Records(Compression),
    /// The same, compressed already.
    Compressed(Compression),
}

const COMPRESSED: u8 = 8;
const FIELD: u8 = 16;

/// An input of [`records`]: what the bytes are, how many records a batch made of them says to have, the bytes.
pub fn record_seed(form: BatchForm, count: u8, bytes: &[u8]) -> Vec<u8> {
    let form = match form {
        BatchForm::Field => FIELD,
        BatchForm::Records(codec) => codec.id(),
        BatchForm::Compressed(codec) => codec.id() | COMPRESSED,
    };
    [&[form, count], bytes].concat()
}

/// Target `records`: two bytes choose what the rest is and the count of a batch made of it. Each batch is inflated to
/// 1 MiB at most.
///
/// # Panics
/// Where an owned record or a walk from the middle says something else than the walk from the start, where records that
/// were read cannot be written or read back as others, and where what was compressed inflates to something else.
pub fn records(data: &[u8]) {
    let Some((&[form, count], bytes)) = bounded(data).split_first_chunk() else { return };
    if form & FIELD != 0 {
        return field(Bytes::copy_from_slice(bytes));
    }
    let Some(codec) = Compression::from_id(form & 7) else { return };
    if form & COMPRESSED != 0 {
        return field(batch_of(codec, count.into(), bytes));
    }
    let mut compressed = Vec::new();
    codec.compress(bytes, &mut compressed);
    assert_eq!(codec.decompress(&compressed, bytes.len()).as_deref(), Ok(bytes), "{codec}");
    field(batch_of(codec, count.into(), &compressed));
}

/// A batch of a valid header and any body.
fn batch_of(codec: Compression, count: i32, body: &[u8]) -> Bytes {
    /// Bytes of the header behind the length field.
    const COUNTED: i32 = 49;
    let offsets = count.max(1) - 1;
    let covered = [
        &i16::from(codec.id()).to_be_bytes()[..],
        &offsets.to_be_bytes(),
        &1_000_i64.to_be_bytes(),
        &1_000_i64.to_be_bytes(),
        &(-1_i64).to_be_bytes(),
        &(-1_i16).to_be_bytes(),
        &(-1_i32).to_be_bytes(),
        &count.to_be_bytes(),
        body,
    ]
    .concat();
    let length = COUNTED + body.len() as i32;
    let before = [&7_i64.to_be_bytes()[..], &length.to_be_bytes(), &(-1_i32).to_be_bytes(), &[2]].concat();
    [&before[..], &crc32c(&covered).to_be_bytes(), &covered].concat().into()
}

fn field(bytes: Bytes) {
    let mut batches = Batches::new(bytes);
    for batch in batches.by_ref().filter_map(Result::ok) {
        assert!(batch.base_offset() <= batch.last_offset());
        let _ = batch.verify_crc();
        if let Ok(batch) = batch.decompress(INFLATED) {
            walk(&batch);
        }
    }
    let _ = batches.partial_size();
}

fn walk(batch: &RecordBatch) {
    let mut good = 0;
    let mut last = None;
    for record in batch.records() {
        let Ok(record) = record else { break };
        assert!((batch.base_offset()..=batch.last_offset()).contains(&record.offset), "{}", record.offset);
        assert!(last.replace(record.offset).is_none_or(|last| last < record.offset), "{}", record.offset);
        let owned = batch.own(&record);
        same(&record, &owned);
        same(&record, &owned.detach());
        let _ = ControlRecord::parse(&record);
        good += 1;
    }
    skip(batch, good);
    let is_good = |record: Record<'_>| record.headers().all(|header| header.is_ok());
    if good > 0 && batch.records().all(|record| record.is_ok_and(is_good)) {
        rewrite(batch);
    }
}

fn same(record: &Record<'_>, owned: &OwnedRecord) {
    assert_eq!((record.offset, record.timestamp), (owned.offset(), owned.timestamp()));
    assert_eq!((record.key, record.value), (owned.key(), owned.value()));
    assert!(record.headers().eq(owned.headers()), "headers of offset {}", record.offset);
}

/// Goes on in the middle of the good records.
fn skip(batch: &RecordBatch, good: usize) {
    let Some(Ok(middle)) = batch.records().take(good).nth(good / 2) else { return };
    let cursor = batch.skip_to(RecordCursor::default(), middle.offset);
    let cursor = cursor.expect("records that were walked can be passed");
    let rest = batch.records_from(cursor).take(good - good / 2).map(|record| record.map(|record| record.offset));
    let expected = batch.records().take(good).skip(good / 2).map(|record| record.map(|record| record.offset));
    assert!(rest.eq(expected), "from offset {}", middle.offset);
}

/// Writes the records of a good batch with its codec, and reads them.
fn rewrite(batch: &RecordBatch) {
    let options = BatchOptions { compression: batch.compression(), max_size: usize::MAX, ..BatchOptions::default() };
    let mut builder = BatchBuilder::new(options);
    for record in batch.records().map_while(Result::ok) {
        let headers = record.headers().map_while(Result::ok);
        let place = builder.try_append(record.timestamp, record.key, record.value, headers);
        assert!(place.is_ok_and(|place| place.is_some()), "a record that was read fits");
    }
    let written = Batches::new(builder.build().expect("a batch with records can be built")).next();
    let written = written.expect("a batch").expect("a good header");
    written.verify_crc().expect("a good checksum");
    assert_eq!(written.timestamp_type(), TimestampType::CreateTime);
    let written = written.decompress(2 * INFLATED).expect("what was compressed can be inflated");
    let mut read = written.records();
    for record in batch.records().map_while(Result::ok) {
        let other = read.next().expect("as many records").expect("a good record");
        assert_eq!((record.timestamp, record.key, record.value), (other.timestamp, other.key, other.value));
        assert!(record.headers().eq(other.headers()));
    }
    assert!(read.next().is_none());
}
