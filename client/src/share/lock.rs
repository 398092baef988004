//! How long the broker holds records for this member.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The acquisition lock of some records.
#[derive(Debug, Clone)]
pub(super) struct Lock {
    timeout: Duration,
    deadline: Instant,
    grip: Grip,
    renewed: Option<Renewal>,
    kept: Option<Arc<KeptLock>>,
}

/// Whether the session in which records were acquired still has their partition. Where it has not, the broker has given the records back,
/// whatever the time. Clones are one.
#[derive(Debug, Clone, Default)]
pub(super) struct Grip(Arc<AtomicBool>);

impl Grip {
    pub(super) fn lose(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_lost(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The deadline of locks that are renewed by themselves. All parts of what was kept share it.
#[derive(Debug, Default)]
pub(super) struct KeptLock(Mutex<Option<Instant>>);

impl KeptLock {
    /// The broker has renewed the locks.
    pub(super) fn renewed(&self, deadline: Instant) {
        *self.lock() = Some(deadline);
    }

    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        // No code that holds the lock can panic halfway through a change.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the deadline of a renewed lock is put once the broker has agreed.
pub(super) type Renewal = Arc<OnceLock<Instant>>;

impl Lock {
    pub(super) fn new(timeout: Duration, deadline: Instant, grip: Grip) -> Self {
        Self { timeout, deadline, grip, renewed: None, kept: None }
    }

    /// How long the group locks records.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Until when the lock holds. It counts from when the request was sent, so the broker's own lock ends a little later.
    pub(super) fn deadline(&self) -> Instant {
        let renewed = self.renewed.as_ref().and_then(|renewed| renewed.get().copied());
        let kept = self.kept.as_ref().and_then(|kept| *kept.lock());
        renewed.max(kept).map_or(self.deadline, |moved| moved.max(self.deadline))
    }

    /// Whether the session has lost the records.
    pub(super) fn is_lost(&self) -> bool {
        self.grip.is_lost()
    }

    /// Whether the records are not lost, and enough of the lock is left at `now` to begin work on them: a tenth of it.
    pub(super) fn is_worth_starting(&self, now: Instant) -> bool {
        !self.is_lost() && now + self.timeout / 10 < self.deadline()
    }

    /// Whether it is to be renewed by itself.
    pub(super) fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// The lock is to be renewed by itself from now on.
    pub(super) fn keep(&mut self) -> Arc<KeptLock> {
        Arc::clone(self.kept.insert(Arc::default()))
    }

    /// The lock is about to be renewed. The deadline moves when there is a new one; clones that were made before keep theirs.
    pub(super) fn renew(&mut self) -> Renewal {
        self.deadline = self.deadline();
        Arc::clone(self.renewed.insert(Renewal::default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: Duration = Duration::from_secs(30);

    #[test]
    fn a_tenth_of_the_lock_is_too_little_to_begin_with() {
        let start = Instant::now();
        let lock = Lock::new(LOCK, start + LOCK, Grip::default());
        assert!(lock.is_worth_starting(start + Duration::from_secs(26)));
        assert!(!lock.is_worth_starting(start + Duration::from_secs(27)));
    }

    #[test]
    fn a_renewal_moves_the_deadline_of_its_part_alone_and_only_when_it_is_granted() {
        let start = Instant::now();
        let whole = Lock::new(LOCK, start + LOCK, Grip::default());
        let mut part = whole.clone();
        part.renew().set(start + 2 * LOCK).unwrap();
        assert_eq!((part.deadline(), whole.deadline()), (start + 2 * LOCK, start + LOCK));
        let unanswered = part.renew();
        assert_eq!(part.deadline(), start + 2 * LOCK);
        unanswered.set(start + 3 * LOCK).unwrap();
        assert_eq!(part.deadline(), start + 3 * LOCK);
        let mut kept = part.clone();
        let renewed = kept.keep();
        assert_eq!(kept.deadline(), start + 3 * LOCK);
        renewed.renewed(start + 4 * LOCK);
        assert_eq!((kept.clone().deadline(), part.deadline()), (start + 4 * LOCK, start + 3 * LOCK));
    }
}
