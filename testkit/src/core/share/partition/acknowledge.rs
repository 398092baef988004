//! Acknowledging records that a member holds.

use std::collections::BTreeMap;
use std::time::Instant;

#[cfg(feature = "unstable-kip-1289")]
use super::Staged;
use super::{
    FailedAttempt, InFlightBatch, RecordChange, RecordEvent, RecordState, ShareLimits, SharePartition, end_attempt,
};
#[cfg(feature = "unstable-kip-1289")]
use crate::core::transactions::Producer;

/// The acknowledgement of one range of offsets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AcknowledgementRange<'a> {
    /// First offset.
    pub(crate) first: i64,
    /// Last offset, inclusive.
    pub(crate) last: i64,
    /// One type for all, or one an offset: 0 gap, 1 accept, 2 release, 3 reject, 4 renew. Checked by the caller.
    pub(crate) types: &'a [i8],
}

impl AcknowledgementRange<'_> {
    /// Ranges of equal type, ascending, within `first..=last`.
    fn runs(&self, first: i64, last: i64) -> impl Iterator<Item = (i64, i64, i8)> {
        let mut from = first.max(self.first);
        let last = last.min(self.last);
        std::iter::from_fn(move || {
            if from > last {
                return None;
            }
            let (kind, to) = match self.types {
                [kind] => (*kind, last),
                types => {
                    let types = &types[usize::try_from(from - self.first).ok()?..];
                    let kind = *types.first()?;
                    let same = types.iter().take_while(|&&other| other == kind).count();
                    (kind, last.min(from + same as i64 - 1))
                }
            };
            let run = (from, to, kind);
            from = to + 1;
            Some(run)
        })
    }
}

/// Why nothing of a partition's acknowledgements was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AcknowledgeError {
    /// INVALID_RECORD_STATE: the member does not hold a record.
    RecordState(&'static str),
    /// INVALID_REQUEST: offsets that were never acquired.
    Request(&'static str),
}

impl SharePartition {
    /// Applies the acknowledgements of `member`, all of them or none. `ranges` ascend. Says whether there is more to
    /// acquire now: records became available, or the start moved and made room.
    pub(crate) fn acknowledge(
        &mut self,
        now: Instant,
        limits: &ShareLimits,
        member: &str,
        ranges: &[AcknowledgementRange<'_>],
    ) -> Result<bool, AcknowledgeError> {
        let mut change = Change { now, limits, member, batches: BTreeMap::new(), effects: Effects::default() };
        for range in ranges {
            // What lies below the start was done before, by somebody.
            if range.last >= self.start_offset {
                self.acknowledge_range(&mut change, range)?;
            }
        }
        let Change { batches, effects, .. } = change;
        self.note_ends(limits, effects.changes);
        self.has_state |= !batches.is_empty();
        self.batches.extend(batches);
        for (first, last) in effects.renewed {
            self.lock(now + limits.lock_duration, first, last);
        }
        self.search |= effects.released;
        Ok(self.move_start() || effects.released)
    }

    /// Applies one range to copies of the batches that it touches.
    pub(super) fn acknowledge_range(
        &self,
        change: &mut Change<'_>,
        range: &AcknowledgementRange<'_>,
    ) -> Result<(), AcknowledgeError> {
        let floor = self.batches.range(..=range.first.max(self.start_offset)).next_back();
        let Some((&from, _)) = floor else {
            return Err(AcknowledgeError::RecordState(
                "Batch record not found. The request batch offsets are not found in the cache.",
            ));
        };
        let found = self.batches.range(from..=range.last);
        let end = found.clone().next_back().map_or(from, |(_, batch)| batch.last());
        if end < range.first {
            return Err(AcknowledgeError::Request(
                "Batch record not found. The first offset in request is past acquired records.",
            ));
        }
        if range.last > end {
            return Err(AcknowledgeError::Request(
                "Batch record not found. The last offset in request is past acquired records.",
            ));
        }
        for (&key, batch) in found {
            let batch = change.batches.entry(key).or_insert_with(|| batch.clone());
            let first = batch.first().max(range.first).max(self.start_offset);
            let last = batch.last().min(range.last);
            if first > last {
                continue;
            }
            check_owner(batch, first, last, change.member)?;
            let whole = first == batch.first() && last == batch.last() && range.types.len() == 1;
            if !whole {
                batch.split();
            }
            for (first, last, kind) in range.runs(first, last) {
                change.effects.apply(change.now, change.limits, batch, (first, last, kind))?;
            }
        }
        Ok(())
    }
}

/// Acknowledgements checked so far, kept apart until all of them are.
pub(super) struct Change<'a> {
    pub(super) now: Instant,
    pub(super) limits: &'a ShareLimits,
    pub(super) member: &'a str,
    pub(super) batches: BTreeMap<i64, InFlightBatch>,
    pub(super) effects: Effects,
}

/// What acknowledgements do besides changing states.
#[derive(Default)]
pub(super) struct Effects {
    pub(super) renewed: Vec<(i64, i64)>,
    pub(super) changes: Vec<RecordChange>,
    pub(super) released: bool,
    /// Whose transaction decides when it ends, where one does.
    #[cfg(feature = "unstable-kip-1289")]
    pub(super) staging: Option<Producer>,
}

impl Effects {
    /// Applies one type to `first..=last` of a batch, all of which the member holds.
    fn apply(
        &mut self,
        now: Instant,
        limits: &ShareLimits,
        batch: &mut InFlightBatch,
        (first, last, kind): (i64, i64, i8),
    ) -> Result<(), AcknowledgeError> {
        const RENEW: i8 = 4;
        if kind == RENEW && !limits.renew_enabled {
            return Err(AcknowledgeError::RecordState("Renewing acquisition locks is not enabled for the group."));
        }
        #[cfg(feature = "unstable-kip-1289")]
        let staging = self.staging;
        batch.update(first, last, |run| {
            let RecordState::Acquired { member, deadline } = &mut run.state else { return };
            let member = member.clone();
            #[cfg(feature = "unstable-kip-1289")]
            if let Some(producer) = staging {
                self.changes.push(run.change(member.clone(), RecordEvent::Staged));
                run.state = RecordState::Pending(Staged::new(member, producer, kind));
                return;
            }
            let (event, state) = match kind {
                1 => (RecordEvent::Accepted, RecordState::Acknowledged),
                2 => {
                    self.changes.extend(end_attempt(run, limits, FailedAttempt::Released));
                    self.released |= run.state == RecordState::Available;
                    return;
                }
                RENEW => {
                    *deadline = now + limits.lock_duration;
                    self.changes.push(run.change(member, RecordEvent::Renewed));
                    return;
                }
                0 => (RecordEvent::Gap, RecordState::Archived),
                _ => (RecordEvent::Rejected, RecordState::Archived),
            };
            self.changes.push(run.change(member, event));
            run.state = state;
        });
        if kind == RENEW {
            self.renewed.push((first, last));
        }
        Ok(())
    }
}

fn check_owner(batch: &InFlightBatch, first: i64, last: i64, member: &str) -> Result<(), AcknowledgeError> {
    for run in batch.runs().iter().filter(|run| run.last >= first && run.first <= last) {
        match &run.state {
            RecordState::Acquired { member: holder, .. } if &**holder == member => {}
            RecordState::Acquired { .. } if batch.is_split() => {
                return Err(AcknowledgeError::RecordState("Member is not the owner of offset"));
            }
            RecordState::Acquired { .. } => {
                return Err(AcknowledgeError::RecordState("Member is not the owner of batch record"));
            }
            _ if batch.is_split() => {
                return Err(AcknowledgeError::RecordState(
                    "The offset cannot be acknowledged. The offset is not acquired.",
                ));
            }
            _ => {
                return Err(AcknowledgeError::RecordState(
                    "The batch cannot be acknowledged. The batch is not in the acquired state.",
                ));
            }
        }
    }
    Ok(())
}
