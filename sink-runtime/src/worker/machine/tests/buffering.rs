//! Tasks that buffer.

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

// Mutation: sink-runtime/src/worker/machine/held.rs
// - item.todo = not_written;
// + item.written.extend(not_written);
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

// Mutation: sink-runtime/src/worker/machine/held.rs
// - item.todo = not_written;
// + item.written.extend(not_written);
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
