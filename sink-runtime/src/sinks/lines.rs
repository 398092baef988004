//! What a record is in a file or on a terminal: one line, or plain text as Connect's FileStreamSink writes it.

#[cfg(feature = "sink-file")]
use crate::contract::{SinkRecord, Value};
use crate::{contract::SinkRecords, record_json::RecordJson};

/// How records are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// The record as one line of JSON.
    Json,
    /// The text of the value and a line break, as `FileStreamSink` does it. A null value is `null`.
    #[cfg(feature = "sink-file")]
    Plain,
}

impl Format {
    /// Appends the records to `out`, each with a line break behind it.
    pub(super) fn write(self, records: &SinkRecords, out: &mut Vec<u8>) {
        for record in records {
            match self {
                Self::Json => RecordJson::from(record).write_to(out),
                #[cfg(feature = "sink-file")]
                Self::Plain => write_plain(&record, out),
            }
            out.push(b'\n');
        }
    }
}

#[cfg(feature = "sink-file")]
fn write_plain(record: &SinkRecord<'_>, out: &mut Vec<u8>) {
    match &record.value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bytes(bytes) => out.extend_from_slice(bytes),
        Value::String(text) | Value::Json(text) => out.extend_from_slice(text.as_bytes()),
    }
}
