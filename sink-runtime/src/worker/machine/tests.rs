//! Situations in virtual time.

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

#[test]
fn the_group_is_joined_only_after_start_succeeded() {
    let mut bench = Bench::starting(options());
    bench.expect(Action::Start);
    bench.waits(false);
    bench.machine.started(bench.now, Err(fatal()));
    bench.expect(Action::StopTask);
    bench.machine.task_stopped();
    bench.expect(Action::Ended);
    assert_eq!((bench.machine.state(), bench.machine.failure()), (TaskState::Failed, Some("the table is gone")));
}

#[test]
fn a_start_that_may_succeed_later_is_tried_again_without_joining() {
    let mut bench = Bench::starting(options());
    bench.expect(Action::Start);
    bench.machine.started(bench.now, Err(retriable()));
    let before = bench.now;
    assert!(bench.until(&Action::Start).is_empty());
    assert!(bench.now >= before + Duration::from_millis(150));
    bench.machine.started(bench.now, Ok(()));
    bench.expect(Action::Subscribe);
    assert_eq!(bench.machine.state(), TaskState::Running);
}

#[test]
fn what_a_put_has_written_is_accepted_when_it_returns_and_not_before() {
    let ranges = [range(10, 19, 1), range(30, 31, 1)];
    let mut bench = Bench::putting(options(), &ranges);
    bench.waits(false);
    bench.put_finished(Ok(vec![]));
    bench.expect(accept(1, &ranges));
    bench.waits(true);
    assert_eq!(bench.machine.records_held(), 0);
}

#[test]
fn a_put_takes_what_waits_up_to_max_poll_records() {
    let mut bench = Bench::running(options());
    let (a, b, c) = ([range(0, 299, 1)], [range(0, 199, 1)], [range(300, 300, 1)]);
    for ranges in [&a, &b, &c] {
        bench.deliver(ranges);
    }
    bench.expect(Action::Put(vec![(id(1), a.to_vec()), (id(2), b.to_vec())]));
    bench.put_finished(Ok(vec![]));
    let accepts = [(1, &a), (2, &b)].map(|(delivery, ranges)| settlement(Verdict::Accept, delivery, ranges, true));
    bench.expect(Action::Settle(accepts.into()));
    bench.expect(put(3, &c));
}

#[test]
fn a_delivery_larger_than_max_poll_records_is_put_alone() {
    let mut bench = Bench::running(options());
    let large = [range(0, 3_848, 1)];
    bench.deliver(&large);
    bench.deliver(&[range(4_000, 4_000, 1)]);
    bench.expect(put(1, &large));
}

#[test]
fn a_put_without_records_comes_on_the_interval() {
    let mut bench = Bench::running(options());
    let start = bench.now;
    bench.until(&Action::Put(vec![]));
    assert_eq!(bench.now, start + 60 * SECOND);
    bench.put_finished(Ok(vec![]));
    bench.until(&Action::Put(vec![]));
    assert_eq!(bench.now, start + 120 * SECOND);
}

#[test]
fn locks_are_renewed_at_half_their_time_while_a_put_runs() {
    let mut bench = Bench::putting(options(), &[range(0, 9, 1)]);
    let start = bench.now;
    for turn in 1..=4 {
        bench.until(&Action::Renew(vec![id(1)]));
        assert_eq!(bench.now, start + LOCK / 2 * turn);
        bench.machine.renewed(id(1), Some(bench.now + LOCK));
    }
    bench.put_finished(Ok(vec![]));
    bench.expect(accept(1, &[range(0, 9, 1)]));
}

#[test]
fn a_slow_put_takes_over_what_the_consumer_fetched_ahead_and_renews_it_too() {
    let mut bench = Bench::putting(options(), &[range(0, 9, 1)]);
    bench.until(&Action::TakeOver);
    let ahead = bench.deliver(&[range(10, 19, 1)]);
    let done = bench.until(&Action::Renew(vec![id(ahead)]));
    assert!(done.contains(&Action::Renew(vec![id(1)])));
    bench.machine.renewed(id(ahead), Some(bench.now + LOCK));
    bench.put_finished(Ok(vec![]));
    bench.expect(accept(1, &[range(0, 9, 1)]));
    bench.expect(put(ahead, &[range(10, 19, 1)]));
}

#[test]
fn row_69_after_a_retriable_error_records_are_held_and_renewed_and_put_again() {
    let ranges = [range(0, 9, 1)];
    let mut bench = Bench::putting(options(), &ranges);
    let start = bench.now;
    // Down for ten minutes, with a lock of 30 s.
    while bench.now < start + 600 * SECOND {
        bench.put_finished(Err(retriable()));
        assert_eq!(bench.machine.state(), TaskState::Retrying);
        bench.waits(false);
        bench.until(&put(1, &ranges));
    }
    bench.put_finished(Ok(vec![]));
    bench.expect(accept(1, &ranges));
    assert_eq!(bench.machine.state(), TaskState::Running);
}

#[test]
fn nothing_new_is_put_while_a_put_is_tried_again() {
    let mut bench = Bench::putting(options(), &[range(0, 0, 1)]);
    bench.put_finished(Err(retriable()));
    bench.deliver(&[range(1, 1, 1)]);
    bench.until(&put(1, &[range(0, 0, 1)]));
    bench.put_finished(Ok(vec![]));
    bench.expect(accept(1, &[range(0, 0, 1)]));
    bench.expect(put(2, &[range(1, 1, 1)]));
}

#[test]
fn the_task_may_name_the_time_of_the_next_try() {
    let mut bench = Bench::putting(options(), &[range(0, 0, 1)]);
    let start = bench.now;
    bench.put_finished(Err(CallError::Retriable { after: Some(7 * SECOND), trace: String::new() }));
    bench.until(&put(1, &[range(0, 0, 1)]));
    assert!(bench.now >= start + 7 * SECOND && bench.now <= start + 8 * SECOND);
}

#[test]
fn row_69_trying_again_ends_after_its_limit_with_a_release() {
    let retry = RetryPolicy { delay_max: 60 * SECOND, timeout: Some(10 * SECOND) };
    let ranges = [range(0, 9, 1)];
    let mut bench = Bench::putting(Options { retry, ..options() }, &ranges);
    bench.put_finished(Err(retriable()));
    while bench.machine.failure().is_none() {
        bench.until(&put(1, &ranges));
        bench.put_finished(Err(retriable()));
    }
    assert!(bench.machine.failure().unwrap().contains("share.retry.timeout.ms"));
    bench.stops_fetching();
    bench.expect(release(1, &ranges));
    bench.leaves_and_ends(TaskState::Failed);
}

#[test]
fn a_lock_that_is_lost_while_trying_again_ends_the_retry_of_its_records() {
    let mut bench = Bench::putting(options(), &[range(0, 0, 1)]);
    bench.put_finished(Err(retriable()));
    bench.machine.renewed(id(1), None);
    bench.waits(false);
    bench.now += SECOND;
    bench.waits(true);
    assert_eq!(bench.machine.state(), TaskState::Running);
}

#[test]
fn what_was_lost_during_a_put_is_not_accepted() {
    let mut bench = Bench::running(options());
    bench.deliver(&[range(0, 0, 1)]);
    bench.deliver(&[range(1, 1, 1)]);
    assert!(matches!(bench.poll(), Action::Put(put) if put.len() == 2));
    bench.machine.renewed(id(1), None);
    bench.put_finished(Ok(vec![]));
    bench.expect(accept(2, &[range(1, 1, 1)]));
    bench.waits(true);
}

#[test]
fn what_waits_is_not_put_after_its_lock_is_over_until_it_is_renewed() {
    let mut bench = Bench::running(options());
    bench.deliver(&[range(0, 0, 1)]);
    bench.now += LOCK;
    bench.expect(Action::Renew(vec![id(1)]));
    bench.waits(true);
    bench.machine.renewed(id(1), Some(bench.now + LOCK));
    bench.expect(put(1, &[range(0, 0, 1)]));
}

#[test]
fn a_fatal_error_releases_everything_and_fails_the_task() {
    let mut bench = Bench::putting(options(), &[range(0, 9, 2)]);
    bench.deliver(&[range(10, 19, 1)]);
    bench.put_finished(Err(fatal()));
    bench.stops_fetching();
    assert_eq!(bench.machine.state(), TaskState::Failed);
    let released = [(1, range(0, 9, 2)), (2, range(10, 19, 1))];
    let released = released.map(|(delivery, range)| settlement(Verdict::Release, delivery, &[range], true));
    bench.expect(Action::Settle(released.into()));
    bench.leaves_and_ends(TaskState::Failed);
}

#[test]
fn a_record_on_its_last_delivery_is_held_by_the_failed_task_and_renewed() {
    let mut bench = Bench::putting(options(), &[range(0, 4, 1), range(5, 5, 5)]);
    bench.put_finished(Err(fatal()));
    bench.stops_fetching();
    let released = settlement(Verdict::Release, 1, &[range(0, 4, 1)], false);
    bench.expect(Action::Settle(vec![released]));
    bench.expect(Action::StopTask);
    bench.machine.task_stopped();
    let start = bench.now;
    for turn in 1..=20 {
        bench.until(&Action::Renew(vec![id(1)]));
        assert_eq!(bench.now, start + LOCK / 2 * turn);
        bench.machine.renewed(id(1), Some(bench.now + LOCK));
        bench.expect(Action::ReadLimit);
        bench.machine.limit_read(5);
    }
    assert_eq!((bench.machine.state(), bench.machine.records_held()), (TaskState::Failed, 1));
}

#[test]
fn a_held_record_is_released_when_the_limit_of_the_group_is_raised() {
    let mut bench = Bench::putting(options(), &[range(5, 5, 5)]);
    bench.put_finished(Err(fatal()));
    bench.stops_fetching();
    bench.expect(Action::StopTask);
    bench.machine.task_stopped();
    bench.until(&Action::ReadLimit);
    bench.machine.limit_read(6);
    bench.until(&release(1, &[range(5, 5, 5)]));
    assert!(matches!(bench.poll(), Action::Leave(_)));
    bench.machine.left();
    bench.expect(Action::Ended);
    assert_eq!(bench.machine.state(), TaskState::Failed);
}

#[test]
fn a_failed_task_that_holds_releases_what_else_comes_and_lets_go_of_all_when_stopped() {
    let mut bench = Bench::putting(options(), &[range(5, 5, 5)]);
    bench.put_finished(Err(fatal()));
    bench.stops_fetching();
    bench.expect(Action::StopTask);
    bench.machine.task_stopped();
    bench.until(&Action::TakeOver);
    bench.deliver(&[range(6, 6, 1)]);
    bench.expect(release(2, &[range(6, 6, 1)]));
    bench.waits(false);
    bench.machine.stop(bench.now);
    bench.expect(release(1, &[range(5, 5, 5)]));
    assert!(matches!(bench.poll(), Action::Leave(_)));
    bench.machine.left();
    bench.expect(Action::Ended);
}

#[test]
fn with_archive_a_record_on_its_last_delivery_is_released_like_any_other() {
    let mut bench = Bench::putting(Options { last_delivery: LastDelivery::Archive, ..options() }, &[range(5, 5, 5)]);
    bench.put_finished(Err(fatal()));
    bench.stops_fetching();
    bench.expect(release(1, &[range(5, 5, 5)]));
    bench.leaves_and_ends(TaskState::Failed);
}

#[test]
fn row_70_of_a_put_with_one_bad_record_the_others_are_accepted() {
    let mut bench = Bench::putting(options(), &[range(0, 9, 1)]);
    bench.put_finished(Ok(vec![failed(1, 6, fatal())]));
    let accepted = settlement(Verdict::Accept, 1, &[range(0, 5, 1), range(7, 9, 1)], false);
    bench.expect(Action::Settle(vec![accepted]));
    bench.stops_fetching();
    bench.expect(release(1, &[range(6, 6, 1)]));
    bench.leaves_and_ends(TaskState::Failed);
}

#[test]
fn row_70_only_the_failed_record_is_put_again() {
    let mut bench = Bench::putting(options(), &[range(0, 9, 1)]);
    bench.put_finished(Ok(vec![failed(1, 6, retriable())]));
    let accepted = settlement(Verdict::Accept, 1, &[range(0, 5, 1), range(7, 9, 1)], false);
    bench.expect(Action::Settle(vec![accepted]));
    bench.until(&put(1, &[range(6, 6, 1)]));
    bench.put_finished(Ok(vec![]));
    bench.expect(accept(1, &[range(6, 6, 1)]));
    bench.waits(true);
}

#[test]
fn a_tolerated_record_is_accepted_with_the_others() {
    let mut bench = Bench::putting(Options { tolerance: Tolerance::All, ..options() }, &[range(0, 9, 1)]);
    bench.put_finished(Ok(vec![failed(1, 6, fatal())]));
    bench.expect(accept(1, &[range(0, 9, 1)]));
    bench.waits(true);
}

#[test]
fn tolerance_does_not_cover_a_put_that_fails_as_a_whole() {
    let mut bench = Bench::putting(Options { tolerance: Tolerance::All, ..options() }, &[range(0, 9, 1)]);
    bench.put_finished(Err(fatal()));
    bench.stops_fetching();
    bench.expect(release(1, &[range(0, 9, 1)]));
    bench.leaves_and_ends(TaskState::Failed);
}

#[test]
fn a_failure_of_an_unknown_offset_changes_nothing() {
    let mut bench = Bench::putting(Options { tolerance: Tolerance::All, ..options() }, &[range(0, 9, 1)]);
    bench.put_finished(Ok(vec![failed(1, 50, retriable()), failed(9, 0, retriable())]));
    bench.expect(accept(1, &[range(0, 9, 1)]));
}

mod buffering {
    use super::*;

    fn buffers() -> Options {
        Options { buffers: true, ..options() }
    }

    #[test]
    fn nothing_is_accepted_before_a_commit_that_began_after_the_put() {
        let mut bench = Bench::putting(buffers(), &[range(0, 9, 1)]);
        bench.put_finished(Ok(vec![]));
        let start = bench.now;
        bench.waits(true);
        bench.until(&Action::Commit);
        assert_eq!(bench.now, start + LOCK / 2, "half of the lock is less than the flush interval");
        bench.machine.committed(bench.now, Ok(vec![(id(1), i64::MAX)]));
        bench.expect(accept(1, &[range(0, 9, 1)]));
        bench.waits(true);
    }

    #[test]
    fn the_flush_interval_counts_if_it_is_shorter() {
        let mut bench = Bench::putting(Options { flush_interval: 2 * SECOND, ..buffers() }, &[range(0, 9, 1)]);
        bench.put_finished(Ok(vec![]));
        let start = bench.now;
        bench.now += SECOND;
        bench.deliver(&[range(10, 10, 1)]);
        bench.expect(put(2, &[range(10, 10, 1)]));
        bench.put_finished(Ok(vec![]));
        bench.until(&Action::Commit);
        assert_eq!(bench.now, start + 2 * SECOND, "it counts from the first record");
    }

    #[test]
    fn records_are_put_on_while_others_wait_for_the_commit() {
        let mut bench = Bench::putting(buffers(), &[range(0, 9, 1)]);
        bench.put_finished(Ok(vec![]));
        bench.deliver(&[range(10, 19, 1)]);
        bench.expect(put(2, &[range(10, 19, 1)]));
        bench.put_finished(Ok(vec![]));
        bench.waits(true);
    }

    #[test]
    fn a_commit_comes_early_when_the_partition_would_stall_or_the_task_asks() {
        let mut bench = Bench::putting(buffers(), &[range(0, 1_499, 1)]);
        bench.put_finished(Ok(vec![]));
        bench.expect(Action::Commit);

        let mut bench = Bench::putting(buffers(), &[range(0, 9, 1)]);
        bench.put_finished(Ok(vec![]));
        bench.waits(true);
        bench.machine.commit_requested(bench.now);
        bench.expect(Action::Commit);

        let mut bench = Bench::putting(buffers(), &[range(0, 9, 1)]);
        bench.machine.commit_requested(bench.now);
        bench.put_finished(Ok(vec![]));
        bench.expect(Action::Commit);
    }

    #[test]
    fn locks_are_renewed_while_a_commit_runs() {
        let mut bench = Bench::putting(buffers(), &[range(0, 9, 1)]);
        bench.put_finished(Ok(vec![]));
        bench.until(&Action::Commit);
        bench.until(&Action::Renew(vec![id(1)]));
    }

    #[test]
    fn offsets_that_pre_commit_holds_back_are_accepted_later() {
        let mut bench = Bench::running(buffers());
        bench.deliver(&[range(0, 9, 1)]);
        bench.deliver(&[range(20, 29, 1)]);
        assert!(matches!(bench.poll(), Action::Put(_)));
        bench.put_finished(Ok(vec![]));
        bench.until(&Action::Commit);
        bench.machine.committed(bench.now, Ok(vec![(id(1), 4)]));
        bench.expect(Action::Settle(vec![settlement(Verdict::Accept, 1, &[range(0, 3, 1)], false)]));
        bench.until(&Action::Commit);
        bench.machine.committed(bench.now, Ok(vec![(id(1), 10), (id(2), 30)]));
        let accepted = [(1, range(4, 9, 1)), (2, range(20, 29, 1))];
        let accepted = accepted.map(|(delivery, range)| settlement(Verdict::Accept, delivery, &[range], true));
        bench.expect(Action::Settle(accepted.into()));
    }

    #[test]
    fn a_commit_that_may_succeed_later_is_tried_again_and_nothing_is_accepted_meanwhile() {
        let mut bench = Bench::putting(buffers(), &[range(0, 9, 1)]);
        bench.put_finished(Ok(vec![]));
        for _ in 0..5 {
            bench.until(&Action::Commit);
            bench.machine.committed(bench.now, Err(retriable()));
            bench.waits(false);
        }
        bench.until(&Action::Commit);
        bench.machine.committed(bench.now, Ok(vec![(id(1), i64::MAX)]));
        bench.expect(accept(1, &[range(0, 9, 1)]));
        bench.waits(true);
    }

    #[test]
    fn a_commit_that_fails_for_good_releases_what_was_put() {
        let mut bench = Bench::putting(buffers(), &[range(0, 9, 1)]);
        bench.put_finished(Ok(vec![]));
        bench.until(&Action::Commit);
        bench.machine.committed(bench.now, Err(fatal()));
        bench.stops_fetching();
        bench.expect(Action::Commit);
        bench.machine.committed(bench.now, Err(fatal()));
        bench.expect(release(1, &[range(0, 9, 1)]));
        bench.leaves_and_ends(TaskState::Failed);
    }

    #[test]
    fn row_68_a_failed_put_is_not_accepted_by_the_commit_that_follows() {
        let mut bench = Bench::putting(buffers(), &[range(0, 9, 1)]);
        bench.put_finished(Ok(vec![]));
        bench.deliver(&[range(10, 19, 1)]);
        bench.expect(put(2, &[range(10, 19, 1)]));
        bench.put_finished(Err(fatal()));
        bench.stops_fetching();
        // What was put before is saved; the batch that failed is not.
        bench.expect(Action::Commit);
        bench.machine.committed(bench.now, Ok(vec![(id(1), i64::MAX), (id(2), i64::MAX)]));
        bench.expect(accept(1, &[range(0, 9, 1)]));
        bench.expect(release(2, &[range(10, 19, 1)]));
        bench.leaves_and_ends(TaskState::Failed);
    }

    #[test]
    fn row_68_a_failed_put_is_not_accepted_by_a_stop_either() {
        let mut bench = Bench::putting(buffers(), &[range(0, 9, 1)]);
        bench.put_finished(Err(retriable()));
        bench.machine.stop(bench.now);
        bench.stops_fetching();
        bench.expect(release(1, &[range(0, 9, 1)]));
        bench.leaves_and_ends(TaskState::Stopped);
    }

    #[test]
    fn a_stop_commits_what_was_put() {
        let mut bench = Bench::putting(buffers(), &[range(0, 9, 1)]);
        bench.put_finished(Ok(vec![]));
        bench.machine.stop(bench.now);
        bench.stops_fetching();
        bench.expect(Action::Commit);
        bench.machine.committed(bench.now, Ok(vec![(id(1), i64::MAX)]));
        bench.expect(accept(1, &[range(0, 9, 1)]));
        bench.leaves_and_ends(TaskState::Stopped);
    }

    #[test]
    fn partitions_that_go_away_are_committed_before_they_are_closed() {
        let mut bench = Bench::putting(buffers(), &[range(0, 9, 1)]);
        bench.put_finished(Ok(vec![]));
        bench.machine.assignment_changed();
        bench.expect(Action::Commit);
        bench.machine.committed(bench.now, Ok(vec![(id(1), i64::MAX)]));
        bench.expect(accept(1, &[range(0, 9, 1)]));
        bench.expect(Action::Reassign);
    }
}

#[test]
fn partitions_are_opened_before_their_records_are_put() {
    let mut bench = Bench::running(options());
    bench.deliver(&[range(0, 0, 1)]);
    bench.machine.assignment_changed();
    bench.expect(Action::Reassign);
    bench.machine.reassigned(Ok(()));
    bench.expect(put(1, &[range(0, 0, 1)]));
}

#[test]
fn an_open_that_fails_fails_the_task() {
    let mut bench = Bench::running(options());
    bench.deliver(&[range(0, 0, 1)]);
    bench.machine.assignment_changed();
    bench.expect(Action::Reassign);
    bench.machine.reassigned(Err(fatal()));
    bench.stops_fetching();
    bench.expect(release(1, &[range(0, 0, 1)]));
    bench.leaves_and_ends(TaskState::Failed);
}

#[test]
fn a_stop_waits_for_the_put_accepts_it_and_releases_the_rest() {
    let mut bench = Bench::putting(options(), &[range(0, 9, 1)]);
    bench.deliver(&[range(10, 19, 1)]);
    bench.machine.stop(bench.now);
    bench.stops_fetching();
    assert_eq!(bench.machine.state(), TaskState::Stopping);
    bench.waits(false);
    bench.put_finished(Ok(vec![]));
    bench.expect(accept(1, &[range(0, 9, 1)]));
    bench.expect(release(2, &[range(10, 19, 1)]));
    bench.leaves_and_ends(TaskState::Stopped);
}

#[test]
fn a_stop_still_puts_what_waits_on_its_last_delivery() {
    let mut bench = Bench::running(options());
    bench.deliver(&[range(0, 9, 1)]);
    bench.deliver(&[range(10, 19, 5)]);
    bench.machine.stop(bench.now);
    bench.stops_fetching();
    bench.expect(put(2, &[range(10, 19, 5)]));
    bench.put_finished(Ok(vec![]));
    bench.expect(accept(2, &[range(10, 19, 5)]));
    bench.expect(release(1, &[range(0, 9, 1)]));
    bench.leaves_and_ends(TaskState::Stopped);
}

#[test]
fn a_put_that_outlasts_the_graceful_timeout_is_abandoned_and_its_records_released() {
    let mut bench = Bench::putting(options(), &[range(0, 9, 1)]);
    let start = bench.now;
    bench.machine.stop(bench.now);
    bench.stops_fetching();
    bench.until(&Action::Abandon);
    assert_eq!(bench.now, start + 4 * SECOND);
    bench.expect(release(1, &[range(0, 9, 1)]));
    bench.expect(Action::Leave(SECOND));
    bench.machine.left();
    bench.expect(Action::Ended);
    assert_eq!(bench.machine.state(), TaskState::Stopped);
}

#[test]
fn a_failed_task_whose_stop_hangs_is_abandoned_when_the_worker_stops() {
    let mut bench = Bench::putting(options(), &[range(0, 9, 1)]);
    bench.put_finished(Err(fatal()));
    bench.stops_fetching();
    bench.expect(release(1, &[range(0, 9, 1)]));
    assert!(matches!(bench.poll(), Action::Leave(_)));
    bench.machine.left();
    bench.expect(Action::StopTask);
    assert_eq!(bench.waits(false), None);
    bench.machine.stop(bench.now);
    bench.until(&Action::Abandon);
    bench.expect(Action::Ended);
}

#[test]
fn a_task_that_panicked_is_called_no_more() {
    let mut bench = Bench::putting(options(), &[range(0, 9, 1)]);
    bench.machine.panicked("index out of bounds".to_owned());
    bench.stops_fetching();
    bench.expect(release(1, &[range(0, 9, 1)]));
    assert!(matches!(bench.poll(), Action::Leave(_)));
    bench.machine.left();
    bench.expect(Action::Ended);
    assert_eq!((bench.machine.state(), bench.machine.failure()), (TaskState::Failed, Some("index out of bounds")));
}

#[test]
fn when_the_consumer_has_ended_the_task_fails_with_its_error() {
    let mut bench = Bench::running(options());
    bench.machine.consumer_failed("not authorized".to_owned());
    bench.stops_fetching();
    bench.leaves_and_ends(TaskState::Failed);
    assert_eq!(bench.machine.failure(), Some("not authorized"));
}

#[test]
fn renewals_of_one_time_go_together() {
    let mut bench = Bench::putting(options(), &[range(0, 9, 1)]);
    bench.now += SECOND;
    bench.deliver(&[range(10, 19, 1)]);
    bench.now += SECOND;
    bench.deliver(&[range(20, 29, 1)]);
    bench.until(&Action::Renew(vec![id(1), id(2), id(3)]));
}
