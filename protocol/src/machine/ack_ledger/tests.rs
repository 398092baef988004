//! The ledger against a model of the broker that knows every offset.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

use proptest::prelude::*;

use super::*;
use crate::{machine::types::AckType, wire::Uuid};

const LOCK: Duration = Duration::from_millis(1_000);
/// How much later than the client's the broker's lock ends: it begins when the fetch arrives.
const LATER: Duration = Duration::from_millis(5);
const POLICY: RetryPolicy = RetryPolicy {
    timeout: Duration::from_millis(400),
    backoff: Duration::from_millis(50),
    backoff_max: Duration::from_millis(200),
    isolates: true,
};

#[derive(Debug, Clone)]
enum Operation {
    Acquire {
        partition: i32,
        first: i64,
        last: i64,
    },
    Gap {
        partition: i32,
        offset: i64,
    },
    Acknowledge {
        partition: i32,
        first: i64,
        last: i64,
        ack: AckType,
    },
    LetGo {
        partition: i32,
        first: i64,
        last: i64,
    },
    Keep {
        partition: i32,
        first: i64,
        last: i64,
    },
    /// The broker forgets a lock.
    Forget {
        partition: i32,
        offset: i64,
    },
    Send(Answer),
    Receive,
    Pass(u64),
    LosePartition(i32),
    Disconnect,
}

/// What the broker makes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Takes,
    Refuses,
    RefusesForNow,
    SaysNothingOfTheFirst,
    KnowsNoRenewal,
}

fn operation() -> impl Strategy<Value = Operation> {
    let partition = 0..2i32;
    let range = (0..40i64, 0..12i64).prop_map(|(first, more)| (first, first + more));
    let ack = prop_oneof![
        Just(AckType::Accept),
        Just(AckType::Accept),
        Just(AckType::Release),
        Just(AckType::Reject),
        Just(AckType::Renew),
    ];
    let answer = prop_oneof![
        4 => Just(Answer::Takes),
        1 => Just(Answer::Refuses),
        2 => Just(Answer::RefusesForNow),
        1 => Just(Answer::SaysNothingOfTheFirst),
        1 => Just(Answer::KnowsNoRenewal),
    ];
    prop_oneof![
        6 => (partition.clone(), range.clone()).prop_map(|(partition, (first, last))| Operation::Acquire { partition, first, last }),
        1 => (partition.clone(), 0..40i64).prop_map(|(partition, offset)| Operation::Gap { partition, offset }),
        9 => (partition.clone(), range.clone(), ack)
            .prop_map(|(partition, (first, last), ack)| Operation::Acknowledge { partition, first, last, ack }),
        1 => (partition.clone(), range.clone()).prop_map(|(partition, (first, last))| Operation::LetGo { partition, first, last }),
        2 => (partition.clone(), range).prop_map(|(partition, (first, last))| Operation::Keep { partition, first, last }),
        1 => (partition.clone(), 0..40i64).prop_map(|(partition, offset)| Operation::Forget { partition, offset }),
        5 => answer.prop_map(Operation::Send),
        5 => Just(Operation::Receive),
        3 => (1..700u64).prop_map(Operation::Pass),
        1 => partition.prop_map(Operation::LosePartition),
        1 => Just(Operation::Disconnect),
    ]
}

fn id(partition: i32) -> TopicIdPartition {
    TopicIdPartition { topic_id: Uuid([3; 16]), partition }
}

/// All acquisitions of the model are one.
const ACQUISITION: u64 = 1;

struct Model {
    now: Instant,
    ledger: AckLedger,
    topic: Arc<str>,
    /// Offsets that the broker holds for the member, by the end of their lock there.
    broker: BTreeMap<(i32, i64), Instant>,
    /// Offsets that it has forgotten, unknown to the member.
    forgotten: BTreeSet<(i32, i64)>,
    /// What has been said of each offset and was taken.
    taken: BTreeSet<(i32, i64, AckType)>,
    in_flight: Option<(Answer, Instant, Vec<PartitionAcks>, BTreeSet<i32>)>,
    calls: u64,
    open: BTreeSet<AckId>,
    keeps: BTreeSet<KeepId>,
}

impl Model {
    fn new() -> Self {
        Self {
            now: Instant::now(),
            ledger: AckLedger::default(),
            topic: "topic".into(),
            broker: BTreeMap::new(),
            forgotten: BTreeSet::new(),
            taken: BTreeSet::new(),
            in_flight: None,
            calls: 0,
            open: BTreeSet::new(),
            keeps: BTreeSet::new(),
        }
    }

    fn is_locked(&self, partition: i32, offset: i64) -> bool {
        self.broker.get(&(partition, offset)).is_some_and(|end| self.now < *end)
    }

    /// The parts of a range that the broker can acquire.
    fn free(&self, partition: i32, first: i64, last: i64) -> Vec<AcquiredRange> {
        let free = (first..=last).filter(|offset| !self.is_locked(partition, *offset));
        free.map(|offset| AcquiredRange { first: offset, last: offset, delivery_count: 1 }).collect()
    }

    fn run(&mut self, operation: Operation) {
        match operation {
            Operation::Acquire { partition, first, last } => {
                let ranges = self.free(partition, first, last);
                for range in &ranges {
                    self.broker.insert((partition, range.first), self.now + LOCK + LATER);
                    self.forgotten.remove(&(partition, range.first));
                }
                self.ledger.acquired(id(partition), &self.topic, &ranges, self.now + LOCK, ACQUISITION);
            }
            Operation::Gap { partition, offset } => {
                if !self.is_locked(partition, offset) {
                    self.broker.insert((partition, offset), self.now + LOCK + LATER);
                    let gap = AckRange { first: offset, last: offset, ack: AckType::Gap };
                    self.ledger.settle(self.now, id(partition), &self.topic, gap, self.now + LOCK);
                }
            }
            Operation::Acknowledge { partition, first, last, ack } => {
                self.calls += 1;
                let call = AckId(self.calls);
                if self
                    .ledger
                    .acknowledge(self.now, call, id(partition), ACQUISITION, vec![AckRange { first, last, ack }])
                    .is_ok()
                {
                    self.open.insert(call);
                }
            }
            Operation::LetGo { partition, first, last } => {
                self.ledger.let_go(id(partition), ACQUISITION, &[AcquiredRange { first, last, delivery_count: 1 }]);
            }
            Operation::Keep { partition, first, last } => {
                self.calls += 1;
                let renew = AutoRenew { max_renewals: 3, ..AutoRenew::default() };
                let ranges = [AcquiredRange { first, last, delivery_count: 1 }];
                if self.ledger.keep(self.now, KeepId(self.calls), id(partition), (ACQUISITION, &ranges), renew) {
                    self.keeps.insert(KeepId(self.calls));
                }
            }
            Operation::Forget { partition, offset } => {
                self.broker.remove(&(partition, offset));
                self.forgotten.insert((partition, offset));
            }
            Operation::Send(answer) => self.send(answer),
            Operation::Receive => self.receive(),
            Operation::Pass(milliseconds) => {
                self.now += Duration::from_millis(milliseconds);
                self.ledger.expire(self.now);
                self.ledger.renew(self.now, LOCK);
            }
            Operation::LosePartition(partition) => {
                self.ledger.fail_partition(id(partition), ErrorCode::NOT_LEADER_OR_FOLLOWER);
                self.broker.retain(|(held, _), _| *held != partition);
            }
            Operation::Disconnect => {
                self.ledger.fail_all(ErrorCode::NETWORK_EXCEPTION);
                self.in_flight = None;
                self.broker.clear();
            }
        }
        let Outcomes { ended, kept } = self.ledger.outcomes();
        for outcome in ended {
            assert!(self.open.remove(&outcome.id), "{:?} ended twice", outcome.id);
            let renews = outcome.ranges.iter().any(|range| range.ack == AckType::Renew);
            assert_eq!(outcome.lock_deadline.is_some(), renews && outcome.result.is_ok());
            assert_eq!(outcome.failed.is_empty(), outcome.result.is_ok());
            self.check_good(&outcome);
        }
        for kept in kept {
            match kept {
                Kept::Renewed(id, deadline) => assert!(self.keeps.contains(&id) && deadline > self.now),
                Kept::Ended(id, _) => assert!(self.keeps.remove(&id), "{id:?} ended twice"),
            }
        }
    }

    /// What has not failed was taken, or gave way to what was said after it.
    fn check_good(&self, Outcome { topic_partition, ranges, failed, .. }: &Outcome) {
        for offset in ranges.iter().flat_map(|range| range.first..=range.last) {
            let has_failed = failed.iter().any(|range| (range.first..=range.last).contains(&offset));
            let of_offset = (topic_partition.partition, offset);
            let is_taken = self.taken.iter().any(|(partition, offset, _)| (*partition, *offset) == of_offset);
            assert!(has_failed || is_taken, "{offset} went well, but the broker never took it");
        }
    }

    fn send(&mut self, answer: Answer) {
        if self.in_flight.is_some() {
            return;
        }
        let acks = self.ledger.take(self.now);
        let renews = acks.iter().flat_map(|(_, acks)| acks).any(|range| range.ack == AckType::Renew);
        let answer = if answer == Answer::KnowsNoRenewal && !renews { Answer::Takes } else { answer };
        let mut refused = BTreeSet::new();
        for (TopicIdPartition { partition, .. }, acks) in &acks {
            assert!(!acks.is_empty());
            for pair in acks.windows(2) {
                assert!(pair[0].last < pair[1].first, "not sorted and disjoint: {acks:?}");
                assert!(pair[0].last + 1 < pair[1].first || pair[0].ack != pair[1].ack, "not merged: {acks:?}");
            }
            let offsets = || acks.iter().flat_map(|range| (range.first..=range.last).map(|offset| (offset, range.ack)));
            for (offset, _) in offsets() {
                let is_ours = self.is_locked(*partition, offset) || self.forgotten.contains(&(*partition, offset));
                assert!(is_ours, "{offset} is not ours: {acks:?}");
            }
            if !matches!(answer, Answer::Takes | Answer::SaysNothingOfTheFirst) {
                continue;
            }
            if !offsets().all(|(offset, _)| self.is_locked(*partition, offset)) {
                refused.insert(*partition);
                continue;
            }
            for (offset, ack) in offsets().collect::<Vec<_>>() {
                match ack {
                    AckType::Renew => _ = self.broker.insert((*partition, offset), self.now + LOCK + LATER),
                    _ => _ = self.broker.remove(&(*partition, offset)),
                }
                self.taken.insert((*partition, offset, ack));
            }
        }
        if !acks.is_empty() {
            self.in_flight = Some((answer, self.now, acks, refused));
        }
    }

    fn receive(&mut self) {
        let Some((answer, written, acks, refused)) = self.in_flight.take() else { return };
        let code = match answer {
            Answer::KnowsNoRenewal => return self.ledger.refuse_renewals(self.now),
            Answer::Takes | Answer::SaysNothingOfTheFirst => ErrorCode::NONE,
            Answer::Refuses => ErrorCode::INVALID_RECORD_STATE,
            Answer::RefusesForNow => ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
        };
        let silent = usize::from(answer == Answer::SaysNothingOfTheFirst);
        for (partition, _) in &acks[silent.min(acks.len())..] {
            let is_refused = refused.contains(&partition.partition);
            let code = if is_refused { ErrorCode::INVALID_RECORD_STATE } else { code };
            self.ledger.answered(self.now, *partition, code, written + LOCK, POLICY);
        }
        self.ledger.answered_rest(self.now, ErrorCode::INVALID_RECORD_STATE, POLICY);
    }
}

/// Accepts offsets in one call each, and sends until everything has ended. Gives what has failed, and in how many requests.
fn accept_all(calls: &[(i64, i64)], lost: &[i64]) -> (Vec<(i64, i64)>, usize) {
    let mut model = Model::new();
    let last = calls.iter().map(|(_, last)| *last).max().unwrap();
    model.run(Operation::Acquire { partition: 0, first: 0, last });
    for (first, last) in calls {
        model.run(Operation::Acknowledge { partition: 0, first: *first, last: *last, ack: AckType::Accept });
    }
    lost.iter().for_each(|offset| model.run(Operation::Forget { partition: 0, offset: *offset }));
    let (mut failed, mut requests) = (Vec::new(), 0);
    while !model.open.is_empty() {
        model.send(Answer::Takes);
        requests += usize::from(model.in_flight.is_some());
        model.receive();
        for outcome in model.ledger.outcomes().ended {
            assert!(model.open.remove(&outcome.id));
            assert_eq!(outcome.result.is_err(), !outcome.failed.is_empty());
            failed.extend(outcome.failed.iter().map(|range| (range.first, range.last)));
        }
    }
    failed.sort();
    assert!(model.ledger.is_empty());
    (failed, requests)
}

#[test]
fn one_offset_that_is_refused_takes_no_other_down() {
    for lost in [0, 17, 500, 1_999] {
        let (failed, requests) = accept_all(&[(0, 1_999)], &[lost]);
        assert_eq!(failed, [(lost, lost)]);
        assert!(requests <= 1 + 2 * 11, "{requests}");
    }
    let (failed, _) = accept_all(&[(0, 499), (500, 999), (1_000, 1_000)], &[3, 400, 1_000]);
    assert_eq!(failed, [(3, 3), (400, 400), (1_000, 1_000)]);
}

#[test]
fn where_most_is_refused_the_search_ends_and_what_is_known_to_be_good_stays_so() {
    let lost: Vec<i64> = (0..1_000).collect();
    let (failed, requests) = accept_all(&[(0, 1_999)], &lost);
    let offsets: i64 = failed.iter().map(|(first, last)| last - first + 1).sum();
    assert!((1_000..1_100).contains(&offsets), "{offsets}");
    assert!(requests < 100, "{requests}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn each_acknowledgement_ends_once_and_nothing_is_sent_that_is_not_held(
        operations in prop::collection::vec(operation(), 1..80)
    ) {
        let mut model = Model::new();
        for operation in operations {
            model.run(operation);
        }
        model.run(Operation::Disconnect);
        prop_assert!(model.open.is_empty(), "never ended: {:?}", model.open);
        prop_assert!(model.keeps.is_empty(), "kept for ever: {:?}", model.keeps);
        prop_assert!(model.ledger.is_empty());
    }
}
