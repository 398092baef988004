//! One record, written at the end of a buffer.

use super::{headers::Header, varint};
use crate::wire::varint::zigzag_encode_64;

/// A record without headers, each of whose numbers takes one or two bytes: then all between its length and its key are
/// one word.
pub(super) struct Usual<'a> {
    length: u64,
    length_len: usize,
    /// Attributes, both deltas and the length of the key, the first byte lowest.
    before_key: u64,
    before_key_len: usize,
    key: &'a [u8],
    value_length: u64,
    value_length_len: usize,
    value: &'a [u8],
    /// Size of the whole record.
    pub(super) framed: usize,
}

impl<'a> Usual<'a> {
    /// Bytes that [`put`](Self::put) may write beyond the record before it is done.
    pub(super) const SLACK: usize = 8;

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
        let before_key_len = 1 + of_timestamp + of_offset + of_key_length;
        let size = before_key_len + key.len() + value_length_len + value.len() + 1;
        if size >= 1 << 13 {
            return None;
        }
        let (length, length_len) = short((size as u64) << 1);
        Some(Self {
            length,
            length_len,
            before_key: (timestamp_delta | (offset_delta | key_length << (8 * of_offset)) << (8 * of_timestamp)) << 8,
            before_key_len,
            key,
            value_length,
            value_length_len,
            value,
            framed: length_len + size,
        })
    }

    /// Writes the record to the front of `out`, which has room for it and for [`SLACK`](Self::SLACK) bytes more.
    #[inline(always)]
    pub(super) fn put(&self, out: &mut [u8]) {
        out[..2].copy_from_slice(&(self.length as u16).to_le_bytes());
        let out = &mut out[self.length_len..];
        out[..8].copy_from_slice(&self.before_key.to_le_bytes());
        let (key, out) = out[self.before_key_len..].split_at_mut(self.key.len());
        copy_key(key, self.key);
        out[..2].copy_from_slice(&(self.value_length as u16).to_le_bytes());
        let (value, out) = out[self.value_length_len..].split_at_mut(self.value.len());
        value.copy_from_slice(self.value);
        out[0] = 0;
    }
}

/// As `copy_from_slice`, but without a call for lengths that keys often have: two copies that overlap.
#[inline(always)]
fn copy_key(to: &mut [u8], from: &[u8]) {
    match from.len() {
        8..=16 => copy_ends::<8>(to, from),
        17..=32 => copy_ends::<16>(to, from),
        _ => to.copy_from_slice(from),
    }
}

#[inline(always)]
fn copy_ends<const N: usize>(to: &mut [u8], from: &[u8]) {
    if let (Some(first), Some(last)) = (from.first_chunk::<N>(), from.last_chunk::<N>()) {
        if let Some(to) = to.first_chunk_mut() {
            *to = *first;
        }
        if let Some(to) = to.last_chunk_mut() {
            *to = *last;
        }
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
