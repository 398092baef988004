//! One record as it is handed to the application, and why one cannot be.

use std::sync::Arc;

use ackflow_protocol::machine::{AckType, TopicIdPartition};
use ackflow_protocol::records::{BatchError, Headers, Record, TimestampType};

use super::part::Source;
use crate::deserialize::{DeserializeError, Deserializer, Deserializers};

/// One record of a share group, lent by [`ShareRecords`](super::ShareRecords) or a `Delivery`. Key and value are bytes unless the consumer
/// has [deserializers](crate::deserialize).
#[derive(Debug, Clone, Copy)]
pub struct ShareRecord<'a, K = &'a [u8], V = &'a [u8]> {
    /// The topic.
    pub topic: &'a str,
    /// The partition.
    pub partition: i32,
    /// Offset in the partition.
    pub offset: i64,
    /// Time in ms since 1970, the producer's or the broker's by `timestamp_type`.
    pub timestamp: i64,
    /// Whose time it is.
    pub timestamp_type: TimestampType,
    /// The key; `None` is null.
    pub key: Option<K>,
    /// The value; `None` is null.
    pub value: Option<V>,
    /// How many times the record was handed to a member of the group, this time included: 1 at first.
    pub delivery_count: i16,
    headers: Headers<'a>,
    topic_partition: TopicIdPartition,
}

impl<'a, K, V> ShareRecord<'a, K, V> {
    /// The headers, in the order in which they were written, parsed as they are asked for.
    pub fn headers(&self) -> Headers<'a> {
        self.headers
    }

    /// Id of the topic and partition, by which the consumer knows the record.
    pub(super) fn topic_partition(&self) -> TopicIdPartition {
        self.topic_partition
    }
}

impl<'a> ShareRecord<'a> {
    #[inline]
    pub(super) fn new(
        source: &'a Source,
        record: &Record<'a>,
        timestamp_type: TimestampType,
        delivery_count: i16,
    ) -> Self {
        Self {
            topic: &source.topic,
            partition: source.topic_partition.partition,
            offset: record.offset,
            timestamp: record.timestamp,
            timestamp_type,
            key: record.key,
            value: record.value,
            delivery_count,
            headers: record.headers(),
            topic_partition: source.topic_partition,
        }
    }

    #[inline]
    pub(super) fn deserialize<K: Deserializer, V: Deserializer>(
        self,
        deserializers: &Deserializers<K, V>,
    ) -> Result<ShareRecord<'a, K::Output<'a>, V::Output<'a>>, ReadError> {
        let Self { topic, headers, .. } = self;
        let key = self.key.map(|data| deserializers.key.deserialize(topic, headers, data)).transpose();
        let value = self.value.map(|data| deserializers.value.deserialize(topic, headers, data)).transpose();
        Ok(ShareRecord {
            topic,
            partition: self.partition,
            offset: self.offset,
            timestamp: self.timestamp,
            timestamp_type: self.timestamp_type,
            key: key.map_err(ReadError::Key)?,
            value: value.map_err(ReadError::Value)?,
            delivery_count: self.delivery_count,
            headers,
            topic_partition: self.topic_partition,
        })
    }
}

/// Records that cannot be read. They are acquired as any other record is, and are settled as Kafka's own client settles them unless the
/// application decides about them by offset: rejected where their batch is malformed, though it passed its checksum, and released where a
/// deserializer refuses them. Accepting everything else, in whatever way, does not accept them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("offsets {first} to {last} of {topic}-{partition} cannot be read: {error}")]
pub struct RecordError {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: i32,
    /// The first offset that cannot be read.
    pub first: i64,
    /// The last one.
    pub last: i64,
    /// Why.
    pub error: ReadError,
}

/// Why a record cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The batch is malformed from there on.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The deserializer refuses the key.
    #[error("the key cannot be deserialized: {0}")]
    Key(DeserializeError),
    /// The deserializer refuses the value.
    #[error("the value cannot be deserialized: {0}")]
    Value(DeserializeError),
}

impl ReadError {
    /// What becomes of the record unless the application decides otherwise.
    pub fn settled(&self) -> AckType {
        match self {
            Self::Batch(_) => AckType::Reject,
            Self::Key(_) | Self::Value(_) => AckType::Release,
        }
    }
}
