//! One record, written at the end of a buffer.

use super::{headers::Header, varint};
use crate::wire::varint::zigzag_encode_64;

/// A record without headers, each of whose numbers takes one or two bytes: then those before the key are one word,
/// which is written with one store.
pub(super) struct Usual<'a> {
    /// Length, attributes, both deltas and the length of the key, the first byte lowest.
    head: u128,
    head_len: usize,
    key: &'a [u8],
    value_length: u16,
    value_length_len: usize,
    value: &'a [u8],
    /// Of what the length counts.
    pub(super) size: usize,
}

impl<'a> Usual<'a> {
    /// Bytes that [`put`](Self::put) may write beyond the record before it is done.
    pub(super) const SLACK: usize = 16;

    /// `None` where the record is not a usual one.
    #[inline(always)]
    pub(super) fn new(
        timestamp_delta: i64,
        offset_delta: i32,
        key: Option<&'a [u8]>,
        value: Option<&'a [u8]>,
    ) -> Option<Self> {
        let timestamp_delta = zigzag_encode_64(timestamp_delta);
        let offset_delta = zigzag_encode_64(offset_delta.into());
        let (key_length, key) = length_and_bytes(key);
        let (value_length, value) = length_and_bytes(value);
        if (timestamp_delta | offset_delta | key_length | value_length) >= 1 << 14 {
            return None;
        }
        let (timestamp_delta, of_timestamp) = short(timestamp_delta);
        let (offset_delta, of_offset) = short(offset_delta);
        let (key_length, of_key_length) = short(key_length);
        let (value_length, value_length_len) = short(value_length);
        let fixed = 1 + of_timestamp + of_offset + of_key_length;
        let size = fixed + key.len() + value_length_len + value.len() + 1;
        if size >= 1 << 13 {
            return None;
        }
        let (length, of_length) = short((size as u64) << 1);
        let fields = (timestamp_delta | (offset_delta | key_length << (8 * of_offset)) << (8 * of_timestamp)) << 8;
        Some(Self {
            head: u128::from(length) | u128::from(fields) << (8 * of_length),
            head_len: of_length + fixed,
            key,
            value_length: value_length as u16,
            value_length_len,
            value,
            size,
        })
    }

    /// Appends the record. Nothing moves if `out` has room for it and for [`SLACK`](Self::SLACK) bytes more.
    #[inline(always)]
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.head.to_le_bytes());
        out.truncate(start + self.head_len);
        out.extend_from_slice(self.key);
        let start = out.len();
        out.extend_from_slice(&self.value_length.to_le_bytes());
        out.truncate(start + self.value_length_len);
        out.extend_from_slice(self.value);
        out.push(0);
    }
}

/// A varint of one or two bytes, the first lowest, and how many it has.
#[inline(always)]
fn short(value: u64) -> (u64, usize) {
    if value < 0x80 { (value, 1) } else { (value & 0x7f | 0x80 | (value >> 7) << 8, 2) }
}

#[inline(always)]
fn length_and_bytes(bytes: Option<&[u8]>) -> (u64, &[u8]) {
    match bytes {
        None => (1, &[]),
        Some(bytes) => ((bytes.len() as u64) << 1, bytes),
    }
}

/// The size of what the length of any record counts.
pub(super) fn size_of_any<'h>(
    timestamp_delta: i64,
    offset_delta: i32,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    headers: impl Iterator<Item = Header<'h>> + Clone,
) -> usize {
    1 + varint::size(timestamp_delta)
        + varint::size(offset_delta.into())
        + size_nullable(key)
        + size_nullable(value)
        + varint::size(headers.clone().count() as i64)
        + headers.map(|header| size_nullable(Some(header.key)) + size_nullable(header.value)).sum::<usize>()
}

/// Appends any record, whose length counts `size` bytes.
pub(super) fn put_any<'h>(
    out: &mut Vec<u8>,
    size: usize,
    timestamp_delta: i64,
    offset_delta: i32,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    headers: impl Iterator<Item = Header<'h>> + Clone,
) {
    varint::put(out, size as i64);
    out.push(0);
    varint::put(out, timestamp_delta);
    varint::put(out, offset_delta.into());
    put_nullable(out, key);
    put_nullable(out, value);
    varint::put(out, headers.clone().count() as i64);
    for header in headers {
        put_nullable(out, Some(header.key));
        put_nullable(out, header.value);
    }
}

fn size_nullable(bytes: Option<&[u8]>) -> usize {
    bytes.map_or(1, |bytes| varint::size(bytes.len() as i64) + bytes.len())
}

pub(super) fn put_nullable(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    match bytes {
        None => varint::put(out, -1),
        Some(bytes) => {
            varint::put(out, bytes.len() as i64);
            out.extend_from_slice(bytes);
        }
    }
}
