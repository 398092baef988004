//! What a task may ask of its worker.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use super::TopicPartition;

/// A task's line to its worker. A clone is the same line; a task keeps one if it needs it after `start`.
#[derive(Debug, Clone)]
pub struct SinkTaskContext {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    connector: Arc<str>,
    task: u32,
    assignment: Mutex<Arc<[TopicPartition]>>,
    commit: Notify,
}

impl SinkTaskContext {
    pub(crate) fn new(connector: Arc<str>, task: u32) -> Self {
        let assignment = Mutex::new(Arc::from([]));
        Self { shared: Arc::new(Shared { connector, task, assignment, commit: Notify::new() }) }
    }

    /// Name of the connector.
    pub fn connector(&self) -> &str {
        &self.shared.connector
    }

    /// Number of the task, from 0.
    pub fn task(&self) -> u32 {
        self.shared.task
    }

    /// The partitions that are assigned now; none before the first `open`. In a share group other tasks have them, too.
    pub fn assignment(&self) -> Arc<[TopicPartition]> {
        self.shared.assignment.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks the worker to commit soon instead of at the next interval. It matters to a task that buffers.
    pub fn request_commit(&self) {
        self.shared.commit.notify_one();
    }

    pub(crate) fn set_assignment(&self, partitions: Arc<[TopicPartition]>) {
        *self.shared.assignment.lock().unwrap_or_else(PoisonError::into_inner) = partitions;
    }

    /// Resolves once for one or more [`request_commit`](Self::request_commit). Cancel-safe: a request is not lost.
    pub(crate) async fn commit_requested(&self) {
        self.shared.commit.notified().await;
    }
}
