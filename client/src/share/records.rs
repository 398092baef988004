//! Records as they are handed to the application: borrowed from the response that they came in.

use std::fmt;
use std::slice;
use std::sync::Arc;

use ackflow_protocol::machine::AcquiredRange;
use ackflow_protocol::records::{BatchError, RecordBatch, RecordCursor, Records, TimestampType};

use super::part::{Part, Place, Source};
use super::record::{ReadError, RecordError, ShareRecord};
use crate::deserialize::{BYTES, ByteArrayDeserializer, Deserializer, Deserializers};

/// The records that one poll handed out, at most `max.poll.records`. It keeps the responses that they came in in memory.
pub struct ShareRecords<K = ByteArrayDeserializer, V = ByteArrayDeserializer> {
    parts: Vec<Part>,
    records: usize,
    deserializers: Arc<Deserializers<K, V>>,
}

impl<K: Deserializer, V: Deserializer> ShareRecords<K, V> {
    pub(super) fn new(parts: Vec<Part>, deserializers: Arc<Deserializers<K, V>>) -> Self {
        let records = parts.iter().map(|part| part.records() as usize).sum();
        Self { parts, records, deserializers }
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
    /// names, and the iteration goes on after them; see [`RecordError`] for what becomes of them.
    pub fn iter(&self) -> ShareRecordsIter<'_, K, V> {
        ShareRecordsIter::new(&self.parts, &self.deserializers, Reader::Decider)
    }

    /// The records with their keys and values as bytes, such as for keeping one that cannot be deserialized.
    pub fn raw_iter(&self) -> ShareRecordsIter<'_> {
        ShareRecordsIter::new(&self.parts, &BYTES, Reader::Decider)
    }
}

impl<K, V> fmt::Debug for ShareRecords<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShareRecords").field("parts", &self.parts).finish_non_exhaustive()
    }
}

impl<'a, K: Deserializer, V: Deserializer> IntoIterator for &'a ShareRecords<K, V> {
    type Item = Result<ShareRecord<'a, K::Output<'a>, V::Output<'a>>, RecordError>;
    type IntoIter = ShareRecordsIter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Who reads records, which decides what it means that one cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// Who decides about them: a record that it could not read is not accepted with the others.
    Decider,
    /// Who does not.
    Borrower,
}

/// Iterator over records, in offset order: those of [`ShareRecords`], of a `Delivery`, or [`LentRecords`](super::LentRecords).
pub struct ShareRecordsIter<'a, K = ByteArrayDeserializer, V = ByteArrayDeserializer> {
    parts: slice::Iter<'a, Part>,
    records: Option<PartRecords<'a>>,
    deserializers: &'a Deserializers<K, V>,
    reader: Reader,
}

impl<'a, K: Deserializer, V: Deserializer> ShareRecordsIter<'a, K, V> {
    pub(super) fn new(parts: &'a [Part], deserializers: &'a Deserializers<K, V>, reader: Reader) -> Self {
        Self { parts: parts.iter(), records: None, deserializers, reader }
    }

    #[cold]
    fn failed(&self, source: &Source, (first, last): (i64, i64), error: ReadError) -> RecordError {
        if self.reader == Reader::Decider {
            source.unread.note(first, last, error.settled());
        }
        let Source { topic, topic_partition, .. } = source;
        RecordError { topic: Arc::clone(topic), partition: topic_partition.partition, first, last, error }
    }
}

// By hand, since deriving would ask the same of the deserializers.
impl<K, V> Clone for ShareRecordsIter<'_, K, V> {
    fn clone(&self) -> Self {
        Self { parts: self.parts.clone(), records: self.records.clone(), ..*self }
    }
}

impl<K, V> fmt::Debug for ShareRecordsIter<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShareRecordsIter").field("records", &self.records).finish_non_exhaustive()
    }
}

impl<'a, K: Deserializer, V: Deserializer> Iterator for ShareRecordsIter<'a, K, V> {
    type Item = Result<ShareRecord<'a, K::Output<'a>, V::Output<'a>>, RecordError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(records) = &mut self.records {
                let source = records.source;
                match records.next() {
                    Some(Ok(record)) => {
                        let offsets = (record.offset, record.offset);
                        let record = record.deserialize(self.deserializers);
                        return Some(record.map_err(|error| self.failed(source, offsets, error)));
                    }
                    Some(Err(Unreadable { first, last, error })) => {
                        return Some(Err(self.failed(source, (first, last), error.into())));
                    }
                    None => {}
                }
            }
            self.records = Some(PartRecords::new(self.parts.next()?));
        }
    }
}

/// The rest of a malformed batch.
#[derive(Debug)]
pub(super) struct Unreadable {
    pub(super) first: i64,
    pub(super) last: i64,
    pub(super) error: BatchError,
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
    fn fail(&mut self, error: BatchError) -> Option<Unreadable> {
        let walk = self.walk.take()?;
        let first = self.ranges.first()?.first.max(walk.next);
        let held = self.ranges.iter().take_while(|range| range.first <= walk.batch.last_offset()).last()?;
        let last = held.last.min(walk.batch.last_offset());
        self.pass(last);
        Some(Unreadable { first, last, error })
    }

    /// Gives up the offsets up to `last`.
    #[cold]
    fn pass(&mut self, last: i64) {
        let passed = self.ranges.partition_point(|range| range.last <= last);
        self.ranges = &self.ranges[passed..];
    }
}

impl<'a> Iterator for PartRecords<'a> {
    type Item = Result<ShareRecord<'a>, Unreadable>;

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
