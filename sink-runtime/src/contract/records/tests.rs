use ackflow_protocol::records::{BatchBuilder, BatchOptions, Batches, RecordBatch, assign_offsets};
use bytes::Bytes;

use super::*;
use crate::{
    contract::Value,
    convert::{ByteArrayConverter, JsonConverter, StringConverter},
};

/// A batch with these values from `first` on.
fn batch(first: i64, values: &[Option<&[u8]>]) -> RecordBatch {
    let mut builder = BatchBuilder::new(BatchOptions::default());
    for value in values {
        builder.try_append(1_000, None, *value, []).unwrap();
    }
    let mut bytes = builder.build().unwrap().to_vec();
    assign_offsets(&mut bytes, first, 0).unwrap();
    Batches::new(Bytes::from(bytes)).next().unwrap().unwrap()
}

/// Cuts the last record short, in a batch that is otherwise whole.
fn malformed(batch_of: &[Option<&[u8]>]) -> RecordBatch {
    let mut builder = BatchBuilder::new(BatchOptions::default());
    for value in batch_of {
        builder.try_append(1_000, None, *value, []).unwrap();
    }
    let mut bytes = builder.build().unwrap().to_vec();
    // The last byte says how many headers follow: more than there is room for.
    *bytes.last_mut().unwrap() = 0x7e;
    Batches::new(Bytes::from(bytes)).next().unwrap().unwrap()
}

fn range(first: i64, last: i64, delivery_count: i16) -> AcquiredRange {
    AcquiredRange { first, last, delivery_count }
}

fn lent(batches: Vec<RecordBatch>, ranges: &[AcquiredRange]) -> LentRecords {
    LentRecords::from_batches("t", 0, batches, ranges.to_vec())
}

fn json() -> Arc<Converters> {
    Arc::new(Converters::new(Arc::new(ByteArrayConverter), Arc::new(JsonConverter::schemaless())))
}

fn text() -> Arc<Converters> {
    Arc::new(Converters::new(Arc::new(ByteArrayConverter), Arc::new(StringConverter)))
}

fn offsets(records: &SinkRecords) -> Vec<i64> {
    records.iter().map(|record| record.offset).collect()
}

#[test]
fn only_the_offsets_that_are_held_are_lent_with_their_delivery_counts() {
    let value: &[Option<&[u8]>] = &[Some(&b"x"[..]); 5];
    let part = lent(vec![batch(0, value), batch(5, value)], &[range(1, 2, 1), range(4, 6, 3)]);
    let (records, failures) = SinkRecords::prepare(vec![part], text());
    assert!(failures.is_empty());
    let counts: Vec<_> = records.iter().map(|record| (record.offset, record.delivery_count.unwrap())).collect();
    assert_eq!(counts, [(1, 1), (2, 1), (4, 3), (5, 3), (6, 3)]);
    assert_eq!((records.len(), records.redelivered()), (5, 3));
    let partition = TopicPartition { topic: "t".into(), partition: 0 };
    assert_eq!(records.end_offsets(), Offsets::from([(partition, 7)]));
}

#[test]
fn what_a_converter_refuses_is_taken_out_and_told() {
    let values: &[Option<&[u8]>] = &[Some(b"1"), Some(b"{"), None, Some(b"[2]"), Some(b"x")];
    let (records, failures) = SinkRecords::prepare(vec![lent(vec![batch(10, values)], &[range(10, 14, 1)])], json());
    assert_eq!(offsets(&records), [10, 12, 13]);
    assert_eq!(records.len(), 3);
    let failed: Vec<_> = failures.iter().map(|failure| (failure.range.first, failure.range.last)).collect();
    assert_eq!(failed, [(11, 11), (14, 14)]);
    assert!(failures[0].error.to_string().starts_with("value: is no JSON"));
    assert_eq!(records.iter().nth(1).unwrap().value, Value::Null);
}

#[test]
fn records_in_a_malformed_batch_are_told_and_those_of_the_next_are_lent() {
    let value: &[Option<&[u8]>] = &[Some(&b"x"[..]); 3];
    let part = lent(vec![malformed(value), batch(3, value)], &[range(0, 5, 1)]);
    let (records, failures) = SinkRecords::prepare(vec![part], text());
    assert_eq!(offsets(&records), [0, 1, 3, 4, 5]);
    assert_eq!(failures.len(), 1);
    assert_eq!(failures[0].range, range(2, 2, 1));
    assert!(failures[0].error.to_string().starts_with("the record cannot be read"), "{}", failures[0].error);
}

#[test]
fn parts_are_lent_one_after_the_other_and_known_apart() {
    let value: &[Option<&[u8]>] = &[Some(b"x")];
    let parts = vec![lent(vec![batch(7, value)], &[range(7, 7, 1)]), lent(vec![batch(3, value)], &[range(3, 3, 2)])];
    let (records, _) = SinkRecords::prepare(parts, text());
    let ids: Vec<_> = records.iter().map(|record| record.id()).collect();
    assert_eq!(ids, [RecordId { part: 0, offset: 7 }, RecordId { part: 1, offset: 3 }]);
    assert_eq!(records.end_offsets().values().collect::<Vec<_>>(), [&8]);
}

#[test]
fn a_kept_handle_reads_the_same_bytes_without_a_copy() {
    let value: &[Option<&[u8]>] = &[Some(b"x")];
    let (records, _) = SinkRecords::prepare(vec![lent(vec![batch(0, value)], &[range(0, 0, 1)])], text());
    let kept = records.clone();
    let at = |records: &SinkRecords| records.iter().next().unwrap().raw_value.unwrap().as_ptr();
    assert_eq!(at(&records), at(&kept));
    drop(records);
    assert_eq!(offsets(&kept), [0]);
}

// Mutation: sink-runtime/src/convert/string.rs
// - Ok(bytes.map_or(Value::Null, |bytes| Value::String(String::from_utf8_lossy(bytes))))
// + Ok(Value::String(String::from_utf8_lossy(bytes.unwrap_or_default())))
#[test]
fn row_71_malformed_text_and_null_keys_do_no_harm() {
    let values: &[Option<&[u8]>] = &[Some(&[0xff, b'a']), None, Some(b"")];
    let (records, failures) = SinkRecords::prepare(vec![lent(vec![batch(0, values)], &[range(0, 2, 1)])], text());
    assert!(failures.is_empty());
    let got: Vec<_> = records.iter().map(|record| (record.key, record.value)).collect();
    let text = |text: &'static str| (Value::Null, Value::String(text.into()));
    assert_eq!(got, [text("\u{fffd}a"), (Value::Null, Value::Null), text("")]);
}
