//! One partition that is read: where it stands, what was fetched of it and not handed out yet.
//!
//! ```text
//!   Unknown --OffsetFetch--> Validating --OffsetForLeaderEpoch--> Ready --fetch--> Ready
//!      |  nothing committed     ^   |  truncated                   | |
//!      +--> Resetting <---------|---+                              | +-- out of range, once what was fetched is handed out
//!              |  ListOffsets   +---- a new leader ----------------+
//!              +----------------------------------------------------> Ready
//!   any --- nowhere to go on (auto.offset.reset=none, a bad batch) ---> Stopped --- seek ---> Ready
//! ```

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use super::{
    options::{ConsumerOptions, OffsetReset},
    types::{Position, Run},
};
use crate::{
    machine::{
        backoff::Backoff,
        types::{RequestId, TopicIdPartition},
    },
    wire::ErrorCode,
};

#[derive(Debug)]
pub(super) struct Partition {
    /// By the topic's id, where the group has assigned it.
    pub(super) id: Option<TopicIdPartition>,
    pub(super) run: Run,
    pub(super) phase: Phase,
    /// Whether the application has not confirmed yet that it has the partition.
    pub(super) is_new: bool,
    /// Whether it is being given up.
    pub(super) is_leaving: bool,
    pub(super) is_paused: bool,
    /// What is handed out next.
    pub(super) position: Option<Position>,
    /// The leader epoch that the position was checked against.
    pub(super) checked: i32,
    /// What was fetched and not handed out: the offset behind each part, and its bytes.
    buffered: VecDeque<(i64, usize)>,
    pub(super) buffered_bytes: usize,
    /// The position is outside the log, which counts once what was fetched is handed out.
    pub(super) out_of_range: bool,
    /// The question about it that is out.
    pub(super) asking: Option<RequestId>,
    pub(super) retry_at: Option<Instant>,
    pub(super) backoff: Backoff,
    /// The replica to read from rather than the leader, and until when (KIP-392).
    pub(super) replica: Option<(i32, Instant)>,
    /// The error that the application was told, until one fetch goes well.
    pub(super) reported: Option<ErrorCode>,
    /// The offset that was committed last.
    pub(super) committed: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// To be asked of the group.
    Unknown,
    /// To be asked of the leader.
    Resetting(Target),
    /// Whether the log still has the record before has to be asked of the leader.
    Validating(Position),
    /// Fetched from there.
    Ready(Position),
    /// Nothing to do before a seek.
    Stopped,
}

/// What to ask a leader for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Earliest,
    Latest,
    /// The first record that is not older than so long.
    Age(Duration),
}

impl Target {
    /// What a policy asks for; `None` where it is an error instead.
    pub(super) fn of(reset: OffsetReset) -> Option<Self> {
        match reset {
            OffsetReset::Earliest => Some(Self::Earliest),
            OffsetReset::Latest => Some(Self::Latest),
            OffsetReset::ByDuration(age) => Some(Self::Age(age)),
            OffsetReset::None => None,
        }
    }
}

impl Partition {
    pub(super) fn new(id: Option<TopicIdPartition>, run: Run, options: &ConsumerOptions, seed: u64) -> Self {
        Self {
            id,
            run,
            phase: Phase::Unknown,
            is_new: false,
            is_leaving: false,
            is_paused: false,
            position: None,
            checked: -1,
            buffered: VecDeque::new(),
            buffered_bytes: 0,
            out_of_range: false,
            asking: None,
            retry_at: None,
            backoff: Backoff::new(options.retry_backoff, options.retry_backoff_max, seed),
            replica: None,
            reported: None,
            committed: None,
        }
    }

    /// Begins another stretch.
    pub(super) fn seek(&mut self, run: Run, phase: Phase) {
        self.run = run;
        self.phase = phase;
        self.position = match phase {
            Phase::Ready(position) | Phase::Validating(position) => Some(position),
            _ => None,
        };
        self.buffered.clear();
        self.buffered_bytes = 0;
        self.out_of_range = false;
        self.asking = None;
        self.retry_at = None;
        self.replica = None;
        self.reported = None;
    }

    /// Goes on from there.
    pub(super) fn begin(&mut self, position: Position, checked: i32) {
        self.phase = Phase::Ready(position);
        self.position = Some(position);
        self.checked = checked;
        self.went_well();
    }

    /// A question about it was answered.
    pub(super) fn went_well(&mut self) {
        self.asking = None;
        self.retry_at = None;
        self.reported = None;
        self.backoff.reset();
    }

    /// No question about it for a while, longer each time until one goes well.
    pub(super) fn back_off(&mut self, now: Instant) {
        self.asking = None;
        self.retry_at = Some(now + self.backoff.next_delay());
    }

    /// Whether a question about it can be asked now.
    pub(super) fn may_ask(&self, now: Instant) -> bool {
        !self.is_new && !self.is_leaving && self.asking.is_none() && self.retry_at.is_none_or(|at| at <= now)
    }

    /// So many bytes were fetched that reach up to `next`.
    pub(super) fn buffer(&mut self, next: i64, bytes: usize) {
        self.buffered.push_back((next, bytes));
        self.buffered_bytes += bytes;
    }

    /// Everything before the position was handed out.
    pub(super) fn taken(&mut self, position: Position) {
        self.position = Some(position);
        while let Some((_, bytes)) = self.buffered.pop_front_if(|(next, _)| *next <= position.offset) {
            self.buffered_bytes -= bytes;
        }
    }

    /// Whether all that was fetched is handed out.
    pub(super) fn is_drained(&self) -> bool {
        self.buffered.is_empty()
    }
}
