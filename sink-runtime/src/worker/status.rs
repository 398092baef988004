//! What the worker tells about its tasks.

use super::machine::TaskState;

/// Where one task stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskStatus {
    /// Name of the connector.
    pub connector: String,
    /// Number of the task, from 0.
    pub task: u32,
    /// Its state.
    pub state: TaskState,
    /// Why it failed, or what it is trying again after.
    pub trace: Option<String>,
    /// Records that it holds undecided. A failed task holds those which the broker would archive if they were given back
    /// (`share.last.delivery=hold`).
    pub held: u64,
    /// Whether nothing more will happen: it has left the group and let go of everything.
    pub has_ended: bool,
}

impl TaskStatus {
    pub(super) fn starting(connector: &str, task: u32) -> Self {
        let (connector, state) = (connector.to_owned(), TaskState::Starting);
        Self { connector, task, state, trace: None, held: 0, has_ended: false }
    }
}
