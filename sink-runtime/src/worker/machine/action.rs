//! What the machine and its shell say to each other.

use std::time::{Duration, Instant};

use ackflow_client::share::AcquiredRange;

/// Names a delivery that the shell holds. Later ones have higher numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DeliveryId(pub(crate) u64);

/// A delivery that came.
#[derive(Debug)]
pub(crate) struct Acquired {
    pub(crate) id: DeliveryId,
    pub(crate) ranges: Vec<AcquiredRange>,
    pub(crate) lock_deadline: Instant,
    pub(crate) lock_timeout: Duration,
}

/// What the shell has to do next. Those that call the task end with an answer to the machine, one at a time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Call the task's `start`; answer with [`started`](super::Machine::started).
    Start,
    /// Subscribe: become a member of the group.
    Subscribe,
    /// Call the task's `close` and `open` for what has changed of the assignment; answer with
    /// [`reassigned`](super::Machine::reassigned).
    Reassign,
    /// Call the task's `put` with these offsets, which may be none; answer with [`put_finished`](super::Machine::put_finished).
    Put(Vec<(DeliveryId, Vec<AcquiredRange>)>),
    /// Call the task's `pre_commit` for all that was put and is not accepted; answer with [`committed`](super::Machine::committed).
    Commit,
    /// Call the task's `close` and `stop`; answer with [`task_stopped`](super::Machine::task_stopped).
    StopTask,
    /// Leave the group within this time; answer with [`left`](super::Machine::left).
    Leave(Duration),
    /// Let go of the call that runs, and of the task: no answer is expected any more.
    Abandon,
    /// Renew the locks; answer for each with [`renewed`](super::Machine::renewed).
    Renew(Vec<DeliveryId>),
    /// Acknowledge.
    Settle(Vec<Settlement>),
    /// Stop fetching, and tell of everything that is there with [`delivered`](super::Machine::delivered): it is renewed here with the rest
    /// instead of ageing in the consumer.
    TakeOver,
    /// Read the group's delivery limit; answer with [`limit_read`](super::Machine::limit_read).
    ReadLimit,
    /// Wait for whatever comes, or until then. `take` says whether records are wanted.
    Wait {
        /// When to poll the machine again at the latest.
        until: Option<Instant>,
        /// Whether to poll the consumer, and to fetch.
        take: bool,
    },
    /// Nothing is left to do.
    Ended,
}

/// A decision about offsets of one delivery.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Settlement {
    pub(crate) delivery: DeliveryId,
    pub(crate) verdict: Verdict,
    pub(crate) ranges: Vec<AcquiredRange>,
    /// Whether nothing of the delivery is undecided after it.
    pub(crate) is_last: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Accept,
    Release,
}

/// Why a call to the task failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallError {
    /// It may succeed later, not before `after`.
    Retriable { after: Option<Duration>, trace: String },
    /// It will not.
    Final { trace: String },
}

/// Offsets of a put that was otherwise successful, which were not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RangeFailure {
    pub(crate) delivery: DeliveryId,
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) error: CallError,
}
