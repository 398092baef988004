//! Putting, accepting and keeping locks, when all goes well.

use super::*;

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
fn partitions_are_opened_before_their_records_are_put() {
    let mut bench = Bench::running(options());
    bench.deliver(&[range(0, 0, 1)]);
    bench.machine.assignment_changed();
    bench.expect(Action::Reassign);
    bench.machine.reassigned(Ok(()));
    bench.expect(put(1, &[range(0, 0, 1)]));
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
