//! Sorted, disjoint ranges of offsets with a value each: the one data structure of sessions, ledger and acquisition.

/// One range. Both ends are inclusive and `first <= last`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range<V> {
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) value: V,
}

/// Offsets 0 to `i64::MAX` mapped to values, as ranges. Neighbours with equal values are one range. The cost of an
/// operation grows with the ranges that it touches, never with the offsets in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RangeMap<V> {
    ranges: Vec<Range<V>>,
    offsets: u64,
}

impl<V> Default for RangeMap<V> {
    fn default() -> Self {
        Self { ranges: Vec::new(), offsets: 0 }
    }
}

/// Number of offsets in a range of non-negative offsets.
pub(crate) fn length(first: i64, last: i64) -> u64 {
    debug_assert!(0 <= first && first <= last);
    (last - first) as u64 + 1
}

impl<V: Copy + PartialEq> RangeMap<V> {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Number of offsets in all ranges.
    pub(crate) fn offsets(&self) -> u64 {
        self.offsets
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = Range<V>> {
        self.ranges.iter().copied()
    }

    /// The range that holds an offset.
    #[cfg(test)]
    pub(crate) fn find(&self, offset: i64) -> Option<Range<V>> {
        let range = self.ranges.get(self.ranges.partition_point(|range| range.last < offset))?;
        (range.first <= offset).then_some(*range)
    }

    /// Gives the offsets this value, whatever they had.
    pub(crate) fn insert(&mut self, first: i64, last: i64, value: V) {
        let (mut first, mut last, inserted) = (first, last, Range { first, last, value });
        let mut start = self.ranges.partition_point(|range| range.last < first);
        let mut end = start + self.ranges[start..].partition_point(|range| range.first <= last);
        self.offsets = self.offsets - self.overlap(start, end, inserted) + length(first, last);

        // What sticks out at both sides stays, and neighbours of the same value are taken in.
        let mut before = None;
        let mut after = None;
        if start < end {
            let Range { first: head, value: held, .. } = self.ranges[start];
            if head < first {
                if held == value {
                    first = head;
                } else {
                    before = Some(Range { first: head, last: first - 1, value: held });
                }
            }
            let Range { last: tail, value: held, .. } = self.ranges[end - 1];
            if tail > last {
                if held == value {
                    last = tail;
                } else {
                    after = Some(Range { first: last + 1, last: tail, value: held });
                }
            }
        }
        if before.is_none() && start > 0 {
            let neighbour = self.ranges[start - 1];
            if neighbour.last + 1 == first && neighbour.value == value {
                first = neighbour.first;
                start -= 1;
            }
        }
        if after.is_none()
            && let Some(neighbour) = self.ranges.get(end)
            && neighbour.first - 1 == last
            && neighbour.value == value
        {
            last = neighbour.last;
            end += 1;
        }
        let middle = Range { first, last, value };
        self.ranges.splice(start..end, before.into_iter().chain([middle]).chain(after));
    }

    /// Takes the offsets out.
    pub(crate) fn remove(&mut self, first: i64, last: i64) {
        let removed = self.ranges.partition_point(|range| range.last < first);
        let end = removed + self.ranges[removed..].partition_point(|range| range.first <= last);
        if removed == end {
            return;
        }
        let (head, tail) = (self.ranges[removed], self.ranges[end - 1]);
        self.offsets -= self.overlap(removed, end, Range { first, last, value: head.value });
        let before = (head.first < first).then(|| Range { last: first - 1, ..head });
        let after = (tail.last > last).then(|| Range { first: last + 1, ..tail });
        self.ranges.splice(removed..end, before.into_iter().chain(after));
    }

    /// The parts of `first..=last` that have a value, in order.
    pub(crate) fn within(&self, first: i64, last: i64) -> impl Iterator<Item = Range<V>> {
        let start = self.ranges.partition_point(|range| range.last < first);
        self.ranges[start..].iter().take_while(move |range| range.first <= last).map(move |range| Range {
            first: range.first.max(first),
            last: range.last.min(last),
            value: range.value,
        })
    }

    /// The parts of `first..=last` that have no value, in order.
    pub(crate) fn missing(&self, first: i64, last: i64) -> Vec<(i64, i64)> {
        let mut missing = Vec::new();
        let mut next = Some(first);
        for range in self.within(first, last) {
            match next {
                Some(next) if next < range.first => missing.push((next, range.first - 1)),
                _ => {}
            }
            next = range.last.checked_add(1);
        }
        if let Some(next) = next.filter(|next| *next <= last) {
            missing.push((next, last));
        }
        missing
    }

    /// Whether every offset of `first..=last` has a value.
    #[cfg(test)]
    pub(crate) fn covers(&self, first: i64, last: i64) -> bool {
        self.missing(first, last).is_empty()
    }

    /// Keeps the ranges whose value passes.
    pub(crate) fn retain(&mut self, keep: impl Fn(V) -> bool) {
        let offsets = &mut self.offsets;
        self.ranges.retain(|range| {
            let keep = keep(range.value);
            if !keep {
                *offsets -= length(range.first, range.last);
            }
            keep
        });
    }

    /// How many offsets of the ranges `start..end` lie in `within`.
    fn overlap(&self, start: usize, end: usize, within: Range<V>) -> u64 {
        self.ranges[start..end]
            .iter()
            .map(|range| length(range.first.max(within.first), range.last.min(within.last)))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn neighbours_of_one_value_are_one_range() {
        let mut map = RangeMap::default();
        for (first, last, value) in [(0, 9, 'a'), (20, 29, 'a'), (10, 19, 'a'), (30, 39, 'b'), (25, 34, 'b')] {
            map.insert(first, last, value);
        }
        let ranges: Vec<_> = map.iter().map(|range| (range.first, range.last, range.value)).collect();
        assert_eq!(ranges, [(0, 24, 'a'), (25, 39, 'b')]);
        assert_eq!(map.offsets(), 40);
    }

    #[test]
    fn the_largest_offsets_do_not_overflow() {
        let mut map = RangeMap::default();
        map.insert(0, i64::MAX, 1);
        assert_eq!(map.offsets(), 1 << 63);
        assert!(map.covers(0, i64::MAX));
        map.insert(i64::MAX, i64::MAX, 2);
        map.remove(5, i64::MAX - 1);
        assert_eq!(map.offsets(), 6);
        assert_eq!(map.missing(0, i64::MAX), [(5, i64::MAX - 1)]);
        map.insert(0, i64::MAX, 3);
        assert_eq!(map.iter().count(), 1);
    }

    #[derive(Debug, Clone)]
    enum Operation {
        Insert(i64, i64, u8),
        Remove(i64, i64),
        Retain(u8),
    }

    fn operation() -> impl Strategy<Value = Operation> {
        let range = (0i64..60, 0i64..20).prop_map(|(first, more)| (first, first + more));
        prop_oneof![
            4 => (range.clone(), 0u8..3).prop_map(|((first, last), value)| Operation::Insert(first, last, value)),
            3 => range.prop_map(|(first, last)| Operation::Remove(first, last)),
            1 => (0u8..3).prop_map(Operation::Retain),
        ]
    }

    proptest! {
        #[test]
        fn behaves_like_a_map_of_single_offsets(operations in prop::collection::vec(operation(), 1..40)) {
            let mut map = RangeMap::default();
            let mut model = BTreeMap::new();
            for operation in operations {
                match operation {
                    Operation::Insert(first, last, value) => {
                        map.insert(first, last, value);
                        model.extend((first..=last).map(|offset| (offset, value)));
                    }
                    Operation::Remove(first, last) => {
                        map.remove(first, last);
                        model.retain(|offset, _| *offset < first || *offset > last);
                    }
                    Operation::Retain(value) => {
                        map.retain(|held| held != value);
                        model.retain(|_, held| *held != value);
                    }
                }
                prop_assert_eq!(map.offsets(), model.len() as u64);
                for offset in 0..80 {
                    prop_assert_eq!(map.find(offset).map(|range| range.value), model.get(&offset).copied());
                }
                let missing: Vec<i64> = map.missing(0, 79).into_iter().flat_map(|(first, last)| first..=last).collect();
                prop_assert_eq!(missing, (0..80).filter(|offset| !model.contains_key(offset)).collect::<Vec<_>>());
                let ranges: Vec<_> = map.iter().collect();
                for pair in ranges.windows(2) {
                    let adjacent = pair[0].last + 1 == pair[1].first;
                    prop_assert!(pair[0].last < pair[1].first);
                    prop_assert!(!(adjacent && pair[0].value == pair[1].value), "neighbours of one value in {:?}", ranges);
                }
            }
        }
    }
}
