//! Bytes as hexadecimal text.

use std::fmt::Write;

use bytes::Bytes;

/// Reads hexadecimal digits, whatever white space, colons or commas are between them, with or without `0x` in front of each
/// group; `None` where there is anything else, or half a byte. A byte order mark is passed over.
pub fn read(text: &str) -> Option<Bytes> {
    let text = text.trim_start_matches('\u{feff}');
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let mut half: Option<u8> = None;
    let groups = text.split(|letter: char| letter.is_whitespace() || ":,".contains(letter));
    for letter in groups.flat_map(|group| group.strip_prefix("0x").unwrap_or(group).chars()) {
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
