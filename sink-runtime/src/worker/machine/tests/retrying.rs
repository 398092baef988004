//! Failures that may pass.

use super::*;

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

// Mutation: sink-runtime/src/worker/machine/held.rs
// - item.stage == Stage::Failed && !item.todo.is_empty()
// + false
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

// Mutation: sink-runtime/src/worker/machine/retry.rs
// - if policy.timeout.is_some_and(|timeout| now.duration_since(since) >= timeout) {
// + if false {
#[test]
fn row_69_trying_again_ends_after_its_limit_with_a_release() {
    let retry = RetryPolicy { delay_max: 60 * SECOND, timeout: Some(10 * SECOND) };
    let ranges = [range(0, 9, 1)];
    let mut bench = Bench::putting(Options { retry, ..options() }, &ranges);
    let start = bench.now;
    bench.put_finished(Err(retriable()));
    while bench.machine.failure().is_none() {
        assert!(bench.now < start + 30 * SECOND, "it never gives up");
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

// Mutation: sink-runtime/src/worker/machine/answers.rs
// - .end_put(|id, range| held::within(range, failures.iter().filter(|failure| failure.delivery == id)));
// + .end_put(|_, range| if failures.is_empty() { Vec::new() } else { vec![*range] });
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
