//! What a task holds of the group: deliveries, how far each is, and when its lock must be renewed.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use ackflow_client::share::AcquiredRange;

use super::action::{Acquired, DeliveryId, RangeFailure, Settlement, Verdict};

#[derive(Debug, Default)]
pub(super) struct Held {
    items: BTreeMap<DeliveryId, Item>,
}

#[derive(Debug)]
struct Item {
    stage: Stage,
    /// Not written.
    todo: Vec<AcquiredRange>,
    /// Written, and to be accepted after a commit.
    written: Vec<AcquiredRange>,
    lock_deadline: Instant,
    lock_timeout: Duration,
    renewing: bool,
}

/// How far the offsets are that are not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// No put has had them.
    Waiting,
    /// A put that runs has them.
    Putting,
    /// A put has failed with them.
    Failed,
}

impl Item {
    /// Half of the lock is over.
    fn renew_at(&self) -> Instant {
        self.lock_deadline - self.lock_timeout / 2
    }

    fn is_done(&self) -> bool {
        self.todo.is_empty() && self.written.is_empty()
    }
}

/// How many offsets.
pub(super) fn count(ranges: &[AcquiredRange]) -> u64 {
    ranges.iter().map(|range| range.last.abs_diff(range.first) + 1).sum()
}

impl Held {
    pub(super) fn insert(&mut self, acquired: Acquired) {
        let Acquired { id, ranges, lock_deadline, lock_timeout } = acquired;
        let (stage, written) = (Stage::Waiting, Vec::new());
        self.items.insert(id, Item { stage, todo: ranges, written, lock_deadline, lock_timeout, renewing: false });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Records that are held in any way.
    pub(super) fn records(&self) -> u64 {
        self.items.values().map(|item| count(&item.todo) + count(&item.written)).sum()
    }

    /// Records that are written and not accepted.
    pub(super) fn written(&self) -> u64 {
        self.items.values().map(|item| count(&item.written)).sum()
    }

    /// The lock is lost: what was held under it is no longer ours.
    pub(super) fn lose(&mut self, id: DeliveryId) {
        self.items.remove(&id);
    }

    /// Takes what waits into a put: whole deliveries in the order in which they came, up to `most` records, but at least one. One whose lock
    /// is over by `now` waits on for the answer to its renewal: somebody else may have the records.
    pub(super) fn begin_put(&mut self, now: Instant, most: u64) -> Vec<(DeliveryId, Vec<AcquiredRange>)> {
        let mut put = Vec::new();
        let mut records = 0;
        let ready = |item: &Item| item.stage == Stage::Waiting && now < item.lock_deadline;
        for (&id, item) in self.items.iter_mut().filter(|(_, item)| ready(item)) {
            records += count(&item.todo);
            if records > most && !put.is_empty() {
                break;
            }
            item.stage = Stage::Putting;
            put.push((id, item.todo.clone()));
        }
        put
    }

    /// Takes into a put what waits and will not be handed out again.
    pub(super) fn begin_last_put(&mut self, limit: i16) -> Vec<(DeliveryId, Vec<AcquiredRange>)> {
        let is_last = |item: &Item| item.todo.iter().any(|range| range.delivery_count >= limit);
        let waiting = self.items.iter_mut().filter(|(_, item)| item.stage == Stage::Waiting && is_last(item));
        let begin = |(&id, item): (_, &mut Item)| {
            item.stage = Stage::Putting;
            (id, item.todo.clone())
        };
        waiting.map(begin).collect()
    }

    /// Takes what failed into a put again.
    pub(super) fn begin_retry(&mut self) -> Vec<(DeliveryId, Vec<AcquiredRange>)> {
        let failed = self.items.iter_mut().filter(|(_, item)| item.stage == Stage::Failed && !item.todo.is_empty());
        let begin = |(&id, item): (_, &mut Item)| {
            item.stage = Stage::Putting;
            (id, item.todo.clone())
        };
        failed.map(begin).collect()
    }

    /// The put has ended. `failed` tells which of these offsets it did not write; the others are written.
    pub(super) fn end_put(&mut self, mut failed: impl FnMut(DeliveryId, &AcquiredRange) -> Vec<AcquiredRange>) {
        for (&id, item) in self.items.iter_mut().filter(|(_, item)| item.stage == Stage::Putting) {
            let not_written: Vec<_> = item.todo.iter().flat_map(|range| failed(id, range)).collect();
            for range in std::mem::take(&mut item.todo) {
                item.written.extend(without(range, &not_written));
            }
            item.written.sort_unstable_by_key(|range| range.first);
            item.todo = not_written;
            item.stage = Stage::Failed;
        }
    }

    /// Accepts what is written, of each delivery below the offset that `below` gives for it.
    pub(super) fn accept_written(&mut self, mut below: impl FnMut(DeliveryId) -> i64) -> Vec<Settlement> {
        self.settle(Verdict::Accept, |id, item| {
            let below = below(id);
            split(&mut item.written, |range| below.clamp(range.first, range.last.saturating_add(1)))
        })
    }

    /// Releases everything, but for what `keep` picks.
    pub(super) fn release(&mut self, keep: impl Fn(&AcquiredRange) -> bool) -> Vec<Settlement> {
        self.settle(Verdict::Release, |_, item| {
            item.todo.append(&mut item.written);
            item.todo.sort_unstable_by_key(|range| range.first);
            let (kept, released) = item.todo.drain(..).partition(&keep);
            item.todo = kept;
            item.stage = Stage::Failed;
            released
        })
    }

    fn settle(
        &mut self,
        verdict: Verdict,
        mut take: impl FnMut(DeliveryId, &mut Item) -> Vec<AcquiredRange>,
    ) -> Vec<Settlement> {
        let mut settlements = Vec::new();
        self.items.retain(|&delivery, item| {
            let ranges = take(delivery, item);
            let is_last = item.is_done();
            if !ranges.is_empty() {
                settlements.push(Settlement { delivery, verdict, ranges, is_last });
            }
            !is_last
        });
        settlements
    }

    /// Begins to renew what is due at `now`, and with it what will be due soon, so that few requests are made.
    pub(super) fn begin_renewals(&mut self, now: Instant) -> Vec<DeliveryId> {
        if !self.items.values().any(|item| !item.renewing && item.renew_at() <= now) {
            return Vec::new();
        }
        let soon = |item: &Item| !item.renewing && item.renew_at() <= now + item.lock_timeout / 8;
        let due = self.items.iter_mut().filter(|(_, item)| soon(item));
        let begin = |(&id, item): (_, &mut Item)| {
            item.renewing = true;
            id
        };
        due.map(begin).collect()
    }

    pub(super) fn renewed(&mut self, id: DeliveryId, lock_deadline: Instant) {
        if let Some(item) = self.items.get_mut(&id) {
            item.renewing = false;
            item.lock_deadline = lock_deadline;
        }
    }

    /// When the next renewal is due.
    pub(super) fn next_renewal(&self) -> Option<Instant> {
        self.items.values().filter(|item| !item.renewing).map(Item::renew_at).min()
    }
}

/// The parts of `range` that `failures` name, in order.
pub(super) fn within<'a>(
    range: &AcquiredRange,
    failures: impl Iterator<Item = &'a RangeFailure>,
) -> Vec<AcquiredRange> {
    let cut = |failure: &RangeFailure| {
        let (first, last) = (range.first.max(failure.first), range.last.min(failure.last));
        (first <= last).then_some(AcquiredRange { first, last, ..*range })
    };
    let mut parts: Vec<_> = failures.filter_map(cut).collect();
    parts.sort_unstable_by_key(|part| part.first);
    // A record that is named twice has failed once.
    parts.dedup_by(|part, before| {
        let overlaps = part.first <= before.last;
        if overlaps {
            before.last = before.last.max(part.last);
        }
        overlaps
    });
    parts
}

/// What is left of `range` without `holes`, which lie in order.
fn without(range: AcquiredRange, holes: &[AcquiredRange]) -> Vec<AcquiredRange> {
    let mut left = Vec::new();
    let mut first = range.first;
    for hole in holes.iter().filter(|hole| hole.first <= range.last && range.first <= hole.last) {
        if first < hole.first {
            left.push(AcquiredRange { first, last: hole.first - 1, ..range });
        }
        first = hole.last.saturating_add(1);
    }
    if first <= range.last {
        left.push(AcquiredRange { first, ..range });
    }
    left
}

/// Takes of each range what lies below the offset that `at` gives for it.
fn split(ranges: &mut Vec<AcquiredRange>, at: impl Fn(&AcquiredRange) -> i64) -> Vec<AcquiredRange> {
    let mut below = Vec::new();
    ranges.retain_mut(|range| {
        let at = at(range);
        if range.first < at {
            below.push(AcquiredRange { last: at - 1, ..*range });
        }
        range.first = at;
        range.first <= range.last
    });
    below
}
