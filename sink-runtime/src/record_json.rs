//! A record as JSON: one line, the same wherever ackflow writes or reads one.
//!
//! ```json
//! {"topic":"orders","partition":0,"offset":17,"timestamp":1700000000000,"deliveryCount":1,"key":"k","value":{"a":1},"headers":[["trace","t-1"]]}
//! ```
//!
//! A key or value is the JSON that `JsonConverter` made, a string from `StringConverter`, `{"base64": ".."}` from `ByteArrayConverter`, or
//! null. A header's value is a string if it is UTF-8, else `{"base64": ".."}`, or null.

use std::io::Write;

use ackflow_client::share::ShareRecord;
use ackflow_protocol::records::Headers;
use base64::{Engine, prelude::BASE64_STANDARD};

use crate::contract::{SinkRecord, Value};

/// What is written of a record.
#[derive(Debug, Clone)]
pub struct RecordJson<'a> {
    /// Topic.
    pub topic: &'a str,
    /// Partition.
    pub partition: i32,
    /// Offset.
    pub offset: i64,
    /// Time in ms.
    pub timestamp: i64,
    /// Deliveries so far; left out if `None`.
    pub delivery_count: Option<i16>,
    /// Key.
    pub key: Value<'a>,
    /// Value.
    pub value: Value<'a>,
    /// Headers.
    pub headers: Headers<'a>,
}

impl<'a> From<SinkRecord<'a>> for RecordJson<'a> {
    fn from(record: SinkRecord<'a>) -> Self {
        let SinkRecord { topic, partition, offset, timestamp, delivery_count, key, value, headers, .. } = record;
        Self { topic, partition, offset, timestamp, delivery_count, key, value, headers }
    }
}

impl<'a> RecordJson<'a> {
    /// A record as it stands in the topic: key and value are strings if they are UTF-8.
    pub fn raw(record: &ShareRecord<'a>) -> Self {
        let text = |bytes: Option<&'a [u8]>| match bytes.map(|bytes| (str::from_utf8(bytes), bytes)) {
            None => Value::Null,
            Some((Ok(text), _)) => Value::String(text.into()),
            Some((Err(_), bytes)) => Value::Bytes(bytes),
        };
        Self {
            topic: record.topic,
            partition: record.partition,
            offset: record.offset,
            timestamp: record.timestamp,
            delivery_count: Some(record.delivery_count),
            key: text(record.key),
            value: text(record.value),
            headers: record.headers(),
        }
    }

    /// Appends the record to `out`, without a line break. Headers end where they are malformed.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"topic\":");
        write_string(out, self.topic);
        number(out, ",\"partition\":", self.partition.into());
        number(out, ",\"offset\":", self.offset);
        number(out, ",\"timestamp\":", self.timestamp);
        if let Some(count) = self.delivery_count {
            number(out, ",\"deliveryCount\":", count.into());
        }
        out.extend_from_slice(b",\"key\":");
        write_value(out, &self.key);
        out.extend_from_slice(b",\"value\":");
        write_value(out, &self.value);
        out.extend_from_slice(b",\"headers\":[");
        for (index, header) in self.headers.map_while(Result::ok).enumerate() {
            out.extend_from_slice(if index == 0 { b"[" } else { b",[" });
            write_string(out, &header.key_str());
            out.push(b',');
            match header.value.map(|value| (str::from_utf8(value), value)) {
                None => out.extend_from_slice(b"null"),
                Some((Ok(text), _)) => write_string(out, text),
                Some((Err(_), bytes)) => write_base64(out, bytes),
            }
            out.push(b']');
        }
        out.extend_from_slice(b"]}");
    }
}

fn number(out: &mut Vec<u8>, name: &str, value: i64) {
    out.extend_from_slice(name.as_bytes());
    let _ = write!(out, "{value}");
}

/// Appends a key or a value.
pub fn write_value(out: &mut Vec<u8>, value: &Value<'_>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bytes(bytes) => write_base64(out, bytes),
        Value::String(text) => write_string(out, text),
        Value::Json(text) => out.extend_from_slice(text.as_bytes()),
    }
}

fn write_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(b"{\"base64\":\"");
    let start = out.len();
    // Four characters for each three bytes begun.
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    let written = BASE64_STANDARD.encode_slice(bytes, &mut out[start..]).expect("the buffer has the exact size");
    out.truncate(start + written);
    out.extend_from_slice(b"\"}");
}

/// Which bytes must be escaped in a JSON string: quote, backslash and control characters.
const ESCAPED: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = true;
        byte += 1;
    }
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    table
};

/// Appends `text` as a JSON string.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|&byte| ESCAPED[byte as usize]) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            control => drop(write!(out, "\\u{control:04x}")),
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

#[cfg(test)]
mod tests;
