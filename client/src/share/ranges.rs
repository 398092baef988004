//! Arithmetic on acquired offsets.
//!
//! A list of ranges is sorted, its ranges are disjoint, and every offset in it has a record: what is cut out of it
//! or counted in it never needs a look at the records themselves.

use std::ops::RangeInclusive;

use ackflow_protocol::machine::{AckRange, AckType, AcquiredRange};

/// How many offsets, and so records, `ranges` hold.
pub(super) fn count(ranges: &[AcquiredRange]) -> u32 {
    ranges.iter().map(|range| length(range.first, range.last)).fold(0, u32::saturating_add)
}

/// How many offsets acknowledgements are of.
pub(super) fn offsets(ranges: &[AckRange]) -> u64 {
    ranges.iter().map(|range| u64::from(length(range.first, range.last))).sum()
}

/// Offsets from `first` to `last`, both included.
pub(super) fn length(first: i64, last: i64) -> u32 {
    u32::try_from(i128::from(last) - i128::from(first) + 1).unwrap_or(if last < first { 0 } else { u32::MAX })
}

/// Takes the first `records` offsets away from `ranges`.
pub(super) fn take_front(ranges: &mut Vec<AcquiredRange>, records: u32) -> Vec<AcquiredRange> {
    let mut left = records;
    let whole = ranges
        .iter()
        .take_while(|range| {
            let fits = length(range.first, range.last) <= left;
            if fits {
                left -= length(range.first, range.last);
            }
            fits
        })
        .count();
    let mut rest = ranges.split_off(whole);
    if let Some(cut) = rest.first_mut().filter(|_| left > 0) {
        let last = cut.first + i64::from(left) - 1;
        ranges.push(AcquiredRange { last, ..*cut });
        cut.first = last + 1;
    }
    std::mem::replace(ranges, rest)
}

/// Takes the offsets from `offset` on away from `ranges`.
pub(super) fn split_off(ranges: &mut Vec<AcquiredRange>, offset: i64) -> Vec<AcquiredRange> {
    let at = ranges.partition_point(|range| range.last < offset);
    let mut tail = ranges.split_off(at);
    if let Some(cut) = tail.first_mut().filter(|range| range.first < offset) {
        ranges.push(AcquiredRange { last: offset - 1, ..*cut });
        cut.first = offset;
    }
    tail
}

/// Takes what `ranges` hold of `offsets` away and gives it back.
pub(super) fn remove(ranges: &mut Vec<AcquiredRange>, offsets: RangeInclusive<i64>) -> Vec<AcquiredRange> {
    let mut removed = split_off(ranges, *offsets.start());
    let mut rest = match offsets.end().checked_add(1) {
        Some(after) => split_off(&mut removed, after),
        None => Vec::new(),
    };
    ranges.append(&mut rest);
    removed
}

/// Puts back what [`remove`] took away.
pub(super) fn insert(ranges: &mut Vec<AcquiredRange>, removed: Vec<AcquiredRange>) {
    let Some(first) = removed.first().map(|range| range.first) else {
        return;
    };
    let at = ranges.partition_point(|range| range.first < first);
    ranges.splice(at..at, removed);
    ranges.dedup_by(|next, range| {
        let one = range.last.checked_add(1) == Some(next.first) && range.delivery_count == next.delivery_count;
        if one {
            range.last = next.last;
        }
        one
    });
}

/// What `ranges` hold of the offsets `first` to `last`.
pub(super) fn within(ranges: &[AcquiredRange], first: i64, last: i64) -> Vec<AcquiredRange> {
    let begin = ranges.partition_point(|range| range.last < first);
    let held = ranges[begin..].iter().take_while(|range| range.first <= last);
    held.map(|range| AcquiredRange { first: range.first.max(first), last: range.last.min(last), ..*range }).collect()
}

/// What `ranges` say of other offsets than those of `removed`. Both are sorted and disjoint.
pub(super) fn without(ranges: &[AckRange], removed: &[AckRange]) -> Vec<AckRange> {
    let mut rest = Vec::new();
    for AckRange { first, last, ack } in ranges.iter().copied() {
        let mut next = Some(first);
        for cut in removed.iter().filter(|cut| cut.first <= last && first <= cut.last) {
            match next {
                Some(next) if next < cut.first => rest.push(AckRange { first: next, last: cut.first - 1, ack }),
                _ => {}
            }
            next = cut.last.checked_add(1);
        }
        rest.extend(next.filter(|next| *next <= last).map(|first| AckRange { first, last, ack }));
    }
    rest
}

/// One verdict on all of `ranges`.
pub(super) fn acknowledged(ranges: &[AcquiredRange], ack: AckType) -> Vec<AckRange> {
    ranges.iter().map(|range| AckRange { first: range.first, last: range.last, ack }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn range(first: i64, last: i64) -> AcquiredRange {
        AcquiredRange { first, last, delivery_count: 1 }
    }

    fn bounds(ranges: &[AcquiredRange]) -> Vec<(i64, i64)> {
        ranges.iter().map(|range| (range.first, range.last)).collect()
    }

    #[test]
    fn a_cut_by_records_falls_between_or_inside_ranges() {
        let all = vec![range(0, 2), range(5, 9), range(20, 20)];
        for (records, front, rest) in [
            (0, vec![], vec![(0, 2), (5, 9), (20, 20)]),
            (3, vec![(0, 2)], vec![(5, 9), (20, 20)]),
            (4, vec![(0, 2), (5, 5)], vec![(6, 9), (20, 20)]),
            (9, vec![(0, 2), (5, 9), (20, 20)], vec![]),
            (50, vec![(0, 2), (5, 9), (20, 20)], vec![]),
        ] {
            let mut ranges = all.clone();
            assert_eq!(bounds(&take_front(&mut ranges, records)), front);
            assert_eq!(bounds(&ranges), rest);
        }
    }

    #[test]
    fn ranges_at_the_ends_of_the_offset_space_are_counted_and_removed() {
        assert_eq!(count(&[range(0, i64::MAX)]), u32::MAX);
        assert_eq!(length(5, 3), 0);
        let mut ranges = vec![range(0, i64::MAX)];
        assert_eq!(bounds(&remove(&mut ranges, 7..=i64::MAX)), [(7, i64::MAX)]);
        assert_eq!(bounds(&ranges), [(0, 6)]);
    }

    #[test]
    fn what_has_failed_is_cut_out_of_what_was_said() {
        let said = |first, last| AckRange { first, last, ack: AckType::Accept };
        let ranges = [said(0, 9), said(12, 20), said(30, i64::MAX)];
        let rest = without(&ranges, &[said(0, 0), said(4, 5), said(9, 9), said(12, 20), said(40, i64::MAX)]);
        assert_eq!(rest, [said(1, 3), said(6, 8), said(30, 39)]);
        assert_eq!(without(&ranges, &[]), ranges);
        assert_eq!(without(&ranges, &ranges), []);
    }

    proptest! {
        #[test]
        fn removing_offsets_leaves_exactly_the_others(gaps in prop::collection::vec((1i64..5, 1i64..6), 0..8), first in 0i64..40, len in 0i64..40) {
            let mut next = 0;
            let mut ranges: Vec<_> = gaps.iter().map(|&(gap, len)| {
                let first = next + gap;
                next = first + len;
                range(first, next - 1)
            }).collect();
            let offsets = |ranges: &[AcquiredRange]| ranges.iter().flat_map(|r| r.first..=r.last).collect::<Vec<_>>();
            let all = ranges.clone();
            let before = offsets(&ranges);
            let removed = remove(&mut ranges, first..=first + len);
            let (inside, outside): (Vec<i64>, Vec<i64>) = before.iter().partition(|o| (first..=first + len).contains(*o));
            prop_assert_eq!(offsets(&removed), inside);
            prop_assert_eq!(offsets(&ranges), outside);
            insert(&mut ranges, removed);
            prop_assert_eq!(ranges, all);
        }
    }
}
