//! One record, lent to a sink.

use std::borrow::Cow;

use ackflow_protocol::records::{Headers, TimestampType};

/// A key or a value as its converter made it. Nothing of it is copied unless the converter had to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value<'a> {
    /// Null, which is not the same as empty. A null value is a tombstone in a compacted topic.
    Null,
    /// Bytes, from `ByteArrayConverter`.
    Bytes(&'a [u8]),
    /// Text, from `StringConverter`.
    String(Cow<'a, str>),
    /// One JSON value, from `JsonConverter`: valid, and without a line break.
    Json(Cow<'a, str>),
}

/// Which record of a put, for [`PutOutcome`](super::PutOutcome).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RecordId {
    pub(crate) part: u32,
    pub(crate) offset: i64,
}

/// One record, lent by [`SinkRecords`](super::SinkRecords).
#[derive(Debug, Clone)]
pub struct SinkRecord<'a> {
    /// Topic that it was read from.
    pub topic: &'a str,
    /// Partition that it was read from.
    pub partition: i32,
    /// Offset in the partition.
    pub offset: i64,
    /// Time in ms since 1970.
    pub timestamp: i64,
    /// Whose time it is.
    pub timestamp_type: TimestampType,
    /// How many times the record was handed out in the share group, this time included: 1 the first time. `None` under a consumer group,
    /// which does not count.
    pub delivery_count: Option<i16>,
    /// The key, converted.
    pub key: Value<'a>,
    /// The value, converted.
    pub value: Value<'a>,
    /// The key as it was in the topic.
    pub raw_key: Option<&'a [u8]>,
    /// The value as it was in the topic.
    pub raw_value: Option<&'a [u8]>,
    pub(crate) headers: Headers<'a>,
    pub(crate) id: RecordId,
}

impl<'a> SinkRecord<'a> {
    /// The headers as they were in the topic, in their order; keys may repeat and values may be null.
    pub fn headers(&self) -> Headers<'a> {
        self.headers
    }

    /// Which record of this put it is.
    pub fn id(&self) -> RecordId {
        self.id
    }
}
