//! What goes in: records. What comes out: where they are.

use std::sync::Arc;

use bytes::Bytes;

use super::delivery::Completion;

/// A record to be produced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProducerRecord {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition; `None` to choose it by the key, or, where there is no key, to spread records over all.
    pub partition: Option<i32>,
    /// The key; null and empty are different.
    pub key: Option<Bytes>,
    /// The value; null and empty are different.
    pub value: Option<Bytes>,
    /// Headers, in order; keys may repeat.
    pub headers: Vec<(String, Option<Bytes>)>,
    /// When it happened, in milliseconds since 1970; `None` for now.
    pub timestamp: Option<i64>,
}

impl ProducerRecord {
    /// A record with a value, and nothing else.
    pub fn new(topic: impl Into<Arc<str>>, value: impl Into<Bytes>) -> Self {
        Self {
            topic: topic.into(),
            partition: None,
            key: None,
            value: Some(value.into()),
            headers: Vec::new(),
            timestamp: None,
        }
    }

    /// The same with a key.
    #[must_use]
    pub fn key(mut self, key: impl Into<Bytes>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The same for a certain partition.
    #[must_use]
    pub fn partition(mut self, partition: i32) -> Self {
        self.partition = Some(partition);
        self
    }

    /// The same with one header more.
    #[must_use]
    pub fn header(mut self, key: impl Into<String>, value: impl Into<Bytes>) -> Self {
        self.headers.push((key.into(), Some(value.into())));
        self
    }

    /// The size that a batch with nothing but this record has at most.
    pub(super) fn batch_size_at_most(&self) -> usize {
        let length = |bytes: &Option<Bytes>| bytes.as_ref().map_or(0, Bytes::len);
        let headers: usize = self.headers.iter().map(|(key, value)| 2 * VARINT + key.len() + length(value)).sum();
        BATCH + RECORD + length(&self.key) + length(&self.value) + headers
    }
}

/// The longest varint of a length.
const VARINT: usize = 5;
/// What a batch takes beyond its records.
const BATCH: usize = ackflow_protocol::records::BATCH_OVERHEAD;
/// What a record takes beyond key, value and headers: its length, attributes, time, offset, three lengths.
const RECORD: usize = VARINT + 1 + 10 + VARINT + 3 * VARINT;

/// Where a record is.
#[derive(Debug, Clone)]
pub struct DeliveryReport {
    /// What became of its batch, which knows the topic too: so a report costs no more than the future did.
    pub(super) batch: Arc<Completion>,
    /// The partition.
    pub partition: i32,
    /// The offset; `None` where the broker only says that it had the record already.
    pub offset: Option<i64>,
    /// The record's time in milliseconds since 1970: its own, or the broker's where the topic says so
    /// (`message.timestamp.type`).
    pub timestamp: i64,
}

impl DeliveryReport {
    /// The topic.
    pub fn topic(&self) -> &str {
        self.batch.topic()
    }
}
