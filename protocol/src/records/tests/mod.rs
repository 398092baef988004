//! The batches of `testdata/batches/batches.tsv` are the ground; hostile and handmade ones stand on them.

mod cases;
mod codecs;
mod compaction;
mod hostile;
mod java;
mod reading;
mod usual;
mod writing;

use bytes::Bytes;

use super::*;

/// The `records` bytes of a named line of `batches.tsv`.
fn fixture(name: &str) -> Bytes {
    let (_, bytes, _) = fixtures().find(|(found, ..)| *found == name).expect("a line with this name");
    bytes
}

/// Every line of `batches.tsv`: name, bytes, what Kafka's client makes of them.
fn fixtures() -> impl Iterator<Item = (&'static str, Bytes, &'static str)> {
    let text = include_str!("../../../../testdata/batches/batches.tsv");
    text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let columns: Vec<_> = line.split('\t').collect();
        let [name, hex, verdict] = columns[..] else { panic!("three columns: {line}") };
        (name, unhex(hex), verdict)
    })
}

fn unhex(hex: &str) -> Bytes {
    assert!(hex.len().is_multiple_of(2));
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex digits")).collect()
}

/// The only batch of a field.
fn only_batch(field: Bytes) -> RecordBatch {
    let batches: Vec<_> = Batches::new(field).collect();
    let [Ok(batch)] = &batches[..] else { panic!("one good batch: {batches:?}") };
    batch.clone()
}

/// A batch with `body` as its records, as if the checksum had been made by whoever wrote it.
fn handmade(codec: Compression, count: i32, last_offset_delta: i32, body: &[u8]) -> Bytes {
    let mut bytes = vec![0; BATCH_OVERHEAD];
    bytes.extend_from_slice(body);
    let header = header::BatchHeader {
        base_offset: 7,
        length: (bytes.len() - header::LOG_OVERHEAD) as i32,
        partition_leader_epoch: 0,
        magic: 2,
        crc: 0,
        attributes: codec.id().into(),
        last_offset_delta,
        base_timestamp: 1_000,
        max_timestamp: 1_000,
        producer_id: -1,
        producer_epoch: -1,
        base_sequence: -1,
        count,
    };
    header.write(bytes.first_chunk_mut().unwrap());
    rewrite::set_crc(&mut bytes);
    bytes.into()
}

/// One record: value `hello`, offset delta 0.
const HELLO: &[u8] = b"\x16\0\0\0\x01\x0ahello\0";
