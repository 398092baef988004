//! What the demo's tasks have received, offset by offset.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::watch;

/// Which offsets have reached the sink, shared by its tasks and locked once a batch.
pub(super) struct Tally {
    state: Mutex<State>,
    expected: u64,
    /// Tells those who wait that something has changed.
    changed: watch::Sender<()>,
}

struct State {
    /// One bit an offset.
    seen: Vec<u64>,
    counts: Counts,
    last_record: Instant,
    /// The task that is to be killed, once it is chosen.
    victim: Option<u32>,
}

/// Totals, in records.
#[derive(Clone, Default)]
pub(super) struct Counts {
    /// Distinct offsets.
    pub(super) delivered: u64,
    /// Records whose delivery count was above 1.
    pub(super) redelivered: u64,
    /// Records by task.
    pub(super) by_task: Vec<u64>,
}

impl Tally {
    pub(super) fn new(expected: u64) -> Self {
        let words = usize::try_from(expected.div_ceil(64)).unwrap_or(usize::MAX);
        let state =
            State { seen: vec![0; words], counts: Counts::default(), last_record: Instant::now(), victim: None };
        Self { state: Mutex::new(state), expected, changed: watch::Sender::new(()) }
    }

    /// Takes in a batch of `(offset, delivery count)` that task `task` has put.
    pub(super) fn add(&self, task: u32, records: impl Iterator<Item = (i64, i16)>) {
        let mut state = self.lock();
        let mut put = 0;
        for (offset, delivery_count) in records {
            put += 1;
            state.counts.redelivered += u64::from(delivery_count > 1);
            let Some(offset) = u64::try_from(offset).ok().filter(|offset| *offset < self.expected) else { continue };
            let (word, bit) = ((offset / 64) as usize, 1 << (offset % 64));
            state.counts.delivered += u64::from(state.seen[word] & bit == 0);
            state.seen[word] |= bit;
        }
        let task = task as usize;
        if state.counts.by_task.len() <= task {
            state.counts.by_task.resize(task + 1, 0);
        }
        state.counts.by_task[task] += put;
        state.last_record = Instant::now();
        self.changed.send_replace(());
    }

    /// Distinct offsets so far.
    pub(super) fn delivered(&self) -> u64 {
        self.lock().counts.delivered
    }

    pub(super) fn counts(&self) -> Counts {
        self.lock().counts.clone()
    }

    /// When the last record came.
    pub(super) fn last_record(&self) -> Instant {
        self.lock().last_record
    }

    /// Makes `task` the one to kill if a quarter of the records has come and none was chosen before.
    pub(super) fn take_victim(&self, task: u32) -> bool {
        let mut state = self.lock();
        let chosen = state.victim.is_none() && state.counts.delivered >= self.expected / 4;
        if chosen {
            state.victim = Some(task);
            self.changed.send_replace(());
        }
        chosen
    }

    /// The task to kill.
    pub(super) fn victim(&self) -> Option<u32> {
        self.lock().victim
    }

    /// Sees each change of the counts and of the victim.
    pub(super) fn watch(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Counts stay true even where a task has panicked while it held them.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_counts_once_and_a_delivery_above_one_as_redelivered() {
        let tally = Tally::new(100);
        tally.add(0, [(0, 1), (1, 1), (99, 1)].into_iter());
        tally.add(2, [(1, 2), (2, 1), (500, 1)].into_iter());
        let counts = tally.counts();
        assert_eq!((counts.delivered, counts.redelivered), (4, 1));
        assert_eq!(counts.by_task, [3, 0, 3]);
    }
}
