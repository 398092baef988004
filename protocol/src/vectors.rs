//! Test vectors of the codec: one message as JSON and as bytes, which must be the same message.
//!
//! A line is `{"api":"ShareFetch","kind":"request","version":2,"key":78,"json":{..},"hex":".."}`. `json` is what
//! Kafka's own `*DataJsonConverter` writes, with the bytes of record sets as base64; `hex` is the body alone, without
//! frame size and header; `kind` is `request`, `response`, or one of two that have no API: `header` (then `api` is
//! `RequestHeader` or `ResponseHeader`) and `data` (then `api` is the name of a struct that is
//! [embedded](crate::messages::embedded), whose version does not stand in `hex`). These have the key -1.

use std::fmt;

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::messages::dynamic::{Codec, CodecError, Kind, UnknownMessage};

/// What a line proved right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The message, such as `ShareFetchRequest`.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// Its version.
    pub version: i16,
    /// The number of bytes that it takes.
    pub bytes: usize,
}

/// Why a line is wrong.
#[derive(Debug, thiserror::Error)]
pub enum VectorError {
    /// The line is not JSON.
    #[error("not a JSON object: {0}")]
    Syntax(serde_json::Error),
    /// A part of the line is missing or of the wrong type.
    #[error("{part:?} is missing, or is not {expected}")]
    Part {
        /// The part.
        part: &'static str,
        /// What it should be.
        expected: &'static str,
    },
    /// The message is not one that this crate has.
    #[error(transparent)]
    Unknown(#[from] UnknownMessage),
    /// The key is another API's.
    #[error("{name} has the key {expected}, the line says {actual}")]
    Key {
        /// The message.
        name: &'static str,
        /// The key that the message has.
        expected: i16,
        /// The key in the line.
        actual: i64,
    },
    /// The bytes or the JSON are not the message, or the message cannot be written.
    #[error("{input}: {error}")]
    Codec {
        /// What was read: `hex` or `json`.
        input: &'static str,
        /// What was wrong.
        error: CodecError,
    },
    /// The bytes say another message than the JSON.
    #[error("{name} v{version}: {path} is {actual} in the bytes and {expected} in the JSON")]
    Field {
        /// The message.
        name: &'static str,
        /// Its version.
        version: i16,
        /// The first field that differs, such as `topics[0].partitions`.
        path: String,
        /// The value read from the bytes.
        actual: Shown,
        /// The value in the JSON.
        expected: Shown,
    },
    /// The message read from `input` is written as other bytes.
    #[error("{name} v{version}: read from {input} and written again, byte {at} is {actual} instead of {expected}")]
    Byte {
        /// The message.
        name: &'static str,
        /// Its version.
        version: i16,
        /// What was read: `hex` or `json`.
        input: &'static str,
        /// The first byte that differs.
        at: usize,
        /// The byte written.
        actual: Shown,
        /// The byte in the line.
        expected: Shown,
    },
}

/// A value in an error: as JSON or hex, shortened; or nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown(String);

impl Shown {
    const LONGEST: usize = 120;

    fn json(value: Option<&Value>) -> Self {
        let text = value.map_or_else(|| "absent".to_owned(), Value::to_string);
        match text.char_indices().nth(Self::LONGEST) {
            Some((end, _)) => Self(format!("{}..", &text[..end])),
            None => Self(text),
        }
    }

    fn byte(byte: Option<&u8>) -> Self {
        Self(byte.map_or_else(|| "absent".to_owned(), |b| format!("{b:02x}")))
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Proves one line: the bytes read as the JSON, the JSON is written as the bytes, and the message read from the bytes
/// is written as the same bytes again.
///
/// # Errors
/// [`VectorError`], which names the first field or byte that differs.
pub fn check_line(line: &str) -> Result<Checked, VectorError> {
    let line: Map<String, Value> = serde_json::from_str(line).map_err(VectorError::Syntax)?;
    let api = part(&line, "api", "a string", Value::as_str)?;
    let kind: Kind = part(&line, "kind", "a string", Value::as_str)?.parse()?;
    let version = part(&line, "version", "an int16", |v| v.as_i64()?.try_into().ok())?;
    let key = part(&line, "key", "an integer", Value::as_i64)?;
    let json = part(&line, "json", "an object", |v| v.is_object().then_some(v))?;
    let bytes = part(&line, "hex", "hexadecimal", |v| unhex(v.as_str()?))?;

    let codec = Codec::find(api, kind, version)?;
    if key != i64::from(codec.key().0) {
        return Err(VectorError::Key { name: codec.name(), expected: codec.key().0, actual: key });
    }
    check(&codec, json, &bytes)?;
    Ok(Checked { name: codec.name(), kind, version, bytes: bytes.len() })
}

fn part<'a, T>(
    line: &'a Map<String, Value>,
    part: &'static str,
    expected: &'static str,
    get: impl FnOnce(&'a Value) -> Option<T>,
) -> Result<T, VectorError> {
    line.get(part).and_then(get).ok_or(VectorError::Part { part, expected })
}

fn check(codec: &Codec, json: &Value, bytes: &Bytes) -> Result<(), VectorError> {
    let from = |input| move |error| VectorError::Codec { input, error };
    let read = codec.bytes_to_json(bytes.clone()).map_err(from("hex"))?;
    if let Some((path, actual, expected)) = first_difference(&read, json) {
        return Err(VectorError::Field { name: codec.name(), version: codec.version(), path, actual, expected });
    }
    same_bytes(codec, "json", &codec.json_to_bytes(json).map_err(from("json"))?, bytes)?;
    same_bytes(codec, "hex", &codec.bytes_to_bytes(bytes.clone()).map_err(from("hex"))?, bytes)
}

fn same_bytes(codec: &Codec, input: &'static str, actual: &[u8], expected: &[u8]) -> Result<(), VectorError> {
    if actual == expected {
        return Ok(());
    }
    let at = actual.iter().zip(expected).take_while(|(a, b)| a == b).count();
    Err(VectorError::Byte {
        name: codec.name(),
        version: codec.version(),
        input,
        at,
        actual: Shown::byte(actual.get(at)),
        expected: Shown::byte(expected.get(at)),
    })
}

/// The path of the first field that differs, and both its values.
fn first_difference(actual: &Value, expected: &Value) -> Option<(String, Shown, Shown)> {
    let inside = |step: String, a: Option<&Value>, b: Option<&Value>| match (a, b) {
        (Some(a), Some(b)) => first_difference(a, b).map(|(path, a, b)| (join(&step, &path), a, b)),
        _ => Some((step, Shown::json(a), Shown::json(b))),
    };
    match (actual, expected) {
        (Value::Object(a), Value::Object(b)) => {
            a.keys().chain(b.keys()).find_map(|name| inside(name.clone(), a.get(name), b.get(name)))
        }
        (Value::Array(a), Value::Array(b)) => {
            (0..a.len().max(b.len())).find_map(|i| inside(format!("[{i}]"), a.get(i), b.get(i)))
        }
        _ => (actual != expected).then(|| (String::new(), Shown::json(Some(actual)), Shown::json(Some(expected)))),
    }
}

fn join(step: &str, path: &str) -> String {
    let dot = if path.is_empty() || path.starts_with('[') { "" } else { "." };
    format!("{step}{dot}{path}")
}

fn unhex(text: &str) -> Option<Bytes> {
    let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).map(|d| d as u8)).collect();
    let digits = digits.filter(|d| d.len() % 2 == 0)?;
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests;
