//! What is held of one session, what was decided about it, and how that ended.
//!
//! ```text
//!              acquired           acknowledge            take              answered
//!   (nothing) ---------> held ------------------> to send -----> in flight ---------> ended
//!                         ^ |                        ^              |  |
//!                         | +-- lock deadline: out   +-- retriable -+  | renewed: held again, with a new deadline
//!                         +--------------------------------------------+
//! ```
//!
//! Each call of `acknowledge` ends exactly once: answered, or failed with the session, the partition or its lock. What
//! may be said about an offset is checked here, because a broker that refuses one offset undoes everything else that
//! the request says about the partition. All costs grow with ranges and calls, never with offsets.

mod partition;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use self::partition::{Lock, Partition};
use crate::{
    machine::types::{AckId, AckRange, AcquiredRange, TopicIdPartition, earlier},
    wire::ErrorCode,
};

#[derive(Debug, Default)]
pub(crate) struct AckLedger {
    partitions: BTreeMap<TopicIdPartition, Partition>,
    /// Why partitions were lost, until they are acquired again.
    lost: BTreeMap<TopicIdPartition, (Arc<str>, ErrorCode)>,
    outcomes: Vec<Outcome>,
    /// No lock ends before this.
    next_expiry: Option<Instant>,
}

/// How one call ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) id: AckId,
    pub(crate) topic: Arc<str>,
    pub(crate) topic_partition: TopicIdPartition,
    pub(crate) ranges: Vec<AckRange>,
    pub(crate) result: Result<(), ErrorCode>,
    pub(crate) lock_deadline: Option<Instant>,
}

/// Acknowledgements of one partition for a request: sorted, disjoint, neighbours of one type merged.
pub(crate) type PartitionAcks = (TopicIdPartition, Vec<AckRange>);

/// How acknowledgements that failed for now are tried again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RetryPolicy {
    /// How long.
    pub(crate) timeout: Duration,
    /// The first pause; it doubles.
    pub(crate) backoff: Duration,
    pub(crate) backoff_max: Duration,
}

impl AckLedger {
    /// Whether nothing is held, decided or in flight.
    pub(crate) fn is_empty(&self) -> bool {
        self.partitions.is_empty()
    }

    /// Records that are acquired and undecided.
    pub(crate) fn held_records(&self) -> u64 {
        self.partitions.values().map(Partition::held_records).sum()
    }

    /// Records of one partition that are acquired and undecided.
    pub(crate) fn held_in(&self, id: TopicIdPartition) -> u64 {
        self.partitions.get(&id).map_or(0, Partition::held_records)
    }

    /// Partitions that have anything here.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = TopicIdPartition> {
        self.partitions.keys().copied()
    }

    /// Name of the topic of a partition that has anything here, or had until it was lost.
    pub(crate) fn topic(&self, id: TopicIdPartition) -> Option<&Arc<str>> {
        let held = self.partitions.get(&id).map(Partition::topic);
        held.or_else(|| self.lost.get(&id).map(|(topic, _)| topic))
    }

    /// Why a partition was lost, where it was and was not acquired again.
    pub(crate) fn lost(&self, id: TopicIdPartition) -> Option<ErrorCode> {
        self.lost.get(&id).map(|(_, code)| *code)
    }

    /// When the oldest decision that could be sent now was made.
    pub(crate) fn oldest_ready(&self, now: Instant) -> Option<Instant> {
        self.ready(now).filter_map(|(_, partition)| partition.oldest_decision()).min()
    }

    /// Partitions with decisions that could be sent now.
    pub(crate) fn ready_partitions(&self, now: Instant) -> impl Iterator<Item = TopicIdPartition> {
        self.ready(now).map(|(id, _)| *id)
    }

    /// Whether a decision that could be sent now is a renewal.
    pub(crate) fn has_renewals(&self, now: Instant) -> bool {
        self.ready(now).any(|(_, partition)| partition.has_renewals())
    }

    /// When decisions that wait for their retry can be sent.
    pub(crate) fn next_retry(&self, now: Instant) -> Option<Instant> {
        self.partitions.values().filter_map(Partition::next_retry).filter(|at| *at > now).min()
    }

    /// When the next lock is lost, or before.
    pub(crate) fn next_expiry(&self) -> Option<Instant> {
        self.next_expiry
    }

    /// Records were acquired, with the acquisition's number. What was decided about them before and not sent is about a lock
    /// that was lost.
    pub(crate) fn acquired(
        &mut self,
        id: TopicIdPartition,
        topic: &Arc<str>,
        ranges: &[AcquiredRange],
        lock_deadline: Instant,
        number: u64,
    ) {
        if !ranges.is_empty() {
            self.lost.remove(&id);
            let lock = Lock { deadline: lock_deadline, number };
            let partition = self.partitions.entry(id).or_insert_with(|| Partition::new(id, topic.clone()));
            partition.acquired(ranges, lock, &mut self.outcomes);
            self.expires(Some(lock_deadline));
        }
    }

    /// Decides about acquired offsets that nobody holds: gaps, and batches that cannot be read.
    pub(crate) fn settle(
        &mut self,
        now: Instant,
        id: TopicIdPartition,
        topic: &Arc<str>,
        range: AckRange,
        lock_deadline: Instant,
    ) {
        self.partition(id, topic).settle(now, range, lock_deadline);
        self.expires(Some(lock_deadline));
    }

    /// An acquisition will not be handed out. Its locks run out by themselves.
    pub(crate) fn let_go(&mut self, id: TopicIdPartition, number: u64, ranges: &[AcquiredRange]) {
        if let Some(partition) = self.partitions.get_mut(&id) {
            partition.let_go(number, ranges);
            self.tidy(id);
        }
    }

    /// Decides about offsets of an acquisition that are held, or decided but not sent: there the last word counts.
    ///
    /// # Errors
    /// Nothing is taken over where the ranges make no sense or any of their offsets is neither.
    pub(crate) fn acknowledge(
        &mut self,
        now: Instant,
        call: AckId,
        id: TopicIdPartition,
        number: u64,
        ranges: Vec<AckRange>,
    ) -> Result<(), (ErrorCode, Vec<AckRange>)> {
        self.expire(now);
        if ranges.is_empty() || ranges.iter().any(|range| range.first < 0 || range.last < range.first) {
            return Err((ErrorCode::INVALID_REQUEST, ranges));
        }
        match self.partitions.get_mut(&id) {
            Some(partition) if partition.may_decide(number, &ranges) => {
                partition.decide(now, call, ranges);
                Ok(())
            }
            _ => Err((self.lost(id).unwrap_or(ErrorCode::INVALID_RECORD_STATE), ranges)),
        }
    }

    /// Takes what can be sent now; with `all`, also what waits for its retry.
    pub(crate) fn take(&mut self, now: Instant, all: bool) -> Vec<PartitionAcks> {
        self.expire(now);
        let ready = self.partitions.iter_mut().filter(|(_, partition)| partition.is_ready(now, all));
        ready.map(|(id, partition)| (*id, partition.take())).collect()
    }

    /// The broker answered for one partition. `renewed_until` is the deadline of locks that were renewed.
    pub(crate) fn answered(
        &mut self,
        now: Instant,
        id: TopicIdPartition,
        code: ErrorCode,
        renewed_until: Instant,
        policy: RetryPolicy,
    ) {
        if let Some(partition) = self.partitions.get_mut(&id).filter(|partition| partition.is_in_flight()) {
            partition.answered(now, code, renewed_until, policy, &mut self.outcomes);
            let expiry = partition.next_expiry();
            self.expires(expiry);
            self.tidy(id);
        }
    }

    /// The broker answered, and these partitions got no word of their own.
    pub(crate) fn answered_rest(&mut self, now: Instant, code: ErrorCode, policy: RetryPolicy) {
        for id in self.in_flight_partitions() {
            self.answered(now, id, code, now, policy);
        }
    }

    /// The request could not be sent because it renews, which this broker does not know. The rest is to be sent again.
    pub(crate) fn refuse_renewals(&mut self, now: Instant) {
        for id in self.in_flight_partitions() {
            if let Some(partition) = self.partitions.get_mut(&id) {
                partition.refuse_renewals(now, &mut self.outcomes);
                let expiry = partition.next_expiry();
                self.expires(expiry);
                self.tidy(id);
            }
        }
    }

    /// Everything of one partition is lost.
    pub(crate) fn fail_partition(&mut self, id: TopicIdPartition, code: ErrorCode) {
        if let Some(partition) = self.partitions.remove(&id) {
            self.lost.insert(id, (partition.topic().clone(), code));
            partition.fail(code, &mut self.outcomes);
        }
    }

    /// The session is lost, and everything with it.
    pub(crate) fn fail_all(&mut self, code: ErrorCode) {
        for (_, partition) in std::mem::take(&mut self.partitions) {
            partition.fail(code, &mut self.outcomes);
        }
        self.next_expiry = None;
    }

    /// How calls have ended since this was asked last.
    pub(crate) fn outcomes(&mut self) -> Vec<Outcome> {
        std::mem::take(&mut self.outcomes)
    }

    /// Lets go of locks that have to be taken as lost. Sending a word about them could undo others.
    pub(crate) fn expire(&mut self, now: Instant) {
        if self.next_expiry.is_none_or(|expiry| now < expiry) {
            return;
        }
        for partition in self.partitions.values_mut() {
            partition.expire(now, &mut self.outcomes);
        }
        self.partitions.retain(|_, partition| !partition.is_empty());
        self.next_expiry = self.partitions.values().filter_map(Partition::next_expiry).min();
    }

    fn ready(&self, now: Instant) -> impl Iterator<Item = (&TopicIdPartition, &Partition)> {
        self.partitions.iter().filter(move |(_, partition)| partition.is_ready(now, false))
    }

    fn in_flight_partitions(&self) -> Vec<TopicIdPartition> {
        let in_flight = self.partitions.iter().filter(|(_, partition)| partition.is_in_flight());
        in_flight.map(|(id, _)| *id).collect()
    }

    fn partition(&mut self, id: TopicIdPartition, topic: &Arc<str>) -> &mut Partition {
        self.partitions.entry(id).or_insert_with(|| Partition::new(id, topic.clone()))
    }

    fn expires(&mut self, at: Option<Instant>) {
        self.next_expiry = earlier(self.next_expiry, at);
    }

    fn tidy(&mut self, id: TopicIdPartition) {
        if self.partitions.get(&id).is_some_and(Partition::is_empty) {
            self.partitions.remove(&id);
        }
    }
}
