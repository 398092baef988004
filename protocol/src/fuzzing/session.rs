//! One session with one broker: the machine of its epoch, and the ledger of what it holds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Input, OPERATIONS, bounded};
use crate::machine::ack_ledger::{AckLedger, Kept, Outcomes, PartitionAcks, RetryPolicy};
use crate::machine::share_session::ShareSession;
use crate::machine::{AckId, AckRange, AckType, AcquiredRange, AutoRenew, KeepId, SessionId, TopicIdPartition};
use crate::wire::{ErrorCode, Uuid};

const LOCK: Duration = Duration::from_millis(1_000);

/// How much later than the client's the broker's lock ends: it begins when the fetch arrives.
const LATER: Duration = Duration::from_millis(5);

const POLICY: RetryPolicy = RetryPolicy {
    timeout: Duration::from_millis(400),
    backoff: Duration::from_millis(50),
    backoff_max: Duration::from_millis(200),
    isolates: true,
};

const PARTITIONS: i32 = 3;

/// Target `session`: each byte chooses an operation: what is wanted changes, the application decides about records, time
/// passes, a request is sent, the broker takes it, refuses it, does not know the session, or goes away. `start` is any
/// instant.
///
/// # Panics
/// Where a request has another epoch than the broker's, or lists or forgets other partitions than the broker has to;
/// where an acknowledgement is sent of an offset that the member does not hold, or twice in a request, or ends more than
/// once, or not at all when the session has ended; or where a deadline of the ledger has passed and was not acted on.
pub fn session(start: Instant, data: &[u8]) {
    let mut input = Input::new(bounded(data));
    let mut world = World {
        now: start,
        session: ShareSession::new(1),
        ledger: AckLedger::default(),
        topic: "topic".into(),
        last_id: None,
        broker: None,
        locks: BTreeMap::new(),
        in_flight: None,
        open: BTreeSet::new(),
        calls: 0,
        kept: BTreeSet::new(),
        keeps: 0,
    };
    for _ in 0..OPERATIONS {
        if input.is_empty() {
            break;
        }
        world.operate(&mut input);
        world.end_calls();
    }
    world.disconnect();
    world.end_calls();
    assert!(world.open.is_empty(), "never ended: {:?}", world.open);
    assert!(world.kept.is_empty(), "kept for ever: {:?}", world.kept);
    assert!(world.ledger.is_empty(), "{:?}", world.ledger);
}

/// All acquisitions are one here.
const ACQUISITION: u64 = 1;

/// What the broker knows of the session.
struct Broker {
    epoch: i32,
    partitions: BTreeSet<TopicIdPartition>,
}

struct Sent {
    kind: Kind,
    at: Instant,
    acks: Vec<PartitionAcks>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Fetch,
    Acknowledge,
    Close,
}

struct World {
    now: Instant,
    session: ShareSession,
    ledger: AckLedger,
    topic: Arc<str>,
    last_id: Option<SessionId>,
    broker: Option<Broker>,
    /// Offsets that the broker holds for the member, by the end of their lock there.
    locks: BTreeMap<(TopicIdPartition, i64), Instant>,
    in_flight: Option<Sent>,
    /// Calls that have not ended.
    open: BTreeSet<AckId>,
    calls: u64,
    /// What is renewed by itself and has not ended.
    kept: BTreeSet<KeepId>,
    keeps: u64,
}

fn partition(input: &mut Input<'_>) -> TopicIdPartition {
    TopicIdPartition { topic_id: Uuid([3; 16]), partition: input.below(PARTITIONS as usize) as i32 }
}

fn range(input: &mut Input<'_>) -> (i64, i64) {
    let first = i64::from(input.byte() % 40);
    (first, first + i64::from(input.byte() % 12))
}

impl World {
    fn operate(&mut self, input: &mut Input<'_>) {
        match input.below(16) {
            0 => {
                let wanted = input.byte();
                let wanted = (0..PARTITIONS).filter(|index| wanted >> index & 1 == 0);
                let partition = |partition| TopicIdPartition { topic_id: Uuid([3; 16]), partition };
                self.session.want(wanted.map(partition).collect());
            }
            1..=4 => self.send(input),
            5..=8 => self.receive(input),
            9..=12 => self.decide(input),
            13 => {
                let (first, last) = range(input);
                self.ledger.let_go(partition(input), ACQUISITION, &[AcquiredRange { first, last, delivery_count: 1 }]);
            }
            14 => {
                self.now += Duration::from_millis(input.pick(&[1, 50, 100, 400, 700, 1_000]));
                self.ledger.expire(self.now);
                self.ledger.renew(self.now, LOCK);
                assert!(self.ledger.next_expiry().is_none_or(|at| at > self.now), "a lock has ended and is held");
                assert!(self.ledger.next_renewal().is_none_or(|at| at > self.now), "a renewal is due and not decided");
                assert!(self.ledger.next_retry(self.now).is_none_or(|at| at > self.now));
            }
            _ => match input.below(4) {
                0 => self.disconnect(),
                1 => self.keep(input),
                _ => {
                    let lost = partition(input);
                    self.ledger.fail_partition(lost, ErrorCode::NOT_LEADER_OR_FOLLOWER);
                    assert_eq!(self.ledger.held_in(lost), 0);
                    self.locks.retain(|(held, _), _| *held != lost);
                }
            },
        }
    }

    fn decide(&mut self, input: &mut Input<'_>) {
        let id = partition(input);
        let mut ranges = Vec::new();
        for _ in 0..input.pick(&[1, 1, 1, 2, 0]) {
            let (first, last) = range(input);
            let (first, last) = if input.once_in(32) { (input.number(), input.number()) } else { (first, last) };
            let ack = input.pick(&[AckType::Accept, AckType::Renew, AckType::Release, AckType::Reject, AckType::Gap]);
            ranges.push(AckRange { first, last, ack });
        }
        self.calls += 1;
        let call = AckId(self.calls);
        if self.ledger.acknowledge(self.now, call, id, ACQUISITION, ranges).is_ok() {
            self.open.insert(call);
        }
    }

    fn keep(&mut self, input: &mut Input<'_>) {
        let (first, last) = range(input);
        let renew =
            AutoRenew { at_percent: input.byte(), max_renewals: u32::from(input.byte()), ..AutoRenew::default() };
        self.keeps += 1;
        let ranges = [AcquiredRange { first, last, delivery_count: 1 }];
        if self.ledger.keep(self.now, KeepId(self.keeps), partition(input), (ACQUISITION, &ranges), renew) {
            self.kept.insert(KeepId(self.keeps));
        }
    }

    fn send(&mut self, input: &mut Input<'_>) {
        if self.in_flight.is_some() {
            return;
        }
        let kind = input.pick(&[Kind::Fetch, Kind::Fetch, Kind::Acknowledge, Kind::Close]);
        let acks = match kind {
            Kind::Fetch => self.fetch(),
            Kind::Acknowledge => self.session.begin_acknowledge().map(|epoch| {
                self.check_epoch(epoch);
                self.ledger.take(self.now)
            }),
            Kind::Close => self.session.begin_close().map(|epoch| {
                assert_eq!(epoch, -1);
                self.ledger.take_last(self.now, ErrorCode::SHARE_SESSION_NOT_FOUND)
            }),
        };
        let Some(acks) = acks else { return };
        for (partition, ranges) in &acks {
            self.check_acks(*partition, ranges);
        }
        self.in_flight = Some(Sent { kind, at: self.now, acks });
    }

    /// Begins a fetch, with acknowledgements where it may carry them.
    fn fetch(&mut self) -> Option<Vec<PartitionAcks>> {
        let was_open = self.session.is_open();
        let step = self.session.begin_fetch()?;
        if step.epoch == 0 {
            assert!(!was_open && step.forget.is_empty(), "{step:?}");
            let id = self.session.id();
            assert!(self.last_id.replace(id).is_none_or(|last| last < id), "{id:?} is not new");
            self.broker = Some(Broker { epoch: 0, partitions: BTreeSet::new() });
        }
        self.check_epoch(step.epoch);
        let broker = self.broker.as_mut().expect("it was checked or opened just now");
        for added in &step.add {
            assert!(broker.partitions.insert(*added), "{added:?} is listed again");
        }
        for forgotten in &step.forget {
            assert!(broker.partitions.remove(forgotten), "{forgotten:?} was not listed");
        }
        assert_eq!(&broker.partitions, self.session.wanted());
        assert!(broker.partitions.iter().all(|partition| self.session.lists(*partition)));
        assert!(!self.session.has_to_forget());
        let fits = self.ledger.ready_partitions(self.now).all(|ready| self.session.wanted().contains(&ready));
        Some(if step.epoch > 0 && fits { self.ledger.take(self.now) } else { Vec::new() })
    }

    fn check_epoch(&self, epoch: i32) {
        assert_eq!(self.broker.as_ref().map(|broker| broker.epoch), Some(epoch), "the broker's epoch is another");
    }

    fn check_acks(&self, partition: TopicIdPartition, ranges: &[AckRange]) {
        assert!(!ranges.is_empty(), "{partition:?} is listed for nothing");
        for pair in ranges.windows(2) {
            assert!(pair[0].last < pair[1].first, "not sorted and disjoint: {ranges:?}");
            assert!(pair[0].last + 1 < pair[1].first || pair[0].ack != pair[1].ack, "not merged: {ranges:?}");
        }
        for offset in ranges.iter().flat_map(|range| range.first..=range.last) {
            assert!(self.is_locked(partition, offset), "{offset} is not ours: {ranges:?}");
        }
    }

    fn is_locked(&self, partition: TopicIdPartition, offset: i64) -> bool {
        self.locks.get(&(partition, offset)).is_some_and(|end| self.now < *end)
    }

    /// The answer to what is in flight.
    fn receive(&mut self, input: &mut Input<'_>) {
        let Some(sent) = self.in_flight.take() else { return };
        let code = input.pick(&[
            ErrorCode::NONE,
            ErrorCode::NONE,
            ErrorCode::NONE,
            ErrorCode::INVALID_RECORD_STATE,
            ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
            ErrorCode::UNSUPPORTED_VERSION,
            ErrorCode::SHARE_SESSION_NOT_FOUND,
        ]);
        match code {
            ErrorCode::SHARE_SESSION_NOT_FOUND => {
                let had_one = self.session.reset();
                assert_eq!(had_one, self.broker.as_ref().is_some_and(|broker| broker.epoch > 0));
                return self.lose_session();
            }
            ErrorCode::UNSUPPORTED_VERSION if sent.kind == Kind::Acknowledge => {
                // It was never sent. The epoch stays.
                return self.ledger.refuse_renewals(self.now);
            }
            _ => {}
        }
        self.session.accepted();
        let code = if code == ErrorCode::UNSUPPORTED_VERSION { ErrorCode::NONE } else { code };
        if code.is_none() {
            self.apply(&sent);
        }
        let policy = RetryPolicy { isolates: sent.kind != Kind::Close, ..POLICY };
        // The broker says nothing of some partitions.
        let silent = usize::from(input.once_in(4)).min(sent.acks.len());
        for (partition, _) in &sent.acks[silent..] {
            self.ledger.answered(self.now, *partition, code, sent.at + LOCK, policy);
        }
        self.ledger.answered_rest(self.now, ErrorCode::INVALID_RECORD_STATE, policy);
        match (sent.kind, &mut self.broker) {
            (Kind::Close, _) => {
                assert!(self.session.is_closed());
                self.lose_session();
            }
            (kind, Some(broker)) => {
                broker.epoch += 1;
                if kind == Kind::Fetch {
                    self.acquire(&sent, input);
                }
            }
            (_, None) => {}
        }
    }

    /// The broker does as the acknowledgements say.
    fn apply(&mut self, sent: &Sent) {
        for (partition, ranges) in &sent.acks {
            for range in ranges {
                for offset in range.first..=range.last {
                    if range.ack.is_terminal() {
                        self.locks.remove(&(*partition, offset));
                    } else if let Some(end) = self.locks.get_mut(&(*partition, offset)) {
                        *end = sent.at + LOCK + LATER;
                    }
                }
            }
        }
    }

    /// The broker acquires what is free, some of it without a record.
    fn acquire(&mut self, sent: &Sent, input: &mut Input<'_>) {
        for _ in 0..input.below(3) {
            let id = partition(input);
            let (first, last) = range(input);
            if !self.session.lists(id) || sent.at + LOCK <= self.now {
                continue;
            }
            let free: Vec<_> = (first..=last).filter(|offset| !self.is_locked(id, *offset)).collect();
            let deadline = sent.at + LOCK;
            self.locks.extend(free.iter().map(|offset| ((id, *offset), deadline + LATER)));
            let gap = input.once_in(4).then(|| free.first().copied()).flatten();
            let held = free.iter().filter(|offset| Some(**offset) != gap);
            let held: Vec<_> =
                held.map(|&offset| AcquiredRange { first: offset, last: offset, delivery_count: 1 }).collect();
            let before = self.ledger.held_in(id);
            self.ledger.acquired(id, &self.topic, &held, deadline, ACQUISITION);
            assert!(self.ledger.held_in(id) >= before && self.ledger.held_in(id) >= held.len() as u64);
            if let Some(offset) = gap {
                let gap = AckRange { first: offset, last: offset, ack: AckType::Gap };
                self.ledger.settle(self.now, id, &self.topic, gap, deadline);
            }
        }
    }

    fn disconnect(&mut self) {
        self.session.reset();
        self.in_flight = None;
        self.lose_session();
    }

    /// The broker has let go of everything.
    fn lose_session(&mut self) {
        self.ledger.fail_all(ErrorCode::SHARE_SESSION_NOT_FOUND);
        self.locks.clear();
        self.broker = None;
        assert!(self.session.is_closed() && !self.session.has_to_forget());
        assert_eq!(self.session.begin_acknowledge(), None);
    }

    fn end_calls(&mut self) {
        let Outcomes { ended, kept } = self.ledger.outcomes();
        for kept in kept {
            match kept {
                Kept::Renewed(id, _) => assert!(self.kept.contains(&id), "{id:?} has ended"),
                Kept::Ended(id, _) => assert!(self.kept.remove(&id), "{id:?} ended twice"),
            }
        }
        for outcome in ended {
            assert!(self.open.remove(&outcome.id), "{:?} ended twice", outcome.id);
            assert_eq!(outcome.failed.is_empty(), outcome.result.is_ok(), "{outcome:?}");
            let renews = outcome.ranges.iter().any(|range| range.ack == AckType::Renew);
            assert_eq!(outcome.lock_deadline.is_some(), renews && outcome.result.is_ok(), "{outcome:?}");
        }
    }
}
