//! Stopping.

use super::*;

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
