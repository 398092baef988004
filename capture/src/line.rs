//! What was decoded, as lines of JSON.
//!
//! ```json
//! {"connection":"127.0.0.1:5000 -> 127.0.0.1:9092","time":"2026-11-29T22:40:47.123456Z","direction":"request","apiKey":3,"api":"Metadata","version":13,"correlationId":2,"clientId":"c","body":{}}
//! ```
//!
//! - A frame that can be read has a `body`: the JSON of Kafka's own converters, in the schema's order. Record sets are
//!   base64; with [`Style::records`] the batches stand beside them, as `recordBatches`.
//! - A frame that cannot has an `error`, the `field` and the `offset` at which reading stopped, and all of it as `hex`, its
//!   size included. The offset counts from the first byte of `hex`. What could not be read may be a password: only with
//!   [`Style::secrets`] the bytes are there, and what would be correlation id and client id of an API that is not known.
//! - A step of an authentication that travels bare has a `token`, in base64.
//! - Bytes that belong to no frame are `skipped`, or `missing` from the capture, for a `reason`.
//!
//! [`encode`](crate::encode) reads these lines.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::kafka::conversation::Event;
use crate::kafka::message::{Content, Direction, Fault, Frame, api_name, find};
use crate::kafka::requests::is_newer_handshake;
use crate::tcp::Entry;
use crate::{hex, records, secrets};

/// How lines are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Style {
    /// Whether the batches of record sets are shown readably.
    pub records: bool,
    /// Whether passwords and the like are shown, or only how long they are.
    pub secrets: bool,
}

/// Makes the line of an entry.
pub fn line(entry: Entry, style: Style) -> Value {
    let mut line = Map::new();
    if let Some(peers) = entry.peers {
        line.insert("connection".into(), peers.to_string().into());
    }
    if let Some(time) = entry.time.and_then(|time| Timestamp::from_nanosecond(time.into()).ok()) {
        line.insert("time".into(), time.to_string().into());
    }
    match entry.event {
        Event::Frame(frame) => write_frame(&mut line, frame, style),
        Event::Skipped(direction, skipped) => {
            line.insert("direction".into(), direction.as_str().into());
            for (name, count) in [("skipped", skipped.skipped), ("missing", skipped.missing)] {
                if count > 0 {
                    line.insert(name.into(), count.into());
                }
            }
            line.insert("reason".into(), skipped.reason.as_ref().into());
        }
    }
    Value::Object(line)
}

fn write_frame(line: &mut Map<String, Value>, frame: Frame, style: Style) {
    line.insert("direction".into(), frame.direction.as_str().into());
    if let Some(key) = frame.api {
        line.insert("apiKey".into(), key.0.into());
        line.insert("api".into(), api_name(key).into());
    }
    let numbers = [("version", frame.version), ("askedVersion", frame.asked_version)];
    for (name, number) in numbers.into_iter().filter_map(|(name, number)| Some((name, number?))) {
        line.insert(name.into(), number.into());
    }
    let has_header = style.secrets || !is_guess(&frame);
    if let Some(id) = frame.correlation_id.filter(|_| has_header) {
        line.insert("correlationId".into(), id.into());
    }
    if let Some(id) = frame.client_id.as_ref().filter(|_| has_header) {
        line.insert("clientId".into(), id.as_deref().into());
    }
    match frame.content {
        Content::Body { json: mut body, canonical } => {
            if let Some(key) = frame.api {
                if !style.secrets {
                    secrets::mask(key, frame.direction, frame.bytes.len(), &mut body);
                }
                if style.records && records::has_records(key, frame.direction) {
                    records::show(&mut body);
                }
            }
            line.insert("body".into(), body);
            if !canonical {
                line.insert("note".into(), NOT_CANONICAL.into());
            }
        }
        Content::Token { mechanism } => {
            line.insert("sasl".into(), mechanism.as_str().into());
            let token =
                if style.secrets { BASE64_STANDARD.encode(&frame.bytes) } else { secrets::masked(frame.bytes.len()) };
            line.insert("token".into(), token.into());
        }
        Content::Fault(fault) => {
            write_fault(line, &frame.bytes, &fault, style.secrets);
        }
    }
}

const NOT_CANONICAL: &str = "the frame has tagged fields that are not known here, or a form that Kafka does not write; encode will not give the same bytes";

fn write_fault(line: &mut Map<String, Value>, frame: &[u8], fault: &Fault, secrets: bool) {
    line.insert("error".into(), fault.message.as_str().into());
    if let Some(field) = fault.field.as_deref().filter(|field| !field.is_empty()) {
        line.insert("field".into(), field.into());
    }
    if let Some(offset) = fault.offset {
        line.insert("offset".into(), offset.into());
    }
    if let Some(missing) = fault.missing {
        line.insert("missing".into(), missing.into());
        return;
    }
    let size = (frame.len() as u32).to_be_bytes();
    // What could not be read may be anything: a password, or a request with one behind another.
    let hex = if secrets { hex::write(&[&size, frame].concat()) } else { secrets::masked(frame.len()) };
    line.insert("hex".into(), hex.into());
}

/// Whether the header of a frame is that of a request only if the frame is one: with an API or a version that is not known
/// it may as well be a password that travels bare.
fn is_guess(frame: &Frame) -> bool {
    let (Direction::Request, Content::Fault(_), Some(key)) = (frame.direction, &frame.content, frame.api) else {
        return false;
    };
    let version = frame.version.unwrap_or(-1);
    find(key, Direction::Request, version).is_err() && !is_newer_handshake(key, version)
}
