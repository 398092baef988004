//! Every line of `batches.tsv` is read as its last column says.

use std::fmt::Write;

use super::*;

/// What we make of a field, in the words of the last column; an error is `!!`.
fn verdict(field: Bytes, limit: usize) -> String {
    let mut text = String::new();
    for batch in Batches::new(field) {
        match batch {
            Ok(batch) => {
                text.push('[');
                if describe(&batch, limit, &mut text).is_err() {
                    text.push_str(" !!");
                }
                text.push(']');
            }
            Err(_) => text.push_str("!!"),
        }
    }
    text
}

fn describe(batch: &RecordBatch, limit: usize, text: &mut String) -> Result<(), BatchError> {
    let (first, last, count, control) = (batch.base_offset(), batch.last_offset(), batch.count(), batch.is_control());
    let kind = batch.timestamp_type();
    write!(text, "{first}..{last} cnt={count} ctl={control} ts={kind:?}").unwrap();
    batch.verify_crc()?;
    for record in batch.clone().decompress(limit)?.records() {
        let record = record?;
        let headers: Vec<_> = record
            .headers()
            .map(|header| header.map(|h| format!("{}={}", h.key_str(), length(h.value))))
            .collect::<Result<_, _>>()
            .expect("no case has malformed headers");
        let (offset, timestamp) = (record.offset, record.timestamp);
        let (key, value, headers) = (length(record.key), length(record.value), headers.join(", "));
        write!(text, " {{off={offset} ts={timestamp} k={key} v={value} h=[{headers}]}}").unwrap();
    }
    Ok(())
}

/// The last column says `v=null`, and `h=[e=0]` for a header `e` with an empty value.
fn length(bytes: Option<&[u8]>) -> String {
    bytes.map_or("null".to_owned(), |bytes| bytes.len().to_string())
}

/// The last column without the words of the error.
fn expected(name: &str, java: &str) -> String {
    match name {
        "lz4_content_csum_bad" => "[7..7 cnt=1 ctl=false ts=CreateTime !!]".to_owned(),
        "magic3" => "!!".to_owned(),
        _ => match java.split_once(" !! ") {
            Some((before, _)) => format!("{before} !!]"),
            None => java.to_owned(),
        },
    }
}

#[test]
fn every_case_is_accepted_or_refused_as_its_last_column_says() {
    let mut seen = 0;
    for (name, bytes, java) in fixtures() {
        assert_eq!(verdict(bytes, DEFAULT_DECOMPRESSION_LIMIT), expected(name, java), "{name}");
        seen += 1;
    }
    assert_eq!(seen, 19);
}

#[test]
fn every_case_is_a_batch_of_the_size_that_its_bytes_have() {
    for (name, bytes, _) in fixtures().filter(|(name, ..)| *name != "magic3") {
        assert_eq!(only_batch(bytes.clone()).size_in_bytes(), bytes.len(), "{name}");
    }
}

#[test]
fn refusals_say_what_is_wrong_and_where() {
    let error = only_batch(fixture("crc_bad")).verify_crc().unwrap_err();
    assert_eq!(error, BatchError::Crc { base_offset: 7, stored: 1_560_500_755, computed: 2_942_884_112 });

    let error = Batches::new(fixture("magic3")).next().unwrap().unwrap_err();
    assert_eq!(error, BatchError::Magic { base_offset: 7, magic: 3 });

    let error = only_batch(fixture("lz4_content_csum_bad")).decompress(1 << 20).unwrap_err();
    assert!(matches!(error, BatchError::Decompress { base_offset: 7, codec: Compression::Lz4, .. }), "{error}");
    assert!(error.is_decompression());

    let error = only_batch(fixture("huge_count")).records().last().unwrap().unwrap_err();
    assert_eq!(error, BatchError::Record { base_offset: 7, index: 1, fault: RecordFault::Truncated });
}

#[test]
fn end_of_a_transaction_is_the_batch_that_kafka_writes() {
    let kafka = only_batch(fixture("control_abort"));
    let (id, epoch, time) = (kafka.producer_id(), kafka.producer_epoch(), kafka.base_timestamp());
    let mut ours = control::end_of_transaction(false, 0, id, epoch, time).to_vec();
    assign_offsets(&mut ours, kafka.base_offset(), kafka.partition_leader_epoch()).unwrap();
    assert_eq!(ours, fixture("control_abort")[..]);
    let commit = only_batch(control::end_of_transaction(true, 7, id, epoch, time));
    let record = commit.records().next().unwrap().unwrap();
    assert_eq!(control::ControlRecord::parse(&record), Ok(control::ControlRecord::Commit { coordinator_epoch: 7 }));
    assert!(commit.is_control() && commit.is_transactional() && commit.verify_crc().is_ok());
}

#[test]
fn control_records_are_told_apart() {
    let batch = only_batch(fixture("control_abort"));
    assert!(batch.is_control() && batch.is_transactional() && !batch.is_dense());
    assert_eq!((batch.producer_id(), batch.producer_epoch(), batch.base_sequence()), (42, 0, -1));
    let mut record = batch.records().next().unwrap().unwrap();
    assert_eq!(control::ControlRecord::parse(&record), Ok(control::ControlRecord::Abort { coordinator_epoch: 0 }));

    record.key = Some(b"\0\x01\0\x01and more");
    record.value = Some(b"\0\0\0\0\x01\0");
    assert_eq!(control::ControlRecord::parse(&record), Ok(control::ControlRecord::Commit { coordinator_epoch: 256 }));
    record.value = Some(b"\0\0\0");
    assert!(control::ControlRecord::parse(&record).is_err());
    record.key = Some(b"\0\0\0\x07");
    assert_eq!(control::ControlRecord::parse(&record), Ok(control::ControlRecord::Other { kind: 7 }));
    record.key = Some(b"\xff\xff\0\0");
    assert!(control::ControlRecord::parse(&record).is_err());
    record.key = None;
    assert!(control::ControlRecord::parse(&record).is_err());
}
