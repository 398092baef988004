//! Locks that are renewed by themselves, until somebody has decided about the records or a limit is reached.

use std::time::{Duration, Instant};

use super::partition::Lock;
use crate::machine::{
    ranges::{Range, RangeMap},
    types::{AckRange, AckType, AutoRenew, KeepEnd, KeepId},
};

/// Renewals that are due within this part of a lock go together.
const TOGETHER: u32 = 20;

/// What is kept of one partition.
#[derive(Debug, Default)]
pub(super) struct Keeping {
    /// The offsets, all of them held, by what keeps them.
    kept: RangeMap<KeepId>,
    keeps: Vec<Keep>,
}

#[derive(Debug)]
struct Keep {
    id: KeepId,
    renew: AutoRenew,
    began: Instant,
    renewals: u32,
    /// Whether a renewal is decided and not answered.
    pending: bool,
}

/// What became of something kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// It is kept until then.
    Renewed(KeepId, Instant),
    Ended(KeepId, KeepEnd),
}

impl Keeping {
    /// Keeps offsets that are held. Nothing else keeps them any more.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        id: KeepId,
        renew: AutoRenew,
        offsets: impl IntoIterator<Item = (i64, i64)>,
        outcomes: &mut Vec<Kept>,
    ) {
        for (first, last) in offsets {
            self.release(first, last, KeepEnd::Settled, outcomes);
            self.kept.insert(first, last, id);
        }
        self.keeps.push(Keep { id, renew, began: now, renewals: 0, pending: false });
    }

    /// Offsets are not held any more.
    pub(super) fn release(&mut self, first: i64, last: i64, end: KeepEnd, outcomes: &mut Vec<Kept>) {
        let mut ids: Vec<KeepId> = self.kept.within(first, last).map(|range| range.value).collect();
        if ids.is_empty() {
            return;
        }
        ids.dedup();
        self.kept.remove(first, last);
        for id in ids {
            if self.ranges(id).next().is_none() {
                self.end(id, end, outcomes);
            }
        }
    }

    /// Everything is lost.
    pub(super) fn fail(&mut self, outcomes: &mut Vec<Kept>) {
        self.kept = RangeMap::default();
        outcomes.extend(self.keeps.drain(..).map(|keep| Kept::Ended(keep.id, KeepEnd::Lost)));
    }

    /// A renewal was answered.
    pub(super) fn answered(&mut self, id: KeepId, result: Result<Instant, KeepEnd>, outcomes: &mut Vec<Kept>) {
        let Some(keep) = self.keeps.iter_mut().find(|keep| keep.id == id) else { return };
        match result {
            Ok(lock_deadline) => {
                keep.pending = false;
                keep.renewals += 1;
                outcomes.push(Kept::Renewed(id, lock_deadline));
            }
            Err(end) => {
                self.end(id, end, outcomes);
            }
        }
    }

    /// The renewals to decide now, where `held` has the deadlines of locks that last `lock_timeout`.
    pub(super) fn due(
        &mut self,
        now: Instant,
        lock_timeout: Duration,
        held: &RangeMap<Lock>,
        outcomes: &mut Vec<Kept>,
    ) -> Vec<(KeepId, Vec<AckRange>)> {
        let soon = now + lock_timeout / TOGETHER;
        let is_due = |keep: &Keep, by| self.renew_at(keep, lock_timeout, held).is_some_and(|at| at <= by);
        if !self.keeps.iter().any(|keep| is_due(keep, now)) {
            return Vec::new();
        }
        let due: Vec<KeepId> = self.keeps.iter().filter(|keep| is_due(keep, soon)).map(|keep| keep.id).collect();
        let mut renewals = Vec::new();
        for id in due {
            let Some(keep) = self.keeps.iter_mut().find(|keep| keep.id == id) else { continue };
            if keep.renewals >= keep.renew.max_renewals || now.duration_since(keep.began) >= keep.renew.max_time {
                self.end(id, KeepEnd::Limit, outcomes);
                continue;
            }
            keep.pending = true;
            let renewal = |Range { first, last, .. }| AckRange { first, last, ack: AckType::Renew };
            renewals.push((id, self.ranges(id).map(renewal).collect()));
        }
        renewals
    }

    /// When the next renewal is due.
    pub(super) fn next(&self, lock_timeout: Duration, held: &RangeMap<Lock>) -> Option<Instant> {
        self.keeps.iter().filter_map(|keep| self.renew_at(keep, lock_timeout, held)).min()
    }

    fn renew_at(&self, keep: &Keep, lock_timeout: Duration, held: &RangeMap<Lock>) -> Option<Instant> {
        if keep.pending {
            return None;
        }
        let ranges = self.ranges(keep.id);
        let deadline =
            ranges.flat_map(|kept| held.within(kept.first, kept.last).map(|held| held.value.deadline)).min()?;
        let left = lock_timeout * u32::from(100 - keep.renew.at_percent.min(100)) / 100;
        deadline.checked_sub(left)
    }

    fn ranges(&self, id: KeepId) -> impl Iterator<Item = Range<KeepId>> {
        self.kept.iter().filter(move |range| range.value == id)
    }

    fn end(&mut self, id: KeepId, end: KeepEnd, outcomes: &mut Vec<Kept>) {
        if let Some(at) = self.keeps.iter().position(|keep| keep.id == id) {
            self.keeps.swap_remove(at);
            self.kept.retain(|keeper| keeper != id);
            outcomes.push(Kept::Ended(id, end));
        }
    }
}
