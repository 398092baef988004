//! A part of an acquisition: some of its offsets, and where their records lie.

use std::sync::Arc;

use ackflow_protocol::machine::{AckRange, AcquiredRange, Acquisition, AcquisitionId, TopicIdPartition};
use ackflow_protocol::records::{RecordBatch, RecordCursor};

use super::lock::{Grip, Lock};
use super::{ranges, unread::Unread};

/// What all parts of one acquisition share.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) topic: Arc<str>,
    pub(super) topic_partition: TopicIdPartition,
    pub(super) acquisition: AcquisitionId,
    pub(super) batches: Vec<RecordBatch>,
    /// What of it somebody who decides about it could not read.
    pub(super) unread: Unread,
    /// Where its broker was when it was acquired.
    #[cfg(feature = "unstable-kip-1289")]
    pub(super) leader: Option<ackflow_protocol::machine::BrokerAddress>,
}

/// Some offsets of one acquisition. Its records are found without a walk from the start of their batch: `place` lies
/// before the first of them and behind what earlier parts hold.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) source: Arc<Source>,
    /// The offsets; every one has a record. Never more than the acquisition has.
    pub(super) ranges: Vec<AcquiredRange>,
    pub(super) lock: Lock,
    pub(super) place: Place,
}

/// Where to begin reading: a batch, by its position in [`Source::batches`], and a place in it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) batch: usize,
    pub(super) cursor: RecordCursor,
}

impl Source {
    pub(super) fn new(
        topic: Arc<str>,
        topic_partition: TopicIdPartition,
        acquisition: AcquisitionId,
        batches: Vec<RecordBatch>,
    ) -> Self {
        Self {
            topic,
            topic_partition,
            acquisition,
            batches,
            unread: Unread::default(),
            #[cfg(feature = "unstable-kip-1289")]
            leader: None,
        }
    }
}

impl Part {
    /// All of an acquisition.
    pub(super) fn new(acquisition: Acquisition, grip: Grip) -> Self {
        let acquired = acquisition.id();
        let Acquisition { topic, topic_partition, lock_timeout, lock_deadline, ranges, batches, .. } = acquisition;
        Self {
            source: Arc::new(Source::new(topic, topic_partition, acquired, batches)),
            ranges,
            lock: Lock::new(lock_timeout, lock_deadline, grip),
            place: Place::default(),
        }
    }

    /// How many records it has.
    pub(super) fn records(&self) -> u32 {
        ranges::count(&self.ranges)
    }

    /// Takes the first `records` records away as a part of their own.
    pub(super) fn take_front(&mut self, records: u32) -> Self {
        let ranges = ranges::take_front(&mut self.ranges, records);
        let front = Self { source: Arc::clone(&self.source), ranges, lock: self.lock.clone(), place: self.place };
        self.catch_up();
        front
    }

    /// Takes the records from `offset` on away as a part of their own.
    pub(super) fn split_off(&mut self, offset: i64) -> Self {
        let ranges = ranges::split_off(&mut self.ranges, offset);
        let mut tail = Self { source: Arc::clone(&self.source), ranges, lock: self.lock.clone(), place: self.place };
        tail.catch_up();
        tail
    }

    /// Takes the offsets of `verdicts`, all of which it has, away as a part of their own.
    pub(super) fn take_ranges(&mut self, verdicts: &[AckRange]) -> Option<Self> {
        let mut taken = Vec::new();
        for verdict in verdicts {
            taken.append(&mut ranges::remove(&mut self.ranges, verdict.first..=verdict.last));
        }
        (!taken.is_empty()).then(|| Self { ranges: taken, ..self.clone() })
    }

    /// What is left of the acquisition in it, without the records.
    pub(super) fn into_acquisition(self) -> Acquisition {
        Acquisition {
            topic: Arc::clone(&self.source.topic),
            topic_partition: self.source.topic_partition,
            session: self.source.acquisition.session,
            number: self.source.acquisition.number,
            lock_timeout: self.lock.timeout(),
            lock_deadline: self.lock.deadline(),
            records: self.records(),
            ranges: self.ranges,
            batches: Vec::new(),
        }
    }

    /// Moves `place` up to the first offset.
    fn catch_up(&mut self) {
        if let Some(first) = self.ranges.first() {
            self.place = self.place.forward(&self.source.batches, first.first);
        }
    }
}

impl Place {
    /// The place before the first record at or after `offset`. Records in between are passed by their length.
    pub(super) fn forward(self, batches: &[RecordBatch], offset: i64) -> Self {
        let batch =
            self.batch + batches[self.batch.min(batches.len())..].partition_point(|batch| batch.last_offset() < offset);
        let cursor = if batch == self.batch { self.cursor } else { RecordCursor::default() };
        let cursor = match batches.get(batch) {
            // Where the walk meets a malformed record it stays, and whoever reads on from there gets the error.
            Some(found) if found.base_offset() < offset => found.skip_to(cursor, offset).unwrap_or(cursor),
            _ => cursor,
        };
        Self { batch, cursor }
    }
}
