//! Situations in virtual time.

mod buffering;
mod failing;
mod putting;
mod retrying;
mod stopping;

use super::*;
use ackflow_client::share::AcquiredRange;

const LOCK: Duration = Duration::from_secs(30);
const SECOND: Duration = Duration::from_secs(1);

/// A machine, its clock, and the shell's part: it answers what needs no thought.
struct Bench {
    machine: Machine,
    now: Instant,
    deliveries: u64,
}

fn options() -> Options {
    Options {
        buffers: false,
        flush_interval: 60 * SECOND,
        graceful_timeout: 5 * SECOND,
        tolerance: Tolerance::None,
        last_delivery: LastDelivery::Hold,
        delivery_limit: 5,
        most_written: 1_000,
        most_put: 500,
        retry: RetryPolicy { delay_max: 60 * SECOND, timeout: None },
    }
}

fn range(first: i64, last: i64, delivery_count: i16) -> AcquiredRange {
    AcquiredRange { first, last, delivery_count }
}

fn id(number: u64) -> DeliveryId {
    DeliveryId(number)
}

fn settlement(verdict: Verdict, delivery: u64, ranges: &[AcquiredRange], is_last: bool) -> Settlement {
    Settlement { delivery: id(delivery), verdict, ranges: ranges.to_vec(), is_last }
}

fn accept(delivery: u64, ranges: &[AcquiredRange]) -> Action {
    Action::Settle(vec![settlement(Verdict::Accept, delivery, ranges, true)])
}

fn release(delivery: u64, ranges: &[AcquiredRange]) -> Action {
    Action::Settle(vec![settlement(Verdict::Release, delivery, ranges, true)])
}

fn put(delivery: u64, ranges: &[AcquiredRange]) -> Action {
    Action::Put(vec![(id(delivery), ranges.to_vec())])
}

fn retriable() -> CallError {
    CallError::Retriable { after: None, trace: "the server is down".to_owned() }
}

fn fatal() -> CallError {
    CallError::Final { trace: "the table is gone".to_owned() }
}

fn failed(delivery: u64, offset: i64, error: CallError) -> RangeFailure {
    RangeFailure { delivery: id(delivery), first: offset, last: offset, error }
}

impl Bench {
    /// A task that has started and waits for records.
    fn running(options: Options) -> Self {
        let mut bench = Self::starting(options);
        bench.expect(Action::Start);
        bench.machine.started(bench.now, Ok(()));
        bench.expect(Action::Subscribe);
        bench.waits(true);
        bench
    }

    fn starting(options: Options) -> Self {
        let now = Instant::now();
        Self { machine: Machine::new(now, 7, options), now, deliveries: 0 }
    }

    fn poll(&mut self) -> Action {
        self.machine.poll(self.now)
    }

    #[track_caller]
    fn expect(&mut self, action: Action) {
        assert_eq!(self.poll(), action);
    }

    /// Expects that the machine waits, and gives until when.
    #[track_caller]
    fn waits(&mut self, take: bool) -> Option<Instant> {
        match self.poll() {
            Action::Wait { until, take: taken } if taken == take => until,
            other => panic!("{other:?}"),
        }
    }

    fn deliver(&mut self, ranges: &[AcquiredRange]) -> u64 {
        self.deliveries += 1;
        self.machine.delivered(Acquired {
            id: id(self.deliveries),
            ranges: ranges.to_vec(),
            lock_deadline: self.now + LOCK,
            lock_timeout: LOCK,
        });
        self.deliveries
    }

    /// A task with a put of these ranges in its hands.
    #[track_caller]
    fn putting(options: Options, ranges: &[AcquiredRange]) -> Self {
        let mut bench = Self::running(options);
        let delivery = bench.deliver(ranges);
        bench.expect(put(delivery, ranges));
        bench
    }

    fn put_finished(&mut self, result: Result<Vec<RangeFailure>, CallError>) {
        self.machine.put_finished(self.now, result);
    }

    /// Lets time pass until `action` is due, doing on the way what keeps locks; gives what was done.
    #[track_caller]
    fn until(&mut self, action: &Action) -> Vec<Action> {
        let mut done = Vec::new();
        for _ in 0..10_000 {
            match self.poll() {
                next if next == *action => return done,
                Action::Wait { until: Some(until), .. } => self.now = self.now.max(until),
                Action::Renew(ids) => {
                    for &id in &ids {
                        self.machine.renewed(id, Some(self.now + LOCK));
                    }
                    done.push(Action::Renew(ids));
                }
                next @ (Action::TakeOver | Action::ReadLimit) => done.push(next),
                other => panic!("{other:?} on the way to {action:?}"),
            }
        }
        panic!("{action:?} never came");
    }

    /// A member that begins to end fetches nothing more.
    #[track_caller]
    fn stops_fetching(&mut self) {
        self.expect(Action::TakeOver);
    }

    /// The end of a task that need keep nothing.
    #[track_caller]
    fn leaves_and_ends(&mut self, state: TaskState) {
        assert!(matches!(self.poll(), Action::Leave(_)));
        self.machine.left();
        self.expect(Action::StopTask);
        self.machine.task_stopped();
        self.expect(Action::Ended);
        assert_eq!(self.machine.state(), state);
    }
}
