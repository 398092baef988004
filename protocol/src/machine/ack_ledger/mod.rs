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

mod isolation;
mod keeping;
mod partition;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

pub(crate) use self::keeping::Kept;
use self::partition::{Caller, Lock, Partition};
use crate::{
    machine::types::{AckId, AckRange, AcquiredRange, AutoRenew, KeepId, TopicIdPartition, earlier},
    wire::ErrorCode,
};

#[derive(Debug, Default)]
pub(crate) struct AckLedger {
    partitions: BTreeMap<TopicIdPartition, Partition>,
    /// Why partitions were lost, until they are acquired again.
    lost: BTreeMap<TopicIdPartition, (Arc<str>, ErrorCode)>,
    outcomes: Outcomes,
    /// No lock ends before this.
    next_expiry: Option<Instant>,
    /// No lock is to be renewed by itself before this.
    next_renewal: Option<Instant>,
}

/// What has happened since it was asked last.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    /// How calls have ended.
    pub(crate) ended: Vec<Outcome>,
    /// What became of what is renewed by itself.
    pub(crate) kept: Vec<Kept>,
}

/// How one call ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) id: AckId,
    pub(crate) topic: Arc<str>,
    pub(crate) topic_partition: TopicIdPartition,
    pub(crate) ranges: Vec<AckRange>,
    pub(crate) result: Result<(), ErrorCode>,
    /// Where it is an error, what of the ranges it is about.
    pub(crate) failed: Vec<AckRange>,
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
    /// Whether what is refused because of one offset may be sent again in parts, to find out which.
    pub(crate) isolates: bool,
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

    /// Whether anything is decided and not answered.
    pub(crate) fn has_decisions(&self) -> bool {
        self.partitions.values().any(Partition::has_decisions)
    }

    /// Whether there is something to send now to find out what the broker has refused of what was sent together.
    pub(crate) fn is_isolating(&self, now: Instant) -> bool {
        self.ready(now).any(|(_, partition)| partition.is_isolating())
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

    /// When the next lock is to be renewed by itself, or before.
    pub(crate) fn next_renewal(&self) -> Option<Instant> {
        self.next_renewal
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
        let partition = self.partitions.entry(id).or_insert_with(|| Partition::new(id, topic.clone()));
        partition.settle(now, range, lock_deadline);
        self.expires(Some(lock_deadline));
    }

    /// An acquisition will not be handed out. Its locks run out by themselves.
    pub(crate) fn let_go(&mut self, id: TopicIdPartition, number: u64, ranges: &[AcquiredRange]) {
        if let Some(partition) = self.partitions.get_mut(&id) {
            partition.let_go(number, ranges, &mut self.outcomes);
            self.tidy(id);
        }
    }

    /// Renews the locks of what is held of these offsets of an acquisition by itself, until they are decided about. Returns
    /// whether anything is held.
    pub(crate) fn keep(
        &mut self,
        now: Instant,
        keep: KeepId,
        id: TopicIdPartition,
        (number, ranges): (u64, &[AcquiredRange]),
        renew: AutoRenew,
    ) -> bool {
        self.expire(now);
        let (partition, outcomes) = (self.partitions.get_mut(&id), &mut self.outcomes);
        let is_kept = partition.is_some_and(|partition| partition.keep(now, keep, renew, (number, ranges), outcomes));
        // When that is, `renew` finds out.
        self.next_renewal = if is_kept { Some(now) } else { self.next_renewal };
        is_kept
    }

    /// Decides the renewals that are due of locks that last so long.
    pub(crate) fn renew(&mut self, now: Instant, lock_timeout: Duration) {
        if self.next_renewal.is_none_or(|next| now < next) {
            return;
        }
        let outcomes = &mut self.outcomes;
        let next = self.partitions.values_mut().filter_map(|partition| partition.renew(now, lock_timeout, outcomes));
        self.next_renewal = next.min();
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
                partition.decide(now, Caller::Application(call), ranges, &mut self.outcomes);
                Ok(())
            }
            _ => Err((self.lost(id).unwrap_or(ErrorCode::INVALID_RECORD_STATE), ranges)),
        }
    }

    /// Takes what can be sent now.
    pub(crate) fn take(&mut self, now: Instant) -> Vec<PartitionAcks> {
        self.expire(now);
        let ready = self.partitions.iter_mut().filter(|(_, partition)| partition.is_ready(now, false));
        ready.map(|(id, partition)| (*id, partition.take())).collect()
    }

    /// Takes everything that is decided, for the request that ends the session: also what waits for its retry. Renewals
    /// stay behind and fail with `code`.
    pub(crate) fn take_last(&mut self, now: Instant, code: ErrorCode) -> Vec<PartitionAcks> {
        self.expire(now);
        for partition in self.partitions.values_mut() {
            partition.drop_renewals(code, &mut self.outcomes);
        }
        let ready = self.partitions.iter_mut().filter(|(_, partition)| partition.is_ready(now, true));
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
            if self.next_renewal.is_some() || !self.outcomes.kept.is_empty() {
                self.next_renewal = Some(now);
            }
            self.tidy(id);
        }
    }

    /// The broker answered, and these partitions got no word of their own.
    pub(crate) fn answered_rest(&mut self, now: Instant, code: ErrorCode, policy: RetryPolicy) {
        let policy = RetryPolicy { isolates: false, ..policy };
        for id in self.in_flight_partitions() {
            self.answered(now, id, code, now, policy);
        }
    }

    /// The broker has taken nothing of the request that is out: all that it said is to be said again.
    pub(crate) fn not_taken(&mut self, now: Instant, policy: RetryPolicy) {
        for id in self.in_flight_partitions() {
            if let Some(partition) = self.partitions.get_mut(&id) {
                partition.not_taken(now, policy);
                let expiry = partition.next_expiry();
                self.expires(expiry);
            }
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
        self.next_renewal = None;
    }

    /// What has happened since this was asked last.
    pub(crate) fn outcomes(&mut self) -> Outcomes {
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

    fn expires(&mut self, at: Option<Instant>) {
        self.next_expiry = earlier(self.next_expiry, at);
    }

    fn tidy(&mut self, id: TopicIdPartition) {
        if self.partitions.get(&id).is_some_and(Partition::is_empty) {
            self.partitions.remove(&id);
        }
    }
}

/// Whether an acknowledgement that got this error may succeed later at the same broker. Where the leader moved or the
/// topic is gone, it cannot.
fn may_retry(code: ErrorCode) -> bool {
    code.is_retriable()
        && !matches!(
            code,
            ErrorCode::NOT_LEADER_OR_FOLLOWER
                | ErrorCode::FENCED_LEADER_EPOCH
                | ErrorCode::UNKNOWN_LEADER_EPOCH
                | ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
                | ErrorCode::UNKNOWN_TOPIC_ID
                | ErrorCode::INCONSISTENT_TOPIC_ID
                | ErrorCode::SHARE_SESSION_NOT_FOUND
                | ErrorCode::INVALID_SHARE_SESSION_EPOCH
                | ErrorCode::SHARE_SESSION_LIMIT_REACHED
        )
}
