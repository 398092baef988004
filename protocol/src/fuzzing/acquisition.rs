//! What one partition of a response holds: batches against acquired ranges.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::{Input, bounded};
use crate::machine::acquisition::{self, Content};
use crate::machine::ranges::RangeMap;
use crate::messages::share_fetch::AcquiredRecords;
use crate::records::Batches;
use crate::valid::ValidRecords;

/// How far a batch may inflate, in bytes.
const INFLATED: usize = 1 << 20;

/// Target `acquisition`: the input chooses batches, good or damaged, and the ranges that a broker says to have acquired of
/// them, which may make no sense.
///
/// # Panics
/// Where an acquired offset is neither handed out nor settled, or both, or twice; where an offset is handed out that was
/// not acquired, or that no batch holds; or where of good batches an offset without a record is handed out, or one with a
/// record is not.
pub fn acquisition(data: &[u8]) {
    let mut input = Input::new(bounded(data));
    let checks_crcs = input.once_in(2);
    let acquired: Vec<_> = (0..input.below(6)).map(|_| range(&mut input)).collect();
    let damages = input.below(4);
    let cut = usize::from(input.byte());
    let mut records = ValidRecords::choose(&mut input).0.to_vec();
    for _ in 0..damages {
        let at = input.i64() as usize % records.len().max(1);
        if let Some(byte) = records.get_mut(at) {
            *byte = input.byte();
        }
    }
    if cut & 7 == 7 {
        records.truncate(records.len().saturating_sub(cut / 8));
    }
    let records = Bytes::from(records);
    let content = acquisition::read(records.clone(), &acquired, checks_crcs, INFLATED);
    let all = check(&content, &acquired);
    if damages == 0 && cut & 7 != 7 {
        check_good(&content, records, &all);
    }
}

fn range(input: &mut Input<'_>) -> AcquiredRecords {
    let first_offset = if input.once_in(8) { input.number() } else { i64::from(input.byte()) };
    let length = if input.once_in(8) { input.number() } else { i64::from(input.byte() % 16) };
    AcquiredRecords { first_offset, last_offset: first_offset.saturating_add(length), delivery_count: 1 }
}

/// Checks the ranges, and gives the acquired ones: those that make sense, without what lies before the end of an earlier
/// one.
fn check(content: &Content, acquired: &[AcquiredRecords]) -> RangeMap<bool> {
    let mut all = RangeMap::default();
    let mut lowest = 0;
    for AcquiredRecords { first_offset: first, last_offset: last, .. } in acquired {
        if *first < 0 || last < first {
            assert!(content.nonsense.is_some(), "{first}..={last} was taken");
        } else if *last >= lowest {
            all.insert(lowest.max(*first), *last, true);
            let Some(next) = last.checked_add(1) else { break };
            lowest = next;
        }
    }
    let ascending = |ranges: &[(i64, i64)]| ranges.windows(2).all(|pair| pair[0].1 < pair[1].0);
    let handed_out: Vec<_> = content.ranges.iter().map(|range| (range.first, range.last)).collect();
    assert!(ascending(&handed_out), "{handed_out:?}");

    let mut ends = RangeMap::default();
    let settled = content.settled.iter().map(|range| (range.first, range.last));
    for (first, last) in handed_out.into_iter().chain(settled) {
        assert!(first <= last && ends.within(first, last).next().is_none(), "{first}..={last} ends twice");
        assert!(all.missing(first, last).is_empty(), "{first}..={last} was not acquired");
        ends.insert(first, last, true);
    }
    // Where they begin says nothing: a damaged one may say that it begins within the one before.
    assert!(content.batches.is_sorted_by(|before, after| before.last_offset() < after.last_offset()));
    for range in &content.ranges {
        let mut next = range.first;
        for batch in &content.batches {
            if batch.base_offset() <= next && next <= batch.last_offset() {
                next = batch.last_offset().saturating_add(1);
            }
        }
        assert!(next > range.last, "no batch holds {next}");
    }
    for range in all.iter() {
        assert!(ends.missing(range.first, range.last).is_empty(), "{range:?} did not end: {content:?}");
    }
    all
}

fn check_good(content: &Content, records: Bytes, acquired: &RangeMap<bool>) {
    assert!(content.bad.is_empty(), "{:?}", content.bad);
    let mut expected = BTreeSet::new();
    for batch in Batches::new(records) {
        let batch = batch.and_then(|batch| batch.decompress(INFLATED)).expect("a good batch");
        if !batch.is_control() {
            expected.extend(batch.records().map(|record| record.expect("a good record").offset));
        }
    }
    expected.retain(|offset| acquired.missing(*offset, *offset).is_empty());
    let handed_out: BTreeSet<_> = content.ranges.iter().flat_map(|range| range.first..=range.last).collect();
    assert_eq!(handed_out, expected);
    assert_eq!(content.records as usize, expected.len());
}
