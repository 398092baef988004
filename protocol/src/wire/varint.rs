//! Variable-length integers: 7 bits a byte, low bits first; signed ones are zigzag.
//!
//! Readers take at most 5 bytes for 32 bits and 10 for 64, and refuse bits beyond the width, so that hostile input
//! gives an error and never a wrong value.

use bytes::BufMut;

/// Why a varint cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VarintError {
    /// The input ends inside the varint.
    #[error("the input ends inside a varint")]
    Truncated,
    /// Too many bytes, or bits beyond the width.
    #[error("a varint is too long")]
    Overflow,
}

/// Reads an unsigned varint of at most 32 bits from the front of `input`; gives the value and its length in bytes.
///
/// # Errors
/// [`VarintError`].
#[inline]
pub fn read_u32(input: &[u8]) -> Result<(u32, usize), VarintError> {
    match *input {
        [a, ..] if a < 0x80 => Ok((u32::from(a), 1)),
        [a, b, ..] if b < 0x80 => Ok((u32::from(a & 0x7f) | u32::from(b) << 7, 2)),
        [a, b, c, ..] if c < 0x80 => Ok((u32::from(a & 0x7f) | u32::from(b & 0x7f) << 7 | u32::from(c) << 14, 3)),
        _ => read_u32_slow(input),
    }
}

fn read_u32_slow(input: &[u8]) -> Result<(u32, usize), VarintError> {
    let mut value = 0u32;
    for (i, &byte) in input.iter().take(5).enumerate() {
        if i == 4 && byte > 0x0f {
            return Err(VarintError::Overflow);
        }
        value |= u32::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Ok((value, i + 1));
        }
    }
    Err(VarintError::Truncated)
}

/// Reads an unsigned varint of at most 64 bits from the front of `input`; gives the value and its length in bytes.
///
/// # Errors
/// [`VarintError`].
#[inline]
pub fn read_u64(input: &[u8]) -> Result<(u64, usize), VarintError> {
    match input.first() {
        Some(&byte) if byte < 0x80 => Ok((u64::from(byte), 1)),
        _ => read_u64_slow(input),
    }
}

fn read_u64_slow(input: &[u8]) -> Result<(u64, usize), VarintError> {
    let mut value = 0u64;
    for (i, &byte) in input.iter().take(10).enumerate() {
        if i == 9 && byte > 0x01 {
            return Err(VarintError::Overflow);
        }
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Ok((value, i + 1));
        }
    }
    Err(VarintError::Truncated)
}

/// Zigzag: undoes the mapping of small negative numbers to small unsigned ones.
#[inline]
pub fn zigzag_decode_32(value: u32) -> i32 {
    (value >> 1) as i32 ^ -((value & 1) as i32)
}

/// Zigzag: undoes the mapping of small negative numbers to small unsigned ones.
#[inline]
pub fn zigzag_decode_64(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Zigzag: maps small negative numbers to small unsigned ones.
#[inline]
pub fn zigzag_encode_32(value: i32) -> u32 {
    ((value << 1) ^ (value >> 31)) as u32
}

/// Zigzag: maps small negative numbers to small unsigned ones.
#[inline]
pub fn zigzag_encode_64(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Writes an unsigned varint of 32 bits.
#[inline]
pub fn write_u32(out: &mut impl BufMut, value: u32) {
    write_u64(out, u64::from(value));
}

/// Writes an unsigned varint of 64 bits.
#[inline]
pub fn write_u64(out: &mut impl BufMut, mut value: u64) {
    while value >= 0x80 {
        out.put_u8(value as u8 | 0x80);
        value >>= 7;
    }
    out.put_u8(value as u8);
}

/// The bytes that [`write_u64`] takes for `value`.
#[inline]
pub fn size_u64(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}
