//! One record as it is handed to the application.

use ackflow_protocol::machine::consumer::TopicPartition;
use ackflow_protocol::records::{Headers, Record, TimestampType};

use crate::deserialize::{Deserializer, Deserializers};
use crate::share::ReadError;

/// One record of a partition, lent by [`ConsumerRecords`](super::ConsumerRecords). Key and value are bytes unless the consumer has
/// [deserializers](crate::deserialize).
#[derive(Debug, Clone, Copy)]
pub struct ConsumerRecord<'a, K = &'a [u8], V = &'a [u8]> {
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
    /// The epoch of the leader that appended the record; -1 where it is not known.
    pub leader_epoch: i32,
    /// The key; `None` is null.
    pub key: Option<K>,
    /// The value; `None` is null.
    pub value: Option<V>,
    headers: Headers<'a>,
}

impl<'a, K, V> ConsumerRecord<'a, K, V> {
    /// The headers, in the order in which they were written, parsed as they are asked for.
    pub fn headers(&self) -> Headers<'a> {
        self.headers
    }
}

/// What all records of a batch have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct OfBatch {
    pub(super) timestamp_type: TimestampType,
    pub(super) leader_epoch: i32,
}

/// A record with its key and value made of bytes by the deserializers.
#[inline]
pub(super) fn deserialize<'a, K: Deserializer, V: Deserializer>(
    of: &'a TopicPartition,
    batch: OfBatch,
    record: &Record<'a>,
    deserializers: &Deserializers<K, V>,
) -> Result<ConsumerRecord<'a, K::Output<'a>, V::Output<'a>>, ReadError> {
    let headers = record.headers();
    let topic = &*of.topic;
    let key = record.key.map(|data| deserializers.key.deserialize(topic, headers, data)).transpose();
    let value = record.value.map(|data| deserializers.value.deserialize(topic, headers, data)).transpose();
    Ok(ConsumerRecord {
        topic,
        partition: of.partition,
        offset: record.offset,
        timestamp: record.timestamp,
        timestamp_type: batch.timestamp_type,
        leader_epoch: batch.leader_epoch,
        key: key.map_err(ReadError::Key)?,
        value: value.map_err(ReadError::Value)?,
        headers,
    })
}
