//! A worker that runs.

use std::{sync::Arc, time::Duration};

use tokio::{sync::watch, task::AbortHandle};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    counters::{Counters, TaskCounters},
    machine::TaskState,
    status::TaskStatus,
};
use crate::contract::TaskFactory;

/// The tasks of a worker. Dropping it stops them as [`stop`](Self::stop) does, without waiting.
pub struct RunningWorker {
    tasks: Vec<RunningTask>,
    /// What the tasks of each connector share.
    _factories: Vec<Box<dyn TaskFactory>>,
    tracker: TaskTracker,
    stop: CancellationToken,
    graceful_timeout: Duration,
}

pub(super) struct RunningTask {
    pub(super) status: watch::Receiver<TaskStatus>,
    pub(super) counters: Arc<Counters>,
    pub(super) abort: AbortHandle,
}

/// What the tasks get beyond the graceful timeout to end by themselves.
const BEYOND: Duration = Duration::from_secs(1);

impl RunningWorker {
    pub(super) fn new(
        tasks: Vec<RunningTask>,
        factories: Vec<Box<dyn TaskFactory>>,
        tracker: TaskTracker,
        stop: CancellationToken,
        graceful_timeout: Duration,
    ) -> Self {
        Self { tasks, _factories: factories, tracker, stop, graceful_timeout }
    }

    /// Where each task stands, by connector and number.
    pub fn status(&self) -> Vec<TaskStatus> {
        self.tasks.iter().map(RunningTask::status).collect()
    }

    /// The counters of each task, in the order of [`status`](Self::status).
    pub fn counters(&self) -> Vec<TaskCounters> {
        self.tasks.iter().map(|task| task.counters.snapshot()).collect()
    }

    /// Resolves when every task has ended, by itself or because it was stopped. A failed task that holds records
    /// (`share.last.delivery=hold`) has not. Cancel-safe.
    pub async fn finished(&self) {
        self.tracker.wait().await;
    }

    /// Stops all tasks: each ends the call that runs, commits, accepts what was written, releases the rest and leaves the group. A call that
    /// takes longer than `task.shutdown.graceful.timeout.ms` is let go of, and its records are released. Gives where each task stands then.
    ///
    /// Cancel-safe: the tasks stop all the same.
    pub async fn stop(self) -> Vec<TaskStatus> {
        self.stop.cancel();
        if tokio::time::timeout(self.graceful_timeout + BEYOND, self.tracker.wait()).await.is_err() {
            for task in &self.tasks {
                task.abort.abort();
            }
        }
        self.status()
    }

    /// Ends a task without ado, as if it had died: what it holds goes back to the group. Gives whether there is such a task.
    pub fn abort_task(&self, connector: &str, number: u32) -> bool {
        let is_meant = |task: &&RunningTask| {
            let status = task.status.borrow();
            status.connector == connector && status.task == number
        };
        let meant = self.tasks.iter().find(is_meant);
        meant.inspect(|task| task.abort.abort()).is_some()
    }
}

impl Drop for RunningWorker {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl std::fmt::Debug for RunningWorker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunningWorker").field("tasks", &self.status()).finish_non_exhaustive()
    }
}

impl RunningTask {
    fn status(&self) -> TaskStatus {
        let mut status = self.status.borrow().clone();
        if self.abort.is_finished() && !status.has_ended {
            status.state = TaskState::Failed;
            status.trace.get_or_insert_with(|| "it was aborted".to_owned());
            (status.held, status.has_ended) = (0, true);
        }
        status
    }
}
