//! What is held of one partition, what was decided about it, and what is in flight.

use std::{sync::Arc, time::Instant};

use super::{Outcome, RetryPolicy};
use crate::{
    machine::{
        ranges::{Range, RangeMap},
        types::{AckId, AckRange, AckType, AcquiredRange, TopicIdPartition, earlier},
    },
    wire::ErrorCode,
};

#[derive(Debug)]
pub(super) struct Partition {
    id: TopicIdPartition,
    topic: Arc<str>,
    /// Acquired and undecided. Offsets that are being renewed stay here.
    held: RangeMap<Lock>,
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

/// The lock of an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lock {
    /// When it has to be taken as lost.
    pub(super) deadline: Instant,
    /// The acquisition.
    pub(super) number: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Decision {
    ack: AckType,
    lock: Lock,
}

/// The number of what no caller holds.
const NOBODY: u64 = 0;

#[derive(Debug)]
struct Call {
    id: AckId,
    ranges: Vec<AckRange>,
}

impl Call {
    fn renews(&self) -> bool {
        self.ranges.iter().any(|range| range.ack == AckType::Renew)
    }
}

/// Retriable errors in a row.
#[derive(Debug, Clone, Copy)]
struct Retry {
    /// When the first came.
    began: Instant,
    failures: u32,
    not_before: Instant,
}

impl Partition {
    pub(super) fn new(id: TopicIdPartition, topic: Arc<str>) -> Self {
        Self {
            id,
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

    pub(super) fn topic(&self) -> &Arc<str> {
        &self.topic
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty() && self.to_send.is_empty() && self.in_flight.is_empty()
    }

    pub(super) fn is_in_flight(&self) -> bool {
        !self.in_flight.is_empty()
    }

    /// Whether anything can be sent now; with `all`, also what waits for its retry.
    pub(super) fn is_ready(&self, now: Instant, all: bool) -> bool {
        !self.to_send.is_empty() && (all || self.retry.is_none_or(|retry| retry.not_before <= now))
    }

    pub(super) fn has_renewals(&self) -> bool {
        self.to_send.iter().any(|range| range.value.ack == AckType::Renew)
    }

    pub(super) fn held_records(&self) -> u64 {
        self.held.offsets()
    }

    pub(super) fn oldest_decision(&self) -> Option<Instant> {
        self.since
    }

    pub(super) fn next_retry(&self) -> Option<Instant> {
        self.retry.filter(|_| !self.to_send.is_empty()).map(|retry| retry.not_before)
    }

    pub(super) fn next_expiry(&self) -> Option<Instant> {
        let held = self.held.iter().map(|range| range.value.deadline).min();
        let decided = self.to_send.iter().map(|range| range.value.lock.deadline).min();
        earlier(held, decided)
    }

    pub(super) fn acquired(&mut self, ranges: &[AcquiredRange], lock: Lock, outcomes: &mut Vec<Outcome>) {
        let decided = ranges.iter().flat_map(|range| self.to_send.within(range.first, range.last));
        let lost: Vec<Range<Decision>> = decided.collect();
        self.lose_decisions(&lost, outcomes);
        for range in ranges {
            self.held.insert(range.first, range.last, lock);
        }
    }

    pub(super) fn settle(&mut self, now: Instant, range: AckRange, lock_deadline: Instant) {
        let lock = Lock { deadline: lock_deadline, number: NOBODY };
        self.to_send.insert(range.first, range.last, Decision { ack: range.ack, lock });
        self.since = self.since.or(Some(now));
    }

    pub(super) fn let_go(&mut self, number: u64, ranges: &[AcquiredRange]) {
        for range in ranges {
            let held: Vec<Range<Lock>> = self.held.within(range.first, range.last).collect();
            let mine = held.iter().filter(|held| held.value.number == number);
            mine.for_each(|held| self.held.remove(held.first, held.last));
        }
    }

    /// Whether each offset is held by this acquisition, or decided but not sent.
    pub(super) fn may_decide(&self, number: u64, ranges: &[AckRange]) -> bool {
        ranges.iter().all(|&AckRange { first, last, .. }| {
            let not_held = self.held.missing(first, last);
            self.held.within(first, last).all(|held| held.value.number == number)
                && not_held.iter().all(|&(first, last)| {
                    self.to_send.missing(first, last).is_empty()
                        && self.to_send.within(first, last).all(|decided| decided.value.lock.number == number)
                })
        })
    }

    pub(super) fn decide(&mut self, now: Instant, id: AckId, ranges: Vec<AckRange>) {
        for AckRange { first, last, ack } in &ranges {
            let mut locks: Vec<Range<Lock>> = self.held.within(*first, *last).collect();
            let decided = self.to_send.within(*first, *last);
            locks.extend(decided.map(|Range { first, last, value }| Range { first, last, value: value.lock }));
            for Range { first, last, value: lock } in locks {
                self.to_send.insert(first, last, Decision { ack: *ack, lock });
                if ack.is_terminal() {
                    self.held.remove(first, last);
                } else {
                    self.held.insert(first, last, lock);
                }
            }
        }
        self.waiting.push(Call { id, ranges });
        self.since = self.since.or(Some(now));
    }

    /// Everything decided goes in flight: sorted, disjoint, neighbours of one type merged.
    pub(super) fn take(&mut self) -> Vec<AckRange> {
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

    pub(super) fn answered(
        &mut self,
        now: Instant,
        code: ErrorCode,
        renewed_until: Instant,
        policy: RetryPolicy,
        outcomes: &mut Vec<Outcome>,
    ) {
        if code.is_none() {
            self.renewed(renewed_until);
            self.end_sent(Ok(()), Some(renewed_until), outcomes);
        } else if may_retry(code) && self.may_retry(now, policy) {
            self.put_back();
        } else {
            self.end_sent(Err(code), None, outcomes);
        }
    }

    /// What was in flight as a renewal has a new lock.
    fn renewed(&mut self, lock_deadline: Instant) {
        let renewed: Vec<Range<Decision>> =
            self.in_flight.iter().filter(|range| range.value.ack == AckType::Renew).collect();
        for Range { first, last, value: Decision { lock, .. } } in renewed {
            let lock = Lock { deadline: lock_deadline, ..lock };
            // What was decided meanwhile stays decided, under the new lock.
            let decided: Vec<Range<Decision>> = self.to_send.within(first, last).collect();
            for (first, last) in self.to_send.missing(first, last) {
                self.held.insert(first, last, lock);
            }
            for Range { first, last, value: Decision { ack, .. } } in decided {
                self.to_send.insert(first, last, Decision { ack, lock });
                if !ack.is_terminal() {
                    self.held.insert(first, last, lock);
                }
            }
        }
    }

    /// Notes one more retriable error. Returns whether to try again.
    fn may_retry(&mut self, now: Instant, policy: RetryPolicy) -> bool {
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

    /// Renewals in flight were not sent and never can be; the rest is to be sent again.
    pub(super) fn refuse_renewals(&mut self, now: Instant, outcomes: &mut Vec<Outcome>) {
        let mut rest = std::mem::take(&mut self.in_flight);
        rest.retain(|decision| decision.ack != AckType::Renew);
        // Where nothing else is left, the other calls were about offsets that a renewal took over.
        let refused = |call: &Call| call.renews() || rest.is_empty();
        let (refused, sent) = std::mem::take(&mut self.sent).into_iter().partition(refused);
        self.sent = refused;
        self.end_sent(Err(ErrorCode::UNSUPPORTED_VERSION), None, outcomes);
        (self.in_flight, self.sent) = (rest, sent);
        self.put_back();
        self.since = Some(now);
    }

    /// Lets go of locks that have ended.
    pub(super) fn expire(&mut self, now: Instant, outcomes: &mut Vec<Outcome>) {
        self.held.retain(|lock| now < lock.deadline);
        let expired: Vec<Range<Decision>> =
            self.to_send.iter().filter(|range| range.value.lock.deadline <= now).collect();
        self.lose_decisions(&expired, outcomes);
    }

    /// Takes back decisions that were not sent: their locks are lost, and the calls fail that they are of.
    fn lose_decisions(&mut self, lost: &[Range<Decision>], outcomes: &mut Vec<Outcome>) {
        if lost.is_empty() {
            return;
        }
        lost.iter().for_each(|range| self.to_send.remove(range.first, range.last));
        let is_lost = |call: &Call| {
            call.ranges.iter().any(|range| lost.iter().any(|lost| lost.first <= range.last && range.first <= lost.last))
        };
        let (ended, waiting) = std::mem::take(&mut self.waiting).into_iter().partition(is_lost);
        self.waiting = waiting;
        self.end(ended, Err(ErrorCode::INVALID_RECORD_STATE), None, outcomes);
    }

    /// Everything is lost.
    pub(super) fn fail(mut self, code: ErrorCode, outcomes: &mut Vec<Outcome>) {
        self.sent.append(&mut self.waiting);
        self.end_sent(Err(code), None, outcomes);
    }

    fn end_sent(&mut self, result: Result<(), ErrorCode>, renewed_until: Option<Instant>, outcomes: &mut Vec<Outcome>) {
        self.in_flight = RangeMap::default();
        self.retry = None;
        let sent = std::mem::take(&mut self.sent);
        self.end(sent, result, renewed_until, outcomes);
    }

    fn end(
        &self,
        calls: Vec<Call>,
        result: Result<(), ErrorCode>,
        renewed_until: Option<Instant>,
        outcomes: &mut Vec<Outcome>,
    ) {
        outcomes.extend(calls.into_iter().map(|call| Outcome {
            id: call.id,
            topic: self.topic.clone(),
            topic_partition: self.id,
            result,
            lock_deadline: renewed_until.filter(|_| call.renews()),
            ranges: call.ranges,
        }));
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
