//! The futures that run, in places that are used again: starting one allocates nothing once there are as many places as are needed.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use super::BoxFuture;
use super::outcome::BoxError;

/// At most so many futures at a time, each with what it is about. A future may be followed in its place by a second one, of another kind.
pub(super) struct Slots<'a, F: Future, J> {
    slots: Vec<Slot<'a, F, J>>,
    free: Vec<usize>,
    limit: usize,
    woken: Arc<Woken>,
    /// Woken before, and not polled since.
    ready: Vec<usize>,
}

struct Slot<'a, F, J> {
    job: Option<J>,
    first: Pin<Box<Option<F>>>,
    second: Option<BoxFuture<'a, Result<(), BoxError>>>,
    flag: Arc<Flag>,
    waker: Waker,
}

/// What a future gave, or with what message it panicked.
pub(super) enum Finished<T> {
    First(Result<T, String>),
    Second(Result<Result<(), BoxError>, String>),
}

/// Which futures have been woken, and whom to tell.
#[derive(Default)]
struct Woken(Mutex<(Vec<usize>, Option<Waker>)>);

struct Flag {
    slot: usize,
    is_woken: AtomicBool,
    woken: Arc<Woken>,
}

impl Woken {
    fn lock(&self) -> MutexGuard<'_, (Vec<usize>, Option<Waker>)> {
        // No code that holds the lock can panic halfway through a change.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_woken.swap(true, Ordering::AcqRel) {
            let mut woken = self.woken.lock();
            woken.0.push(self.slot);
            let waker = woken.1.take();
            drop(woken);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

impl<'a, F: Future, J: Copy> Slots<'a, F, J> {
    pub(super) fn new(limit: usize) -> Self {
        Self { slots: Vec::new(), free: Vec::new(), limit, woken: Arc::default(), ready: Vec::new() }
    }

    /// Whether nothing runs.
    pub(super) fn is_idle(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// Whether there is room for another one.
    pub(super) fn has_room(&self) -> bool {
        !self.free.is_empty() || self.slots.len() < self.limit
    }

    /// Runs a future. There has to be room.
    pub(super) fn start(&mut self, job: J, future: F) {
        let at = self.free.pop().unwrap_or_else(|| {
            let slot = self.slots.len();
            let flag = Arc::new(Flag { slot, is_woken: AtomicBool::new(false), woken: Arc::clone(&self.woken) });
            let waker = Waker::from(Arc::clone(&flag));
            self.slots.push(Slot { job: None, first: Box::pin(None), second: None, flag, waker });
            slot
        });
        let slot = &mut self.slots[at];
        slot.job = Some(job);
        slot.first.set(Some(future));
        self.ready.push(at);
    }

    /// Runs a second future in the place of the one that has just finished there.
    pub(super) fn follow(&mut self, at: usize, job: J, future: BoxFuture<'a, Result<(), BoxError>>) {
        let freed = self.free.pop();
        debug_assert_eq!(freed, Some(at));
        let slot = &mut self.slots[at];
        slot.job = Some(job);
        slot.second = Some(future);
        self.ready.push(at);
    }

    /// Polls each future once that was woken, until one finishes, and gives that and its place.
    pub(super) fn poll(&mut self) -> Option<(usize, J, Finished<F::Output>)> {
        if self.ready.is_empty() {
            std::mem::swap(&mut self.ready, &mut self.woken.lock().0);
            // The one that was woken first is polled first.
            self.ready.reverse();
            for at in &self.ready {
                self.slots[*at].flag.is_woken.swap(false, Ordering::AcqRel);
            }
        }
        while let Some(at) = self.ready.pop() {
            let slot = &mut self.slots[at];
            // A late wake of a future that is gone.
            let Some(job) = slot.job else { continue };
            if let Some(finished) = slot.poll() {
                slot.job = None;
                self.free.push(at);
                return Some((at, job, finished));
            }
        }
        None
    }

    /// Ready when a future was woken.
    pub(super) fn poll_woken(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut woken = self.woken.lock();
        if !self.ready.is_empty() || !woken.0.is_empty() {
            return Poll::Ready(());
        }
        woken.1.get_or_insert_with(|| cx.waker().clone()).clone_from(cx.waker());
        Poll::Pending
    }
}

impl<F: Future, J> Slot<'_, F, J> {
    fn poll(&mut self) -> Option<Finished<F::Output>> {
        let mut cx = Context::from_waker(&self.waker);
        if let Some(future) = self.first.as_mut().as_pin_mut() {
            let polled = catch(|| future.poll(&mut cx));
            let finished = finished(polled)?;
            self.first.set(None);
            return Some(Finished::First(finished));
        }
        let future = self.second.as_mut()?;
        let polled = catch(|| future.as_mut().poll(&mut cx));
        let finished = finished(polled)?;
        self.second = None;
        Some(Finished::Second(finished))
    }
}

fn finished<T>(polled: Result<Poll<T>, String>) -> Option<Result<T, String>> {
    match polled {
        Ok(Poll::Ready(output)) => Some(Ok(output)),
        Ok(Poll::Pending) => None,
        Err(panic) => Some(Err(panic)),
    }
}

/// Calls `f`, and gives the message of its panic where it panics. What it was about is dropped then, so a broken state of it is seen by nobody.
pub(super) fn catch<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|panic| message(&*panic))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".to_owned())
}
