//! Bytes as hexadecimal text.

use std::fmt::Write;

use bytes::Bytes;

/// Reads hexadecimal digits, whatever white space is between them and with or without `0x` in front; `None` where there is
/// anything else, or half a byte.
pub fn read(text: &str) -> Option<Bytes> {
    let text = text.trim_start();
    let text = text.strip_prefix("0x").unwrap_or(text);
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let mut half: Option<u8> = None;
    for letter in text.chars().filter(|letter| !letter.is_whitespace()) {
        let digit = letter.to_digit(16)? as u8;
        match half.take() {
            None => half = Some(digit),
            Some(high) => bytes.push(high << 4 | digit),
        }
    }
    half.is_none().then(|| bytes.into())
}

/// Writes bytes as digits.
pub fn write(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
