//! Records that were acquired together, and whoever holds them settles.

use std::fmt;
use std::ops::RangeInclusive;
use std::slice;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ackflow_protocol::machine::{AckRange, AckType, AcquiredRange, AutoRenew};
use ackflow_protocol::wire::Uuid;

use super::acks::{AckError, Settled, TopicPartition};
use super::lent::LentRecords;
use super::link::Link;
use super::lock::Renewal;
use super::part::Part;
use super::ranges;
use super::record::{RecordError, ShareRecord};
use super::records::{Reader, ShareRecordsIter};
use crate::deserialize::{ByteArrayDeserializer, Deserializer, Deserializers};

/// Records of one partition that this member has acquired and nobody has decided about. Whoever holds it settles it; dropped, it releases
/// what is undecided, so that the group delivers it again.
///
/// Each way to settle gives a [`Settled`] that can be awaited or dropped. Settling fails with an [`AckError`] after the consumer was closed
/// and after the session or the lock that held the records is gone; dropping the delivery then does nothing.
///
/// It keeps the responses that its records came in in memory.
///
/// What [`records`](Self::records) could not read is not accepted with the rest, but settled as [`RecordError`] says, unless
/// [`acknowledge`](Self::acknowledge) names its offsets first.
pub struct Delivery<K = ByteArrayDeserializer, V = ByteArrayDeserializer> {
    pub(super) part: Part,
    pub(super) link: Link,
    deserializers: Arc<Deserializers<K, V>>,
    first_offset: i64,
    last_offset: i64,
}

impl<K: Deserializer, V: Deserializer> Delivery<K, V> {
    pub(super) fn new(part: Part, link: Link, deserializers: Arc<Deserializers<K, V>>) -> Self {
        let first_offset = part.ranges.first().map_or(0, |range| range.first);
        let last_offset = part.ranges.last().map_or(first_offset - 1, |range| range.last);
        Self { part, link, deserializers, first_offset, last_offset }
    }

    /// The topic.
    pub fn topic(&self) -> &Arc<str> {
        &self.part.source.topic
    }

    /// The partition.
    pub fn partition(&self) -> i32 {
        self.part.source.topic_partition.partition
    }

    /// Id of the topic.
    pub fn topic_id(&self) -> Uuid {
        self.part.source.topic_partition.topic_id
    }

    /// Topic and partition.
    pub fn topic_partition(&self) -> TopicPartition {
        self.part.source.partition()
    }

    /// The first offset that it was handed out with.
    pub fn first_offset(&self) -> i64 {
        self.first_offset
    }

    /// The last offset that it was handed out with.
    pub fn last_offset(&self) -> i64 {
        self.last_offset
    }

    /// How many records are undecided.
    pub fn len(&self) -> usize {
        self.part.records() as usize
    }

    /// Whether every record is decided.
    pub fn is_empty(&self) -> bool {
        self.part.ranges.is_empty()
    }

    /// The undecided offsets, with how often each was delivered, this time included. Every one has a record.
    pub fn ranges(&self) -> &[AcquiredRange] {
        &self.part.ranges
    }

    /// How often the undecided record that was delivered most often was delivered, this time included.
    pub fn max_delivery_count(&self) -> i16 {
        self.part.ranges.iter().map(|range| range.delivery_count).max().unwrap_or(0)
    }

    /// Until when the broker holds the records for this member: settle or renew before. It lies a little before the broker's own limit.
    pub fn lock_deadline(&self) -> Instant {
        self.part.lock.deadline()
    }

    /// How long the group locks records: what a renewal adds.
    pub fn lock_timeout(&self) -> Duration {
        self.part.lock.timeout()
    }

    /// The undecided records, in offset order. They borrow from the delivery: none costs an allocation or a reference count.
    pub fn records(&self) -> impl Iterator<Item = Result<ShareRecord<'_, K::Output<'_>, V::Output<'_>>, RecordError>> {
        ShareRecordsIter::new(slice::from_ref(&self.part), &self.deserializers, Reader::Decider)
    }

    /// A second handle on the undecided records, to read them, as bytes, wherever and as long as it is kept.
    pub fn lend(&self) -> LentRecords {
        LentRecords::new(self.part.clone())
    }

    /// Processed: the group is done with these records.
    pub fn accept(self) -> Settled {
        self.settle(AckType::Accept)
    }

    /// Not processed: the group delivers them again at once, to this member or another, up to its delivery limit.
    pub fn release(self) -> Settled {
        self.settle(AckType::Release)
    }

    /// Cannot be processed: the group archives them, or writes them to its dead letter queue where it has one.
    pub fn reject(self) -> Settled {
        self.settle(AckType::Reject)
    }

    fn settle(mut self, ack: AckType) -> Settled {
        let ranges = std::mem::take(&mut self.part.ranges);
        let verdicts = match ack {
            AckType::Accept => self.part.source.unread.accepted(&ranges),
            _ => ranges::acknowledged(&ranges, ack),
        };
        self.send(verdicts, None)
    }

    /// Decides about the undecided records in a range of offsets. [`AckType::Renew`] keeps them undecided; this way it does not move
    /// [`lock_deadline`](Self::lock_deadline), which holds for all.
    pub fn acknowledge(&mut self, offsets: RangeInclusive<i64>, ack: AckType) -> Settled {
        let (first, last) = (*offsets.start(), *offsets.end());
        let removed = ranges::remove(&mut self.part.ranges, offsets);
        if removed.is_empty() || ack == AckType::Gap {
            ranges::insert(&mut self.part.ranges, removed);
            return Settled::ready(Err(AckError::NotHeld { partition: self.topic_partition(), first, last }));
        }
        let settled = self.send(ranges::acknowledged(&removed, ack), None);
        if ack == AckType::Renew {
            ranges::insert(&mut self.part.ranges, removed);
        }
        settled
    }

    /// Starts the lock of the undecided records anew (KIP-1222). When the broker agrees, [`lock_deadline`](Self::lock_deadline) moves.
    pub fn renew(&mut self) -> Settled {
        let renewal = self.part.lock.renew();
        self.send(ranges::acknowledged(&self.part.ranges, AckType::Renew), Some(renewal))
    }

    /// Holds the undecided records for longer than one lock: their locks are renewed by themselves until everything is settled, a limit of
    /// `renew` is reached, or the broker refuses. [`lock_deadline`](Self::lock_deadline) moves with each renewal; both halves of a delivery
    /// that is split go on being held. A delivery that is held already stays so, as all are with
    /// [`ShareConsumerConfig::auto_renew`](super::ShareConsumerConfig::auto_renew).
    pub fn hold(&mut self, renew: AutoRenew) {
        if !self.part.lock.is_kept() {
            self.link.keep(&mut self.part, renew);
        }
    }

    fn send(&self, ranges: Vec<AckRange>, renewed: Option<Renewal>) -> Settled {
        match ranges.is_empty() {
            true => Settled::ready(Ok(())),
            false => self.link.settle(&self.part.source, ranges, renewed),
        }
    }

    /// Two deliveries, of the undecided records before `offset` and of those from it on. Either may be empty.
    pub fn split_at(mut self, offset: i64) -> (Self, Self) {
        let mut tail = Self::new(self.part.split_off(offset), self.link.clone(), Arc::clone(&self.deserializers));
        tail.first_offset = self.first_offset.max(offset);
        tail.last_offset = self.last_offset;
        self.last_offset = self.last_offset.min(offset.saturating_sub(1));
        (self, tail)
    }
}

impl<K, V> Delivery<K, V> {
    /// What its records are read with.
    pub(super) fn inner(&self) -> (&Part, &Arc<Deserializers<K, V>>) {
        (&self.part, &self.deserializers)
    }

    /// Decides about offsets, all of which are undecided.
    pub(super) fn decide(&mut self, verdicts: Vec<AckRange>) {
        for verdict in &verdicts {
            ranges::remove(&mut self.part.ranges, verdict.first..=verdict.last);
        }
        self.link.acknowledge(&self.part.source, verdicts);
    }
}

impl<K, V> fmt::Debug for Delivery<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery").field("part", &self.part).field("deserializers", &self.deserializers).finish()
    }
}

impl<K, V> Drop for Delivery<K, V> {
    fn drop(&mut self) {
        self.link.acknowledge(&self.part.source, ranges::acknowledged(&self.part.ranges, AckType::Release));
    }
}
