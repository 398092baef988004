//! A delivery whose records go to handlers one by one, and the verdicts on them until they are sent.

use std::sync::Arc;
use std::time::Instant;

use ackflow_protocol::machine::AckType;
use ackflow_protocol::records::BatchError;

use super::super::decisions::Decisions;
use super::super::delivery::Delivery;
use super::super::part::Place;
use super::super::ranges;
use super::held::{At, HeldRecord, Shared};
use crate::deserialize::Deserializer;

/// Dropped, it sends what is decided and releases the rest.
pub(super) struct Lot<K, V> {
    /// What is not sent yet of it is undecided, or in `decisions`.
    delivery: Delivery<K, V>,
    shared: Arc<Shared<K, V>>,
    decisions: Decisions,
    /// Records without a verdict.
    undecided: u32,
    /// How many of them wait to be tried again.
    pub(super) waiting: u32,
    /// Where the records begin that no handler was called for; `None` after the last offset there can be.
    next: Option<i64>,
    place: Place,
    /// Until when the lock surely holds, with a margin.
    locked_until: Instant,
}

impl<K: Deserializer, V: Deserializer> Lot<K, V> {
    pub(super) fn new(delivery: Delivery<K, V>) -> Self {
        let (part, deserializers) = delivery.inner();
        let shared = Shared {
            source: Arc::clone(&part.source),
            lock: part.lock.clone(),
            deserializers: Arc::clone(deserializers),
        };
        Self {
            shared: Arc::new(shared),
            decisions: Decisions::default(),
            undecided: part.records(),
            waiting: 0,
            next: Some(i64::MIN),
            place: part.place,
            locked_until: Instant::now(),
            delivery,
        }
    }

    /// The record, for a handler.
    pub(super) fn hand_out(&self, at: At) -> HeldRecord<K, V> {
        HeldRecord::new(Arc::clone(&self.shared), at)
    }

    /// The next record that no handler was called for; `None` when there is none. Records that cannot be read are passed over, decided as
    /// [`RecordError`](super::super::RecordError) says, and so are those that come too late.
    pub(super) fn next(&mut self, now: Instant) -> Option<At> {
        if self.locked_until <= now {
            // A lock that ends before its handler is done has the record handled twice.
            if !self.shared.lock.is_worth_starting(now) {
                self.give_back();
                return None;
            }
            self.locked_until = self.shared.lock.deadline() - self.shared.lock.timeout() / 10;
        }
        loop {
            let (part, _) = self.delivery.inner();
            let next = self.next?;
            let at = part.ranges.partition_point(|range| range.last < next);
            let range = *part.ranges.get(at)?;
            let offset = range.first.max(next);
            match self.find(offset) {
                Some(Ok(place)) => {
                    self.next = offset.checked_add(1);
                    self.place = place;
                    return Some(At { place, offset, delivery_count: range.delivery_count, attempt: 1 });
                }
                Some(Err((last, error))) => {
                    tracing::warn!(
                        "offsets {offset} to {last} of {} cannot be read, and are rejected: {error}",
                        self.shared.source.partition()
                    );
                    self.decide_from(offset, last, AckType::Reject);
                }
                // No batch has the record, which an acquisition does not do.
                None => self.decide_from(offset, offset, AckType::Release),
            }
        }
    }

    /// The place right before the record at `offset`; or the last offset of the batch that it lies in, which cannot be read.
    fn find(&self, offset: i64) -> Option<Result<Place, (i64, BatchError)>> {
        let batches = &self.shared.source.batches;
        let place = self.place.forward(batches, offset);
        let batch = batches.get(place.batch)?;
        let mut records = batch.records_from(place.cursor);
        loop {
            let cursor = records.cursor();
            match records.next()? {
                Ok(record) if record.offset < offset => {}
                Ok(record) => return (record.offset == offset).then_some(Ok(Place { cursor, ..place })),
                Err(error) => return Some(Err((batch.last_offset(), error))),
            }
        }
    }

    /// Decides about what no handler was called for of these offsets.
    fn decide_from(&mut self, first: i64, last: i64, ack: AckType) {
        let Some(next) = self.next else { return };
        let (part, _) = self.delivery.inner();
        for range in ranges::within(&part.ranges, first.max(next), last) {
            self.decisions.set(range.first, range.last, ack);
            self.undecided -= ranges::length(range.first, range.last);
        }
        self.next = last.checked_add(1);
    }

    /// Releases what no handler was called for.
    pub(super) fn give_back(&mut self) {
        self.decide_from(i64::MIN, i64::MAX, AckType::Release);
    }
}

impl<K, V> Lot<K, V> {
    /// Decides about a record that a handler was called for.
    pub(super) fn decide(&mut self, offset: i64, ack: AckType) {
        self.decisions.set(offset, offset, ack);
        self.undecided -= 1;
    }

    /// Looks at the lock before the next record, where the session has lost the records.
    pub(super) fn notice_loss(&mut self, now: Instant) {
        if self.is_lost() {
            self.locked_until = now;
        }
    }

    /// Whether the session has lost the records, so that the group delivers them again.
    pub(super) fn is_lost(&self) -> bool {
        self.shared.lock.is_lost()
    }

    /// Whether every record is decided about.
    pub(super) fn is_done(&self) -> bool {
        self.undecided == 0
    }

    /// When records that wait to be tried again have to be let go, unless the lock is renewed before: a twentieth of it before its end.
    pub(super) fn let_go_at(&self) -> Instant {
        self.shared.lock.deadline() - self.shared.lock.timeout() / 20
    }

    /// Sends the verdicts.
    pub(super) fn send(&mut self) {
        if self.decisions.decided() > 0 {
            self.delivery.decide(self.decisions.take());
        }
    }

    /// The partition, for errors.
    pub(super) fn shared(&self) -> &Shared<K, V> {
        &self.shared
    }
}

impl<K, V> Drop for Lot<K, V> {
    fn drop(&mut self) {
        self.send();
    }
}
