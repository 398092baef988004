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
    let head = Head::read(input)?;
    let (framed, rest) = input.split_at_checked(head.after_length + length_of(head.length)?)?;
    // Of a record that ends before its key is to begin, the head has numbers that lie outside.
    let (key, after_key) = take_bytes(framed.get(head.key_at..)?, head.key_length)?;
    // The length of the value and the number of headers.
    let [a, b] = *after_key.first_chunk()?;
    let (value_length, of_value_length) = match (a, b) {
        (..0x80, _) => (u32::from(a), 1),
        (_, ..0x80) => (u32::from(a & 0x7f) | u32::from(b) << 7, 2),
        _ => return None,
    };
    let (value, after_value) = take_bytes(&after_key[of_value_length..], value_length)?;
    let headers = match *after_value {
        [0] => Headers::none(&after_value[1..]),
        _ => take_headers(after_value)?,
    };
    let fields = Fields {
        timestamp_delta: zigzag_decode_64(head.timestamp_delta.into()),
        offset_delta: zigzag_decode_32(head.offset_delta),
        key,
        after_key: after_key.len(),
        value,
        after_value: after_value.len(),
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
    fn read(input: &[u8]) -> Option<Self> {
        let word = u64::from_le_bytes(*input.first_chunk()?);
        let byte = |at: u32| (word >> (8 * at)) as u32 & 0xff;
        // Records of 64 bytes and more, within a minute: the length has two bytes, the offset one or two, the others one.
        // One comparison sees the top bits of all of them, and that the length is not negative.
        let head = |offset_delta, key_length, key_at| Self {
            length: byte(0) & 0x7f | byte(1) << 7,
            after_length: 2,
            timestamp_delta: byte(3),
            offset_delta,
            key_length,
            key_at,
        };
        if word & 0x8080_8000_8081 == 0x80 {
            return Some(head(byte(4), byte(5), 6));
        }
        if word & 0x80_8080_8000_8081 == 0x80_0000_0080 {
            return Some(head(byte(4) & 0x7f | byte(5) << 7, byte(6), 7));
        }
        Self::read_any(input, word)
    }

    fn read_any(input: &[u8], mut word: u64) -> Option<Self> {
        let (length, after_length) = take_short(&mut word)?;
        // The attributes are unused.
        let mut word = u64::from_le_bytes(*input[after_length..].first_chunk()?) >> 8;
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

/// A length that is not negative.
#[inline(always)]
fn length_of(zigzag: u32) -> Option<usize> {
    (zigzag & 1 == 0).then_some((zigzag >> 1) as usize)
}

/// So many bytes, and what follows; -1 is null.
#[inline(always)]
fn take_bytes(input: &[u8], length: u32) -> Option<(Option<&[u8]>, &[u8])> {
    const NULL: u32 = 1;
    match length_of(length) {
        Some(length) => {
            let (bytes, rest) = input.split_at_checked(length)?;
            Some((Some(bytes), rest))
        }
        None => (length == NULL).then_some((None, input)),
    }
}

#[inline(never)]
fn take_headers(mut input: &[u8]) -> Option<Headers<'_>> {
    let count = take_i32(&mut input).ok()?;
    Headers::new(input, count).ok()
}
