//! A record that stands on its own.

use std::ops::Range;

use bytes::Bytes;

use super::{
    headers::Headers,
    record::{Fields, Record},
};

/// A record with its own handle on the bytes: one slice and the ranges of key and value in it. `Send`, `'static`, cheap
/// to clone.
///
/// While it lives it keeps the whole response (or the whole decompressed batch) in memory that it came in. To keep a
/// few records of many for long, [`detach`](Self::detach) them.
#[derive(Debug, Clone)]
pub struct OwnedRecord {
    offset: i64,
    timestamp: i64,
    raw: Bytes,
    key: Option<Range<u32>>,
    value: Option<Range<u32>>,
    headers_at: u32,
    header_count: u32,
}

impl OwnedRecord {
    /// Of a record that was read from `bytes`. If it was read from elsewhere, its bytes are copied.
    pub(super) fn new(bytes: &Bytes, record: &Record<'_>) -> Self {
        let raw = record.raw();
        let fields = Fields::parse(raw).expect("these bytes were parsed when the record was read");
        // Fields follow each other, so what is left after one tells where it ends.
        let value_end = raw.len() - fields.after_value;
        let key_end = raw.len() - fields.after_key;
        Self {
            offset: record.offset,
            timestamp: record.timestamp,
            key: fields.key.map(|key| range_before(key_end, key)),
            value: fields.value.map(|value| range_before(value_end, value)),
            headers_at: (raw.len() - fields.headers.bytes().len()) as u32,
            header_count: fields.headers.len() as u32,
            raw: slice_or_copy(bytes, raw),
        }
    }

    /// Offset in the partition.
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// Time in ms.
    pub fn timestamp(&self) -> i64 {
        self.timestamp
    }

    /// The key, or null.
    pub fn key(&self) -> Option<&[u8]> {
        self.key.as_ref().map(|range| self.slice(range))
    }

    /// The value, or null.
    pub fn value(&self) -> Option<&[u8]> {
        self.value.as_ref().map(|range| self.slice(range))
    }

    /// The headers, parsed as they are asked for.
    pub fn headers(&self) -> Headers<'_> {
        Headers::checked(&self.raw[self.headers_at as usize..], self.header_count)
    }

    /// The same record in bytes of its own, so that the response can go.
    pub fn detach(self) -> Self {
        Self { raw: Bytes::copy_from_slice(&self.raw), ..self }
    }

    fn slice(&self, range: &Range<u32>) -> &[u8] {
        &self.raw[range.start as usize..range.end as usize]
    }
}

fn range_before(end: usize, field: &[u8]) -> Range<u32> {
    (end - field.len()) as u32..end as u32
}

fn slice_or_copy(bytes: &Bytes, part: &[u8]) -> Bytes {
    let start = (part.as_ptr() as usize).wrapping_sub(bytes.as_ptr() as usize);
    match start.checked_add(part.len()) {
        Some(end) if end <= bytes.len() => bytes.slice(start..end),
        _ => Bytes::copy_from_slice(part),
    }
}
