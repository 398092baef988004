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
//! Each call of `acknowledge` ends exactly once: answered, or failed with the session, the partition or its lock. What may be said about
//! an offset is checked here, because a broker that refuses one offset undoes everything else that the request says about the partition.
//! All costs grow with ranges and calls, never with offsets.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    machine::{
        ranges::{Range, RangeMap},
        types::{AckId, AckRange, AckType, AcquiredRange, TopicIdPartition, earlier},
    },
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

#[derive(Debug)]
struct Partition {
    topic: Arc<str>,
    /// Acquired and undecided, by the deadline of the lock. Offsets that are being renewed stay here.
    held: RangeMap<Instant>,
    to_send: RangeMap<Decision>,
    /// Calls with something in `to_send`.
    waiting: Vec<Call>,
    in_flight: RangeMap<Decision>,
    /// Calls with something in `in_flight`.
    sent: Vec<Call>,
    /// When the oldest decision in `to_send` was made.
    since: Option<Instant>,
    retry: Option<Retry>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Decision {
    ack: AckType,
    lock_deadline: Instant,
}

#[derive(Debug)]
struct Call {
    id: AckId,
    ranges: Vec<AckRange>,
}

/// Retriable errors in a row.
#[derive(Debug, Clone, Copy)]
struct Retry {
    /// When the first came.
    began: Instant,
    failures: u32,
    not_before: Instant,
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
        self.partitions.values().map(|partition| partition.held.offsets()).sum()
    }

    /// Records of one partition that are acquired and undecided.
    pub(crate) fn held_in(&self, topic_partition: TopicIdPartition) -> u64 {
        self.partitions.get(&topic_partition).map_or(0, |partition| partition.held.offsets())
    }

    /// Partitions that have anything here.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = TopicIdPartition> {
        self.partitions.keys().copied()
    }

    /// Name of the topic of a partition that has anything here, or had until it was lost.
    pub(crate) fn topic(&self, topic_partition: TopicIdPartition) -> Option<&Arc<str>> {
        let held = self.partitions.get(&topic_partition).map(|partition| &partition.topic);
        held.or_else(|| self.lost.get(&topic_partition).map(|(topic, _)| topic))
    }

    /// When the oldest decision that could be sent now was made.
    pub(crate) fn oldest_ready(&self, now: Instant) -> Option<Instant> {
        self.ready(now).filter_map(|(_, partition)| partition.since).min()
    }

    /// Partitions with decisions that could be sent now.
    pub(crate) fn ready_partitions(&self, now: Instant) -> impl Iterator<Item = TopicIdPartition> {
        self.ready(now).map(|(topic_partition, _)| *topic_partition)
    }

    /// Whether a decision that could be sent now is a renewal.
    pub(crate) fn has_renewals(&self, now: Instant) -> bool {
        self.ready(now).any(|(_, partition)| partition.to_send.iter().any(|range| range.value.ack == AckType::Renew))
    }

    /// When decisions that wait for their retry can be sent.
    pub(crate) fn next_retry(&self, now: Instant) -> Option<Instant> {
        let waiting = self.partitions.values().filter(|partition| !partition.to_send.is_empty());
        waiting.filter_map(|partition| partition.retry.map(|retry| retry.not_before)).filter(|at| *at > now).min()
    }

    /// When the next lock is lost.
    pub(crate) fn next_expiry(&self) -> Option<Instant> {
        self.next_expiry
    }

    /// Records were acquired.
    pub(crate) fn acquired(
        &mut self,
        topic_partition: TopicIdPartition,
        topic: &Arc<str>,
        ranges: &[AcquiredRange],
        lock_deadline: Instant,
    ) {
        if ranges.is_empty() {
            return;
        }
        self.lost.remove(&topic_partition);
        self.next_expiry = earlier(self.next_expiry, Some(lock_deadline));
        let partition = self.partition(topic_partition, topic);
        for range in ranges {
            partition.held.insert(range.first, range.last, lock_deadline);
        }
    }

    /// Decides about acquired offsets that nobody holds: gaps, and batches that cannot be read.
    pub(crate) fn settle(
        &mut self,
        now: Instant,
        topic_partition: TopicIdPartition,
        topic: &Arc<str>,
        range: AckRange,
        lock_deadline: Instant,
    ) {
        self.next_expiry = earlier(self.next_expiry, Some(lock_deadline));
        let partition = self.partition(topic_partition, topic);
        partition.to_send.insert(range.first, range.last, Decision { ack: range.ack, lock_deadline });
        partition.since = partition.since.or(Some(now));
    }

    /// An acquisition will not be handed out. Its locks run out by themselves.
    pub(crate) fn let_go(&mut self, topic_partition: TopicIdPartition, ranges: &[AcquiredRange]) {
        if let Some(partition) = self.partitions.get_mut(&topic_partition) {
            ranges.iter().for_each(|range| partition.held.remove(range.first, range.last));
            self.tidy(topic_partition);
        }
    }

    /// Decides about offsets that are held, or decided but not sent: there the last word counts.
    ///
    /// # Errors
    /// Nothing is taken over where the ranges make no sense or any of their offsets is neither.
    pub(crate) fn acknowledge(
        &mut self,
        now: Instant,
        id: AckId,
        topic_partition: TopicIdPartition,
        ranges: Vec<AckRange>,
    ) -> Result<(), (ErrorCode, Vec<AckRange>)> {
        self.expire(now);
        if ranges.is_empty() || ranges.iter().any(|range| range.first < 0 || range.last < range.first) {
            return Err((ErrorCode::INVALID_REQUEST, ranges));
        }
        let lost = self.lost(topic_partition).unwrap_or(ErrorCode::INVALID_RECORD_STATE);
        let Some(partition) = self.partitions.get_mut(&topic_partition) else { return Err((lost, ranges)) };
        if !ranges.iter().all(|range| partition.may_decide(range.first, range.last)) {
            return Err((lost, ranges));
        }
        for range in &ranges {
            partition.decide(*range);
        }
        partition.since = partition.since.or(Some(now));
        partition.waiting.push(Call { id, ranges });
        Ok(())
    }

    /// Takes what can be sent now; with `all`, also what waits for its retry.
    pub(crate) fn take(&mut self, now: Instant, all: bool) -> Vec<PartitionAcks> {
        self.expire(now);
        let mut taken = Vec::new();
        for (topic_partition, partition) in &mut self.partitions {
            if !partition.to_send.is_empty() && (all || partition.is_ready(now)) {
                taken.push((*topic_partition, partition.take()));
            }
        }
        taken
    }

    /// The broker answered for one partition. `renewed_until` is the deadline of locks that were renewed.
    pub(crate) fn answered(
        &mut self,
        now: Instant,
        topic_partition: TopicIdPartition,
        code: ErrorCode,
        renewed_until: Instant,
        policy: RetryPolicy,
    ) {
        let Some(partition) = self.partitions.get_mut(&topic_partition) else { return };
        if partition.in_flight.is_empty() {
            return;
        }
        if code.is_none() {
            if partition.renewed(renewed_until) {
                self.next_expiry = earlier(self.next_expiry, Some(renewed_until));
            }
            partition.retry = None;
            partition.end_sent(topic_partition, Ok(()), Some(renewed_until), &mut self.outcomes);
        } else if may_retry(code) && partition.retry(now, policy) {
            partition.put_back();
            self.next_expiry = earlier(self.next_expiry, partition.next_expiry());
        } else {
            partition.retry = None;
            partition.end_sent(topic_partition, Err(code), None, &mut self.outcomes);
        }
        self.tidy(topic_partition);
    }

    /// The broker answered, and these partitions got no word of their own.
    pub(crate) fn answered_rest(&mut self, now: Instant, code: ErrorCode, policy: RetryPolicy) {
        for topic_partition in self.in_flight_partitions() {
            self.answered(now, topic_partition, code, now, policy);
        }
    }

    /// The request could not be sent because it renews, which this broker does not know. The rest is to be sent again.
    pub(crate) fn refuse_renewals(&mut self, now: Instant) {
        for topic_partition in self.in_flight_partitions() {
            let Some(partition) = self.partitions.get_mut(&topic_partition) else { continue };
            let mut rest = std::mem::take(&mut partition.in_flight);
            rest.retain(|decision| decision.ack != AckType::Renew);
            let (renewals, sent) = std::mem::take(&mut partition.sent)
                .into_iter()
                .partition(|call| call.ranges.iter().any(|range| range.ack == AckType::Renew));
            partition.sent = renewals;
            partition.end_sent(topic_partition, Err(ErrorCode::UNSUPPORTED_VERSION), None, &mut self.outcomes);
            partition.in_flight = rest;
            partition.sent = sent;
            if partition.in_flight.is_empty() {
                // Renewals that took the place of what these calls had said.
                partition.end_sent(topic_partition, Err(ErrorCode::UNSUPPORTED_VERSION), None, &mut self.outcomes);
            }
            partition.put_back();
            partition.since = Some(now);
            self.next_expiry = earlier(self.next_expiry, partition.next_expiry());
            self.tidy(topic_partition);
        }
    }

    /// Everything of one partition is lost.
    pub(crate) fn fail_partition(&mut self, topic_partition: TopicIdPartition, code: ErrorCode) {
        if let Some(mut partition) = self.partitions.remove(&topic_partition) {
            self.lost.insert(topic_partition, (partition.topic.clone(), code));
            partition.end_all(topic_partition, code, &mut self.outcomes);
        }
    }

    /// The session is lost, and everything with it.
    pub(crate) fn fail_all(&mut self, code: ErrorCode) {
        for (topic_partition, mut partition) in std::mem::take(&mut self.partitions) {
            partition.end_all(topic_partition, code, &mut self.outcomes);
        }
        self.next_expiry = None;
    }

    /// Why a partition was lost, where it was and was not acquired again.
    pub(crate) fn lost(&self, topic_partition: TopicIdPartition) -> Option<ErrorCode> {
        self.lost.get(&topic_partition).map(|(_, code)| *code)
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
        self.next_expiry = None;
        let mut empty = Vec::new();
        for (topic_partition, partition) in &mut self.partitions {
            partition.expire(now, *topic_partition, &mut self.outcomes);
            self.next_expiry = earlier(self.next_expiry, partition.next_expiry());
            if partition.is_empty() {
                empty.push(*topic_partition);
            }
        }
        empty.iter().for_each(|topic_partition| _ = self.partitions.remove(topic_partition));
    }

    fn ready(&self, now: Instant) -> impl Iterator<Item = (&TopicIdPartition, &Partition)> {
        self.partitions.iter().filter(move |(_, partition)| !partition.to_send.is_empty() && partition.is_ready(now))
    }

    fn in_flight_partitions(&self) -> Vec<TopicIdPartition> {
        let in_flight = self.partitions.iter().filter(|(_, partition)| !partition.in_flight.is_empty());
        in_flight.map(|(topic_partition, _)| *topic_partition).collect()
    }

    fn partition(&mut self, topic_partition: TopicIdPartition, topic: &Arc<str>) -> &mut Partition {
        self.partitions.entry(topic_partition).or_insert_with(|| Partition::new(topic.clone()))
    }

    fn tidy(&mut self, topic_partition: TopicIdPartition) {
        if self.partitions.get(&topic_partition).is_some_and(Partition::is_empty) {
            self.partitions.remove(&topic_partition);
        }
    }
}

/// Whether an acknowledgement that got this error may succeed later at the same broker. Where the leader moved or the topic is gone, it
/// cannot.
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

impl Partition {
    fn new(topic: Arc<str>) -> Self {
        Self {
            topic,
            held: RangeMap::default(),
            to_send: RangeMap::default(),
            waiting: Vec::new(),
            in_flight: RangeMap::default(),
            sent: Vec::new(),
            since: None,
            retry: None,
        }
    }

    fn is_empty(&self) -> bool {
        self.held.is_empty()
            && self.to_send.is_empty()
            && self.in_flight.is_empty()
            && self.waiting.is_empty()
            && self.sent.is_empty()
    }

    fn is_ready(&self, now: Instant) -> bool {
        self.retry.is_none_or(|retry| retry.not_before <= now)
    }

    fn may_decide(&self, first: i64, last: i64) -> bool {
        let unknown = self.held.missing(first, last);
        unknown.iter().all(|(first, last)| self.to_send.missing(*first, *last).is_empty())
    }

    fn decide(&mut self, AckRange { first, last, ack }: AckRange) {
        let held = self.held.within(first, last).map(|range| Range {
            first: range.first,
            last: range.last,
            value: range.value,
        });
        let decided = self.to_send.within(first, last).map(|range| Range {
            first: range.first,
            last: range.last,
            value: range.value.lock_deadline,
        });
        let deadlines: Vec<Range<Instant>> = decided.chain(held).collect();
        for Range { first, last, value: lock_deadline } in deadlines {
            self.to_send.insert(first, last, Decision { ack, lock_deadline });
            if ack.is_terminal() {
                self.held.remove(first, last);
            } else {
                self.held.insert(first, last, lock_deadline);
            }
        }
    }

    fn take(&mut self) -> Vec<AckRange> {
        self.since = None;
        self.in_flight = std::mem::take(&mut self.to_send);
        self.sent.append(&mut self.waiting);
        let mut acks: Vec<AckRange> = Vec::new();
        for Range { first, last, value: Decision { ack, .. } } in self.in_flight.iter() {
            match acks.last_mut() {
                Some(previous) if previous.ack == ack && previous.last + 1 == first => previous.last = last,
                _ => acks.push(AckRange { first, last, ack }),
            }
        }
        acks
    }

    /// Renews what was in flight as such. Returns whether anything was.
    fn renewed(&mut self, lock_deadline: Instant) -> bool {
        let renewed: Vec<Range<Decision>> =
            self.in_flight.iter().filter(|range| range.value.ack == AckType::Renew).collect();
        for Range { first, last, .. } in &renewed {
            // What was decided meanwhile stays decided, under the new lock.
            for (first, last) in self.to_send.missing(*first, *last) {
                self.held.insert(first, last, lock_deadline);
            }
            let decided: Vec<Range<Decision>> = self.to_send.within(*first, *last).collect();
            for Range { first, last, value: Decision { ack, .. } } in decided {
                self.to_send.insert(first, last, Decision { ack, lock_deadline });
                if !ack.is_terminal() {
                    self.held.insert(first, last, lock_deadline);
                }
            }
        }
        !renewed.is_empty()
    }

    /// Notes one more retriable error. Returns whether to try again.
    fn retry(&mut self, now: Instant, policy: RetryPolicy) -> bool {
        let Retry { began, failures, .. } = self.retry.unwrap_or(Retry { began: now, failures: 0, not_before: now });
        let pause = policy.backoff.saturating_mul(1 << failures.min(16)).min(policy.backoff_max);
        self.retry = Some(Retry { began, failures: failures + 1, not_before: now + pause });
        now.duration_since(began) < policy.timeout
    }

    /// What was in flight is to be sent again, except where something newer was said.
    fn put_back(&mut self) {
        for Range { first, last, value } in std::mem::take(&mut self.in_flight).iter() {
            for (first, last) in self.to_send.missing(first, last) {
                self.to_send.insert(first, last, value);
            }
        }
        self.sent.append(&mut self.waiting);
        std::mem::swap(&mut self.sent, &mut self.waiting);
        self.since = self.since.or(self.retry.map(|retry| retry.began));
    }

    fn expire(&mut self, now: Instant, topic_partition: TopicIdPartition, outcomes: &mut Vec<Outcome>) {
        self.held.retain(|deadline| now < deadline);
        let expired: Vec<Range<Decision>> =
            self.to_send.iter().filter(|range| range.value.lock_deadline <= now).collect();
        if expired.is_empty() {
            return;
        }
        self.to_send.retain(|decision| now < decision.lock_deadline);
        let touches = |call: &Call| {
            call.ranges
                .iter()
                .any(|range| expired.iter().any(|lost| lost.first <= range.last && range.first <= lost.last))
        };
        let (lost, waiting): (Vec<Call>, Vec<Call>) = std::mem::take(&mut self.waiting).into_iter().partition(touches);
        self.waiting = waiting;
        end(&self.topic, topic_partition, lost, Err(ErrorCode::INVALID_RECORD_STATE), None, outcomes);
    }

    fn next_expiry(&self) -> Option<Instant> {
        let held = self.held.iter().map(|range| range.value).min();
        let decided = self.to_send.iter().map(|range| range.value.lock_deadline).min();
        earlier(held, decided)
    }

    fn end_sent(
        &mut self,
        topic_partition: TopicIdPartition,
        result: Result<(), ErrorCode>,
        renewed_until: Option<Instant>,
        outcomes: &mut Vec<Outcome>,
    ) {
        self.in_flight = RangeMap::default();
        let sent = std::mem::take(&mut self.sent);
        end(&self.topic, topic_partition, sent, result, renewed_until, outcomes);
    }

    fn end_all(&mut self, topic_partition: TopicIdPartition, code: ErrorCode, outcomes: &mut Vec<Outcome>) {
        self.sent.append(&mut self.waiting);
        self.end_sent(topic_partition, Err(code), None, outcomes);
    }
}

fn end(
    topic: &Arc<str>,
    topic_partition: TopicIdPartition,
    calls: Vec<Call>,
    result: Result<(), ErrorCode>,
    renewed_until: Option<Instant>,
    outcomes: &mut Vec<Outcome>,
) {
    outcomes.extend(calls.into_iter().map(|Call { id, ranges }| Outcome {
        id,
        topic: topic.clone(),
        topic_partition,
        result,
        lock_deadline: renewed_until.filter(|_| ranges.iter().any(|range| range.ack == AckType::Renew)),
        ranges,
    }));
}
