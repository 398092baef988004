//! The record that nearly all are: each number in one or two bytes, so that one load or two hold those before the key.

use super::{
    headers::Headers,
    record::{Fields, Framed},
    varint::take_i32,
};
use crate::wire::varint::{zigzag_decode_32, zigzag_decode_64};

/// Bytes from which the numbers before the key are read: the length has two at most, the attributes have one, and the
/// word behind them holds three numbers. A record with less behind its start is not a usual one.
const WINDOW: usize = 11;

/// Takes a record off the front of `input`, just as [`Framed::take`] does; `None` where the record is not a usual one,
/// or has a fault.
#[inline(always)]
pub(super) fn take_usual(input: &[u8]) -> Option<Framed<'_>> {
    match take_most(input) {
        Some(framed) => Some(framed),
        None => take_short_numbers(input),
    }
}

/// The most usual: without headers, its value of 64 bytes and more, its key null or shorter than that, its time less
/// than 64 ms after that of the batch.
#[inline(always)]
pub(super) fn take_most(input: &[u8]) -> Option<Framed<'_>> {
    let word = u64::from_le_bytes(*input.first_chunk()?);
    // One comparison sees that the length has two bytes and the timestamp one, and that neither they nor the offset are
    // negative: each is half of its zigzag then.
    if word & 0x01_8100_8081 != 0x80 {
        return None;
    }
    let length = two_bytes(word as u16);
    let timestamp_delta = word >> 25 & 0x3f;
    let (offset_delta, key_length, key_at) = if word & 0x80_0000_0000 == 0 {
        (word >> 33 & 0x3f, word >> 40, 6)
    } else if word & 0x8000_0000_0000 == 0 {
        (word >> 33 & 0x3f | word >> 34 & 0x1fc0, word >> 48, 7)
    } else {
        return None;
    };
    let key_is_null = key_length as u8 == 1;
    if key_length & 0x81 != 0 && !key_is_null {
        return None;
    }
    let (framed, rest) = input.split_at_checked(2 + length)?;
    let key_end = key_at + (key_length as usize >> 1 & 0x3f);
    // The value ends where the record does, but for the number of headers. That leaves it one length, and to compare that
    // is less work than to read what stands there.
    let value_at = key_end + 2;
    let value_end = framed.len() - 1;
    if value_at > value_end || framed[value_end] != 0 {
        return None;
    }
    let value_length = value_end - value_at;
    let stands = u16::from_le_bytes(*framed[key_end..].first_chunk()?);
    if usize::from(stands) != (value_length << 1 & 0x7e | value_length << 2 & 0x7f00 | 0x80) {
        return None;
    }
    let fields = Fields {
        timestamp_delta: timestamp_delta as i64,
        offset_delta: offset_delta as i32,
        key: (!key_is_null).then(|| &framed[key_at..key_end]),
        after_key: framed.len() - key_end,
        value: Some(&framed[value_at..value_end]),
        after_value: 1,
        headers: Headers::none(&framed[value_end + 1..]),
    };
    Some(Framed { fields, raw: &framed[2..], rest })
}

/// The number of a varint of two bytes that is not negative, both of which was seen before.
#[inline(always)]
fn two_bytes(bytes: u16) -> usize {
    let bytes = usize::from(bytes);
    (bytes + (bytes & 0x7e) - 0x80) >> 2
}

/// A record whose numbers are short, whatever they are.
#[inline(always)]
pub(super) fn take_short_numbers(input: &[u8]) -> Option<Framed<'_>> {
    let head = Head::read(input.first_chunk()?)?;
    let (framed, rest) = input.split_at_checked(head.after_length + length_of(head.length)?)?;
    let key_end = head.key_at + length_or_null(head.key_length)?;

    // The length of the value and the number of headers.
    let [a, b] = *framed.get(key_end..key_end + 2)?.first_chunk()?;
    let (value_length, of_value_length) = match (a, b) {
        (..0x80, _) => (u32::from(a), 1),
        (_, ..0x80) => (u32::from(a & 0x7f) | u32::from(b) << 7, 2),
        _ => return None,
    };
    let value_at = key_end + of_value_length;
    let value_end = value_at + length_or_null(value_length)?;
    let headers = if value_end + 1 == framed.len() && framed[value_end] == 0 {
        Headers::none(&framed[value_end + 1..])
    } else {
        take_headers(framed.get(value_end..)?)?
    };
    let fields = Fields {
        timestamp_delta: zigzag_decode_64(head.timestamp_delta.into()),
        offset_delta: zigzag_decode_32(head.offset_delta),
        key: (head.key_length != NULL).then(|| &framed[head.key_at..key_end]),
        after_key: framed.len() - key_end,
        value: (value_length != NULL).then(|| &framed[value_at..value_end]),
        after_value: framed.len() - value_end,
        headers,
    };
    Some(Framed { fields, raw: &framed[head.after_length..], rest })
}

/// What stands before the key. The numbers are zigzag as they are.
struct Head {
    length: u32,
    after_length: usize,
    timestamp_delta: u32,
    offset_delta: u32,
    key_length: u32,
    key_at: usize,
}

impl Head {
    #[inline(always)]
    fn read(window: &[u8; WINDOW]) -> Option<Self> {
        let mut word = u64::from_le_bytes(*window.first_chunk()?);
        let (length, after_length) = take_short(&mut word)?;
        // The attributes are unused.
        let mut word = u64::from_le_bytes(*window[1 + after_length..].first_chunk()?);
        let (timestamp_delta, of_timestamp) = take_short(&mut word)?;
        let (offset_delta, of_offset) = take_short(&mut word)?;
        let (key_length, of_key_length) = take_short(&mut word)?;
        let key_at = after_length + 1 + of_timestamp + of_offset + of_key_length;
        Some(Self { length, after_length, timestamp_delta, offset_delta, key_length, key_at })
    }
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

/// -1, which stands for null, as zigzag has it.
const NULL: u32 = 1;

/// A length that is not negative.
#[inline(always)]
fn length_of(zigzag: u32) -> Option<usize> {
    (zigzag & 1 == 0).then_some((zigzag >> 1) as usize)
}

/// A length as [`length_of`] reads it, or 0 for null.
#[inline(always)]
fn length_or_null(zigzag: u32) -> Option<usize> {
    (zigzag & 1 == 0 || zigzag == NULL).then_some((zigzag >> 1) as usize)
}

#[inline(never)]
fn take_headers(mut input: &[u8]) -> Option<Headers<'_>> {
    let count = take_i32(&mut input).ok()?;
    Headers::new(input, count).ok()
}
