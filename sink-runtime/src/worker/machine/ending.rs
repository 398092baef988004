//! How a task ends, whether it was stopped or has failed.
//!
//! In this order: fetching stops, and what was fetched ahead is taken over; the call that runs ends or is abandoned; records that wait on their last delivery are put; what was written is committed; the
//! rest is released; the member leaves; the task is stopped. A failed task that keeps records stops between the last two: it is stopped, and
//! leaves when nothing is kept any more.

use std::time::{Duration, Instant};

use super::{Action, Call, Machine, Phase};
use crate::config::LastDelivery;

#[derive(Debug)]
pub(super) struct Ending {
    /// When to have left the group; `None` while a failed task may take its time.
    deadline: Option<Deadline>,
    has_committed: bool,
    has_left: bool,
    is_holding: bool,
}

#[derive(Debug, Clone, Copy)]
struct Deadline {
    /// When to let go of a call that still runs. Some time is left then to release its records and to leave.
    abandon: Instant,
    leave: Instant,
}

/// What leaving gets at the least.
const LEAVE_AT_LEAST: Duration = Duration::from_millis(200);

/// What leaving gets when nothing presses.
const LEAVE_AT_EASE: Duration = Duration::from_secs(5);

impl Ending {
    /// Of a task that has failed.
    pub(super) fn failing() -> Self {
        Self { deadline: None, has_committed: false, has_left: false, is_holding: false }
    }

    /// Of a task that is stopped at `now`.
    pub(super) fn stopping(now: Instant, timeout: Duration) -> Self {
        let mut ending = Self::failing();
        ending.stop(now, timeout);
        ending
    }

    /// Sets the deadline, if there is none.
    pub(super) fn stop(&mut self, now: Instant, timeout: Duration) {
        self.is_holding = false;
        self.deadline.get_or_insert(Deadline { abandon: now + timeout / 5 * 4, leave: now + timeout });
    }

    /// Whether nothing is left but to keep records.
    pub(super) fn is_holding(&self) -> bool {
        self.is_holding
    }
}

impl Machine {
    pub(super) fn ending(&mut self, now: Instant) -> Action {
        let Phase::Ending(ending) = &mut self.phase else { return Action::Ended };
        let deadline = ending.deadline;
        let is_late = deadline.is_some_and(|deadline| deadline.abandon <= now);
        if let Some(call) = self.call {
            // Leaving has its own time.
            if call == Call::Leave || !is_late {
                let until = deadline.filter(|_| call != Call::Leave).map(|deadline| deadline.abandon);
                return self.wait(until, false);
            }
            self.call = None;
            self.task_over = true;
            self.held.end_put(|_, range| vec![*range]);
            return Action::Abandon;
        }
        let can_work = !self.task_over && !is_late;
        if can_work && self.failure.is_none() && self.is_member {
            let put = self.held.begin_last_put(self.options.delivery_limit);
            if !put.is_empty() {
                return self.begin(Call::Put, Action::Put(put));
            }
        }
        if can_work && self.held.written() > 0 && !ending.has_committed {
            ending.has_committed = true;
            return self.begin(Call::Commit, Action::Commit);
        }
        let keeps = self.failure.is_some() && deadline.is_none() && self.options.last_delivery == LastDelivery::Hold;
        let limit = self.options.delivery_limit;
        let released = self.held.release(|range| keeps && range.delivery_count >= limit);
        if !released.is_empty() {
            return Action::Settle(released);
        }
        ending.is_holding = !self.held.is_empty();
        if !ending.is_holding && self.is_member && !ending.has_left {
            ending.has_left = true;
            let within = deadline.map_or(LEAVE_AT_EASE, |deadline| deadline.leave.saturating_duration_since(now));
            return self.begin(Call::Leave, Action::Leave(within.max(LEAVE_AT_LEAST)));
        }
        if !self.task_over {
            self.task_over = true;
            return self.begin(Call::Stop, Action::StopTask);
        }
        if ending.is_holding {
            return self.wait(None, false);
        }
        self.phase = Phase::Ended;
        Action::Ended
    }

    /// The task's `close` and `stop` returned.
    pub(crate) fn task_stopped(&mut self) {
        self.call = None;
    }

    /// The member has left the group, or could not in time.
    pub(crate) fn left(&mut self) {
        self.call = None;
    }
}
