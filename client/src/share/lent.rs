//! A second handle on the records of a delivery, for whoever reads them while somebody else settles them.

use std::ops::RangeInclusive;
use std::slice;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ackflow_protocol::machine::{AcquiredRange, AcquisitionId, SessionId, TopicIdPartition};
use ackflow_protocol::records::RecordBatch;
use ackflow_protocol::wire::Uuid;

use super::lock::{Grip, Lock};
use super::part::{Part, Place, Source};
use super::ranges;
use super::records::{Reader, ShareRecordsIter};
use crate::deserialize::BYTES;

/// Records of one partition, to read. It settles nothing, and what becomes of the delivery that it was lent by does not matter to it. A clone
/// shares the records.
///
/// It keeps the responses that its records came in in memory.
#[derive(Debug, Clone)]
pub struct LentRecords(Part);

impl LentRecords {
    pub(super) fn new(part: Part) -> Self {
        Self(part)
    }

    /// Of batches that came from elsewhere, such as a test: the records of them whose offsets are in `ranges`. The batches ascend, are
    /// decompressed, and have a record for each of the offsets.
    pub fn from_batches(
        topic: impl Into<Arc<str>>,
        partition: i32,
        batches: Vec<RecordBatch>,
        ranges: Vec<AcquiredRange>,
    ) -> Self {
        let topic_partition = TopicIdPartition { topic_id: Uuid::ZERO, partition };
        let acquisition = AcquisitionId { session: SessionId { node: -1, incarnation: 0 }, number: 0 };
        let source = Arc::new(Source::new(topic.into(), topic_partition, acquisition, batches));
        let now = Instant::now();
        Self(Part { source, ranges, lock: Lock::new(Duration::ZERO, now, Grip::default()), place: Place::default() })
    }

    /// The topic.
    pub fn topic(&self) -> &Arc<str> {
        &self.0.source.topic
    }

    /// The partition.
    pub fn partition(&self) -> i32 {
        self.0.source.topic_partition.partition
    }

    /// The offsets that it lends, with how often each was delivered.
    pub fn ranges(&self) -> &[AcquiredRange] {
        &self.0.ranges
    }

    /// Lends nothing but what it has of these offsets, which ascend.
    pub fn retain(&mut self, wanted: &[AcquiredRange]) {
        let mut lent = std::mem::take(&mut self.0.ranges);
        self.0.ranges = wanted.iter().flat_map(|range| ranges::remove(&mut lent, range.first..=range.last)).collect();
    }

    /// Lends these offsets no longer, and gives those of them that it lent.
    pub fn remove(&mut self, offsets: RangeInclusive<i64>) -> Vec<AcquiredRange> {
        ranges::remove(&mut self.0.ranges, offsets)
    }

    /// The records, in offset order. They borrow: none costs an allocation or a reference count.
    /// An error stands for the offsets that it names.
    pub fn records(&self) -> ShareRecordsIter<'_> {
        ShareRecordsIter::new(slice::from_ref(&self.0), &BYTES, Reader::Borrower)
    }
}
