//! What was decoded, as lines of JSON.
//!
//! ```json
//! {"connection":"127.0.0.1:5000 -> 127.0.0.1:9092","time":"2026-11-29T22:40:47.123456Z","direction":"request","apiKey":3,"api":"Metadata","version":13,"correlationId":2,"clientId":"c","body":{}}
//! ```
//!
//! - A frame that can be read has a `body`: the JSON of Kafka's own converters, in the schema's order. Record sets are
//!   base64; with [`Style::records`] the batches stand beside them, as `recordBatches`.
//! - A frame that cannot has an `error`, the `field` and the `offset` at which reading stopped, and all of it as `hex`, its
//!   size included. The offset counts from the first byte of `hex`.
//! - A step of an authentication that travels bare has a `token`, in base64.
//! - Bytes that belong to no frame are `skipped`, or `missing` from the capture, for a `reason`.
//!
//! [`encode`](crate::encode) reads these lines.

use ackflow_protocol::wire::ApiKey;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::kafka::conversation::Event;
use crate::kafka::message::{Content, Direction, Fault, Frame, api_name};
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
    if let Some(id) = frame.correlation_id {
        line.insert("correlationId".into(), id.into());
    }
    if let Some(id) = &frame.client_id {
        line.insert("clientId".into(), id.as_deref().into());
    }
    match frame.content {
        Content::Body { json: mut body, canonical } => {
            if let Some(key) = frame.api {
                if !style.secrets {
                    secrets::mask(key, frame.direction, &mut body);
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
            let secret = may_be_secret(frame.api, frame.direction);
            write_fault(line, &frame.bytes, &fault, style.secrets || !secret);
        }
    }
}

const NOT_CANONICAL: &str = "the frame has tagged fields that are not known here, or a form that Kafka does not write; encode will not give the same bytes";

fn write_fault(line: &mut Map<String, Value>, frame: &[u8], fault: &Fault, shown: bool) {
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
    let hex = if shown { hex::write(&[&size, frame].concat()) } else { secrets::masked(frame.len()) };
    line.insert("hex".into(), hex.into());
}

/// Of a response that answers nothing in the capture it is not known what it holds.
fn may_be_secret(api: Option<ApiKey>, direction: Direction) -> bool {
    api.map_or(direction == Direction::Response, secrets::may_be_in)
}
