//! A share partition: one partition as one share group sees it.
//!
//! Records between the start offset (SPSO) and the end offset (SPEO) are in flight: available, acquired, acknowledged
//! or archived. Below the start all are done, above the end none was delivered yet. The states are kept as runs of
//! offsets inside the batches in which they were first acquired, so that a million acknowledged records cost nothing
//! and a held one costs one run.
//!
//! ```text
//!              acquire (delivery count + 1)
//!   Available ------------------------------> Acquired --accept--> Acknowledged
//!       ^                                       | | |
//!       '--release, lock timeout, session end---' | '--reject, gap------> Archived
//!                  (below the delivery limit)     '--at the limit-------> Archived
//! ```
//!
//! What is acknowledged in a transaction (KIP-1289, `stage.rs`) is pending in between, until the transaction ends.

mod acknowledge;
mod acquire;
mod history;
mod in_flight;
#[cfg(feature = "unstable-kip-1289")]
mod stage;
mod withhold;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::dead_letters::reason;
pub(crate) use acknowledge::{AcknowledgeError, AcknowledgementRange};
pub(crate) use acquire::{AcquireMode, AcquireRequest, AcquiredRange, LogSpan};
pub use history::{FailedAttempt, RecordChange, RecordEvent};
pub(crate) use in_flight::RecordState;
use in_flight::{InFlightBatch, Run};
#[cfg(feature = "unstable-kip-1289")]
pub(crate) use stage::Staged;

/// The group's settings that decide about acquisition. They may change between two calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShareLimits {
    /// `share.record.lock.duration.ms`.
    pub(crate) lock_duration: Duration,
    /// `share.delivery.count.limit`.
    pub(crate) delivery_count_limit: i16,
    /// `share.partition.max.record.locks`: offsets between start and end.
    pub(crate) max_record_locks: i32,
    /// `share.renew.acknowledge.enable`.
    pub(crate) renew_enabled: bool,
    /// Whether what is given up goes to a dead letter queue.
    pub(crate) dead_letters: bool,
}

impl ShareLimits {
    /// What a record is whose attempt, the one of this number, has failed, and whether it was the last one.
    fn after_failure(&self, delivery_count: i16) -> (RecordState, bool) {
        match delivery_count >= self.delivery_count_limit {
            true => (RecordState::Archived, true),
            false => (RecordState::Available, false),
        }
    }
}

/// The states of the records of one partition for one group.
#[derive(Debug)]
pub(crate) struct SharePartition {
    start_offset: i64,
    /// The last offset in flight, or the start offset where none is.
    end_offset: i64,
    /// By first offset; disjoint.
    batches: BTreeMap<i64, InFlightBatch>,
    /// Whether a record below the end may be available. Kept so that a search is made only when one may find something.
    search: bool,
    /// When locks run out, by deadline and first offset; the value is the last offset. Entries may be out of date: the
    /// runs decide.
    locks: BTreeMap<(Instant, i64), i64>,
    /// Whether an attempt has ended: only then Kafka has a state of the partition that it can describe.
    has_state: bool,
    /// What was given up and is in no dead letter queue yet.
    given_up: Vec<RecordChange>,
    /// What happened since it was asked for last, where anybody asks.
    history: Option<Vec<RecordChange>>,
}

impl SharePartition {
    /// A share partition in which nothing was delivered yet.
    pub(crate) fn new(start_offset: i64) -> Self {
        Self {
            start_offset,
            end_offset: start_offset,
            batches: BTreeMap::new(),
            search: false,
            locks: BTreeMap::new(),
            has_state: false,
            given_up: Vec::new(),
            history: None,
        }
    }

    /// One whose start was set from outside, which is a state that can be described.
    pub(crate) fn set_to(start_offset: i64) -> Self {
        Self { has_state: true, ..Self::new(start_offset) }
    }

    /// Notes from now on what happens.
    pub(crate) fn keep_history(&mut self) {
        self.history.get_or_insert_default();
    }

    /// What happened since this was asked for last.
    pub(crate) fn take_history(&mut self) -> Vec<RecordChange> {
        self.history.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// What was given up since this was asked for last, of a group with a dead letter queue.
    pub(crate) fn take_given_up(&mut self) -> Vec<RecordChange> {
        std::mem::take(&mut self.given_up)
    }

    /// Every record from the start to the end: first and last offset, state, delivery count.
    pub(crate) fn records(&self) -> impl Iterator<Item = (i64, i64, &RecordState, i16)> {
        let start = self.start_offset;
        let runs = self.batches.values().flat_map(InFlightBatch::runs).filter(move |run| run.last >= start);
        runs.map(move |run| (run.first.max(start), run.last, &run.state, run.delivery_count))
    }

    /// The first offset that is not done (SPSO).
    pub(crate) fn start_offset(&self) -> i64 {
        self.start_offset
    }

    /// Whether the attempt of any record has ended.
    pub(crate) fn has_state(&self) -> bool {
        self.has_state
    }

    /// The records at or above the start that are done already.
    pub(crate) fn delivery_complete_count(&self) -> i64 {
        self.batches
            .values()
            .flat_map(InFlightBatch::runs)
            .filter(|run| run.state.is_terminal() && run.last >= self.start_offset)
            .map(|run| run.last - run.first.max(self.start_offset) + 1)
            .sum()
    }

    /// Where the next fetch has to read from: the first available record, or the first one never delivered.
    pub(crate) fn next_fetch_offset(&mut self) -> i64 {
        if self.batches.is_empty() {
            return self.end_offset;
        }
        if self.search {
            let first = self
                .batches
                .values()
                .flat_map(InFlightBatch::runs)
                .find(|run| run.state == RecordState::Available)
                .map(|run| run.first);
            match first {
                Some(first) => return first,
                None => self.search = false,
            }
        }
        self.end_offset + 1
    }

    /// Whether a member may acquire at all: a record in flight is available, or there is room for more in flight.
    pub(crate) fn can_acquire(&mut self, limits: &ShareLimits) -> bool {
        self.next_fetch_offset() != self.end_offset + 1 || self.in_flight() < i64::from(limits.max_record_locks)
    }

    /// The offsets from start to end, done ones among them: a record that is held long holds the whole window.
    fn in_flight(&self) -> i64 {
        if self.batches.is_empty() { 0 } else { self.end_offset - self.start_offset + 1 }
    }

    /// Gives back all records that `member` holds. It counts as a failed attempt. Says whether there is more
    /// to acquire now.
    pub(crate) fn release_all(&mut self, member: &str, limits: &ShareLimits) -> bool {
        self.end_attempts(i64::MIN, i64::MAX, limits, FailedAttempt::SessionEnded, |state| state.is_held_by(member))
    }

    /// Forgets who holds what, as a broker does that lost its memory: acquisition is not part of the durable state, so
    /// the attempts under way do not count.
    pub(crate) fn forget_acquired(&mut self) {
        let mut noted = Vec::new();
        for batch in self.batches.values_mut() {
            let (first, last) = (batch.first(), batch.last());
            batch.update(first, last, |run| {
                if let RecordState::Acquired { member, .. } = &run.state {
                    noted.push(run.change(member.clone(), RecordEvent::Forgotten));
                    run.state = RecordState::Available;
                    run.delivery_count -= 1;
                }
            });
        }
        self.search = true;
        self.locks.clear();
        self.note(noted);
    }

    /// The log begins at `offset` from now on: whatever the records before it were up to, they are done.
    pub(crate) fn log_starts_at(&mut self, offset: i64) {
        if offset <= self.start_offset {
            return;
        }
        for batch in self.batches.range_mut(..offset).map(|(_, batch)| batch) {
            if batch.last() >= offset {
                batch.split();
            }
            batch.update(i64::MIN, offset - 1, |run| {
                if !run.state.is_terminal() {
                    run.state = RecordState::Archived;
                }
            });
        }
        self.move_start();
        if self.batches.is_empty() && self.start_offset < offset {
            (self.start_offset, self.end_offset) = (offset, offset);
        }
    }

    /// Keeps what was given up for the dead letter queue, and notes all changes.
    fn note_ends(&mut self, limits: &ShareLimits, changes: Vec<RecordChange>) {
        if limits.dead_letters {
            self.given_up.extend(changes.iter().filter(|change| reason(change.what).is_some()).cloned());
        }
        self.note(changes);
    }

    fn note(&mut self, changes: Vec<RecordChange>) {
        if let Some(history) = &mut self.history {
            history.extend(changes);
        }
    }

    /// Gives back all records that anybody holds, as if their locks had run out. Says whether there is more to acquire now.
    pub(crate) fn expire_all(&mut self, limits: &ShareLimits) -> bool {
        let is_held = |state: &RecordState| matches!(state, RecordState::Acquired { .. });
        self.end_attempts(i64::MIN, i64::MAX, limits, FailedAttempt::LockExpired, is_held)
    }

    /// Gives back all records whose lock has run out. Says whether there is more to acquire now.
    pub(crate) fn expire_locks(&mut self, now: Instant, limits: &ShareLimits) -> bool {
        let mut released = false;
        while let Some((&(deadline, first), &last)) = self.locks.first_key_value() {
            if deadline > now {
                break;
            }
            self.locks.pop_first();
            released |= self.end_attempts(
                first,
                last,
                limits,
                FailedAttempt::LockExpired,
                |state| matches!(state, RecordState::Acquired { deadline, .. } if *deadline <= now),
            );
        }
        released
    }

    /// When the next lock may run out.
    pub(crate) fn next_lock_deadline(&mut self) -> Option<Instant> {
        // Locks mostly end in the order in which they were taken, so what is done is found at the front.
        while let Some((key, last)) = self.locks.first_key_value() {
            if *last >= self.start_offset {
                return Some(key.0);
            }
            let key = *key;
            self.locks.remove(&key);
        }
        None
    }

    /// Ends the attempt of each record in `first..=last` whose state `ends` picks: back to available, or archived at
    /// the delivery limit. Says whether there is more to acquire now.
    fn end_attempts(
        &mut self,
        first: i64,
        last: i64,
        limits: &ShareLimits,
        cause: FailedAttempt,
        ends: impl Fn(&RecordState) -> bool,
    ) -> bool {
        let from = self.batches.range(..=first).next_back().map_or(first, |(&from, _)| from);
        let mut released = false;
        let mut noted = Vec::new();
        for batch in self.batches.range_mut(from..=last).map(|(_, batch)| batch) {
            if !batch.runs().iter().any(|run| ends(&run.state)) {
                continue;
            }
            if batch.runs().len() > 1 || first > batch.first() || last < batch.last() {
                batch.split();
            }
            self.has_state = true;
            batch.update(first, last, |run| {
                if ends(&run.state) {
                    noted.extend(end_attempt(run, limits, cause));
                    released |= run.state == RecordState::Available;
                }
            });
        }
        self.search |= released;
        self.note_ends(limits, noted);
        self.move_start() || released
    }

    /// Lets the start offset pass what is done. Says whether it moved.
    fn move_start(&mut self) -> bool {
        let before = self.start_offset;
        while let Some((&first, batch)) = self.batches.first_key_value() {
            match batch.runs().iter().find(|run| !run.state.is_terminal()) {
                Some(run) => {
                    self.start_offset = self.start_offset.max(run.first);
                    return self.start_offset != before;
                }
                None => {
                    self.start_offset = batch.last() + 1;
                    self.batches.remove(&first);
                }
            }
        }
        self.end_offset = self.start_offset;
        self.search = false;
        self.locks.clear();
        self.start_offset != before
    }

    /// Notes that `first..=last` is locked until `deadline`.
    fn lock(&mut self, deadline: Instant, first: i64, last: i64) {
        self.locks.entry((deadline, first)).and_modify(|l| *l = last.max(*l)).or_insert(last);
    }
}

/// What becomes of a record whose attempt ended without success.
fn end_attempt(run: &mut Run, limits: &ShareLimits, cause: FailedAttempt) -> Option<RecordChange> {
    let (state, archived) = limits.after_failure(run.delivery_count);
    match std::mem::replace(&mut run.state, state) {
        RecordState::Acquired { member, .. } => Some(run.change(member, RecordEvent::Failed { cause, archived })),
        _ => None,
    }
}
