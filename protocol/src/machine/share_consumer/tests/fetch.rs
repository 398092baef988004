//! What is fetched, how much, and how hostile or broken data is taken.

use std::time::Duration;

use super::{rig::*, script::*};
use crate::{
    machine::{AckType, AcquiredRange, ClientRequest, ClientResponse, Event, MachineErrorKind},
    messages::share_fetch::{
        AcquiredRecords, LeaderIdAndEpoch, PartitionData, ShareFetchResponse, ShareFetchableTopicResponse,
    },
    records::BatchError,
    wire::{ErrorCode, Uuid},
};

fn acquired_ranges(ranges: &[(i64, i64, i16)]) -> Vec<AcquiredRecords> {
    ranges
        .iter()
        .map(|(first_offset, last_offset, delivery_count)| AcquiredRecords {
            first_offset: *first_offset,
            last_offset: *last_offset,
            delivery_count: *delivery_count,
        })
        .collect()
}

fn data(records: Vec<u8>, ranges: &[(i64, i64, i16)]) -> PartitionData {
    PartitionData {
        partition_index: 0,
        records: Some(records.into()),
        acquired_records: acquired_ranges(ranges),
        ..Default::default()
    }
}

#[test]
fn only_acquired_offsets_are_handed_out() {
    let mut rig = Rig::joined(&[1]);
    let fetch = rig.take_session(1);
    let records = [batch(0, 9), batch(10, 19), batch(20, 29)].concat();
    rig.respond(&fetch, fetched(vec![data(records, &[(5, 7, 1), (8, 12, 1), (14, 14, 3)])]));
    let acquisition = rig.acquisitions().remove(0);
    let range = |first, last, delivery_count| AcquiredRange { first, last, delivery_count };
    assert_eq!(acquisition.ranges, [range(5, 12, 1), range(14, 14, 3)]);
    assert_eq!((acquisition.records, acquisition.batches.len()), (9, 2), "the third batch holds nothing acquired");
}

// Mutation: protocol/src/machine/acquisition/mod.rs
// - Some(previous) if previous.last + 1 == range.first && previous.delivery_count == range.delivery_count => {
// + Some(previous) if previous.last + 1 == range.first => {
#[test]
fn row_17_delivery_counts_go_through_as_they_are() {
    let mut rig = Rig::joined(&[1]);
    let fetch = rig.take_session(1);
    rig.respond(&fetch, fetched(vec![data(batch(0, 2).to_vec(), &[(0, 0, i16::MAX), (1, 1, 2), (2, 2, 2)])]));
    let counts: Vec<_> =
        rig.acquisitions()[0].ranges.iter().map(|range| (range.first, range.last, range.delivery_count)).collect();
    assert_eq!(counts, [(0, 0, i16::MAX), (1, 2, 2)]);
}

// Mutation: protocol/src/machine/acquisition/mod.rs
// - Err(error) => self.bad(last, AckType::Release, error),
// + Err(error) => self.bad(last, AckType::Reject, error),
#[test]
fn row_16_a_batch_that_cannot_be_read_frees_its_locks_and_the_next_is_delivered() {
    // A good batch behind, at an offset that all of the bad ones are below.
    let good = || batch(1_000, 1_009).to_vec();
    for (name, settled) in
        [("crc_bad", AckType::Reject), ("magic3", AckType::Reject), ("lz4_content_csum_bad", AckType::Release)]
    {
        let mut bad = fixture(name);
        bad[..8].copy_from_slice(&7i64.to_be_bytes());
        let mut rig = Rig::joined(&[1]);
        let fetch = rig.take_session(1);
        rig.respond(&fetch, fetched(vec![data([bad, good()].concat(), &[(7, 7, 1), (1_000, 1_009, 1)])]));
        let told: Vec<_> = rig
            .events
            .iter()
            .filter_map(|event| match event {
                Event::BadBatch { first, last, settled, .. } => Some((*first, *last, *settled)),
                _ => None,
            })
            .collect();
        assert_eq!(told, [(7, 7, settled)], "{name}");
        let acquisition = rig.take();
        assert_eq!((acquisition.ranges[0].first, acquisition.records), (1_000, 10), "{name}");
        assert_eq!(rig.take_session(1).acks(), [(0, 7, 7, vec![settled as i8])], "{name}");
    }
}

/// What the application was told of batches that cannot be read.
fn bad_batches(rig: &Rig) -> Vec<(i64, i64, AckType, String)> {
    let told = rig.events.iter().filter_map(|event| match event {
        Event::BadBatch { first, last, settled, error, .. } => Some((*first, *last, *settled, error.to_string())),
        _ => None,
    });
    told.collect()
}

// Mutation: protocol/src/machine/acquisition/mod.rs
// - Err(error) => self.bad(last, AckType::Release, error),
// + Err(error) => self.bad(last, AckType::Reject, error),
#[test]
fn row_42_a_batch_that_inflates_beyond_the_limit_is_released_and_the_next_is_delivered() {
    let bomb = fixture("zstd_rle_16MiB");
    let base = i64::from_be_bytes(bomb[..8].try_into().unwrap());
    let mut rig = Rig::joined_with(&[1], |options| options.decompression_limit = 1 << 20);
    let fetch = rig.take_session(1);
    let records = [bomb, batch(100, 109).to_vec()].concat();
    rig.respond(&fetch, fetched(vec![data(records, &[(base, base, 1), (100, 109, 1)])]));
    let told = bad_batches(&rig);
    let [(first, last, AckType::Release, error)] = &told[..] else { panic!("{told:?}") };
    assert!((*first, *last) == (base, base) && error.contains(&(1 << 20).to_string()), "{told:?}");
    assert_eq!(rig.take().records, 10);
    assert_eq!(rig.take_session(1).acks(), [(0, base, base, vec![2])]);
}

// Mutation: protocol/src/machine/acquisition/mod.rs
// - self.content.settle(range.first, range.last, AckType::Gap);
// +
#[test]
fn row_43_compacted_batches_of_one_reply_leave_no_offset_undecided() {
    let records = [fixture("empty_after_compaction"), fixture("compacted_tail")].concat();
    let mut rig = Rig::joined(&[1]);
    let fetch = rig.take_session(1);
    rig.respond(&fetch, fetched(vec![data(records, &[(10, 14, 1), (20, 29, 1)])]));
    let acquisition = rig.take();
    assert_eq!((acquisition.ranges[0].first, acquisition.ranges[0].last, acquisition.records), (23, 23, 1));
    let gaps = [(0, 10, 14, vec![0]), (0, 20, 22, vec![0]), (0, 24, 29, vec![0])];
    assert_eq!(rig.take_session(1).acks(), gaps);
}

/// A message of an old format that holds others, compressed: it has the offset of the last one. Nobody looks inside.
fn old_message(magic: u8, last_offset: i64) -> Vec<u8> {
    let mut rest = vec![0; 4];
    rest.extend([magic, 1]);
    rest.extend([0; 20]);
    [&last_offset.to_be_bytes()[..], &(rest.len() as i32).to_be_bytes(), &rest].concat()
}

// Mutation: protocol/src/machine/acquisition/mod.rs
// - if !is_old {
// + if true {
#[test]
fn row_51_messages_of_the_old_formats_are_rejected_with_the_magic_named_and_the_rest_goes_on() {
    for magic in [0, 1] {
        let records =
            [batch(0, 4).to_vec(), old_message(magic, 9), old_message(magic, 12), batch(20, 24).to_vec()].concat();
        let mut rig = Rig::joined(&[1]);
        let fetch = rig.take_session(1);
        rig.respond(&fetch, fetched(vec![data(records, &[(0, 14, 1), (20, 24, 1)])]));
        let told = bad_batches(&rig);
        let ranges: Vec<_> = told.iter().map(|(first, last, settled, _)| (*first, *last, *settled)).collect();
        assert_eq!(ranges, [(5, 9, AckType::Reject), (10, 12, AckType::Reject)]);
        assert!(told.iter().all(|(.., error)| error.contains(&format!("magic {magic}"))), "{told:?}");
        let acquisition = rig.take();
        let ranges: Vec<_> = acquisition.ranges.iter().map(|range| (range.first, range.last)).collect();
        assert_eq!(ranges, [(0, 4), (20, 24)]);
        // Rejected for good, and what no message covers is a gap: nothing stays locked.
        let settled: Vec<_> = rig.take_session(1).acks();
        assert_eq!(settled, [(0, 5, 14, vec![3, 3, 3, 3, 3, 3, 3, 3, 0, 0])]);
    }
}

#[test]
fn a_codec_that_nobody_knows_is_released_for_a_member_that_may() {
    let mut bad = batch(0, 4).to_vec();
    bad[22] |= 7;
    let mut rig = Rig::joined(&[1]);
    let fetch = rig.take_session(1);
    rig.respond(&fetch, fetched(vec![data(bad, &[(0, 4, 1)])]));
    assert!(rig.acquisitions().is_empty());
    assert_eq!(rig.take_session(1).acks(), [(0, 0, 4, vec![2])]);
}

#[test]
fn records_that_were_cut_off_are_released_not_lost() {
    let whole = [batch(0, 4), batch(5, 9)].concat();
    let mut rig = Rig::joined(&[1]);
    let fetch = rig.take_session(1);
    rig.respond(&fetch, fetched(vec![data(whole[..whole.len() - 5].to_vec(), &[(0, 9, 1)])]));
    assert_eq!(rig.take().records, 5);
    assert_eq!(rig.take_session(1).acks(), [(0, 5, 9, vec![2])]);
}

// Mutation: protocol/src/machine/acquisition/mod.rs
// - let (first, last) = (range.first_offset, range.last_offset);
// + let (first, last) = (range.first_offset, i64::from(range.last_offset as i32));
#[test]
fn row_20_hostile_ranges_stay_ranges() {
    let mut rig = Rig::joined(&[1]);
    let fetch = rig.take_session(1);
    rig.respond(&fetch, fetched(vec![data(batch(0, 9).to_vec(), &[(0, 4_294_967_296, 1)])]));
    let acquisition = rig.take();
    assert_eq!((acquisition.records, acquisition.ranges.len()), (10, 1));
    let fetch = rig.take_session(1);
    assert_eq!(fetch.acks(), [(0, 10, 4_294_967_296, vec![0])]);
    rig.answer_well(&fetch);
    let ack = rig.acknowledge(acquisition.session, partition(0), &[accept(0, 9)]);
    rig.pass(ms(5));
    assert_eq!(rig.result(ack), Ok(()));
    rig.sleep(ms(20));
    let fetch = rig.take_session(1);
    rig.respond(&fetch, fetched(vec![data(batch(0, 9).to_vec(), &[(0, i64::MAX, 1)])]));
    rig.take();
    assert_eq!(rig.take_session(1).acks(), [(0, 10, i64::MAX, vec![0])]);
    let nothing = rig.acknowledge(acquisition.session, partition(0), &[accept(0, i64::MAX)]);
    assert!(rig.results(nothing).len() <= 1);
}

// Mutation: protocol/src/machine/acquisition/mod.rs
// - if first < 0 || last < first {
// + if false {
#[test]
fn row_20_a_range_that_runs_backwards_is_an_error_of_that_partition_only() {
    for range in [(5, 3, 1), (-5, 3, 1), (i64::MAX, i64::MIN, 1)] {
        let mut rig = Rig::joined(&[1, 1]);
        let fetch = rig.take_session(1);
        rig.respond(&fetch, fetched(vec![data(batch(0, 9).to_vec(), &[range]), acquired(1, 0, 4)]));
        let errors = rig.errors();
        assert!(
            matches!(errors[..], [ref error] if matches!(error.kind, MachineErrorKind::AcquiredRange { .. }) && !error.fatal)
        );
        assert_eq!(rig.take().topic_partition, partition(1));
    }
}

// Mutation: protocol/src/machine/acquisition/mod.rs
// - let first = first.max(lowest);
// +
#[test]
fn row_20_ranges_that_overlap_or_go_back_are_handed_out_once() {
    let mut rig = Rig::joined(&[1]);
    let fetch = rig.take_session(1);
    rig.respond(&fetch, fetched(vec![data(batch(0, 9).to_vec(), &[(2, 5, 1), (4, 7, 2), (0, 1, 1), (3, 3, 1)])]));
    let acquisition = rig.take();
    let ranges: Vec<_> = acquisition.ranges.iter().map(|range| (range.first, range.last)).collect();
    assert_eq!((ranges, acquisition.records), (vec![(2, 5), (6, 7)], 6));
}

// Mutation: protocol/src/machine/acquisition/mod.rs
// - if check_crcs && let Err(error) = batch.verify_crc() {
// + if !check_crcs && let Err(error) = batch.verify_crc() {
#[test]
fn row_20_a_bad_crc_with_the_largest_offset_delta_costs_nothing() {
    let mut bad = fixture("crc_bad");
    bad[23..27].copy_from_slice(&i32::MAX.to_be_bytes());
    let mut rig = Rig::joined(&[1]);
    let fetch = rig.take_session(1);
    let base = i64::from_be_bytes(bad[..8].try_into().unwrap());
    rig.respond(&fetch, fetched(vec![data(bad, &[(base, base + 99, 1)])]));
    assert!(rig.events.iter().any(|event| matches!(event, Event::BadBatch { error: BatchError::Crc { .. }, .. })));
    assert_eq!(rig.take_session(1).acks(), [(0, base, base + 99, vec![3])]);
}

// Mutation: protocol/src/machine/acquisition/mod.rs
// - if batch.is_dense() && (batch.count() as usize) <= most_records(&batch) {
// + if batch.is_dense() {
#[test]
fn row_20_a_count_that_the_bytes_cannot_hold_is_found_without_counting() {
    let mut lie = batch(0, 0).to_vec();
    lie[23..27].copy_from_slice(&(i32::MAX - 1).to_be_bytes());
    lie[57..61].copy_from_slice(&i32::MAX.to_be_bytes());
    let mut rig = Rig::joined_with(&[1], |options| options.check_crcs = false);
    let fetch = rig.take_session(1);
    rig.respond(&fetch, fetched(vec![data(lie, &[(0, 2_000_000_000, 1)])]));
    assert!(rig.acquisitions().is_empty());
    assert_eq!(rig.take_session(1).acks()[0], (0, 0, 2_000_000_000, vec![3]));
}

// Mutation: protocol/src/machine/share_consumer/responses.rs
// - let lists = |node: &&mut Node| node.session.lists(topic_partition);
// + let lists = |_: &&mut Node| true;
#[test]
fn row_22_unknown_partitions_are_skipped_and_both_forms_of_no_records_are_none() {
    let mut rig = Rig::joined(&[1, 1]);
    let fetch = rig.take_session(1);
    let leader = LeaderIdAndEpoch { leader_id: 0x0102_0304, leader_epoch: 7 };
    let partitions = vec![
        PartitionData { partition_index: 77, current_leader: leader.clone(), ..acquired(77, 0, 9) },
        PartitionData { partition_index: 0, current_leader: leader, records: None, ..Default::default() },
        acquired(1, 0, 4),
    ];
    let unknown = ShareFetchableTopicResponse { topic_id: Uuid([8; 16]), partitions: vec![acquired(0, 0, 9)] };
    let ClientResponse::ShareFetch(mut response) = fetched(partitions) else { unreachable!() };
    response.responses.push(unknown);
    rig.respond(&fetch, ClientResponse::ShareFetch(response));
    let acquisitions = rig.acquisitions();
    assert_eq!(acquisitions.len(), 1);
    assert_eq!(acquisitions[0].topic_partition, partition(1));
    assert!(rig.errors().is_empty());
}

// Mutation: protocol/src/machine/share_consumer/responses.rs
// - if !seen.insert(topic_partition) {
// + if false {
#[test]
fn a_partition_that_stands_twice_in_an_answer_is_taken_once() {
    let mut rig = Rig::joined(&[1]);
    let fetch = rig.take_session(1);
    rig.respond(&fetch, fetched(vec![acquired(0, 0, 9), acquired(0, 0, 9)]));
    let acquisitions = rig.acquisitions();
    assert_eq!(acquisitions.len(), 1);
    let ack = rig.acknowledge(acquisitions[0].session, partition(0), &[accept(0, 9)]);
    rig.sleep(ms(20));
    let next = rig.take_session(1);
    assert_eq!(next.acks(), [(0, 0, 9, vec![1])]);
    rig.respond(&next, fetched(vec![partition_error(0, ErrorCode::NONE)]));
    assert_eq!(rig.result(ack), Ok(()));
}

// Mutation: protocol/src/machine/share_consumer/responses.rs
// - node.session.mistaken(unlisted);
// + drop(unlisted);
// Mutation: protocol/src/machine/share_consumer/responses.rs
// - is_empty &= !is_listed || partition.acquired_records.is_empty() && partition.error_code.is_none();
// + is_empty &= partition.acquired_records.is_empty() && partition.error_code.is_none();
#[test]
fn a_session_that_another_one_of_the_member_took_the_place_of_is_told_its_partitions_again() {
    let mut rig = Rig::joined(&[1, 1]);
    let opening = rig.take_session(1);
    rig.respond(&opening, fetched(vec![]));
    rig.sleep(ms(20));
    let fetch = rig.take_session(1);
    assert_eq!((fetch.epoch(), fetch.fetch().topics.len()), (1, 0));
    // The fetch that opened a session of an earlier life came late: its topic is gone since.
    let gone = Uuid([8; 16]);
    let answered = rig.now;
    rig.respond(&fetch, fetched_of(gone, vec![partition_error(0, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)]));
    rig.sleep(ms(20));
    let fetch = rig.take_session(1);
    assert!(fetch.at > answered, "the broker is asked in a loop");
    assert_eq!(fetch.epoch(), 2);
    let listed: Vec<i32> =
        fetch.fetch().topics.iter().flat_map(|topic| &topic.partitions).map(|listed| listed.partition_index).collect();
    let forgotten: Vec<Uuid> = fetch.fetch().forgotten_topics_data.iter().map(|topic| topic.topic_id).collect();
    assert_eq!((listed, forgotten), (vec![0, 1], vec![gone]));
    assert!(rig.lost_sessions().is_empty());
}

// Mutation: protocol/src/machine/share_consumer/demand.rs
// - self.buffered += u64::from(records);
// +
#[test]
fn row_31_nothing_is_acquired_while_nobody_polls_and_the_buffer_is_full() {
    let mut rig = Rig::joined_with(&[1, 2, 3], |options| options.max_poll_records = 100);
    // Each broker has plenty, and gives what it is asked for.
    let mut first: [i64; 4] = [0; 4];
    let serve = |rig: &mut Rig, first: &mut [i64; 4]| {
        for node in 1..=3 {
            while let Some(fetch) = rig.try_session(node) {
                if fetch.epoch() == -1
                    || fetch.acks().iter().any(|_| matches!(fetch.request, ClientRequest::ShareAcknowledge(_)))
                {
                    rig.answer_well(&fetch);
                    continue;
                }
                let asked = i64::from(fetch.fetch().max_records);
                let at = &mut first[node as usize];
                let mut data = acquired(node - 1, *at, *at + asked - 1);
                data.acknowledge_error_code = ErrorCode::NONE;
                *at += asked;
                let ClientResponse::ShareFetch(response) = fetched(vec![data]) else { unreachable!() };
                let response = ShareFetchResponse { acquisition_lock_timeout_ms: 1_000, ..response };
                rig.respond(&fetch, ClientResponse::ShareFetch(response));
            }
        }
    };
    serve(&mut rig, &mut first);
    rig.sleep(ms(3_000));
    serve(&mut rig, &mut first);
    let buffered: u32 = rig.acquisitions().iter().map(|acquisition| acquisition.records).sum();
    assert!(buffered <= 120, "{buffered} records for a caller that has shown no pace yet");

    // A handler that needs 5 ms a record, with locks of a second: what it takes it can finish.
    let mut rig = Rig::joined_with(&[1, 2, 3], |options| options.max_poll_records = 100);
    let mut first = [0; 4];
    let mut done = 0;
    for _ in 0..200 {
        serve(&mut rig, &mut first);
        let Some(acquisition) = rig.acquisitions().get(done).cloned() else {
            rig.polled();
            rig.sleep(ms(1));
            continue;
        };
        done += 1;
        rig.polled();
        if acquisition.lock_deadline < rig.now + ms(5) * acquisition.records {
            panic!("a lock that is too short was buffered: {:?} left", acquisition.lock_deadline - rig.now);
        }
        rig.taken(acquisition.records);
        for _ in 0..acquisition.records {
            rig.sleep(ms(5));
            serve(&mut rig, &mut first);
        }
        let range = accept(acquisition.ranges[0].first, acquisition.ranges[0].last);
        let ack = rig.acknowledge(acquisition.session, acquisition.topic_partition, &[range]);
        rig.sleep(ms(6));
        serve(&mut rig, &mut first);
        assert_ne!(rig.results(ack), [Err(ErrorCode::INVALID_RECORD_STATE)]);
    }
    assert!(done > 50, "{done}");
}

#[test]
fn the_next_fetch_is_out_before_the_caller_is_done() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 499);
    rig.take();
    rig.sleep(ms(2));
    let fetch = rig.take_session(1);
    assert!(fetch.acks().is_empty());
    assert_eq!(fetch.fetch().max_wait_ms, 20, "records are undecided, so the broker may not hold it for long");
}

#[test]
fn a_fetch_asks_each_broker_for_no_more_bytes_than_its_records_take() {
    let mut rig = Rig::joined(&[1, 1, 2]);
    let (two, one) = (rig.take_session(1), rig.take_session(2));
    assert_eq!((two.fetch().max_bytes, one.fetch().max_bytes), (2 << 20, 1 << 20), "nothing has come yet");
    let records = batch(0, 9);
    let bytes = records.len() as i32;
    rig.respond(&two, fetched(vec![data(records.to_vec(), &[(0, 9, 1)])]));
    let acquisition = rig.take();
    rig.acknowledge(acquisition.session, partition(0), &[accept(0, 9)]);
    let next = rig.take_session(1);
    let asked = next.fetch().max_records;
    assert!((bytes / 10 * asked..=10 * bytes * asked).contains(&next.fetch().max_bytes), "{:?}", next.fetch());
}

#[test]
fn an_idle_session_parks_its_fetch() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 4);
    let session = rig.take().session;
    rig.acknowledge(session, partition(0), &[accept(0, 4)]);
    let busy = rig.take_session(1);
    assert_eq!((busy.acks().len(), busy.fetch().max_wait_ms), (1, 20), "the acknowledgement waits for its answer");
    rig.answer_well(&busy);
    rig.sleep(ms(20));
    assert_eq!(rig.take_session(1).fetch().max_wait_ms, 500);
}

#[test]
fn a_fetch_of_full_partitions_waits_for_something_to_acknowledge() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 1_999);
    let session = rig.take().session;
    rig.sleep(ms(15));
    assert!(rig.try_session(1).is_none(), "the broker has nothing to give, and would hold the acknowledgement up");
    rig.acknowledge(session, partition(0), &[accept(0, 1_999)]);
    assert_eq!(rig.take_session(1).acks().len(), 1);
}

#[test]
fn a_broker_that_answers_at_once_with_nothing_is_not_asked_in_a_loop() {
    let mut rig = Rig::joined(&[1]);
    let begun = rig.now;
    let mut fetches = 0;
    while rig.now < begun + ms(1_000) {
        while let Some(fetch) = rig.try_session(1) {
            fetches += 1;
            rig.answer_well(&fetch);
        }
        rig.sleep(ms(1));
    }
    assert!(fetches <= 52, "{fetches}");
}

#[test]
fn the_lock_duration_is_told_when_it_becomes_known_and_when_it_changes() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 4);
    rig.take();
    rig.pass(ms(50));
    let told: Vec<Duration> = rig
        .events
        .iter()
        .filter_map(|event| match event {
            Event::LockTimeout(timeout) => Some(*timeout),
            _ => None,
        })
        .collect();
    assert_eq!(told, [LOCK]);
}

#[test]
fn an_acquisition_that_is_dropped_makes_room_for_another() {
    let mut rig = Rig::joined(&[1]);
    rig.deliver(1, 0, 0, 499);
    rig.sleep(ms(100));
    assert!(rig.try_session(1).is_none());
    let acquisition = rig.acquisitions().remove(0);
    rig.machine.dropped(rig.now, &acquisition);
    rig.drain();
    let fetch = rig.take_session(1);
    assert_eq!(fetch.fetch().max_wait_ms, 500, "nothing is held any more");
    let late = rig.acknowledge(acquisition.session, partition(0), &[accept(0, 9)]);
    assert_eq!(rig.result(late), Err(ErrorCode::INVALID_RECORD_STATE));
}

// Mutation: protocol/src/machine/share_consumer/responses.rs
// - request.max_wait.min(BUSY_WAIT).max(least);
// + request.max_wait.min(BUSY_WAIT);
#[test]
fn a_broker_that_is_not_to_wait_is_asked_in_no_loop() {
    let mut rig = Rig::joined_with(&[1], |options| options.fetch_max_wait = Duration::ZERO);
    let begun = rig.now;
    let mut fetches = 0;
    while rig.now < begun + ms(1_000) {
        while let Some(fetch) = rig.try_session(1) {
            fetches += 1;
            assert!(fetches <= 101, "it is asked in a loop");
            rig.answer_well(&fetch);
        }
        rig.sleep(ms(1));
    }
    assert!(fetches >= 50, "{fetches}");
}
