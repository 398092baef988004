//! Variable-length integers as the record format has them: always zigzag, taken off the front of a slice.

use super::error::RecordFault;
use crate::wire::varint::{
    VarintError, read_u32, read_u64, size_u64, write_u64, zigzag_decode_32, zigzag_decode_64, zigzag_encode_64,
};

/// Takes a 32-bit integer off the front. One and two bytes, which is nearly all there is, are read without a call.
#[inline(always)]
pub(super) fn take_i32(input: &mut &[u8]) -> Result<i32, RecordFault> {
    let raw = match **input {
        [a, ref rest @ ..] if a < 0x80 => {
            *input = rest;
            u32::from(a)
        }
        [a, b, ref rest @ ..] if b < 0x80 => {
            *input = rest;
            u32::from(a & 0x7f) | u32::from(b) << 7
        }
        _ => {
            let (value, size) = read_u32_long(input)?;
            *input = &input[size..];
            value
        }
    };
    Ok(zigzag_decode_32(raw))
}

/// Takes a 64-bit integer off the front.
#[inline(always)]
pub(super) fn take_i64(input: &mut &[u8]) -> Result<i64, RecordFault> {
    let raw = match **input {
        [a, ref rest @ ..] if a < 0x80 => {
            *input = rest;
            u64::from(a)
        }
        [a, b, ref rest @ ..] if b < 0x80 => {
            *input = rest;
            u64::from(a & 0x7f) | u64::from(b) << 7
        }
        _ => {
            let (value, size) = read_u64_long(input)?;
            *input = &input[size..];
            value
        }
    };
    Ok(zigzag_decode_64(raw))
}

// The long forms take the slice by value: its address must not escape, or the caller's fast path keeps it in memory.

#[inline(never)]
fn read_u32_long(input: &[u8]) -> Result<(u32, usize), RecordFault> {
    Ok(read_u32(input)?)
}

#[inline(never)]
fn read_u64_long(input: &[u8]) -> Result<(u64, usize), RecordFault> {
    Ok(read_u64(input)?)
}

impl From<VarintError> for RecordFault {
    fn from(error: VarintError) -> Self {
        match error {
            VarintError::Truncated => Self::Truncated,
            VarintError::Overflow => Self::Varint,
        }
    }
}

/// Appends an integer of 32 or 64 bits: both are written alike.
pub(super) fn put(out: &mut Vec<u8>, value: i64) {
    write_u64(out, zigzag_encode_64(value));
}

/// The bytes that [`put`] takes: 1 to 5 for 32 bits, 1 to 10 for 64.
pub(super) fn size(value: i64) -> usize {
    size_u64(zigzag_encode_64(value))
}
