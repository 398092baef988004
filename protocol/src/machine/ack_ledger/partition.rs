//! What is held of one partition, what was decided about it, and what is in flight.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{Outcome, Outcomes, RetryPolicy, isolation::Isolation, keeping::Keeping, may_retry};
use crate::{
    machine::{
        ranges::{Range, RangeMap},
        types::{AckId, AckRange, AckType, AcquiredRange, AutoRenew, KeepEnd, KeepId, TopicIdPartition, earlier},
    },
    wire::ErrorCode,
};

#[derive(Debug)]
pub(super) struct Partition {
    id: TopicIdPartition,
    topic: Arc<str>,
    /// Acquired and undecided. Offsets that are being renewed stay here.
    held: RangeMap<Lock>,
    /// What of `held` is renewed by itself.
    keeping: Keeping,
    to_send: RangeMap<Decision>,
    /// Calls with something in `to_send`.
    waiting: Vec<Call>,
    in_flight: RangeMap<Decision>,
    /// Calls with something in `in_flight` or `isolation`.
    sent: Vec<Call>,
    /// What was refused together, while it is found out which part of it is to blame.
    isolation: Option<Isolation>,
    /// When the oldest decision in `to_send` or `isolation` was made.
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
pub(super) struct Decision {
    pub(super) ack: AckType,
    lock: Lock,
}

/// The number of what no caller holds.
const NOBODY: u64 = 0;

/// Who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caller {
    Application(AckId),
    Keep(KeepId),
}

#[derive(Debug)]
struct Call {
    caller: Caller,
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
            keeping: Keeping::default(),
            to_send: RangeMap::default(),
            waiting: Vec::new(),
            in_flight: RangeMap::default(),
            sent: Vec::new(),
            isolation: None,
            since: None,
            retry: None,
        }
    }

    pub(super) fn topic(&self) -> &Arc<str> {
        &self.topic
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty() && !self.has_to_send() && self.in_flight.is_empty()
    }

    pub(super) fn is_in_flight(&self) -> bool {
        !self.in_flight.is_empty()
    }

    pub(super) fn is_isolating(&self) -> bool {
        self.isolation.as_ref().is_some_and(Isolation::has_pieces)
    }

    fn has_to_send(&self) -> bool {
        !self.to_send.is_empty() || self.is_isolating()
    }

    pub(super) fn has_decisions(&self) -> bool {
        self.has_to_send() || self.is_in_flight()
    }

    /// Whether anything can be sent now; with `all`, also what waits for its retry.
    pub(super) fn is_ready(&self, now: Instant, all: bool) -> bool {
        self.has_to_send() && (all || self.retry.is_none_or(|retry| retry.not_before <= now))
    }

    pub(super) fn has_renewals(&self) -> bool {
        let pieces = self.isolation.iter().flat_map(Isolation::pieces);
        self.to_send.iter().chain(pieces).any(|range| range.value.ack == AckType::Renew)
    }

    pub(super) fn held_records(&self) -> u64 {
        self.held.offsets()
    }

    pub(super) fn oldest_decision(&self) -> Option<Instant> {
        self.since
    }

    pub(super) fn next_retry(&self) -> Option<Instant> {
        self.retry.filter(|_| self.has_to_send()).map(|retry| retry.not_before)
    }

    pub(super) fn next_expiry(&self) -> Option<Instant> {
        let held = self.held.iter().map(|range| range.value.deadline).min();
        let pieces = self.isolation.iter().flat_map(Isolation::pieces);
        let decided = self.to_send.iter().chain(pieces).map(|range| range.value.lock.deadline).min();
        earlier(held, decided)
    }

    pub(super) fn acquired(&mut self, ranges: &[AcquiredRange], lock: Lock, outcomes: &mut Outcomes) {
        let decided = ranges.iter().flat_map(|range| self.to_send.within(range.first, range.last));
        let lost: Vec<Range<Decision>> = decided.collect();
        self.lose_decisions(&lost, outcomes);
        if self.is_isolating() {
            let is_again = |first, last| ranges.iter().any(|range| range.first <= last && first <= range.last);
            self.lose_pieces(|range| is_again(range.first, range.last), outcomes);
        }
        for range in ranges {
            self.keeping.release(range.first, range.last, KeepEnd::Lost, &mut outcomes.kept);
            self.held.insert(range.first, range.last, lock);
        }
    }

    pub(super) fn settle(&mut self, now: Instant, range: AckRange, lock_deadline: Instant) {
        let lock = Lock { deadline: lock_deadline, number: NOBODY };
        self.to_send.insert(range.first, range.last, Decision { ack: range.ack, lock });
        self.since = self.since.or(Some(now));
    }

    pub(super) fn let_go(&mut self, number: u64, ranges: &[AcquiredRange], outcomes: &mut Outcomes) {
        for range in ranges {
            let held: Vec<Range<Lock>> = self.held.within(range.first, range.last).collect();
            for Range { first, last, .. } in held.into_iter().filter(|held| held.value.number == number) {
                self.held.remove(first, last);
                self.keeping.release(first, last, KeepEnd::Lost, &mut outcomes.kept);
            }
        }
    }

    /// Keeps what is held of these offsets of an acquisition. Returns whether anything is.
    pub(super) fn keep(
        &mut self,
        now: Instant,
        id: KeepId,
        renew: AutoRenew,
        (number, ranges): (u64, &[AcquiredRange]),
        outcomes: &mut Outcomes,
    ) -> bool {
        let held = ranges.iter().flat_map(|range| self.held.within(range.first, range.last));
        let mine = held.filter(|held| held.value.number == number).map(|held| (held.first, held.last));
        let mine: Vec<(i64, i64)> = mine.collect();
        let any = !mine.is_empty();
        if any {
            self.keeping.begin(now, id, renew, mine, &mut outcomes.kept);
        }
        any
    }

    /// Decides the renewals that are due. Returns when the next one is.
    pub(super) fn renew(&mut self, now: Instant, lock_timeout: Duration, outcomes: &mut Outcomes) -> Option<Instant> {
        for (id, ranges) in self.keeping.due(now, lock_timeout, &self.held, &mut outcomes.kept) {
            self.decide(now, Caller::Keep(id), ranges, outcomes);
        }
        self.keeping.next(lock_timeout, &self.held)
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

    pub(super) fn decide(&mut self, now: Instant, caller: Caller, ranges: Vec<AckRange>, outcomes: &mut Outcomes) {
        for AckRange { first, last, ack } in &ranges {
            let mut locks: Vec<Range<Lock>> = self.held.within(*first, *last).collect();
            let decided = self.to_send.within(*first, *last);
            locks.extend(decided.map(|Range { first, last, value }| Range { first, last, value: value.lock }));
            for Range { first, last, value: lock } in locks {
                self.to_send.insert(first, last, Decision { ack: *ack, lock });
                if ack.is_terminal() {
                    self.held.remove(first, last);
                    self.keeping.release(first, last, KeepEnd::Settled, &mut outcomes.kept);
                } else {
                    self.held.insert(first, last, lock);
                }
            }
        }
        self.waiting.push(Call { caller, ranges });
        self.since = self.since.or(Some(now));
    }

    /// What is to be sent next goes in flight: sorted, disjoint, neighbours of one type merged.
    pub(super) fn take(&mut self) -> Vec<AckRange> {
        if let Some(piece) = self.isolation.as_mut().and_then(Isolation::next_piece) {
            self.in_flight = piece;
        } else {
            self.since = None;
            self.in_flight = std::mem::take(&mut self.to_send);
            self.sent.append(&mut self.waiting);
        }
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
        outcomes: &mut Outcomes,
    ) {
        if code.is_none() {
            self.renewed(renewed_until);
            self.end_piece(Some(renewed_until), outcomes);
        } else if may_retry(code) && self.may_retry(now, policy) {
            self.put_back();
        } else if policy.isolates && matches!(code, ErrorCode::INVALID_RECORD_STATE | ErrorCode::INVALID_REQUEST) {
            let sent = std::mem::take(&mut self.in_flight);
            self.isolation.get_or_insert_with(|| Isolation::new(&sent)).cut(sent, code);
            self.since = Some(now);
            self.end_piece(None, outcomes);
        } else {
            self.end_sent(code, outcomes);
        }
    }

    /// What was in flight is to be sent again, after a pause.
    pub(super) fn not_taken(&mut self, now: Instant, policy: RetryPolicy) {
        self.may_retry(now, policy);
        self.put_back();
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
        self.since = self.since.or(self.retry.map(|retry| retry.began));
        let sent = std::mem::take(&mut self.in_flight);
        if let Some(isolation) = &mut self.isolation {
            return isolation.again(sent);
        }
        for Range { first, last, value } in sent.iter() {
            for (first, last) in self.to_send.missing(first, last) {
                self.to_send.insert(first, last, value);
            }
        }
        self.sent.append(&mut self.waiting);
        std::mem::swap(&mut self.sent, &mut self.waiting);
    }

    /// Renewals in flight were not sent and never can be; the rest is to be sent again.
    pub(super) fn refuse_renewals(&mut self, now: Instant, outcomes: &mut Outcomes) {
        let mut rest = std::mem::take(&mut self.in_flight);
        let mut renewals = rest.clone();
        renewals.retain(|decision| decision.ack == AckType::Renew);
        rest.retain(|decision| decision.ack != AckType::Renew);
        let isolation = self.isolation.get_or_insert_with(|| Isolation::new(&rest));
        isolation.refuse(&renewals, ErrorCode::UNSUPPORTED_VERSION);
        if !rest.is_empty() {
            isolation.again(rest);
        }
        self.since = Some(now);
        self.end_piece(None, outcomes);
    }

    /// Renewals that wait to be sent fail, with what is sent next where that is anything: the session is about to end.
    pub(super) fn drop_renewals(&mut self, code: ErrorCode, outcomes: &mut Outcomes) {
        let is_renewal = |decision: Decision| decision.ack == AckType::Renew;
        let mut renewals = self.to_send.clone();
        renewals.retain(is_renewal);
        self.to_send.retain(|decision| !is_renewal(decision));
        if !renewals.is_empty() || self.isolation.is_some() {
            let isolation = self.isolation.get_or_insert_with(|| Isolation::new(&renewals));
            isolation.refuse(&renewals, code);
            isolation.give_up(|range| is_renewal(range.value), code);
            // Calls of which nothing is left to send do not wait for what is: it may never be sent.
            let is_left = |range: &AckRange| self.to_send.within(range.first, range.last).next().is_some();
            let (waiting, mut over) =
                std::mem::take(&mut self.waiting).into_iter().partition(|call: &Call| call.ranges.iter().any(is_left));
            self.waiting = waiting;
            self.sent.append(&mut over);
            self.end_refused(outcomes);
        }
    }

    /// Where nothing is under way and nothing left to send, no answer will end the calls that were refused.
    fn end_refused(&mut self, outcomes: &mut Outcomes) {
        if self.isolation.is_some() && self.in_flight.is_empty() && !self.has_to_send() {
            self.end_piece(None, outcomes);
        }
    }

    /// Lets go of locks that have ended.
    pub(super) fn expire(&mut self, now: Instant, outcomes: &mut Outcomes) {
        for range in self.held.iter().filter(|range| range.value.deadline <= now) {
            self.keeping.release(range.first, range.last, KeepEnd::Lost, &mut outcomes.kept);
        }
        self.held.retain(|lock| now < lock.deadline);
        let is_expired = |range: Range<Decision>| range.value.lock.deadline <= now;
        if self.is_isolating() {
            self.lose_pieces(is_expired, outcomes);
        }
        let expired: Vec<Range<Decision>> = self.to_send.iter().filter(|range| is_expired(*range)).collect();
        self.lose_decisions(&expired, outcomes);
    }

    /// Takes back pieces of what was refused: their locks are lost.
    fn lose_pieces(&mut self, is_lost: impl Fn(Range<Decision>) -> bool, outcomes: &mut Outcomes) {
        if let Some(isolation) = &mut self.isolation {
            isolation.give_up(is_lost, ErrorCode::INVALID_RECORD_STATE);
            if self.in_flight.is_empty() {
                self.end_piece(None, outcomes);
            }
        }
    }

    /// Takes back decisions that were not sent: their locks are lost, and the calls fail that they are of.
    fn lose_decisions(&mut self, lost: &[Range<Decision>], outcomes: &mut Outcomes) {
        if lost.is_empty() {
            return;
        }
        lost.iter().for_each(|range| self.to_send.remove(range.first, range.last));
        let is_lost = |call: &Call| {
            call.ranges.iter().any(|range| lost.iter().any(|lost| lost.first <= range.last && range.first <= lost.last))
        };
        let (ended, waiting) = std::mem::take(&mut self.waiting).into_iter().partition(is_lost);
        self.waiting = waiting;
        self.fail_calls(ended, ErrorCode::INVALID_RECORD_STATE, outcomes);
        self.end_refused(outcomes);
    }

    /// Everything is lost.
    pub(super) fn fail(mut self, code: ErrorCode, outcomes: &mut Outcomes) {
        self.sent.append(&mut self.waiting);
        self.end_sent(code, outcomes);
        self.keeping.fail(&mut outcomes.kept);
    }

    /// What was in flight has its answer: calls of which nothing is left to send have ended.
    fn end_piece(&mut self, renewed_until: Option<Instant>, outcomes: &mut Outcomes) {
        self.in_flight = RangeMap::default();
        self.retry = None;
        let Some(isolation) = self.isolation.take() else {
            for call in std::mem::take(&mut self.sent) {
                self.end(call, None, renewed_until, outcomes);
            }
            return;
        };
        let (pending, ended) =
            std::mem::take(&mut self.sent).into_iter().partition(|call: &Call| isolation.is_pending(&call.ranges));
        self.sent = pending;
        for call in ended {
            let failed = isolation.failed(&call.ranges);
            self.end(call, failed, renewed_until, outcomes);
        }
        if isolation.has_pieces() {
            self.isolation = Some(isolation);
        } else if self.to_send.is_empty() {
            self.since = None;
        }
    }

    /// Everything that was sent has failed.
    fn end_sent(&mut self, code: ErrorCode, outcomes: &mut Outcomes) {
        self.in_flight = RangeMap::default();
        self.retry = None;
        self.isolation = None;
        let sent = std::mem::take(&mut self.sent);
        self.fail_calls(sent, code, outcomes);
    }

    fn fail_calls(&mut self, calls: Vec<Call>, code: ErrorCode, outcomes: &mut Outcomes) {
        for call in calls {
            let failed = Some((call.ranges.clone(), code));
            self.end(call, failed, None, outcomes);
        }
    }

    fn end(
        &mut self,
        call: Call,
        failed: Option<(Vec<AckRange>, ErrorCode)>,
        renewed_until: Option<Instant>,
        outcomes: &mut Outcomes,
    ) {
        let renewed = renewed_until.filter(|_| call.renews() && failed.is_none());
        let held = call.ranges.iter().flat_map(|range| self.held.within(range.first, range.last));
        let lock_deadline = renewed.map(|renewed| held.map(|held| held.value.deadline).min().unwrap_or(renewed));
        match call.caller {
            Caller::Application(id) => {
                let result = failed.as_ref().map_or(Ok(()), |(_, code)| Err(*code));
                outcomes.ended.push(Outcome {
                    id,
                    topic: self.topic.clone(),
                    topic_partition: self.id,
                    ranges: call.ranges,
                    result,
                    failed: failed.map(|(ranges, _)| ranges).unwrap_or_default(),
                    lock_deadline,
                });
            }
            Caller::Keep(id) => {
                let result = match (failed, lock_deadline) {
                    (Some((_, code)), _) => Err(KeepEnd::Refused(code)),
                    (None, Some(deadline)) => Ok(deadline),
                    (None, None) => Err(KeepEnd::Lost),
                };
                self.keeping.answered(id, result, &mut outcomes.kept);
            }
        }
    }
}
