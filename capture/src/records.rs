//! Record sets, readable.

use ackflow_protocol::records::control::ControlRecord;
use ackflow_protocol::records::{Batches, Record, RecordBatch, TimestampType};
use ackflow_protocol::wire::ApiKey;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::kafka::message::Direction;

/// How far one batch may inflate to be shown. Readable JSON takes many times that.
const MOST_INFLATED: usize = 32 << 20;
/// Records that are shown of one record set; the others are counted.
const MOST_SHOWN: usize = 100_000;

/// Where the length of a batch ends, behind its offset.
const LENGTH_ENDS: usize = 12;

/// Whether messages of an API hold record sets.
pub(crate) fn has_records(key: ApiKey, direction: Direction) -> bool {
    match direction {
        Direction::Request => key == ApiKey::PRODUCE,
        Direction::Response => key == ApiKey::FETCH || key == ApiKey::SHARE_FETCH,
    }
}

/// Puts `recordBatches` beside each `records` that is not empty.
pub(crate) fn show(value: &mut Value) {
    match value {
        Value::Array(elements) => elements.iter_mut().for_each(show),
        Value::Object(fields) => {
            if let Some(Value::String(records)) = fields.get("records") {
                let records = BASE64_STANDARD.decode(records).unwrap_or_default();
                if !records.is_empty() {
                    fields.insert("recordBatches".into(), batches(records.into()));
                }
            } else {
                fields.values_mut().for_each(show);
            }
        }
        _ => {}
    }
}

/// Takes away what [`show`] has put beside `records`.
pub(crate) fn hide(value: &mut Value) {
    match value {
        Value::Array(elements) => elements.iter_mut().for_each(hide),
        Value::Object(fields) if fields.contains_key("records") => drop(fields.remove("recordBatches")),
        Value::Object(fields) => fields.values_mut().for_each(hide),
        _ => {}
    }
}

/// Whether a [`line`](crate::line()) with readable records lacks some: of batches that are damaged, of a format that is not read,
/// or too large to be shown. The last batch of a fetch, which brokers cut at a byte, is none of these.
pub fn lacks_records(line: &Value) -> bool {
    match line {
        Value::Array(elements) => elements.iter().any(lacks_records),
        Value::Object(fields) if fields.contains_key("records") => {
            let batches = fields.get("recordBatches").and_then(Value::as_array);
            let lacks = |batch: &Value| batch.get("error").is_some() || batch.get("skipped").is_some();
            batches.is_some_and(|batches| batches.iter().any(lacks))
        }
        Value::Object(fields) => fields.values().any(lacks_records),
        _ => false,
    }
}

fn batches(records: Bytes) -> Value {
    let mut left = MOST_SHOWN;
    let mut walk = Batches::new(records);
    let mut shown: Vec<Value> = Vec::new();
    for read in &mut walk {
        shown.push(match read {
            Ok(read) => batch(read, &mut left),
            Err(error) => json!({ "baseOffset": error.base_offset(), "error": error.to_string() }),
        });
    }
    match (walk.remaining(), walk.partial_size()) {
        (0, _) => {}
        // A broker cuts a fetch at a byte.
        (partial, Some(size)) => shown.push(json!({ "partial": partial, "of": size })),
        (partial, None) if partial < LENGTH_ENDS => shown.push(json!({ "partial": partial })),
        // Its length makes no sense, which the error before says.
        (skipped, None) => shown.push(json!({ "skipped": skipped })),
    }
    Value::Array(shown)
}

fn batch(batch: RecordBatch, left: &mut usize) -> Value {
    let mut shown = Map::new();
    let mut put = |name: &str, value: Value| drop(shown.insert(name.to_owned(), value));
    put("baseOffset", batch.base_offset().into());
    put("lastOffset", batch.last_offset().into());
    put("partitionLeaderEpoch", batch.partition_leader_epoch().into());
    put("compression", batch.compression().to_string().into());
    put(
        "timestampType",
        if batch.timestamp_type() == TimestampType::CreateTime { "CreateTime" } else { "LogAppendTime" }.into(),
    );
    put("transactional", batch.is_transactional().into());
    put("control", batch.is_control().into());
    put("producerId", batch.producer_id().into());
    put("producerEpoch", batch.producer_epoch().into());
    put("baseSequence", batch.base_sequence().into());
    if batch.has_delete_horizon() {
        put("deleteHorizon", batch.base_timestamp().into());
    }
    let damage = batch.verify_crc().err();
    let (records, error) = match batch.decompress(MOST_INFLATED) {
        Ok(batch) => records(&batch, left),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    put("records", records.into());
    if let Some(error) = damage.map(|damage| damage.to_string()).or(error) {
        put("error", error.into());
    }
    Value::Object(shown)
}

fn records(batch: &RecordBatch, left: &mut usize) -> (Vec<Value>, Option<String>) {
    let mut shown = Vec::new();
    for read in batch.records() {
        let read = match read {
            Ok(read) => read,
            Err(error) => return (shown, Some(error.to_string())),
        };
        if *left == 0 {
            let more = batch.count() as usize - shown.len();
            return (shown, Some(format!("{more} more records are not shown: a frame shows {MOST_SHOWN} at most")));
        }
        *left -= 1;
        shown.push(record(&read, batch.is_control()));
    }
    (shown, None)
}

fn record(record: &Record<'_>, control: bool) -> Value {
    let mut shown = Map::new();
    shown.insert("offset".into(), record.offset.into());
    shown.insert("timestamp".into(), record.timestamp.into());
    if control {
        let (kind, epoch) = match ControlRecord::parse(record) {
            Ok(ControlRecord::Abort { coordinator_epoch }) => ("abort".into(), Some(coordinator_epoch)),
            Ok(ControlRecord::Commit { coordinator_epoch }) => ("commit".into(), Some(coordinator_epoch)),
            Ok(ControlRecord::Other { kind }) => (kind.into(), None),
            Err(error) => (Value::from(error.to_string()), None),
        };
        shown.insert("control".into(), kind);
        if let Some(epoch) = epoch {
            shown.insert("coordinatorEpoch".into(), epoch.into());
        }
    }
    shown.insert("key".into(), text(record.key));
    shown.insert("value".into(), text(record.value));
    let headers = record.headers().map_while(Result::ok).map(|header| json!([header.key_str(), text(header.value)]));
    shown.insert("headers".into(), headers.collect());
    Value::Object(shown)
}

/// Bytes as a string if they are UTF-8, else `{"base64": ".."}`, as in the lines of `ackflow consume`.
fn text(bytes: Option<&[u8]>) -> Value {
    match bytes.map(|bytes| (str::from_utf8(bytes), bytes)) {
        None => Value::Null,
        Some((Ok(text), _)) => text.into(),
        Some((Err(_), bytes)) => json!({ "base64": BASE64_STANDARD.encode(bytes) }),
    }
}
