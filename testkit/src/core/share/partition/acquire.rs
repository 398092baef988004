//! Acquiring records for a member.
//!
//! Which records a fetch acquires follows Kafka 4.4.0 to the offset: batch boundaries in batch-optimized mode, the
//! exact number in record-limit mode, fewer and fewer records around one that failed often, and the last attempt of a
//! record alone.

use std::sync::Arc;
use std::time::Instant;

use super::{InFlightBatch, RecordChange, RecordEvent, RecordState, Run, ShareLimits, SharePartition};

/// `share.acquire.mode` of the member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AcquireMode {
    /// Acquires up to the end of a producer's batch, so more than asked where batches are large.
    BatchOptimized,
    /// Acquires at most what was asked (KIP-1206).
    RecordLimit,
}

/// What a member asks of one share partition.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AcquireRequest<'a> {
    /// Who asks.
    pub(crate) member: &'a Arc<str>,
    /// How exact `max_records` is.
    pub(crate) mode: AcquireMode,
    /// How many records a range of the answer should have.
    pub(crate) batch_size: i32,
    /// How many records to acquire.
    pub(crate) max_records: i32,
    /// Where the log was read from.
    pub(crate) fetch_offset: i64,
}

/// The offsets of one batch of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogSpan {
    /// First offset.
    pub(crate) first: i64,
    /// Last offset, inclusive.
    pub(crate) last: i64,
}

/// Offsets that the member holds now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AcquiredRange {
    /// First offset.
    pub(crate) first: i64,
    /// Last offset, inclusive.
    pub(crate) last: i64,
    /// How often the records were acquired, this time included.
    pub(crate) delivery_count: i16,
}

impl AcquiredRange {
    /// The number of offsets.
    pub(crate) fn len(&self) -> i64 {
        self.last - self.first + 1
    }
}

/// The delivery count from which on fewer records are delivered together.
fn throttle_limit(delivery_count_limit: i16) -> i16 {
    (delivery_count_limit / 2 + delivery_count_limit % 2).max(2)
}

impl SharePartition {
    /// Acquires records for `request.member` out of `log`, the batches that a fetch read, ascending. Gives ascending
    /// ranges; none where nothing may be acquired.
    pub(crate) fn acquire(
        &mut self,
        now: Instant,
        limits: &ShareLimits,
        request: AcquireRequest<'_>,
        log: &[LogSpan],
    ) -> Vec<AcquiredRange> {
        let acquired = self.acquire_ranges(now, limits, request, log);
        if self.history.is_some() {
            let change = |range: &AcquiredRange| RecordChange {
                first: range.first,
                last: range.last,
                member: request.member.clone(),
                delivery_count: range.delivery_count,
                what: RecordEvent::Acquired,
            };
            self.note(acquired.iter().map(change).collect());
        }
        acquired
    }

    fn acquire_ranges(
        &mut self,
        now: Instant,
        limits: &ShareLimits,
        request: AcquireRequest<'_>,
        log: &[LogSpan],
    ) -> Vec<AcquiredRange> {
        let (Some(first_span), Some(last_span)) = (log.first(), log.last()) else { return Vec::new() };
        if request.max_records <= 0 {
            return Vec::new();
        }
        self.archive_compacted(request.fetch_offset, first_span.first);
        if last_span.last < self.start_offset {
            return Vec::new();
        }
        let (room, last) = self.room(limits, request, last_span.last);
        if room <= 0 {
            return Vec::new();
        }
        let mut pass = Pass { now, limits, request, log, last, room, acquired: Vec::new() };
        let base = self.first_acquirable(first_span.first);
        let in_flight: Vec<i64> = self.batches.range(first_span.first.min(base)..=last).map(|(&key, _)| key).collect();
        let Some(&last_key) = in_flight.last() else {
            self.acquire_new(&mut pass, base, last);
            return pass.acquired;
        };
        for key in in_flight {
            if pass.room <= 0 {
                break;
            }
            if self.acquire_in_flight(&mut pass, key, first_span.first) == Flow::Stop {
                return pass.acquired;
            }
        }
        let end = self.batches[&last_key].last();
        if pass.room > 0 && end < last {
            self.acquire_new(&mut pass, end + 1, last);
        }
        pass.acquired
    }

    /// Archives what is available from the batch in flight at `fetched` on to before `read`, where a fetch found the next batch of the log: it is no
    /// longer there, and would never be acquired.
    fn archive_compacted(&mut self, fetched: i64, read: i64) {
        if fetched >= read {
            return;
        }
        let from = self.batches.range(..=fetched).next_back().map(|(&first, _)| first).unwrap_or(fetched);
        for batch in self.batches.range_mut(from..read).map(|(_, batch)| batch) {
            if batch.last() >= read {
                batch.split();
            }
            batch.update(fetched, read - 1, |run| {
                if run.state == RecordState::Available {
                    run.state = RecordState::Archived;
                }
            });
        }
        self.search = true;
        self.move_start();
    }

    /// An offset behind which a fetch for `max_records` that finds its first record at `first_read` acquires nothing,
    /// the rest of a batch aside.
    pub(crate) fn horizon(&self, first_read: i64, max_records: i32) -> i64 {
        self.end_offset.max(first_read).saturating_add(max_records.into())
    }

    /// How many records may be acquired, and up to which offset. At the limit of records in flight only those between
    /// start and end may.
    fn room(&self, limits: &ShareLimits, request: AcquireRequest<'_>, last: i64) -> (i64, i64) {
        let max_records = i64::from(request.max_records);
        let room = max_records.min(i64::from(limits.max_record_locks) - self.in_flight());
        if room <= 0 && request.fetch_offset <= self.end_offset {
            return (max_records.min(self.end_offset - request.fetch_offset + 1), last.min(self.end_offset));
        }
        (room, last)
    }

    /// The first offset that a fetch whose data begins at `base` can be about.
    fn first_acquirable(&self, base: i64) -> i64 {
        match self.batches.range(..=base).next_back() {
            Some((&first, batch)) if batch.last() >= base => first,
            Some(_) => base,
            None => base.max(self.start_offset),
        }
    }

    /// Acquires what is available of the batch in flight at `key`.
    fn acquire_in_flight(&mut self, pass: &mut Pass<'_>, key: i64, base: i64) -> Flow {
        let Some(batch) = self.batches.get_mut(&key) else { return Flow::Continue };
        let full = batch.first() >= base && batch.last() <= pass.last;
        let beyond_limit = pass.request.mode == AcquireMode::RecordLimit && batch.len() > pass.room;
        let throttled = is_throttled(batch, base, pass);
        if throttled && !pass.acquired.is_empty() {
            return Flow::Stop;
        }
        if !batch.is_split() && batch.runs()[0].state != RecordState::Available {
            return Flow::Continue;
        }
        let before = pass.acquired.len();
        let locked = if !full || batch.is_split() || beyond_limit || throttled {
            batch.split();
            acquire_parts(pass, batch, base)
        } else {
            acquire_whole(pass, batch)
        };
        for range in &pass.acquired[before..] {
            pass.room -= range.len();
        }
        if let Some((first, last)) = locked {
            self.lock(pass.deadline(), first, last);
            if throttled {
                return Flow::Stop;
            }
        }
        Flow::Continue
    }

    /// Brings `first..=last` in flight for the first time, or as much of it as there is room for.
    fn acquire_new(&mut self, pass: &mut Pass<'_>, first: i64, last: i64) {
        // A fetch may read a batch from its middle.
        let first = if self.batches.is_empty() { first.max(self.end_offset) } else { first };
        let mut batch_last = last;
        if pass.room < last - first + 1 {
            batch_last = pass.end_of_batch_with(first + pass.room - 1);
        }
        let ranges = match pass.request.mode {
            AcquireMode::RecordLimit => vec![AcquiredRange { first, last: batch_last, delivery_count: 1 }],
            AcquireMode::BatchOptimized => pass.ranges(first, batch_last),
        };
        let deadline = pass.deadline();
        for mut range in ranges {
            let run = Run { first: range.first, last: range.last, state: pass.acquired_state(), delivery_count: 1 };
            let mut batch = InFlightBatch::new(run);
            if pass.request.mode == AcquireMode::RecordLimit && range.len() > pass.room {
                range.last = range.first + pass.room - 1;
                batch.split();
                batch.update(range.last + 1, batch_last, |run| {
                    run.state = RecordState::Available;
                    run.delivery_count = 0;
                });
                self.search = true;
            }
            self.batches.insert(range.first, batch);
            self.lock(deadline, range.first, range.last);
            pass.room -= range.len();
            pass.acquired.push(range);
        }
        if self.batches.first_key_value().is_some_and(|(&key, _)| key == first) {
            self.start_offset = first;
        }
        self.end_offset = self.end_offset.max(batch_last);
    }
}

#[derive(PartialEq, Eq)]
enum Flow {
    Continue,
    /// Nothing more may be acquired in this fetch.
    Stop,
}

/// One acquisition under way.
struct Pass<'a> {
    now: Instant,
    limits: &'a ShareLimits,
    request: AcquireRequest<'a>,
    log: &'a [LogSpan],
    /// The last offset that may be acquired.
    last: i64,
    /// How many records may still be acquired; batch boundaries can bring it below zero.
    room: i64,
    acquired: Vec<AcquiredRange>,
}

impl Pass<'_> {
    fn deadline(&self) -> Instant {
        self.now + self.limits.lock_duration
    }

    fn acquired_state(&self) -> RecordState {
        RecordState::Acquired { member: self.request.member.clone(), deadline: self.deadline() }
    }

    /// The last offset of the log's batch that holds `offset`.
    fn end_of_batch_with(&self, offset: i64) -> i64 {
        let after = self.log.partition_point(|span| span.first <= offset);
        after.checked_sub(1).map_or(offset, |at| self.log[at].last.max(offset))
    }

    /// Cuts `first..=last` at batch boundaries into ranges of about the batch size that was asked for.
    fn ranges(&self, first: i64, last: i64) -> Vec<AcquiredRange> {
        let batch_size = i64::from(self.request.batch_size);
        let mut ranges = Vec::new();
        let mut from = first;
        if last - first + 1 > batch_size {
            for boundary in self.log.iter().map(|span| span.first).take_while(|&boundary| boundary <= last) {
                if boundary - from >= batch_size && boundary > from {
                    ranges.push(AcquiredRange { first: from, last: boundary - 1, delivery_count: 1 });
                    from = boundary;
                }
            }
        }
        ranges.push(AcquiredRange { first: from, last, delivery_count: 1 });
        ranges
    }
}

/// Whether the batch holds a record that failed so often that fewer are delivered with it.
fn is_throttled(batch: &InFlightBatch, base: i64, pass: &Pass<'_>) -> bool {
    let limit = throttle_limit(pass.limits.delivery_count_limit);
    batch
        .runs()
        .iter()
        .filter(|run| !batch.is_split() || (run.last >= base && run.first <= pass.last))
        .any(|run| run.state == RecordState::Available && run.delivery_count >= limit)
}

fn acquire_whole(pass: &mut Pass<'_>, batch: &mut InFlightBatch) -> Option<(i64, i64)> {
    let state = pass.acquired_state();
    let (first, last) = (batch.first(), batch.last());
    batch.update(first, last, |run| {
        run.state = state.clone();
        run.delivery_count = run.delivery_count.saturating_add(1);
        pass.acquired.push(AcquiredRange { first, last, delivery_count: run.delivery_count });
    });
    Some((first, last))
}

/// Acquires the available records of a batch one by one (run by run), as far as the throttle lets it. Gives the first
/// and last offset acquired.
fn acquire_parts(pass: &mut Pass<'_>, batch: &mut InFlightBatch, base: i64) -> Option<(i64, i64)> {
    let limit = pass.limits.delivery_count_limit;
    let throttle_from = throttle_limit(limit);
    let room = if pass.request.mode == AcquireMode::RecordLimit { pass.room } else { i64::MAX };
    // `Some` once a record that failed often was met. As in Kafka, a throttle that was passed before it was met holds
    // nothing back.
    let mut throttle: Option<i64> = None;
    let mut count = 0;
    let mut parts: Vec<AcquiredRange> = Vec::new();
    for run in batch.runs() {
        if run.state != RecordState::Available || run.last < base || run.first > pass.last {
            continue;
        }
        let last_attempt = limit > 2 && run.delivery_count == limit - 1;
        if last_attempt && count > 0 {
            break;
        }
        if run.delivery_count >= throttle_from && throttle.is_none() {
            let shift = (run.delivery_count - throttle_from + 1).clamp(0, 62);
            let together = (batch.len() >> shift).max(1);
            throttle = Some(if together > count { together } else { i64::MAX });
        }
        let most = room.min(throttle.unwrap_or(i64::MAX));
        let first = run.first.max(base);
        let mut last = run.last.min(pass.last);
        let now = if last_attempt { 1 } else { most.saturating_sub(count) };
        last = last.min(first.saturating_add(now - 1));
        count += last - first + 1;
        let delivery_count = run.delivery_count.saturating_add(1);
        match parts.last_mut() {
            Some(before) if before.last + 1 == first && before.delivery_count == delivery_count => before.last = last,
            _ => parts.push(AcquiredRange { first, last, delivery_count }),
        }
        if last_attempt || count >= most {
            break;
        }
    }
    let state = pass.acquired_state();
    for part in &parts {
        batch.update(part.first, part.last, |run| {
            run.state = state.clone();
            run.delivery_count = part.delivery_count;
        });
    }
    let span = parts.first().zip(parts.last()).map(|(first, last)| (first.first, last.last));
    pass.acquired.extend(parts);
    span
}
