//! What an application has decided about the records that it was handed, until it is sent.

use std::slice;

use ackflow_protocol::machine::{AckRange, AckType, AcquiredRange};

use super::ranges::length;

/// Verdicts by offset, as sorted disjoint ranges. The last verdict on an offset counts.
#[derive(Debug, Default)]
pub(super) struct Decisions {
    ranges: Vec<AckRange>,
    decided: u32,
}

impl Decisions {
    /// How many offsets have a verdict.
    pub(super) fn decided(&self) -> u32 {
        self.decided
    }

    /// The verdicts, in offset order.
    pub(super) fn iter(&self) -> slice::Iter<'_, AckRange> {
        self.ranges.iter()
    }

    /// Gives the offsets from `first` to `last` the verdict `ack`. Verdicts in offset order, as they mostly come, cost a comparison each.
    pub(super) fn set(&mut self, first: i64, last: i64, ack: AckType) {
        match self.ranges.last_mut() {
            Some(end) if first <= end.last => return self.overwrite(first, last, ack),
            Some(end) if end.ack == ack && end.last.checked_add(1) == Some(first) => end.last = last,
            _ => self.ranges.push(AckRange { first, last, ack }),
        }
        self.decided += length(first, last);
    }

    fn overwrite(&mut self, first: i64, last: i64, ack: AckType) {
        let from = self.ranges.partition_point(|range| range.last < first);
        let to = self.ranges.partition_point(|range| range.first <= last);
        if from == to {
            return self.insert(from, AckRange { first, last, ack });
        }
        let mut replacement = Vec::with_capacity(3);
        if let Some(range) = self.ranges[from..to].first().filter(|range| range.first < first) {
            replacement.push(AckRange { last: first - 1, ..*range });
        }
        replacement.push(AckRange { first, last, ack });
        if let Some(range) = self.ranges[from..to].last().filter(|range| range.last > last) {
            replacement.push(AckRange { first: last + 1, ..*range });
        }
        let sum = |ranges: &[AckRange]| ranges.iter().map(|range| length(range.first, range.last)).sum::<u32>();
        self.decided = self.decided - sum(&self.ranges[from..to]) + sum(&replacement);
        self.ranges.splice(from..to, replacement);
    }

    /// Puts a verdict on offsets that have none between those before `at` and the others, or makes it part of its neighbours.
    fn insert(&mut self, at: usize, range: AckRange) {
        let AckRange { first, last, ack } = range;
        self.decided += length(first, last);
        let goes_on = at.checked_sub(1).filter(|before| {
            let before = self.ranges[*before];
            before.ack == ack && before.last.checked_add(1) == Some(first)
        });
        let leads_on =
            self.ranges.get(at).is_some_and(|after| after.ack == ack && last.checked_add(1) == Some(after.first));
        match (goes_on, leads_on) {
            (Some(before), true) => self.ranges[before].last = self.ranges.remove(at).last,
            (Some(before), false) => self.ranges[before].last = last,
            (None, true) => self.ranges[at].first = first,
            (None, false) => self.ranges.insert(at, range),
        }
    }

    /// Gives the offsets of `ranges` that have no verdict the verdict `ack`.
    pub(super) fn fill(&mut self, ranges: &[AcquiredRange], ack: AckType) {
        for (first, last) in self.undecided(ranges) {
            self.set(first, last, ack);
        }
    }

    /// The offsets of `ranges` that have no verdict, as ranges without their delivery counts.
    fn undecided(&self, ranges: &[AcquiredRange]) -> Vec<(i64, i64)> {
        let mut undecided = Vec::new();
        let mut decided = self.ranges.iter().peekable();
        for range in ranges {
            let mut next = range.first;
            while let Some(verdict) = decided.next_if(|verdict| verdict.last < range.last) {
                if next < verdict.first {
                    undecided.push((next, verdict.first - 1));
                }
                next = next.max(verdict.last + 1);
            }
            // A verdict that reaches the end of the range may go on into the next one.
            let last = decided.peek().map_or(range.last, |verdict| range.last.min(verdict.first - 1));
            if next <= last {
                undecided.push((next, last));
            }
        }
        undecided
    }

    /// The verdicts, for sending; none is left here.
    pub(super) fn take(&mut self) -> Vec<AckRange> {
        self.decided = 0;
        std::mem::take(&mut self.ranges)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    // Mutation: client/src/share/decisions.rs
    // - Some(end) if first <= end.last => return self.overwrite(first, last, ack),
    // +
    #[test]
    fn row_11_verdicts_out_of_order_end_up_sorted_and_disjoint() {
        let mut decisions = Decisions::default();
        for (offset, ack) in [
            (9, AckType::Accept),
            (3, AckType::Accept),
            (4, AckType::Accept),
            (5, AckType::Release),
            (1, AckType::Accept),
        ] {
            decisions.set(offset, offset, ack);
        }
        assert_eq!(decisions.decided(), 5);
        let offsets: Vec<_> = decisions.take().iter().map(|range| (range.first, range.last)).collect();
        assert_eq!(offsets, [(1, 1), (3, 4), (5, 5), (9, 9)]);
        assert_eq!(decisions.decided(), 0);
    }

    proptest! {
        #[test]
        fn the_last_verdict_on_an_offset_counts(verdicts in prop::collection::vec((0i64..50, 0i64..10, 1u8..4), 0..30)) {
            let mut decisions = Decisions::default();
            let mut model = BTreeMap::new();
            for (first, more, ack) in verdicts {
                let ack = [AckType::Accept, AckType::Release, AckType::Reject][usize::from(ack) - 1];
                decisions.set(first, first + more, ack);
                model.extend((first..=first + more).map(|offset| (offset, ack)));
            }
            prop_assert_eq!(decisions.decided() as usize, model.len());
            let ranges = decisions.take();
            prop_assert!(ranges.is_sorted_by(|a, b| a.last < b.first));
            let flat: BTreeMap<_, _> = ranges.iter().flat_map(|r| (r.first..=r.last).map(|o| (o, r.ack))).collect();
            prop_assert_eq!(flat, model);
        }

        #[test]
        fn filling_up_decides_the_rest_and_nothing_twice(verdicts in prop::collection::vec((0i64..50, 0i64..10), 0..12)) {
            let ranges = [(0, 9), (12, 12), (13, 40), (50, 60)];
            let ranges = ranges.map(|(first, last)| AcquiredRange { first, last, delivery_count: 1 });
            let mut decisions = Decisions::default();
            for (first, more) in verdicts {
                for range in &ranges {
                    let (first, last) = (first.max(range.first), (first + more).min(range.last));
                    if first <= last {
                        decisions.set(first, last, AckType::Release);
                    }
                }
            }
            let released = decisions.decided();
            decisions.fill(&ranges, AckType::Accept);
            prop_assert_eq!(decisions.decided(), 10 + 1 + 28 + 11);
            let flat = decisions.take();
            prop_assert!(flat.is_sorted_by(|a, b| a.last < b.first));
            let kept: u32 = flat.iter().filter(|r| r.ack == AckType::Release).map(|r| length(r.first, r.last)).sum();
            prop_assert_eq!(kept, released);
        }
    }
}
