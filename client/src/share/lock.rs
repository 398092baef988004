//! How long the broker holds records for this member.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The acquisition lock of some records. A clone is the same lock.
///
/// When exactly the broker's timer ends cannot be known here, so two instants bound it: until `deadline` the lock
/// holds for certain (counted from when the request was sent), and from `end` on it is lost for certain (counted
/// from when the answer came).
#[derive(Debug, Clone)]
pub(super) struct Lock {
    timeout: Duration,
    /// Whether a renewal is of all the records. Of some of them it moves `end`, which is of any record, and not
    /// `deadline`, which is of all.
    whole: bool,
    bounds: Arc<Mutex<Bounds>>,
}

#[derive(Debug, Clone, Copy)]
struct Bounds {
    deadline: Instant,
    end: Instant,
    /// Renewals that have no answer yet: while there is one, nobody knows when the lock ends.
    renewals: u32,
}

impl Lock {
    /// Of an acquisition whose answer came at `received`.
    pub(super) fn new(timeout: Duration, deadline: Instant, received: Instant) -> Self {
        let bounds = Bounds { deadline, end: received + timeout, renewals: 0 };
        Self { timeout, whole: true, bounds: Arc::new(Mutex::new(bounds)) }
    }

    /// A lock of its own for records that are about to be renewed without the others that it has been shared with: all of them, or only
    /// some (`whole` is false). It starts as what this one is now.
    pub(super) fn fork(&self, whole: bool) -> Self {
        let bounds = *self.bounds();
        Self { timeout: self.timeout, whole, bounds: Arc::new(Mutex::new(bounds)) }
    }

    /// How long the group locks records.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Until when the lock holds for certain.
    pub(super) fn deadline(&self) -> Instant {
        self.bounds().deadline
    }

    /// Whether enough of the lock is left at `now` to begin work on the records: a tenth of it.
    pub(super) fn is_worth_starting(&self, now: Instant) -> bool {
        now + self.timeout / 10 < self.deadline()
    }

    /// Whether the lock is lost for certain at `now`. To acknowledge then would be refused, and with it whatever else
    /// the request says about the partition.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        let bounds = self.bounds();
        bounds.renewals == 0 && bounds.end <= now
    }

    /// A renewal is on its way.
    pub(super) fn renewing(&self) {
        self.bounds().renewals += 1;
    }

    /// A renewal is answered at `now`: where the broker agreed, with the deadline of the renewed lock.
    pub(super) fn answered(&self, now: Instant, deadline: Option<Instant>) {
        let timeout = self.timeout;
        let mut bounds = self.bounds();
        bounds.renewals = bounds.renewals.saturating_sub(1);
        if let Some(deadline) = deadline {
            if self.whole {
                bounds.deadline = bounds.deadline.max(deadline);
            }
            bounds.end = bounds.end.max(now + timeout);
        }
    }

    fn bounds(&self) -> std::sync::MutexGuard<'_, Bounds> {
        // Every change is a single assignment or two, which a panic elsewhere cannot leave half done.
        self.bounds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: Duration = Duration::from_secs(30);

    #[test]
    fn a_lock_is_held_until_its_deadline_and_lost_only_when_the_broker_must_have_let_go() {
        let sent = Instant::now();
        let received = sent + Duration::from_millis(400);
        let lock = Lock::new(LOCK, sent + LOCK, received);
        assert!(lock.is_worth_starting(sent + Duration::from_secs(26)));
        assert!(!lock.is_worth_starting(sent + Duration::from_secs(27)));
        assert!(!lock.is_over(sent + LOCK));
        assert!(lock.is_over(received + LOCK));
    }

    #[test]
    fn a_renewal_extends_the_lock_of_its_part_alone_and_a_refused_one_does_not() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let lock = Lock::new(LOCK, at(30), start);
        let part = lock.fork(true);
        part.renewing();
        assert!(!part.is_over(at(31)), "the broker may have renewed it");
        part.answered(at(21), Some(at(50)));
        assert_eq!((part.deadline(), lock.deadline()), (at(50), at(30)));
        part.renewing();
        part.answered(at(41), None);
        assert_eq!(part.deadline(), at(50));
        assert!(part.is_over(at(51)));
    }

    #[test]
    fn renewing_some_of_the_records_does_not_prolong_what_holds_for_all() {
        let start = Instant::now();
        let lock = Lock::new(LOCK, start + LOCK, start).fork(false);
        lock.renewing();
        lock.answered(start + LOCK / 2, Some(start + LOCK * 3 / 2));
        assert_eq!(lock.deadline(), start + LOCK);
        assert!(!lock.is_over(start + LOCK));
    }
}
