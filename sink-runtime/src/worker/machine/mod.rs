//! The decisions of one share sink task, without I/O: when to put, what to accept, release and renew, when to try again and when to give up.
//!
//! ```text
//!             start ok             stop
//!  Starting ───────────▶ Running ────────────────▶ Ending ───────▶ Ended
//!     │  ▲ retriable       │  ▲  a call failed,     │  ▲           stopped or
//!     └──┘                 │  └─ and may succeed    │  │ holding    failed
//!     │                    │     later: hold,       └──┘ what would
//!     │ start failed       │     renew, try again      be archived
//!     └────────────────────┴──────────────────────────▶
//!                            a call failed for good
//! ```
//!
//! The rules, each of which has a test of its name:
//! - A record is accepted after the put that had it returned with success and, where the task buffers, after a commit that began later.
//! - A failure that may pass: the records stay here and their locks are renewed; nothing new is fetched.
//! - A failure that does not pass, under `errors.tolerance=none`: everything undecided is released, and the task has failed. A release
//!   costs a delivery attempt, so a record on its last one would be archived by the broker: with `share.last.delivery=hold` the failed task
//!   stays a member of the group and renews those, until it is stopped or the group's limit is raised.
//! - Locks are renewed when half of them is over, whatever the task is doing.
//!
//! As everywhere: after each command or input, poll until it says wait.

mod action;
mod answers;
mod ending;
mod held;
mod retry;

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use ackflow_protocol::random::SplitMix64;

pub(crate) use self::{
    action::{Acquired, Action, CallError, DeliveryId, RangeFailure, Settlement, Verdict},
    retry::RetryPolicy,
};

use self::{
    ending::Ending,
    held::Held,
    retry::{Retry, What},
};
use crate::config::{LastDelivery, Tolerance};

/// What the machine goes by.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// Whether the task buffers.
    pub(crate) buffers: bool,
    /// `offset.flush.interval.ms`.
    pub(crate) flush_interval: Duration,
    /// `task.shutdown.graceful.timeout.ms`.
    pub(crate) graceful_timeout: Duration,
    pub(crate) tolerance: Tolerance,
    pub(crate) last_delivery: LastDelivery,
    /// The group's `share.delivery.count.limit`.
    pub(crate) delivery_limit: i16,
    /// A task that buffers commits when it has so many records, for a partition lends no more to a group than
    /// `share.partition.max.record.locks`.
    pub(crate) most_written: u64,
    /// `max.poll.records`: no put has more, unless one delivery does.
    pub(crate) most_put: u64,
    pub(crate) retry: RetryPolicy,
}

/// The machine of one task.
#[derive(Debug)]
pub(crate) struct Machine {
    options: Options,
    phase: Phase,
    /// What the task is busy with.
    call: Option<Call>,
    held: Held,
    retry: Option<Retry>,
    outbox: VecDeque<Action>,
    /// Whether the assignment has changed since the task was told.
    reassign: bool,
    /// When the task is called without records.
    next_interval: Instant,
    /// When what is written must be committed.
    commit_at: Option<Instant>,
    /// Whether the task asked for a commit while nothing was written.
    commit_wanted: bool,
    /// When to take over what the consumer has fetched ahead.
    take_over_at: Option<Instant>,
    lock_timeout: Duration,
    is_member: bool,
    /// Whether the task can be called no more: it was stopped, abandoned or has panicked.
    task_over: bool,
    failure: Option<String>,
    random: SplitMix64,
}

#[derive(Debug)]
enum Phase {
    Starting,
    Running,
    Ending(Ending),
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Start,
    Reassign,
    Put,
    Commit,
    Stop,
    Leave,
}

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    /// Its `start` has not succeeded yet.
    Starting,
    /// It takes records.
    Running,
    /// A call failed and is tried again; records are held and renewed meanwhile.
    Retrying,
    /// It finishes what it has begun, and ends.
    Stopping,
    /// It was stopped.
    Stopped,
    /// It failed, and takes no more records.
    Failed,
}

impl Machine {
    /// Of a task that is about to be started at `now`. `seed` drives the jitter of retries.
    pub(crate) fn new(now: Instant, seed: u64, options: Options) -> Self {
        Self {
            next_interval: now + options.flush_interval,
            options,
            phase: Phase::Starting,
            call: None,
            held: Held::default(),
            retry: None,
            outbox: VecDeque::new(),
            reassign: false,
            commit_at: None,
            commit_wanted: false,
            take_over_at: None,
            lock_timeout: Duration::from_secs(30),
            is_member: false,
            task_over: false,
            failure: None,
            random: SplitMix64::new(seed),
        }
    }

    /// Where the task stands.
    pub(crate) fn state(&self) -> TaskState {
        match self.phase {
            _ if self.failure.is_some() => TaskState::Failed,
            Phase::Starting => TaskState::Starting,
            Phase::Running if self.retry.is_some() => TaskState::Retrying,
            Phase::Running => TaskState::Running,
            Phase::Ending(_) => TaskState::Stopping,
            Phase::Ended => TaskState::Stopped,
        }
    }

    /// Why the task failed.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// How many records it holds in any way.
    pub(crate) fn records_held(&self) -> u64 {
        self.held.records()
    }

    /// A delivery came.
    pub(crate) fn delivered(&mut self, acquired: Acquired) {
        self.lock_timeout = acquired.lock_timeout;
        self.held.insert(acquired);
    }

    /// The assignment has changed.
    pub(crate) fn assignment_changed(&mut self) {
        self.reassign = true;
    }

    /// The task wants a commit.
    pub(crate) fn commit_requested(&mut self, now: Instant) {
        match self.commit_at {
            Some(_) => self.commit_at = Some(now),
            None => self.commit_wanted = true,
        }
    }

    /// The worker is to stop.
    pub(crate) fn stop(&mut self, now: Instant) {
        self.retry = None;
        let timeout = self.options.graceful_timeout;
        match &mut self.phase {
            Phase::Starting | Phase::Running => self.end(Ending::stopping(now, timeout)),
            Phase::Ending(ending) => ending.stop(now, timeout),
            Phase::Ended => {}
        }
    }

    /// The consumer has ended; the task fails.
    pub(crate) fn consumer_failed(&mut self, error: String) {
        self.fail(error);
    }

    /// A renewal was answered: with the end of the renewed lock, or `None` if the lock is lost.
    pub(crate) fn renewed(&mut self, id: DeliveryId, lock_deadline: Option<Instant>) {
        match lock_deadline {
            Some(deadline) => self.held.renewed(id, deadline),
            None => self.held.lose(id),
        }
    }

    /// The group's delivery limit was read again.
    pub(crate) fn limit_read(&mut self, limit: i16) {
        self.options.delivery_limit = limit;
    }

    /// What to do next.
    pub(crate) fn poll(&mut self, now: Instant) -> Action {
        if let Some(action) = self.outbox.pop_front() {
            return action;
        }
        if let Some(action) = self.keep_locks(now) {
            return action;
        }
        match self.phase {
            Phase::Starting => self.starting(now),
            Phase::Running => self.running(now),
            Phase::Ending(_) => self.ending(now),
            Phase::Ended => Action::Ended,
        }
    }

    fn starting(&mut self, now: Instant) -> Action {
        match &self.retry {
            _ if self.call.is_some() => self.wait(None, false),
            Some(retry) if retry.next > now => self.wait(Some(retry.next), false),
            _ => self.begin(Call::Start, Action::Start),
        }
    }

    fn running(&mut self, now: Instant) -> Action {
        if self.call.is_some() {
            return self.wait(None, false);
        }
        let commit_failed = self.retry.as_ref().is_some_and(|retry| retry.what == What::Commit);
        if !commit_failed && self.commit_at.is_some_and(|at| at <= now || self.reassign) {
            return self.begin(Call::Commit, Action::Commit);
        }
        if self.reassign && self.retry.is_none() {
            self.reassign = false;
            return self.begin(Call::Reassign, Action::Reassign);
        }
        if let Some(retry) = &self.retry {
            if retry.next > now {
                return self.wait(Some(retry.next), false);
            }
            if commit_failed {
                return self.begin(Call::Commit, Action::Commit);
            }
            let put = self.held.begin_retry();
            if !put.is_empty() {
                return self.begin(Call::Put, Action::Put(put));
            }
            // Every lock on what failed is lost: it comes again by itself.
            self.retry = None;
        }
        let put = self.held.begin_put(now, self.options.most_put);
        let is_time = self.next_interval <= now;
        if is_time {
            self.next_interval = now + self.options.flush_interval;
        }
        if is_time || !put.is_empty() {
            return self.begin(Call::Put, Action::Put(put));
        }
        let until = self.commit_at.map_or(self.next_interval, |at| at.min(self.next_interval));
        self.wait(Some(until), true)
    }

    /// Keeps the locks on everything that is held: renews those which are half over, and takes over what the consumer has fetched ahead when
    /// the task takes its time.
    fn keep_locks(&mut self, now: Instant) -> Option<Action> {
        let due = self.held.begin_renewals(now);
        if !due.is_empty() {
            if self.is_holding() {
                self.outbox.push_back(Action::ReadLimit);
            }
            return Some(Action::Renew(due));
        }
        if !self.is_member || !(self.is_holding() || matches!(self.phase, Phase::Running) && self.is_slow()) {
            self.take_over_at = None;
            return None;
        }
        // Early enough for what was acquired just after the last time.
        let every = self.lock_timeout / 4;
        let at = *self.take_over_at.get_or_insert(now + every);
        (at <= now).then(|| {
            self.take_over_at = Some(now + every);
            Action::TakeOver
        })
    }

    /// Whether nothing is taken from the consumer for the time being.
    fn is_slow(&self) -> bool {
        self.call.is_some() || self.retry.is_some()
    }

    /// Whether the task has failed and does nothing but hold what the broker would archive.
    pub(crate) fn is_holding(&self) -> bool {
        matches!(&self.phase, Phase::Ending(ending) if ending.is_holding())
    }

    fn wait(&self, until: Option<Instant>, take: bool) -> Action {
        let until = [until, self.held.next_renewal(), self.take_over_at].into_iter().flatten().min();
        Action::Wait { until, take }
    }

    fn begin(&mut self, call: Call, action: Action) -> Action {
        self.call = Some(call);
        action
    }

    fn fail(&mut self, trace: String) {
        self.retry = None;
        self.failure.get_or_insert(trace);
        if matches!(self.phase, Phase::Starting | Phase::Running) {
            self.end(Ending::failing());
        }
    }

    /// From now on nothing is fetched: a member that released records and went on fetching would get them again itself.
    fn end(&mut self, ending: Ending) {
        self.phase = Phase::Ending(ending);
        if self.is_member {
            self.outbox.push_back(Action::TakeOver);
        }
    }

    fn settle(&mut self, settlements: Vec<Settlement>) {
        if !settlements.is_empty() {
            self.outbox.push_back(Action::Settle(settlements));
        }
    }
}

#[cfg(test)]
mod tests;
