//! What holds for acquisitions that are cut, read and kept waiting.

use std::slice;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::super::buffer::Buffer;
use super::super::part::Part;
use super::super::records::{Reader, ShareRecords, ShareRecordsIter};
use super::{Grip, LOCK, acquired_in, acquisition, batch, batches, malformed};
use crate::deserialize::{BYTES, ByteArrayDeserializer, Deserializers};

fn records(part: &Part) -> ShareRecordsIter<'_> {
    ShareRecordsIter::new(slice::from_ref(part), &BYTES, Reader::Borrower)
}

/// The offsets that a part gives, each checked against its value.
fn read(part: &Part) -> Vec<i64> {
    records(part)
        .map(|record| {
            let record = record.unwrap();
            assert_eq!(record.value.unwrap(), record.offset.to_be_bytes());
            assert_eq!((record.topic, record.partition, record.timestamp), ("orders", 3, 1_000 + record.offset));
            record.offset
        })
        .collect()
}

#[test]
fn only_acquired_offsets_are_read_across_batches_and_ranges() {
    let bytes = [batch(0, 10), batch(10, 5), batch(20, 10)].concat();
    let part = acquisition(&[(3, 4), (8, 11), (25, 29)], batches(bytes), Instant::now());
    assert_eq!(read(&part), [3, 4, 8, 9, 10, 11, 25, 26, 27, 28, 29]);
    assert_eq!(part.records(), 11);
}

#[test]
fn records_know_the_delivery_count_of_their_range() {
    let mut part = acquisition(&[(0, 1), (2, 3)], batches(batch(0, 4)), Instant::now());
    part.ranges[1].delivery_count = 4;
    let counts: Vec<_> = records(&part).map(|record| record.unwrap().delivery_count).collect();
    assert_eq!(counts, [1, 1, 4, 4]);
}

#[test]
fn offsets_without_a_record_are_passed_over() {
    let bytes = [batch(0, 3), batch(10, 3)].concat();
    let part = acquisition(&[(0, 5), (6, 20)], batches(bytes), Instant::now());
    assert_eq!(read(&part), [0, 1, 2, 10, 11, 12]);
}

// Mutation: client/src/share/records.rs
// - let first = self.ranges.first()?.first.max(walk.next);
// + let first = self.ranges.first()?.first;
#[test]
fn row_15_a_malformed_batch_names_its_offsets_and_the_next_one_is_read() {
    let bytes = [batch(0, 10), malformed(10, 5), batch(15, 2)].concat();
    let part = acquisition(&[(8, 16)], batches(bytes), Instant::now());
    let (good, errors): (Vec<_>, Vec<_>) = records(&part).partition(Result::is_ok);
    let offsets: Vec<_> = good.into_iter().map(|record| record.unwrap().offset).collect();
    assert_eq!(offsets, [8, 9, 10, 11, 12, 15, 16]);
    let [error] = <[_; 1]>::try_from(errors).unwrap();
    let error = error.unwrap_err();
    assert_eq!((error.first, error.last, &*error.topic, error.partition), (13, 14, "orders", 3));
    assert!(error.to_string().contains("offsets 13 to 14 of orders-3"), "{error}");

    // Cut within the malformed batch, each part tells of its own offsets.
    let mut rest = part.clone();
    let front = rest.take_front(6);
    let told = |part: &Part| records(part).filter_map(Result::err).map(|e| (e.first, e.last)).collect::<Vec<_>>();
    assert_eq!((told(&front), told(&rest)), (vec![(13, 13)], vec![(14, 14)]));
}

#[test]
fn a_poll_reads_its_parts_one_after_the_other() {
    let now = Instant::now();
    let parts = vec![
        acquisition(&[(0, 1)], batches(batch(0, 2)), now),
        acquisition(&[], Vec::new(), now),
        acquisition(&[(7, 9)], batches(batch(5, 5)), now),
    ];
    let records =
        ShareRecords::new(parts, Arc::new(Deserializers { key: ByteArrayDeserializer, value: ByteArrayDeserializer }));
    assert_eq!(records.len(), 5);
    let offsets: Vec<_> = records.iter().map(|record| record.unwrap().offset).collect();
    assert_eq!(offsets, [0, 1, 7, 8, 9]);
}

#[test]
fn an_acquisition_larger_than_a_poll_waits_its_turn_in_slices() {
    let mut buffer = Buffer::default();
    let now = Instant::now();
    buffer.push(acquisition(&[(0, 24)], batches(batch(0, 25)), now));
    buffer.push(acquisition(&[(25, 26)], batches(batch(25, 2)), now));
    let mut taken = Vec::new();
    while let Some(part) = buffer.take(10) {
        taken.push(read(&part));
    }
    let lengths: Vec<_> = taken.iter().map(Vec::len).collect();
    assert_eq!(lengths, [10, 10, 5, 2]);
    assert_eq!(taken.concat(), (0..27).collect::<Vec<_>>());
}

#[test]
fn partitions_take_turns_and_keep_their_own_order() {
    let mut buffer = Buffer::default();
    let now = Instant::now();
    buffer.push(acquisition(&[(0, 24)], batches(batch(0, 25)), now));
    buffer.push(acquisition(&[(25, 26)], batches(batch(25, 2)), now));
    let mut other = acquisition(&[(100, 102)], batches(batch(100, 3)), now);
    Arc::get_mut(&mut other.source).unwrap().topic_partition.partition += 1;
    buffer.push(other);
    let firsts: Vec<_> = std::iter::from_fn(|| buffer.take(10)).map(|part| part.ranges[0].first).collect();
    assert_eq!(firsts, [0, 100, 10, 20, 25]);
}

// Mutation: client/src/share/buffer.rs
// - self.remove(|part| !part.lock.is_worth_starting(now))
// + self.remove(|part| part.records() == 0)
#[test]
fn row_31_what_waits_too_long_is_not_handed_out_and_neither_is_what_a_lost_session_held() {
    let start = Instant::now();
    let mut buffer = Buffer::default();
    buffer.push(acquisition(&[(0, 9)], batches(batch(0, 10)), start + LOCK));
    buffer.push(acquisition(&[(10, 14)], batches(batch(10, 5)), start));
    let expired = buffer.expire(start + LOCK - Duration::from_secs(1));
    assert_eq!(expired.iter().map(Part::records).collect::<Vec<_>>(), [5]);

    let lost = Grip::default();
    buffer.push(acquired_in(&lost, &[(20, 22)], batches(batch(20, 3)), start + LOCK));
    assert!(buffer.expire(start).is_empty());
    lost.lose();
    assert_eq!(buffer.expire(start).iter().map(Part::records).collect::<Vec<_>>(), [3]);
    assert_eq!(buffer.take(10).map(|part| part.records()), Some(10), "what another session holds stays");
    assert!(buffer.take(10).is_none());
}

proptest! {
    #[test]
    fn however_it_is_cut_every_acquired_record_is_read_once(
        layout in prop::collection::vec((0i64..4, 1i64..30), 1..6),
        acquired in prop::collection::vec((0i64..12, 1i64..20), 1..12),
        cuts in prop::collection::vec(1u32..15, 1..60),
        by_offset in any::<bool>(),
    ) {
        let (mut bytes, mut next) = (Vec::new(), 0);
        for (gap, count) in layout {
            bytes.extend(batch(next + gap, count));
            next += gap + count;
        }
        let batches = batches(bytes);
        // Only offsets that have a record are ever acquired.
        let has_record = |offset: &i64| batches.iter().any(|b| (b.base_offset()..=b.last_offset()).contains(offset));
        let mut ranges: Vec<(i64, i64)> = Vec::new();
        let mut first = 0;
        for (gap, len) in acquired {
            first += gap;
            for offset in (first..first + len).filter(has_record) {
                match ranges.last_mut() {
                    Some(range) if range.1 + 1 == offset => range.1 = offset,
                    _ => ranges.push((offset, offset)),
                }
            }
            first += len;
        }
        let expected: Vec<i64> = ranges.iter().flat_map(|&(first, last)| first..=last).collect();

        let mut rest = acquisition(&ranges, batches, Instant::now());
        let mut offsets = Vec::new();
        for cut in cuts {
            if by_offset {
                let at = rest.ranges.first().map_or(0, |range| range.first) + i64::from(cut);
                let tail = rest.split_off(at);
                offsets.extend(read(&std::mem::replace(&mut rest, tail)));
            } else {
                let front = rest.take_front(cut);
                prop_assert_eq!(read(&front).len(), front.records() as usize);
                offsets.extend(read(&front));
            }
        }
        offsets.extend(read(&rest));
        prop_assert_eq!(offsets, expected);
    }
}
