//! Records as they are handed to the application: borrowed from the response that they came in.

use std::slice;
use std::sync::Arc;

use ackflow_protocol::machine::{AcquiredRange, TopicIdPartition};
use ackflow_protocol::records::{BatchError, Headers, Record, RecordBatch, RecordCursor, Records, TimestampType};

use super::part::{Part, Place, Source};

/// One record of a share group, lent by [`ShareRecords`] or a `Delivery`.
#[derive(Debug, Clone, Copy)]
pub struct ShareRecord<'a> {
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
    pub key: Option<&'a [u8]>,
    /// The value; `None` is null.
    pub value: Option<&'a [u8]>,
    /// How many times the record was handed to a member of the group, this time included: 1 at first.
    pub delivery_count: i16,
    headers: Headers<'a>,
    topic_partition: TopicIdPartition,
}

impl<'a> ShareRecord<'a> {
    /// The headers, in the order in which they were written, parsed as they are asked for.
    pub fn headers(&self) -> Headers<'a> {
        self.headers
    }

    #[inline]
    fn new(source: &'a Source, record: &Record<'a>, timestamp_type: TimestampType, delivery_count: i16) -> Self {
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

    /// Id of the topic and partition, by which the consumer knows the record.
    pub(super) fn topic_partition(&self) -> TopicIdPartition {
        self.topic_partition
    }
}

/// The records that one poll handed out, at most `max.poll.records`. It keeps the responses that they came in in memory.
#[derive(Debug, Default)]
pub struct ShareRecords {
    parts: Vec<Part>,
    records: usize,
}

impl ShareRecords {
    pub(super) fn new(parts: Vec<Part>) -> Self {
        let records = parts.iter().map(|part| part.records() as usize).sum();
        Self { parts, records }
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.records
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// The records: by partition, in offset order. None costs an allocation or a reference count. An error stands for the records that it
    /// names, and the iteration goes on after them; they are acquired and acknowledged like the others, in implicit mode too.
    pub fn iter(&self) -> ShareRecordsIter<'_> {
        ShareRecordsIter::new(&self.parts)
    }
}

impl<'a> IntoIterator for &'a ShareRecords {
    type Item = Result<ShareRecord<'a>, RecordError>;
    type IntoIter = ShareRecordsIter<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Iterator over [`ShareRecords`].
#[derive(Debug, Clone)]
pub struct ShareRecordsIter<'a> {
    parts: slice::Iter<'a, Part>,
    records: Option<PartRecords<'a>>,
}

impl<'a> ShareRecordsIter<'a> {
    pub(super) fn new(parts: &'a [Part]) -> Self {
        Self { parts: parts.iter(), records: None }
    }
}

impl<'a> Iterator for ShareRecordsIter<'a> {
    type Item = Result<ShareRecord<'a>, RecordError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(record) = self.records.as_mut().and_then(Iterator::next) {
                return Some(record);
            }
            self.records = Some(PartRecords::new(self.parts.next()?));
        }
    }
}

/// Records that cannot be read: their batch passed its checksum, and is malformed all the same. They are acquired as
/// any other record is, and want to be acknowledged (rejected, as a rule) by offset.
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
    /// What is wrong with the batch.
    #[source]
    pub error: BatchError,
}

/// Iterator over the records of one part of an acquisition, in offset order. A record costs it neither an allocation nor a reference
/// count.
#[derive(Debug, Clone)]
pub(super) struct PartRecords<'a> {
    source: &'a Source,
    /// The offsets that are still to be given.
    ranges: &'a [AcquiredRange],
    /// Where to read on when no batch is being read.
    place: Place,
    walk: Option<Walk<'a>>,
}

/// The batch that is being read.
#[derive(Debug, Clone)]
struct Walk<'a> {
    batch: &'a RecordBatch,
    timestamp_type: TimestampType,
    records: Records<'a>,
    /// Every offset before is behind us.
    next: i64,
}

impl<'a> PartRecords<'a> {
    pub(super) fn new(part: &'a Part) -> Self {
        Self { source: &part.source, ranges: &part.ranges, place: part.place, walk: None }
    }

    /// Begins the batch that has `offset`, or else the first one after it.
    fn enter(&mut self, offset: i64) -> Option<&mut Walk<'a>> {
        let source = self.source;
        self.place = self.place.forward(&source.batches, offset);
        let batch = source.batches.get(self.place.batch)?;
        let records = batch.records_from(self.place.cursor);
        let next = offset.max(batch.base_offset());
        self.place = Place { batch: self.place.batch + 1, cursor: RecordCursor::default() };
        Some(self.walk.insert(Walk { batch, timestamp_type: batch.timestamp_type(), records, next }))
    }

    /// Ends the batch that is being read: offsets of it that have not been given are passed over.
    #[cold]
    fn leave(&mut self) {
        if let Some(walk) = self.walk.take() {
            self.pass(walk.batch.last_offset());
        }
    }

    /// The batch cannot be read any further.
    #[cold]
    fn fail(&mut self, error: BatchError) -> Option<RecordError> {
        let walk = self.walk.take()?;
        let first = self.ranges.first()?.first.max(walk.next);
        let held = self.ranges.iter().take_while(|range| range.first <= walk.batch.last_offset()).last()?;
        let last = held.last.min(walk.batch.last_offset());
        self.pass(last);
        let Source { topic, topic_partition, .. } = self.source;
        Some(RecordError { topic: Arc::clone(topic), partition: topic_partition.partition, first, last, error })
    }

    /// Gives up the offsets up to `last`.
    #[cold]
    fn pass(&mut self, last: i64) {
        let passed = self.ranges.partition_point(|range| range.last <= last);
        self.ranges = &self.ranges[passed..];
    }
}

impl<'a> Iterator for PartRecords<'a> {
    type Item = Result<ShareRecord<'a>, RecordError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut range = self.ranges.first()?;
            let walk = match &mut self.walk {
                Some(walk) => walk,
                None => self.enter(range.first)?,
            };
            match walk.records.next() {
                Some(Ok(record)) => {
                    let timestamp_type = walk.timestamp_type;
                    walk.next = record.offset + 1;
                    if record.offset > range.last {
                        self.pass(record.offset - 1);
                        range = self.ranges.first()?;
                    }
                    if record.offset < range.first {
                        continue;
                    }
                    if record.offset == range.last {
                        self.ranges = &self.ranges[1..];
                    }
                    return Some(Ok(ShareRecord::new(self.source, &record, timestamp_type, range.delivery_count)));
                }
                Some(Err(error)) => {
                    if let Some(error) = self.fail(error) {
                        return Some(Err(error));
                    }
                }
                None => self.leave(),
            }
        }
    }
}
