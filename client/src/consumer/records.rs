//! Records as they are handed to the application: borrowed from the response that they came in.

use std::fmt;
use std::slice;
use std::sync::Arc;

use ackflow_protocol::machine::consumer::TopicPartition;
use ackflow_protocol::records::{RecordCursor, Records};

use super::part::{Piece, Place};
use super::record::{ConsumerRecord, OfBatch, deserialize};
use crate::deserialize::{BYTES, ByteArrayDeserializer, Deserializer, Deserializers};
use crate::share::{ReadError, RecordError};

/// The records that one poll handed out, at most `max.poll.records`. It keeps the responses that they came in in memory.
pub struct ConsumerRecords<K = ByteArrayDeserializer, V = ByteArrayDeserializer> {
    pieces: Vec<Piece>,
    records: usize,
    deserializers: Arc<Deserializers<K, V>>,
}

impl<K: Deserializer, V: Deserializer> ConsumerRecords<K, V> {
    pub(super) fn new(pieces: Vec<Piece>, deserializers: Arc<Deserializers<K, V>>) -> Self {
        let records = pieces.iter().map(|piece| piece.records as usize).sum();
        Self { pieces, records, deserializers }
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.records
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// The records: those of a partition in offset order. None costs an allocation or a reference count. An error stands for the records that it
    /// names, which cannot be read, and the iteration goes on after them: they are handed out, and what is committed is behind them.
    pub fn iter(&self) -> ConsumerRecordsIter<'_, K, V> {
        ConsumerRecordsIter::new(&self.pieces, &self.deserializers)
    }

    /// The records with their keys and values as bytes, such as for keeping one that cannot be deserialized.
    pub fn raw_iter(&self) -> ConsumerRecordsIter<'_> {
        ConsumerRecordsIter::new(&self.pieces, &BYTES)
    }

    /// The records by partition; one may come more than once, each time with later records.
    pub fn partitions(&self) -> impl Iterator<Item = PartitionRecords<'_, K, V>> {
        self.pieces.iter().map(|piece| PartitionRecords { piece, deserializers: &self.deserializers })
    }
}

impl<K, V> fmt::Debug for ConsumerRecords<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConsumerRecords").field("records", &self.records).finish_non_exhaustive()
    }
}

impl<'a, K: Deserializer, V: Deserializer> IntoIterator for &'a ConsumerRecords<K, V> {
    type Item = Result<ConsumerRecord<'a, K::Output<'a>, V::Output<'a>>, RecordError>;
    type IntoIter = ConsumerRecordsIter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Some records of one partition.
pub struct PartitionRecords<'a, K = ByteArrayDeserializer, V = ByteArrayDeserializer> {
    piece: &'a Piece,
    deserializers: &'a Deserializers<K, V>,
}

impl<'a, K: Deserializer, V: Deserializer> PartitionRecords<'a, K, V> {
    /// The partition.
    pub fn partition(&self) -> &'a TopicPartition {
        &self.piece.source.partition
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.piece.records as usize
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.piece.records == 0
    }

    /// The records, in offset order; else as [`ConsumerRecords::iter`].
    pub fn iter(&self) -> ConsumerRecordsIter<'a, K, V> {
        ConsumerRecordsIter::new(slice::from_ref(self.piece), self.deserializers)
    }
}

impl<K, V> fmt::Debug for PartitionRecords<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartitionRecords").field("piece", self.piece).finish_non_exhaustive()
    }
}

/// Iterator over records, those of a partition in offset order.
pub struct ConsumerRecordsIter<'a, K = ByteArrayDeserializer, V = ByteArrayDeserializer> {
    pieces: slice::Iter<'a, Piece>,
    deserializers: &'a Deserializers<K, V>,
    walk: Option<Walk<'a>>,
}

/// The batch that is being read.
#[derive(Debug, Clone)]
struct Walk<'a> {
    piece: &'a Piece,
    batch: usize,
    of: OfBatch,
    records: Records<'a>,
    /// Records of it that belong to the piece and are still to come.
    left: u32,
    /// Every offset before is behind us.
    next: i64,
}

impl<'a, K, V> ConsumerRecordsIter<'a, K, V> {
    fn new(pieces: &'a [Piece], deserializers: &'a Deserializers<K, V>) -> Self {
        Self { pieces: pieces.iter(), deserializers, walk: None }
    }

    /// Goes on to the next batch of the piece, or the next piece.
    #[cold]
    fn advance(&mut self) -> Option<()> {
        let (piece, place) = match self.walk.take() {
            Some(walk) if walk.batch + 1 < walk.piece.end() => {
                (walk.piece, Place { batch: walk.batch + 1, cursor: RecordCursor::default() })
            }
            _ => self.pieces.find(|piece| piece.begin.batch < piece.end()).map(|piece| (piece, piece.begin))?,
        };
        let batch = piece.source.batches.get(place.batch)?;
        let of = OfBatch { timestamp_type: batch.timestamp_type(), leader_epoch: batch.partition_leader_epoch() };
        let left = if place.batch < piece.whole { u32::MAX } else { piece.rest };
        let next = piece.first.max(batch.base_offset());
        let records = batch.records_from(place.cursor);
        self.walk = Some(Walk { piece, batch: place.batch, of, records, left, next });
        Some(())
    }

    #[cold]
    fn failed(piece: &Piece, (first, last): (i64, i64), error: ReadError) -> RecordError {
        let TopicPartition { topic, partition } = &piece.source.partition;
        RecordError { topic: Arc::clone(topic), partition: *partition, first, last, error }
    }
}

impl Piece {
    /// The number of the batch behind the last that it has records of.
    fn end(&self) -> usize {
        self.whole + usize::from(self.rest > 0)
    }
}

// By hand, since deriving would ask the same of the deserializers.
impl<K, V> Clone for ConsumerRecordsIter<'_, K, V> {
    fn clone(&self) -> Self {
        Self { pieces: self.pieces.clone(), walk: self.walk.clone(), ..*self }
    }
}

impl<K, V> fmt::Debug for ConsumerRecordsIter<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConsumerRecordsIter").field("walk", &self.walk).finish_non_exhaustive()
    }
}

impl<'a, K: Deserializer, V: Deserializer> Iterator for ConsumerRecordsIter<'a, K, V> {
    type Item = Result<ConsumerRecord<'a, K::Output<'a>, V::Output<'a>>, RecordError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some(walk) = &mut self.walk else {
                self.advance()?;
                continue;
            };
            if walk.left == 0 {
                self.advance()?;
                continue;
            }
            match walk.records.next() {
                Some(Ok(record)) => {
                    walk.left -= 1;
                    if record.offset < walk.next {
                        continue;
                    }
                    walk.next = record.offset + 1;
                    let piece = walk.piece;
                    let read = deserialize(&piece.source.partition, walk.of, &record, self.deserializers);
                    return Some(read.map_err(|error| Self::failed(piece, (record.offset, record.offset), error)));
                }
                Some(Err(error)) => {
                    walk.left = 0;
                    let last = walk.piece.source.batches[walk.batch].last_offset();
                    let offsets = (walk.next.min(last), last);
                    return Some(Err(Self::failed(walk.piece, offsets, error.into())));
                }
                None => self.advance()?,
            }
        }
    }
}
