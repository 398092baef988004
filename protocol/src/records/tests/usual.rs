//! The walk's short cuts give what the walk without them gives.

use proptest::{collection::vec, option, prelude::*};

use crate::records::{
    BatchBuilder, BatchOptions, Batches,
    append::{Usual, put_any, size_of_any},
    record::Framed,
    usual::{take_most, take_short_numbers, take_usual},
    varint::{put, size},
};

/// What a short cut takes is what any record is taken as; whether the first took it, and whether any did.
fn agree(input: &[u8]) -> (bool, bool) {
    let [most, short, usual] = [take_most(input), take_short_numbers(input), take_usual(input)].map(|taken| {
        let Some(taken) = taken else { return false };
        let general = Framed::take(input).unwrap_or_else(|fault| panic!("{input:02x?}: {fault}, not {taken:?}"));
        assert_eq!((taken.raw, taken.rest), (general.raw, general.rest));
        let fields = |framed: &Framed<'_>| format!("{:?}", framed.fields);
        assert_eq!(fields(&taken), fields(&general), "{input:02x?}");
        true
    });
    assert_eq!(most || short, usual);
    (most, usual)
}

/// A record out of numbers that need not fit together, so that any of them may lie.
fn record(numbers: [i64; 5], length_is_off_by: i64, key: &[u8], value: &[u8], headers: &[u8]) -> Vec<u8> {
    let [timestamp, offset, key_length, value_length, header_count] = numbers;
    let mut raw = vec![0];
    put(&mut raw, timestamp);
    put(&mut raw, offset);
    put(&mut raw, key_length);
    raw.extend_from_slice(key);
    put(&mut raw, value_length);
    raw.extend_from_slice(value);
    put(&mut raw, header_count);
    raw.extend_from_slice(headers);
    let mut record = Vec::new();
    put(&mut record, raw.len() as i64 + length_is_off_by);
    record.extend_from_slice(&raw);
    record
}

/// Mostly small, some at the limits of two bytes, rarely anything.
fn number() -> impl Strategy<Value = i64> {
    prop_oneof![6 => -2..70_i64, 3 => 8_100..8_300_i64, 2 => -8_300..-8_100_i64, 1 => any::<i32>().prop_map(i64::from)]
}

proptest! {
    #[test]
    fn the_short_cut_agrees_on_any_bytes(input in vec(any::<u8>(), 0..64)) {
        agree(&input);
    }

    #[test]
    fn the_short_cut_agrees_on_records_that_may_lie(
        deltas in (number(), number()),
        (key_lie, value_lie, length_lie) in (-1..=1_i64, -1..=1_i64, -1..=1_i64),
        lies in any::<bool>(),
        key in option::of(vec(any::<u8>(), 0..140)),
        value in option::of(vec(any::<u8>(), 0..300)),
        headers in prop_oneof![2 => Just((0, vec![])), 1 => (-1..4_i64, vec(any::<u8>(), 0..12))],
        rest in vec(any::<u8>(), 0..12),
    ) {
        let length = |bytes: &Option<Vec<u8>>| bytes.as_ref().map_or(-1, |bytes| bytes.len() as i64);
        let lie = i64::from(lies);
        let numbers =
            [deltas.0, deltas.1, length(&key) + lie * key_lie, length(&value) + lie * value_lie, headers.0];
        let (key, value) = (key.unwrap_or_default(), value.unwrap_or_default());
        let mut input = record(numbers, lie * length_lie, &key, &value, &headers.1);
        input.extend_from_slice(&rest);
        let (by_first, taken) = agree(&input);
        let is_short = size(deltas.0).max(size(deltas.1)) <= 2;
        if !lies && is_short && headers.1.is_empty() && headers.0 == 0 {
            // The shortest have too few bytes behind their start.
            prop_assert!(taken || key.len() + value.len() < 4, "a usual record takes a short cut");
            let is_of_most = (0..64).contains(&deltas.0) && deltas.1 >= 0 && key.len() < 64 && value.len() >= 64;
            prop_assert_eq!(by_first, is_of_most);
        }
    }

    #[test]
    fn a_walk_in_one_go_gives_what_a_loop_gives(
        records in vec((option::of(vec(any::<u8>(), 0..70)), option::of(vec(any::<u8>(), 0..140)), 0..200_i64), 1..100),
        lies in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        lie_of_count in -1..=1_i32,
        is_append_time in any::<bool>(),
    ) {
        let mut builder = BatchBuilder::new(BatchOptions { max_size: usize::MAX, ..BatchOptions::default() });
        for (key, value, timestamp) in &records {
            builder.try_append(*timestamp, key.as_deref(), value.as_deref(), []).unwrap();
        }
        let mut bytes = builder.build().unwrap().to_vec();
        bytes[22] |= if is_append_time { 0x08 } else { 0 };
        bytes[57..61].copy_from_slice(&(records.len() as i32 + lie_of_count).to_be_bytes());
        for (place, lie) in lies {
            let body = &mut bytes[61..];
            body[place.index(body.len())] = lie;
        }
        let batch = Batches::new(bytes.into()).next().unwrap().unwrap();
        let looped: Vec<_> = batch.records().map(|record| format!("{record:?}")).collect();
        let mut in_one_go = Vec::new();
        batch.records().for_each(|record| in_one_go.push(format!("{record:?}")));
        prop_assert_eq!(looped, in_one_go);
    }

    #[test]
    fn the_short_cut_writes_what_any_record_is_written_as(
        timestamp_delta in number(),
        offset_delta in 0..20_000,
        key in option::of(vec(any::<u8>(), 0..140)),
        value in option::of(prop_oneof![3 => vec(any::<u8>(), 0..300), 1 => vec(any::<u8>(), 8_000..8_300)]),
    ) {
        let (key, value) = (key.as_deref(), value.as_deref());
        let usual = Usual::new(timestamp_delta, offset_delta, key, value);
        let whole = size_of_any(timestamp_delta, offset_delta, key, value, [].into_iter());
        let is_short = size(timestamp_delta) <= 2 && offset_delta < 1 << 13 && whole < 1 << 13;
        prop_assert_eq!(usual.is_some(), is_short);
        if let Some(usual) = usual {
            let mut short = vec![0xaa; usual.framed + Usual::SLACK];
            usual.put(&mut short);
            short.truncate(usual.framed);
            let mut any = Vec::new();
            put_any(&mut any, whole, timestamp_delta, offset_delta, key, value, [].into_iter());
            prop_assert_eq!(short, any);
        }
    }
}
