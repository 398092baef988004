//! The worker: it runs the tasks of connectors on a share group.
//!
//! `start` checks everything and starts; `share_task` is the loop of one task, around the pure `machine` that decides; `caller` calls the sink,
//! `deliveries` settles with the group; `group` sees to the group's settings.

mod caller;
mod counters;
mod deliveries;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod group;
mod machine;
mod running;
mod share_task;
mod start;
mod status;

pub use counters::TaskCounters;
pub use machine::TaskState;
pub use running::RunningWorker;
pub use start::{StartError, Worker};
pub use status::TaskStatus;
