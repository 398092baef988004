//! What follows from how a call to the task ended.

use std::time::{Duration, Instant};

use super::{
    Action, CallError, DeliveryId, Machine, Phase, RangeFailure, held,
    retry::{Retry, What},
};
use crate::config::Tolerance;

impl Machine {
    /// The task's `start` returned.
    pub(crate) fn started(&mut self, now: Instant, result: Result<(), CallError>) {
        self.call = None;
        match result {
            Ok(()) if matches!(self.phase, Phase::Starting) => {
                self.retry = None;
                self.phase = Phase::Running;
                self.is_member = true;
                self.outbox.push_back(Action::Subscribe);
            }
            Ok(()) => {}
            Err(error) => self.call_failed(now, What::Start, error),
        }
    }

    /// The task's `close` and `open` returned.
    pub(crate) fn reassigned(&mut self, result: Result<(), CallError>) {
        self.call = None;
        match result {
            Ok(()) => {}
            Err(CallError::Retriable { trace, .. } | CallError::Final { trace }) => self.fail(trace),
        }
    }

    /// The task's `put` returned: an error for all its records, or the failures among them, which include what a converter refused.
    pub(crate) fn put_finished(&mut self, now: Instant, result: Result<Vec<RangeFailure>, CallError>) {
        self.call = None;
        match result {
            Ok(failures) => {
                let tolerated = |failure: &RangeFailure| {
                    self.options.tolerance == Tolerance::All && matches!(failure.error, CallError::Final { .. })
                };
                let failures: Vec<_> = failures.into_iter().filter(|failure| !tolerated(failure)).collect();
                self.held
                    .end_put(|id, range| held::within(range, failures.iter().filter(|failure| failure.delivery == id)));
                self.written(now);
                self.records_failed(now, failures);
            }
            Err(error) => {
                self.held.end_put(|_, range| vec![*range]);
                self.call_failed(now, What::Put, error);
            }
        }
    }

    /// The task's `pre_commit` returned: below which offset each delivery is durable.
    pub(crate) fn committed(&mut self, now: Instant, result: Result<Vec<(DeliveryId, i64)>, CallError>) {
        self.call = None;
        self.commit_at = None;
        match result {
            Ok(durable) => {
                self.clear_retry(What::Commit);
                let below =
                    |id| durable.iter().find(|(durable, _)| *durable == id).map_or(i64::MIN, |(_, below)| *below);
                let accepted = self.held.accept_written(below);
                self.settle(accepted);
                if self.held.written() > 0 {
                    self.commit_at = Some(now + self.commit_interval());
                }
            }
            Err(error) => self.call_failed(now, What::Commit, error),
        }
    }

    /// The call that ran has panicked, and the task is gone with it.
    pub(crate) fn panicked(&mut self, trace: String) {
        self.call = None;
        self.task_over = true;
        self.held.end_put(|_, range| vec![*range]);
        self.fail(trace);
    }

    /// After a put: accepts what was written, or sees to its commit.
    fn written(&mut self, now: Instant) {
        if !self.options.buffers {
            let accepted = self.held.accept_written(|_| i64::MAX);
            return self.settle(accepted);
        }
        match self.held.written() {
            0 => {}
            written if written >= self.options.most_written || std::mem::take(&mut self.commit_wanted) => {
                self.commit_at = Some(now);
            }
            _ => self.commit_at = self.commit_at.or(Some(now + self.commit_interval())),
        }
    }

    /// How long a task may buffer.
    fn commit_interval(&self) -> Duration {
        self.options.flush_interval.min(self.lock_timeout / 2)
    }

    /// After a put that succeeded but for these.
    fn records_failed(&mut self, now: Instant, failures: Vec<RangeFailure>) {
        let is_final = |failure: &&RangeFailure| !matches!(failure.error, CallError::Retriable { .. });
        let first = failures.iter().find(is_final).or(failures.first());
        match first.map(|failure| failure.error.clone()) {
            None => self.clear_retry(What::Put),
            Some(error) => self.call_failed(now, What::Put, error),
        }
    }

    fn clear_retry(&mut self, what: What) {
        self.retry.take_if(|retry| retry.what == what);
    }

    fn call_failed(&mut self, now: Instant, what: What, error: CallError) {
        match error {
            CallError::Final { trace } => self.fail(trace),
            // Whoever ends does not try again: what is undecided is released.
            CallError::Retriable { .. } if matches!(self.phase, Phase::Ending(_)) => {}
            CallError::Retriable { after, trace } => {
                let earlier = self.retry.take();
                self.retry = Retry::after(earlier, what, now, after, &self.options.retry, &mut self.random);
                if self.retry.is_none() {
                    self.fail(format!("giving up after share.retry.timeout.ms: {trace}"));
                }
            }
        }
    }
}
