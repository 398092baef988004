//! Sequences of what a task, a group and an operator of any kind do to the machine of a sink task.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use ackflow_client::share::AcquiredRange;
use ackflow_protocol::fuzzing::{Input, LONGEST_INPUT, OPERATIONS, OUTPUTS};

use super::machine::{
    Acquired, Action, CallError, DeliveryId, Machine, Options, RangeFailure, RetryPolicy, Settlement, TaskState,
    Verdict,
};
use crate::config::{LastDelivery, Tolerance};

/// What leaving may take beyond the deadline of a stop.
const LEAVING: Duration = Duration::from_millis(200);

/// Target `worker`: the first bytes choose the settings, each byte after them an operation: a call to the task ends well,
/// badly or never, records come, renewals are answered, time passes, the worker is stopped. `start` is any instant.
///
/// # Panics
/// Where the machine never waits, or waits for a time that has passed; calls the task while another call runs, before it
/// was started, or after it was stopped; puts a record again that was written; accepts one that is not durable, releases
/// one that is, or on its last delivery without being told to; settles an offset twice or one that it does not hold; does
/// not renew a lock when half of it is over; or has not ended, with all records settled, in time after a stop.
pub fn worker(start: Instant, data: &[u8]) {
    let mut input = Input::new(&data[..data.len().min(LONGEST_INPUT)]);
    let mut world = World::new(start, &mut input);
    for _ in 0..OPERATIONS {
        if input.is_empty() {
            break;
        }
        world.operate(&mut input);
        world.drain();
    }
    let hangs = input.once_in(2);
    world.finish(hangs);
}

/// How far an offset is that is not settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    Putting,
    /// A put was successful with it.
    Written,
    /// It may be accepted.
    Durable,
}

#[derive(Debug)]
struct Delivery {
    /// What is not settled, with how often it was delivered.
    offsets: BTreeMap<i64, (Stage, i16)>,
    deadline: Instant,
    timeout: Duration,
    renewing: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Start,
    Reassign,
    Put,
    Commit,
    Stop,
    Leave,
}

struct World {
    options: Options,
    machine: Machine,
    now: Instant,
    until: Option<Instant>,
    /// Whether the machine wants records.
    takes: bool,
    call: Option<Call>,
    deliveries: BTreeMap<DeliveryId, Delivery>,
    renewals: BTreeSet<DeliveryId>,
    next_delivery: u64,
    next_offset: i64,
    has_started: bool,
    is_member: bool,
    has_left: bool,
    task_over: bool,
    is_stopped: bool,
    has_ended: bool,
}

fn options(input: &mut Input<'_>) -> Options {
    let seconds = Duration::from_secs;
    Options {
        buffers: input.once_in(2),
        flush_interval: input.pick(&[seconds(60), seconds(1), Duration::from_millis(10)]),
        graceful_timeout: input.pick(&[seconds(5), Duration::ZERO]),
        tolerance: input.pick(&[Tolerance::None, Tolerance::All]),
        last_delivery: input.pick(&[LastDelivery::Hold, LastDelivery::Archive]),
        delivery_limit: input.pick(&[5, 2, 1]),
        most_written: input.pick(&[1_000, 1, 20]),
        most_put: input.pick(&[500, 1, 10]),
        retry: RetryPolicy {
            delay_max: input.pick(&[seconds(60), Duration::ZERO]),
            timeout: input.pick(&[None, Some(seconds(5))]),
        },
    }
}

fn error(input: &mut Input<'_>) -> CallError {
    let trace = "a reason".to_owned();
    match input.below(4) {
        0 | 1 => CallError::Retriable { after: None, trace },
        2 => CallError::Retriable { after: Some(Duration::from_millis(input.pick(&[0, 10, 60_000]))), trace },
        _ => CallError::Final { trace },
    }
}

impl World {
    fn new(now: Instant, input: &mut Input<'_>) -> Self {
        let options = options(input);
        let mut world = Self {
            machine: Machine::new(now, input.byte().into(), options.clone()),
            options,
            now,
            until: None,
            takes: false,
            call: None,
            deliveries: BTreeMap::new(),
            renewals: BTreeSet::new(),
            next_delivery: 1,
            next_offset: 0,
            has_started: false,
            is_member: false,
            has_left: false,
            task_over: false,
            is_stopped: false,
            has_ended: false,
        };
        world.drain();
        world
    }

    fn operate(&mut self, input: &mut Input<'_>) {
        match input.below(16) {
            0..=4 => self.answer_call(input),
            5..=7 if self.takes => self.deliver(input),
            8 | 9 => self.answer_renewal(input),
            10 | 11 => {
                let time = input.pick(&[1, 20, 100, 1_000, 5_000, 20_000, 100_000]);
                self.sleep(Duration::from_millis(time));
            }
            12 => self.machine.commit_requested(self.now),
            13 => self.machine.assignment_changed(),
            14 => {
                self.options.delivery_limit = input.pick(&[5, 2, 1, 10, i16::MAX]);
                self.machine.limit_read(self.options.delivery_limit);
            }
            _ if input.once_in(8) => match input.below(3) {
                0 => self.stop(),
                1 if self.is_member => self.machine.consumer_failed("gone".to_owned()),
                _ if !matches!(self.call, None | Some(Call::Leave)) => {
                    self.end_put(|_, _| Stage::Waiting);
                    self.call = None;
                    self.task_over = true;
                    self.machine.panicked("oh".to_owned());
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn stop(&mut self) {
        self.is_stopped = true;
        self.machine.stop(self.now);
    }

    fn deliver(&mut self, input: &mut Input<'_>) {
        let id = DeliveryId(self.next_delivery);
        self.next_delivery += 1;
        let timeout = Duration::from_millis(input.pick(&[30_000, 1_000, 10]));
        let (mut ranges, mut offsets) = (Vec::new(), BTreeMap::new());
        for _ in 0..1 + input.below(3) {
            let first = self.next_offset + i64::from(input.byte() % 3);
            let last = first + i64::from(input.byte() % 6);
            let delivery_count = input.pick(&[1, 1, 2, 5]);
            self.next_offset = last + 1;
            ranges.push(AcquiredRange { first, last, delivery_count });
            offsets.extend((first..=last).map(|offset| (offset, (Stage::Waiting, delivery_count))));
        }
        let deadline = self.now + timeout;
        self.deliveries.insert(id, Delivery { offsets, deadline, timeout, renewing: false });
        self.machine.delivered(Acquired { id, ranges, lock_deadline: deadline, lock_timeout: timeout });
    }

    fn answer_renewal(&mut self, input: &mut Input<'_>) {
        let Some(id) = self.renewals.pop_first() else { return };
        match self.deliveries.get_mut(&id) {
            Some(delivery) if !input.once_in(4) => {
                delivery.renewing = false;
                delivery.deadline = self.now + delivery.timeout;
                self.machine.renewed(id, Some(delivery.deadline));
            }
            _ => {
                self.deliveries.remove(&id);
                self.machine.renewed(id, None);
            }
        }
    }

    fn answer_call(&mut self, input: &mut Input<'_>) {
        let Some(call) = self.call.take() else { return };
        let is_well = !input.once_in(4);
        match call {
            Call::Start => {
                self.has_started |= is_well;
                let result = if is_well { Ok(()) } else { Err(error(input)) };
                self.machine.started(self.now, result);
            }
            Call::Reassign => self.machine.reassigned(if is_well { Ok(()) } else { Err(error(input)) }),
            Call::Put if is_well => self.put_finished(input),
            Call::Put => {
                self.end_put(|_, _| Stage::Waiting);
                self.machine.put_finished(self.now, Err(error(input)));
            }
            Call::Commit if is_well => self.committed(input),
            Call::Commit => self.machine.committed(self.now, Err(error(input))),
            Call::Stop => self.machine.task_stopped(),
            Call::Leave => self.machine.left(),
        }
    }

    /// A put that was successful, but for some of its records or for some that nobody knows.
    fn put_finished(&mut self, input: &mut Input<'_>) {
        let put: Vec<_> = self.deliveries.iter().filter(|(_, delivery)| delivery.is_put()).map(|(id, _)| *id).collect();
        let mut failures = Vec::new();
        for _ in 0..input.pick(&[0, 0, 1, 2]) {
            let Some(delivery) = put.get(input.below(put.len().max(1))).copied() else { break };
            let first = self.deliveries[&delivery].offsets.keys().next().copied().unwrap_or_default();
            let first = first + i64::from(input.byte() % 8) - 1;
            failures.push(RangeFailure {
                delivery,
                first,
                last: first + i64::from(input.byte() % 3),
                error: error(input),
            });
        }
        let tolerance = self.options.tolerance;
        let ends = if self.options.buffers { Stage::Written } else { Stage::Durable };
        self.end_put(|id, offset| {
            let has_failed = failures.iter().any(|failure| {
                let is_passed_over = tolerance == Tolerance::All && matches!(failure.error, CallError::Final { .. });
                !is_passed_over && failure.delivery == id && (failure.first..=failure.last).contains(&offset)
            });
            if has_failed { Stage::Waiting } else { ends }
        });
        self.machine.put_finished(self.now, Ok(failures));
    }

    fn end_put(&mut self, end: impl Fn(DeliveryId, i64) -> Stage) {
        for (id, delivery) in &mut self.deliveries {
            for (offset, (stage, _)) in &mut delivery.offsets {
                if *stage == Stage::Putting {
                    *stage = end(*id, *offset);
                }
            }
        }
    }

    fn committed(&mut self, input: &mut Input<'_>) {
        let mut durable = Vec::new();
        for (id, delivery) in &mut self.deliveries {
            let first = delivery.offsets.keys().next().copied().unwrap_or_default();
            let below = match input.below(4) {
                0 | 1 => i64::MAX,
                2 => first + i64::from(input.byte() % 8),
                _ => continue,
            };
            durable.push((*id, below));
            for (_, (stage, _)) in delivery.offsets.range_mut(..below) {
                if *stage == Stage::Written {
                    *stage = Stage::Durable;
                }
            }
        }
        self.machine.committed(self.now, Ok(durable));
    }

    /// Lets time pass, waking the machine as it wants.
    fn sleep(&mut self, time: Duration) {
        let end = self.now + time;
        for _ in 0..OUTPUTS {
            let Some(until) = self.until.filter(|until| *until <= end) else { break };
            self.now = until;
            self.drain();
        }
        self.now = end;
    }

    /// Does what the machine says until it waits.
    fn drain(&mut self) {
        for _ in 0..OUTPUTS {
            self.takes = false;
            match self.machine.poll(self.now) {
                Action::Start => {
                    assert!(!self.has_started, "started again");
                    self.begin(Call::Start);
                }
                Action::Subscribe => {
                    assert!(self.has_started && !self.is_member && !self.has_left);
                    self.is_member = true;
                }
                Action::Reassign => self.begin(Call::Reassign),
                Action::Put(put) => self.put(put),
                Action::Commit => self.begin(Call::Commit),
                Action::StopTask => {
                    self.begin(Call::Stop);
                    self.task_over = true;
                }
                Action::Leave(_) => {
                    assert!(self.is_member && !self.has_left, "left before");
                    assert!(self.call.replace(Call::Leave).is_none(), "two calls at a time");
                    self.has_left = true;
                }
                Action::Abandon => {
                    assert!(self.call.take().is_some_and(|call| call != Call::Leave), "nothing to let go of");
                    self.end_put(|_, _| Stage::Waiting);
                    self.task_over = true;
                }
                Action::Renew(ids) => self.renew(&ids),
                Action::Settle(settlements) => settlements.into_iter().for_each(|settlement| self.settle(settlement)),
                Action::TakeOver => assert!(self.is_member && !self.has_left, "nothing to take over from"),
                Action::ReadLimit => {}
                Action::Wait { until, take } => return self.wait(until, take),
                Action::Ended => {
                    self.has_ended = true;
                    self.until = None;
                    assert!(self.deliveries.is_empty(), "ended with {:?}", self.deliveries);
                    assert!(self.call.is_none() && self.has_left == self.is_member);
                    return;
                }
            }
        }
        panic!("the machine never waits");
    }

    fn wait(&mut self, until: Option<Instant>, take: bool) {
        assert!(until.is_none_or(|until| until > self.now), "a deadline has passed and was not acted on");
        assert!(!take || self.is_member && self.call.is_none() && self.machine.state() == TaskState::Running);
        let mut held = 0;
        for (id, delivery) in &self.deliveries {
            assert!(delivery.renewing || delivery.renew_at() > self.now, "half of the lock of {id:?} is over");
            assert!(delivery.offsets.values().all(|(stage, _)| *stage != Stage::Durable), "{id:?} can be accepted");
            held += delivery.offsets.len() as u64;
        }
        assert_eq!(self.machine.records_held(), held);
        (self.until, self.takes) = (until, take);
    }

    /// Begins a call to the task.
    fn begin(&mut self, call: Call) {
        assert!(!self.task_over, "{call:?} after the task was over");
        assert!(call == Call::Start || call == Call::Stop || self.has_started, "{call:?} before the start");
        assert!(self.call.replace(call).is_none(), "two calls at a time");
    }

    fn put(&mut self, put: Vec<(DeliveryId, Vec<AcquiredRange>)>) {
        assert!(!self.has_left, "a put after leaving");
        let is_new = self.machine.state() == TaskState::Running;
        let (mut records, deliveries) = (0, put.len());
        for (id, ranges) in put {
            let delivery = self.deliveries.get_mut(&id).expect("what is put is held");
            assert!(!is_new || self.now < delivery.deadline, "the lock of {id:?} is over");
            for offset in ranges.iter().flat_map(|range| range.first..=range.last) {
                let (stage, _) = delivery.offsets.get_mut(&offset).expect("what is put is not settled");
                assert_eq!(std::mem::replace(stage, Stage::Putting), Stage::Waiting, "{offset} is put again");
                records += 1;
            }
        }
        assert!(!is_new || deliveries <= 1 || records <= self.options.most_put, "{records} records");
        self.begin(Call::Put);
    }

    fn renew(&mut self, ids: &[DeliveryId]) {
        assert!(!ids.is_empty());
        for id in ids {
            let delivery = self.deliveries.get_mut(id).expect("what is renewed is held");
            assert!(!std::mem::replace(&mut delivery.renewing, true), "{id:?} is being renewed");
            self.renewals.insert(*id);
        }
    }

    fn settle(&mut self, Settlement { delivery: id, verdict, ranges, is_last }: Settlement) {
        let delivery = self.deliveries.get_mut(&id).expect("what is settled is held");
        assert!(!ranges.is_empty());
        let keeps = self.machine.state() == TaskState::Failed
            && !self.is_stopped
            && self.options.last_delivery == LastDelivery::Hold;
        for offset in ranges.iter().flat_map(|range| range.first..=range.last) {
            let (stage, count) = delivery.offsets.remove(&offset).expect("an offset is settled once");
            match verdict {
                Verdict::Accept => assert_eq!(stage, Stage::Durable, "{offset} is accepted"),
                Verdict::Release => {
                    assert!(matches!(stage, Stage::Waiting | Stage::Written), "{offset} is {stage:?}, and released");
                    assert!(!keeps || count < self.options.delivery_limit, "{offset} is lost");
                }
            }
        }
        assert_eq!(is_last, delivery.offsets.is_empty());
        if is_last {
            self.deliveries.remove(&id);
        }
    }

    /// The worker is stopped. Calls to the task end well from now on, or never; the group answers.
    fn finish(mut self, hangs: bool) {
        self.stop();
        self.drain();
        let end = self.now + self.options.graceful_timeout;
        for _ in 0..OUTPUTS {
            if self.has_ended {
                break;
            }
            let well = &mut Input::new(&[]);
            if self.call == Some(Call::Leave) || !hangs && self.call.is_some() {
                self.answer_call(well);
            } else if !self.renewals.is_empty() {
                self.answer_renewal(well);
            } else if let Some(until) = self.until {
                self.now = until;
            } else {
                // StopTask may take as long as it likes.
                assert_eq!(self.call, Some(Call::Stop), "nothing happens any more");
                self.answer_call(well);
            }
            self.drain();
        }
        assert!(self.has_ended && self.now <= end + LEAVING, "not ended in time");
        assert!(matches!(self.machine.state(), TaskState::Stopped | TaskState::Failed));
        self.drain();
        assert!(self.has_ended && self.machine.records_held() == 0);
    }
}

impl Delivery {
    fn is_put(&self) -> bool {
        self.offsets.values().any(|(stage, _)| *stage == Stage::Putting)
    }

    /// Half of the lock is over.
    fn renew_at(&self) -> Instant {
        self.deadline - self.timeout / 2
    }
}
