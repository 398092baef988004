//! The loop that takes records, runs handlers and settles.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use ackflow_protocol::machine::AckType;

use super::super::handle::after_from;
use super::super::owned::OwnedShareConsumer;
use super::Settings;
use super::held::{At, HeldRecord};
use super::lot::Lot;
use super::outcome::{ForEachError, HandlerError, HandlerFailure, HandlerOutput, Outcome};
use super::slots::{Finished, Slots, catch};
use crate::cluster::Alarm;
use crate::deserialize::Deserializer;

/// How long a verdict waits for others to go out with.
const LINGER: Duration = Duration::from_millis(5);

/// After so many steps in a row other tasks get their turn.
const STEPS: u32 = 64;

pub(super) struct Work<'a, 'c, H, F: Future, K, V> {
    consumer: &'c mut OwnedShareConsumer<K, V>,
    handler: H,
    settings: Settings<'a, K, V>,
    slots: Slots<'a, F, Job>,
    /// Deliveries whose records are not all settled.
    lots: Vec<Option<Lot<K, V>>>,
    free_lots: Vec<usize>,
    /// The delivery that has records which no handler was called for.
    current: Option<usize>,
    waiting: BinaryHeap<Reverse<Waiting>>,
    /// When to look whether records that wait to be tried again have to be let go.
    look_at_locks: Option<Instant>,
    /// When verdicts have to be sent.
    send_at: Option<Instant>,
    keep_alive_at: Instant,
    alarm: Alarm,
    /// Whether it takes no more records, and why.
    ending: Option<Result<(), ForEachError>>,
}

/// A record that a handler works on, or will again.
#[derive(Debug, Clone, Copy)]
struct Job {
    lot: usize,
    at: At,
}

/// Ordered by when it is due, then by offset.
struct Waiting {
    due: Instant,
    job: Job,
}

impl<'a, 'c, H, F, K, V> Work<'a, 'c, H, F, K, V>
where
    H: FnMut(HeldRecord<K, V>) -> F,
    F: Future<Output: HandlerOutput>,
    K: Deserializer,
    V: Deserializer,
{
    pub(super) fn new(
        consumer: &'c mut OwnedShareConsumer<K, V>,
        limit: usize,
        handler: H,
        settings: Settings<'a, K, V>,
    ) -> Self {
        let keep_alive_at = Instant::now() + consumer.keep_alive_every();
        Self {
            consumer,
            handler,
            settings,
            slots: Slots::new(limit.max(1)),
            lots: Vec::new(),
            free_lots: Vec::new(),
            current: None,
            waiting: BinaryHeap::new(),
            look_at_locks: None,
            send_at: None,
            keep_alive_at,
            alarm: Alarm::default(),
            ending: None,
        }
    }

    /// Ready when it has ended and every handler is done.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ForEachError>> {
        if let Some(lot) = self.current {
            // Once a wake is enough, and costs records nothing.
            self.lot(lot).notice_loss(Instant::now());
        }
        for _ in 0..STEPS {
            if self.ending.is_none()
                && self.settings.until.as_mut().is_some_and(|until| until.as_mut().poll(cx).is_ready())
            {
                self.end(Ok(()));
            }
            let now = Instant::now();
            if let Some((slot, job, finished)) = self.slots.poll() {
                self.finished(now, slot, job, finished);
                continue;
            }
            self.watch_the_clock(now);
            if self.ending.is_some() {
                if self.slots.is_idle() {
                    self.send_all();
                    return Poll::Ready(self.ending.take().unwrap_or(Ok(())));
                }
            } else if self.slots.has_room() && self.begin(now, cx) {
                continue;
            }
            if self.slots.is_idle() {
                // Nothing would come to go out with it.
                self.send_all();
            }
            if self.slots.poll_woken(cx).is_pending() && self.alarm.poll(cx, self.next_due()).is_pending() {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Begins one record, or takes a delivery. Returns whether there may be more to do.
    fn begin(&mut self, now: Instant, cx: &mut Context<'_>) -> bool {
        if self.waiting.peek().is_some_and(|Reverse(first)| first.due <= now)
            && let Some(Reverse(Waiting { job, .. })) = self.waiting.pop()
        {
            let lot = self.lot(job.lot);
            lot.waiting -= 1;
            match lot.is_lost() {
                true => self.decide(now, job, AckType::Release),
                false => self.call(job),
            }
            return true;
        }
        if let Some(lot) = self.current {
            match self.lot(lot).next(now) {
                Some(at) => self.call(Job { lot, at }),
                None => {
                    self.current = None;
                    self.settle_lot(now, lot);
                }
            }
            return true;
        }
        match self.consumer.poll_delivery(cx) {
            Poll::Pending => return false,
            Poll::Ready(Ok(mut delivery)) => {
                delivery.hold(self.settings.renew);
                let lot = self.free_lots.pop().unwrap_or(self.lots.len());
                if lot == self.lots.len() {
                    self.lots.push(None);
                }
                self.lots[lot] = Some(Lot::new(delivery));
                self.current = Some(lot);
            }
            Poll::Ready(Err(error)) if self.consumer.is_over() => self.end(Err(error.into())),
            Poll::Ready(Err(error)) => tracing::warn!("{error}"),
        }
        // It was polled a moment ago.
        self.keep_alive_at = now + self.consumer.keep_alive_every();
        true
    }

    /// Calls the handler.
    fn call(&mut self, job: Job) {
        let held = self.lot(job.lot).hand_out(job.at);
        match catch(|| (self.handler)(held)) {
            Ok(future) => self.slots.start(job, future),
            Err(panic) => self.failed(Instant::now(), job, HandlerFailure::Panicked(panic)),
        }
    }

    fn finished(&mut self, now: Instant, slot: usize, job: Job, finished: Finished<F::Output>) {
        let outcome = match finished {
            Finished::First(Ok(output)) => output.into_outcome().map_err(HandlerFailure::Failed),
            Finished::Second(Ok(Ok(()))) => Ok(Outcome::Accept),
            Finished::Second(Ok(Err(error))) => Err(HandlerFailure::DeadLetter(error)),
            Finished::First(Err(panic)) | Finished::Second(Err(panic)) => Err(HandlerFailure::Panicked(panic)),
        };
        match outcome {
            Ok(Outcome::Accept) => self.decide(now, job, AckType::Accept),
            Ok(Outcome::Release) => self.decide(now, job, AckType::Release),
            Ok(Outcome::Reject) => self.decide(now, job, AckType::Reject),
            Ok(Outcome::Retry { .. }) if self.ending.is_some() => self.decide(now, job, AckType::Release),
            Ok(Outcome::Retry { after }) => self.wait(now, job, after),
            Ok(Outcome::DeadLetter) => self.write_dead_letter(now, slot, job),
            Err(failure) => self.failed(now, job, failure),
        }
    }

    fn write_dead_letter(&mut self, now: Instant, slot: usize, job: Job) {
        let held = self.lot(job.lot).hand_out(job.at);
        let Some(write) = &mut self.settings.dead_letters else {
            return self.decide(now, job, AckType::Reject);
        };
        match catch(|| write(held)) {
            Ok(writing) => self.slots.follow(slot, job, writing),
            Err(panic) => self.failed(now, job, HandlerFailure::Panicked(panic)),
        }
    }

    /// Holds a record until it is due.
    fn wait(&mut self, now: Instant, mut job: Job, after: Duration) {
        let lot = self.lot(job.lot);
        lot.waiting += 1;
        let look_at = lot.let_go_at();
        self.look_at_locks = Some(self.look_at_locks.map_or(look_at, |at| at.min(look_at)));
        job.at.attempt += 1;
        let due = after_from(now, after);
        self.waiting.push(Reverse(Waiting { due, job }));
    }

    fn failed(&mut self, now: Instant, job: Job, failure: HandlerFailure) {
        let partition = self.lot(job.lot).shared().source.partition();
        let At { offset, delivery_count, .. } = job.at;
        let error = HandlerError { partition, offset, delivery_count, failure };
        tracing::warn!("{error}");
        self.decide(now, job, AckType::Release);
        if self.settings.stop_on_error {
            self.end(Err(error.into()));
        }
    }

    fn decide(&mut self, now: Instant, job: Job, ack: AckType) {
        self.lot(job.lot).decide(job.at.offset, ack);
        self.settle_lot(now, job.lot);
    }

    /// Sends the verdicts on a delivery that is done with; others soon.
    fn settle_lot(&mut self, now: Instant, lot: usize) {
        if self.lot(lot).is_done() && self.current != Some(lot) {
            // Dropped, it sends them.
            self.lots[lot] = None;
            self.free_lots.push(lot);
        } else {
            self.send_at.get_or_insert(now + LINGER);
        }
    }

    fn send_all(&mut self) {
        if self.send_at.take().is_some() {
            self.lots.iter_mut().flatten().for_each(Lot::send);
        }
    }

    /// Takes no more records. The first reason counts.
    fn end(&mut self, why: Result<(), ForEachError>) {
        if self.ending.is_some() {
            return;
        }
        self.ending = Some(why);
        let now = Instant::now();
        if let Some(lot) = self.current.take() {
            self.lot(lot).give_back();
            self.settle_lot(now, lot);
        }
        for Reverse(Waiting { job, .. }) in std::mem::take(&mut self.waiting) {
            self.decide(now, job, AckType::Release);
        }
        self.look_at_locks = None;
    }

    /// Does what is due now, but for the records that wait to be tried again.
    fn watch_the_clock(&mut self, now: Instant) {
        if self.send_at.is_some_and(|at| at <= now) {
            self.send_all();
        }
        if self.look_at_locks.is_some_and(|at| at <= now) {
            self.let_go(now);
        }
        if self.keep_alive_at <= now {
            self.consumer.keep_alive();
            self.keep_alive_at = now + self.consumer.keep_alive_every();
        }
    }

    /// Releases what waits to be tried again and has a lock that is about to end, since it was not renewed.
    fn let_go(&mut self, now: Instant) {
        let lots = &self.lots;
        let ends = |job: &Job| lots[job.lot].as_ref().is_none_or(|lot| lot.let_go_at() <= now);
        let mut ended = Vec::new();
        self.waiting.retain(|Reverse(Waiting { job, .. })| {
            let ends = ends(job);
            if ends {
                ended.push(*job);
            }
            !ends
        });
        for job in ended {
            self.lot(job.lot).waiting -= 1;
            self.decide(now, job, AckType::Release);
        }
        let waiting = self.lots.iter().flatten().filter(|lot| lot.waiting > 0);
        self.look_at_locks = waiting.map(Lot::let_go_at).min();
    }

    /// When the clock has to be looked at again.
    fn next_due(&self) -> Instant {
        let retry = self.waiting.peek().map(|Reverse(first)| first.due).filter(|_| self.slots.has_room());
        let others = [retry, self.look_at_locks, self.send_at];
        others.into_iter().flatten().fold(self.keep_alive_at, Instant::min)
    }

    fn lot(&mut self, lot: usize) -> &mut Lot<K, V> {
        self.lots[lot].as_mut().expect("a lot stays until all its records are decided about")
    }
}

impl Waiting {
    fn key(&self) -> (Instant, i64) {
        (self.due, self.job.at.offset)
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}
