//! Failures that do not pass, of records and of tasks.

use super::*;

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

// Mutation: sink-runtime/src/worker/machine/answers.rs
// - .end_put(|id, range| held::within(range, failures.iter().filter(|failure| failure.delivery == id)));
// + .end_put(|_, range| if failures.is_empty() { Vec::new() } else { vec![*range] });
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
fn a_record_that_is_named_in_two_failures_is_released_once() {
    let mut bench = Bench::putting(options(), &[range(0, 9, 1)]);
    // A converter names ranges, and the task may name a record in one.
    let refused = RangeFailure { delivery: id(1), first: 3, last: 6, error: fatal() };
    bench.put_finished(Ok(vec![refused, failed(1, 3, fatal()), failed(1, 5, fatal()), failed(1, 7, fatal())]));
    let accepted = settlement(Verdict::Accept, 1, &[range(0, 2, 1), range(8, 9, 1)], false);
    bench.expect(Action::Settle(vec![accepted]));
    bench.stops_fetching();
    bench.expect(release(1, &[range(3, 6, 1), range(7, 7, 1)]));
    bench.leaves_and_ends(TaskState::Failed);
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
