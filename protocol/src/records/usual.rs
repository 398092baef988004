//! The record that nearly all are: each number in one or two bytes, so that one load holds those before the key.

use super::{
    headers::Headers,
    record::{Fields, Framed},
    varint::take_i32,
};
use crate::wire::varint::{zigzag_decode_32, zigzag_decode_64};

/// Takes a record off the front of `input`, just as [`Framed::take`] does; `None` where the record is not a usual one,
/// or has a fault.
#[inline(always)]
pub(super) fn take_usual(input: &[u8]) -> Option<Framed<'_>> {
    let mut length_bytes = u64::from_le_bytes(*input.first_chunk()?);
    let (length, after_length) = take_short(&mut length_bytes)?;
    let (raw, rest) = input[after_length..].split_at_checked(length_of(length)?)?;

    // The attributes are unused.
    let mut numbers = u64::from_le_bytes(*raw.first_chunk()?) >> 8;
    let (timestamp_delta, of_timestamp) = take_short(&mut numbers)?;
    let (offset_delta, of_offset) = take_short(&mut numbers)?;
    let (key_length, of_key_length) = take_short(&mut numbers)?;

    let (key, after_key) = take_bytes(&raw[1 + of_timestamp + of_offset + of_key_length..], key_length)?;
    let (value_length, after_length) = match *after_key {
        [a, ref rest @ ..] if a < 0x80 => (u32::from(a), rest),
        [a, b, ref rest @ ..] if b < 0x80 => (u32::from(a & 0x7f) | u32::from(b) << 7, rest),
        _ => return None,
    };
    let (value, after_value) = take_bytes(after_length, value_length)?;
    let mut headers = after_value;
    let header_count = take_i32(&mut headers).ok()?;
    let headers = Headers::new(headers, header_count).ok()?;
    let fields = Fields {
        timestamp_delta: zigzag_decode_64(timestamp_delta.into()),
        offset_delta: zigzag_decode_32(offset_delta),
        key,
        after_key: after_key.len(),
        value,
        after_value: after_value.len(),
        headers,
    };
    Some(Framed { fields, raw, rest })
}

/// A varint of one or two bytes off the low end of `bytes`, zigzag as it is, and how many there were. At most four are
/// taken of one word.
#[inline(always)]
fn take_short(bytes: &mut u64) -> Option<(u32, usize)> {
    let word = *bytes;
    if word & 0x80 == 0 {
        *bytes >>= 8;
        Some(((word & 0x7f) as u32, 1))
    } else if word & 0x8000 == 0 {
        *bytes >>= 16;
        Some(((word & 0x7f | (word >> 1) & 0x3f80) as u32, 2))
    } else {
        None
    }
}

/// A length that is not negative.
#[inline(always)]
fn length_of(zigzag: u32) -> Option<usize> {
    (zigzag & 1 == 0).then_some((zigzag >> 1) as usize)
}

/// So many bytes, and what follows; -1 is null.
#[inline(always)]
fn take_bytes(input: &[u8], length: u32) -> Option<(Option<&[u8]>, &[u8])> {
    const NULL: u32 = 1;
    if length == NULL {
        return Some((None, input));
    }
    let (bytes, rest) = input.split_at_checked(length_of(length)?)?;
    Some((Some(bytes), rest))
}
