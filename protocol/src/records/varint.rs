//! Variable-length integers of the record format: base 128, low group first, zigzag.

use super::error::RecordFault;

/// Takes a 32-bit integer off the front.
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
        _ => take_long(input, u32::BITS)? as u32,
    };
    Ok((raw >> 1) as i32 ^ -((raw & 1) as i32))
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
        _ => take_long(input, u64::BITS)?,
    };
    Ok((raw >> 1) as i64 ^ -((raw & 1) as i64))
}

/// Three bytes and more, or an end that comes too early.
#[inline(never)]
fn take_long(input: &mut &[u8], bits: u32) -> Result<u64, RecordFault> {
    let mut value = 0;
    for (i, &byte) in input.iter().enumerate() {
        let shift = 7 * i as u32;
        let group = u64::from(byte & 0x7f);
        let room = bits - shift;
        if room < 7 && group >> room != 0 {
            return Err(RecordFault::Varint);
        }
        value |= group << shift;
        if byte < 0x80 {
            *input = &input[i + 1..];
            return Ok(value);
        }
        if room <= 7 {
            return Err(RecordFault::Varint);
        }
    }
    Err(RecordFault::Truncated)
}

/// Appends a 32-bit integer.
pub(super) fn put_i32(out: &mut Vec<u8>, value: i32) {
    put_raw(out, u64::from(zigzag_i32(value)));
}

/// Appends a 64-bit integer.
pub(super) fn put_i64(out: &mut Vec<u8>, value: i64) {
    put_raw(out, zigzag_i64(value));
}

/// Encoded size of a 32-bit integer: 1 to 5 bytes.
pub(super) fn size_i32(value: i32) -> usize {
    size_raw(u64::from(zigzag_i32(value)))
}

/// Encoded size of a 64-bit integer: 1 to 10 bytes.
pub(super) fn size_i64(value: i64) -> usize {
    size_raw(zigzag_i64(value))
}

fn zigzag_i32(value: i32) -> u32 {
    (value << 1 ^ value >> 31) as u32
}

fn zigzag_i64(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

fn put_raw(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn size_raw(value: u64) -> usize {
    let bits = u64::BITS - (value | 1).leading_zeros();
    bits.div_ceil(7) as usize
}
