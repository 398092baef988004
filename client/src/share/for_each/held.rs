//! One record that a handler works on.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use super::super::lock::Lock;
use super::super::part::{Place, Source};
use super::super::record::{ReadError, RecordError, ShareRecord};
use crate::deserialize::{ByteArrayDeserializer, Deserializer, Deserializers};

/// A record that its handler works on: a handle, `Send` and free of borrows, that costs no allocation. It settles nothing; what the handler
/// returns does.
///
/// While it lives it keeps the response in memory that the record came in.
pub struct HeldRecord<K = ByteArrayDeserializer, V = ByteArrayDeserializer> {
    shared: Arc<Shared<K, V>>,
    at: At,
}

/// What the records of one delivery have in common.
pub(super) struct Shared<K, V> {
    pub(super) source: Arc<Source>,
    pub(super) lock: Lock,
    pub(super) deserializers: Arc<Deserializers<K, V>>,
}

/// Which record it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct At {
    /// The place right before the record, which was read from there once.
    pub(super) place: Place,
    pub(super) offset: i64,
    pub(super) delivery_count: i16,
    /// How often a handler was called for it, this time included.
    pub(super) attempt: u32,
}

impl<K: Deserializer, V: Deserializer> HeldRecord<K, V> {
    pub(super) fn new(shared: Arc<Shared<K, V>>, at: At) -> Self {
        Self { shared, at }
    }

    /// The topic.
    pub fn topic(&self) -> &Arc<str> {
        &self.shared.source.topic
    }

    /// The partition.
    pub fn partition(&self) -> i32 {
        self.shared.source.topic_partition.partition
    }

    /// Offset in the partition.
    pub fn offset(&self) -> i64 {
        self.at.offset
    }

    /// How many times the record was handed to a member of the group, this time included: 1 at first.
    pub fn delivery_count(&self) -> i16 {
        self.at.delivery_count
    }

    /// How many times the handler was called for this delivery of the record: 1 at first, one more after each
    /// [`Outcome::Retry`](super::Outcome::Retry).
    pub fn attempt(&self) -> u32 {
        self.at.attempt
    }

    /// Until when the broker holds the record for this member. It moves with each renewal.
    pub fn lock_deadline(&self) -> Instant {
        self.shared.lock.deadline()
    }

    /// The record: it borrows, and costs no allocation beyond those of the consumer's deserializers.
    ///
    /// # Errors
    /// [`RecordError`] where a deserializer refuses the key or the value. A handler that returns it as its error has the record released.
    pub fn read(&self) -> Result<ShareRecord<'_, K::Output<'_>, V::Output<'_>>, RecordError> {
        let Self { shared, at: At { place, offset, delivery_count, .. } } = self;
        let source = &*shared.source;
        let failed = |error| RecordError {
            topic: Arc::clone(&source.topic),
            partition: source.topic_partition.partition,
            first: *offset,
            last: *offset,
            error,
        };
        let batch = &source.batches[place.batch];
        let record = batch.records_from(place.cursor).next().expect("a record was read from this place before");
        let record = record.map_err(|error| failed(ReadError::Batch(error)))?;
        let record = ShareRecord::new(source, &record, batch.timestamp_type(), *delivery_count);
        record.deserialize(&shared.deserializers).map_err(failed)
    }
}

impl<K, V> fmt::Debug for HeldRecord<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldRecord").field("partition", &self.shared.source.partition()).field("at", &self.at).finish()
    }
}
