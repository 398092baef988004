//! Record batches out of any bytes: all that a partition of Kafka 4 can hold.

use bytes::Bytes;

use super::{
    append::put_nullable,
    compression::Compression,
    header::{BATCH_OVERHEAD, BatchHeader, CONTROL, DELETE_HORIZON, LOG_APPEND_TIME, LOG_OVERHEAD, TRANSACTIONAL},
    rewrite::set_crc,
    varint,
};
use crate::input::Input;

/// A `records` field: up to three whole batches whose offsets ascend. Each has a good checksum and up to eight records;
/// plain ones, compacted ones with gaps or nothing left, ones of transactions, control batches, and times of creation or
/// of append; with each compression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidRecords(pub Bytes);

/// Records of a batch. More of them would only be more of the same.
const MOST_RECORDS: usize = 8;

impl ValidRecords {
    /// Chooses the batches.
    pub fn new(data: &[u8]) -> Self {
        Self::choose(&mut Input::new(data))
    }

    /// The same, by the next bytes of `input`.
    pub fn choose(input: &mut Input<'_>) -> Self {
        let mut field = Vec::new();
        let mut offset = input.number() & i64::from(i32::MAX);
        for _ in 0..input.below(4) {
            offset += i64::from(input.byte());
            offset = put_batch(&mut field, offset, input);
        }
        Self(field.into())
    }
}

/// Appends a batch that begins at `base_offset`, and gives the offset behind it.
fn put_batch(field: &mut Vec<u8>, base_offset: i64, input: &mut Input<'_>) -> i64 {
    let codec = input.pick(&Compression::ALL);
    let kind = input.byte();
    let is_control = kind & 7 == 7;
    let is_transactional = is_control || kind & 7 == 6;
    let is_compacted = kind & 8 != 0 && !is_control;
    let is_emptied = is_compacted && kind >= 0xe0;
    let is_append_time = kind & 16 != 0;
    // A base near zero and deltas of either sign: the sum of any two is a timestamp.
    let base_timestamp = input.number() >> 2;

    let mut records = Vec::new();
    let (mut count, mut next, mut max_timestamp) = (0, 0, -1);
    let most = if is_control { 1 } else { 1 + input.below(MOST_RECORDS) };
    for _ in 0..most {
        if is_compacted {
            next += i64::from(input.byte() % 4);
            if is_emptied || input.once_in(4) {
                // The record that was there is gone, and its offset with it.
                next += 1;
                continue;
            }
        }
        let timestamp = (input.number() >> 2) + base_timestamp;
        max_timestamp = if count == 0 { timestamp } else { timestamp.max(max_timestamp) };
        let record = if is_control { marker(input) } else { Content::choose(input) };
        record.put(&mut records, timestamp - base_timestamp, next);
        (count, next) = (count + 1, next + 1);
    }
    let gone_at_the_end = if is_compacted { i64::from(input.byte() % 4) } else { 0 };
    let last_offset_delta = (next - 1 + gone_at_the_end).max(0);

    let mut batch = vec![0; BATCH_OVERHEAD];
    // Compaction that leaves nothing leaves the bare header.
    if count > 0 {
        codec.compress(&records, &mut batch);
    }
    let flag = |set: bool, bit: i16| if set { bit } else { 0 };
    let has_producer = is_transactional || kind & 32 != 0;
    let header = BatchHeader {
        base_offset,
        length: (batch.len() - LOG_OVERHEAD) as i32,
        partition_leader_epoch: input.byte().into(),
        magic: 2,
        crc: 0,
        attributes: i16::from(codec.id())
            | flag(is_append_time, LOG_APPEND_TIME)
            | flag(is_transactional, TRANSACTIONAL)
            | flag(is_control, CONTROL)
            | flag(is_compacted && kind & 64 != 0, DELETE_HORIZON),
        last_offset_delta: last_offset_delta as i32,
        base_timestamp,
        max_timestamp,
        producer_id: if has_producer { input.byte().into() } else { -1 },
        producer_epoch: if has_producer { input.byte().into() } else { -1 },
        base_sequence: if has_producer && !is_control { input.number() as i32 & i32::MAX } else { -1 },
        count,
    };
    let (room, _) = batch.split_first_chunk_mut().expect("room for the header was made first");
    header.write(room);
    set_crc(&mut batch);
    field.extend_from_slice(&batch);
    base_offset + last_offset_delta + 1
}

/// What a record says.
#[derive(Default)]
struct Content<'a> {
    key: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
    headers: Vec<(&'static str, Option<&'a [u8]>)>,
}

/// Keys and values of transaction markers: version 0, abort or commit; version 0, epoch 0.
const ABORT: &[u8] = &[0, 0, 0, 0];
const COMMIT: &[u8] = &[0, 0, 0, 1];
const END: &[u8] = &[0, 0, 0, 0, 0, 0];

fn marker(input: &mut Input<'_>) -> Content<'static> {
    Content { key: Some(input.pick(&[ABORT, COMMIT])), value: Some(END), headers: Vec::new() }
}

impl<'a> Content<'a> {
    fn choose(input: &mut Input<'a>) -> Self {
        let (key, value) = (nullable(input), nullable(input));
        let headers = (0..input.below(3)).map(|_| (input.pick(&["h", "", "é"]), nullable(input))).collect();
        Self { key, value, headers }
    }

    fn put(&self, records: &mut Vec<u8>, timestamp_delta: i64, offset_delta: i64) {
        let mut record = vec![0];
        varint::put(&mut record, timestamp_delta);
        varint::put(&mut record, offset_delta);
        put_nullable(&mut record, self.key);
        put_nullable(&mut record, self.value);
        varint::put(&mut record, self.headers.len() as i64);
        for (key, value) in &self.headers {
            put_nullable(&mut record, Some(key.as_bytes()));
            put_nullable(&mut record, *value);
        }
        varint::put(records, record.len() as i64);
        records.extend_from_slice(&record);
    }
}

/// Null, or up to 15 bytes, or, rarely, enough of them that a length takes two bytes.
fn nullable<'a>(input: &mut Input<'a>) -> Option<&'a [u8]> {
    match input.byte() {
        255 => Some(&[b'x'; 100]),
        choice if choice % 4 == 0 => None,
        choice => Some(input.bytes(usize::from(choice / 4 % 16))),
    }
}
