//! Of each key only the last record.

use std::fmt::Write;
use std::time::Duration;

use ackflow_protocol::messages::fetch::FetchRequest;
use ackflow_protocol::records::{BatchBuilder, BatchOptions, Batches, Compression, RecordBatch, assign_offsets};
use ackflow_protocol::wire::ErrorCode;
use bytes::Bytes;

use super::logs::{list, mark};
use super::reader::{fetch, summary};
use super::retention::set;
use super::rig::{Member, Rig, STARTED_MS, TOPIC};

/// A rig whose topics are compacted.
fn rig() -> Rig {
    Rig::with(&[("log.cleanup.policy", "compact")], &[])
}

/// A batch of records `key=value`; `key` alone is a tombstone, `=value` has no key.
fn keyed(options: BatchOptions, timestamp: i64, records: &str) -> Bytes {
    let mut builder = BatchBuilder::new(options);
    for record in records.split(' ') {
        let (key, value) = record.split_once('=').map_or((record, None), |(key, value)| (key, Some(value)));
        let key = (!key.is_empty()).then_some(key.as_bytes());
        builder.try_append(timestamp, key, value.map(str::as_bytes), []).unwrap().unwrap();
    }
    builder.build().unwrap()
}

fn produce(rig: &mut Rig, records: &str) -> i64 {
    produce_as(rig, BatchOptions::default(), records)
}

fn produce_as(rig: &mut Rig, options: BatchOptions, records: &str) -> i64 {
    rig.cluster.produce(rig.now, TOPIC, 0, &keyed(options, STARTED_MS, records)).unwrap()
}

/// A producer with an id, at a place in its sequence.
fn idempotent(producer_id: i64, base_sequence: i32) -> BatchOptions {
    BatchOptions { producer_id, producer_epoch: 0, base_sequence, ..BatchOptions::default() }
}

fn transactional(producer_id: i64, base_sequence: i32) -> BatchOptions {
    BatchOptions { transactional: true, ..idempotent(producer_id, base_sequence) }
}

fn clean(rig: &mut Rig) {
    rig.cluster.clean_logs(rig.now);
}

/// What a fetch from `offset` gives.
fn read(rig: &mut Rig, offset: i64) -> Vec<RecordBatch> {
    let request = fetch(rig, &[(0, offset)]);
    let records = rig.call(1, &request).responses.remove(0).partitions.remove(0).records.unwrap_or_default();
    let batches: Vec<_> = Batches::new(records).map(Result::unwrap).collect();
    batches.iter().for_each(|batch| batch.verify_crc().unwrap());
    batches
}

/// The log in short: `0-2[1:a=x 2:b] 5-5[C]`, a batch of offsets 0 to 2 with a record at 1 and a tombstone at 2, and a marker.
fn log(rig: &mut Rig) -> String {
    let start = list(rig, -2, 0).unwrap().1;
    let batches = read(rig, start).into_iter().map(|batch| {
        let batch = batch.decompress(1 << 20).unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let records = batch.records().map(Result::unwrap).map(|record| {
            let mut of = format!("{}:{}", record.offset, record.key.map(text).unwrap_or_default());
            record.value.into_iter().for_each(|value| write!(of, "={}", text(value)).unwrap());
            of
        });
        let records = if batch.is_control() { "C".to_owned() } else { records.collect::<Vec<_>>().join(" ") };
        format!("{}-{}[{records}]", batch.base_offset(), batch.last_offset())
    });
    batches.collect::<Vec<_>>().join(" ")
}

#[test]
fn of_each_key_the_last_record_stays_where_it_was() {
    let mut rig = rig();
    for records in ["a=1 b=1 c=1", "a=2 b=2", "c=2 a=3 c=3", "b=9 d=9"] {
        produce(&mut rig, records);
    }
    clean(&mut rig);
    assert_eq!(log(&mut rig), "3-4[4:b=2] 5-7[6:a=3 7:c=3] 8-9[8:b=9 9:d=9]", "what the last batch has does not count");
    clean(&mut rig);
    assert_eq!(log(&mut rig), "3-4[4:b=2] 5-7[6:a=3 7:c=3] 8-9[8:b=9 9:d=9]");
    assert_eq!(produce(&mut rig, "e=1"), 10);
    clean(&mut rig);
    assert_eq!(log(&mut rig), "5-7[6:a=3 7:c=3] 8-9[8:b=9 9:d=9] 10-10[10:e=1]");
}

#[test]
fn logs_are_compacted_when_they_are_looked_at_and_their_topic_says_so() {
    let mut rig = Rig::with(&[("log.retention.check.interval.ms", "60000")], &[]);
    for records in ["a=1", "a=2", "a=3"] {
        produce(&mut rig, records);
    }
    rig.advance(Duration::from_secs(60));
    rig.cluster.poll(rig.now);
    assert_eq!(log(&mut rig), "0-0[0:a=1] 1-1[1:a=2] 2-2[2:a=3]");
    set(&mut rig, "cleanup.policy", "compact,delete");
    rig.advance(Duration::from_secs(60));
    rig.cluster.poll(rig.now);
    assert_eq!(log(&mut rig), "1-1[1:a=2] 2-2[2:a=3]");
    set(&mut rig, "retention.ms", "1000");
    clean(&mut rig);
    assert_eq!(log(&mut rig), "", "a policy beside it deletes");
}

#[test]
fn reading_goes_on_over_gaps() {
    let mut rig = rig();
    for records in ["a=1", "b=1 b=2", "a=2 a=3 c=1 a=4", "x=1", "a=5"] {
        produce(&mut rig, records);
    }
    produce(&mut rig, "z=1");
    clean(&mut rig);
    assert_eq!(log(&mut rig), "1-2[2:b=2] 3-6[5:c=1] 7-7[7:x=1] 8-8[8:a=5] 9-9[9:z=1]");
    for (offset, expected) in [(0, "1-2 3-6"), (1, "1-2 3-6"), (3, "3-6"), (6, "3-6")] {
        let request = fetch(&rig, &[(0, offset)]);
        assert_eq!(summary(&rig.call(1, &request)), format!("0[{expected} 7-7 8-8 9-9]10/10"), "from {offset}");
    }
    let sizes: i32 = read(&mut rig, 0)[..2].iter().map(|batch| batch.size_in_bytes() as i32).sum();
    let mut request = fetch(&rig, &[(0, 0)]);
    request.topics[0].partitions[0].partition_max_bytes = sizes + 1;
    assert_eq!(summary(&rig.call(1, &request)), "0[1-2 3-6 ~]10/10");
    assert_eq!(list(&mut rig, -2, 0), Ok((-1, 0, 0)), "the log begins where it began");
    assert_eq!(list(&mut rig, -1, 0), Ok((-1, 10, 0)));
    assert_eq!(list(&mut rig, STARTED_MS, 0), Ok((0, 2, 0)));
}

#[test]
fn a_batch_is_rebuilt_as_it_was() {
    for compression in Compression::ALL {
        let mut rig = rig();
        produce(&mut rig, "x=1");
        produce_as(&mut rig, BatchOptions { compression, ..idempotent(7, 20) }, "a=1 b=1 a=2 b=2 a=3");
        produce(&mut rig, "b=3");
        produce(&mut rig, "z=1");
        clean(&mut rig);
        let batch = &read(&mut rig, 1)[0];
        assert_eq!((batch.base_offset(), batch.last_offset(), batch.count(), batch.is_dense()), (1, 5, 1, false));
        assert_eq!((batch.compression(), batch.has_delete_horizon()), (compression, false));
        assert_eq!((batch.producer_id(), batch.producer_epoch(), batch.base_sequence()), (7, 0, 20));
        assert_eq!((batch.partition_leader_epoch(), batch.max_timestamp()), (0, STARTED_MS));
        assert_eq!(log(&mut rig), "0-0[0:x=1] 1-5[5:a=3] 6-6[6:b=3] 7-7[7:z=1]");
    }
}

#[test]
fn tombstones_stay_for_their_time_and_go() {
    let mut rig = rig();
    set(&mut rig, "delete.retention.ms", "60000");
    for records in ["a=1 b=1", "a b=2", "z=1"] {
        produce(&mut rig, records);
    }
    // That it is old does not count: its time begins now.
    rig.advance(Duration::from_secs(1000));
    clean(&mut rig);
    assert_eq!(log(&mut rig), "2-3[2:a 3:b=2] 4-4[4:z=1]");
    let batch = &read(&mut rig, 0)[0];
    assert_eq!((batch.has_delete_horizon(), batch.base_timestamp()), (true, STARTED_MS + 1_060_000));
    assert!(batch.records().all(|record| record.unwrap().timestamp == STARTED_MS));
    rig.advance(Duration::from_millis(59_999));
    clean(&mut rig);
    assert_eq!(log(&mut rig), "2-3[2:a 3:b=2] 4-4[4:z=1]");
    rig.advance(Duration::from_millis(1));
    clean(&mut rig);
    assert_eq!(log(&mut rig), "2-3[3:b=2] 4-4[4:z=1]");
}

#[test]
fn what_is_younger_than_the_lag_stays_and_all_behind_it() {
    let mut rig = rig();
    set(&mut rig, "min.compaction.lag.ms", "60000");
    let aged = |rig: &mut Rig, seconds: i64| {
        let batch = keyed(BatchOptions::default(), STARTED_MS - seconds * 1000, "a=1");
        rig.cluster.produce(rig.now, TOPIC, 0, &batch).unwrap();
    };
    for seconds in [90, 60, 30, 100, 100] {
        aged(&mut rig, seconds);
    }
    clean(&mut rig);
    assert_eq!(log(&mut rig), "1-1[1:a=1] 2-2[2:a=1] 3-3[3:a=1] 4-4[4:a=1]");
    rig.advance(Duration::from_secs(30));
    clean(&mut rig);
    assert_eq!(log(&mut rig), "3-3[3:a=1] 4-4[4:a=1]");
}

#[test]
fn what_is_not_decided_is_not_compacted_and_what_was_aborted_goes() {
    let mut rig = rig();
    produce(&mut rig, "a=1");
    produce(&mut rig, "a=2 b=1");
    produce_as(&mut rig, transactional(7, 0), "a=3 b=3");
    produce(&mut rig, "b=2");
    produce(&mut rig, "b=4");
    produce(&mut rig, "z=1");
    clean(&mut rig);
    assert_eq!(log(&mut rig), "1-2[1:a=2 2:b=1] 3-4[3:a=3 4:b=3] 5-5[5:b=2] 6-6[6:b=4] 7-7[7:z=1]");
    assert_eq!(mark(&mut rig, 7, false, 0), ErrorCode::NONE);
    // The second transaction of the producer keeps the last sequence of the first no longer.
    produce_as(&mut rig, transactional(7, 2), "c=1");
    clean(&mut rig);
    assert_eq!(log(&mut rig), "1-2[1:a=2] 6-6[6:b=4] 7-7[7:z=1] 8-8[C] 9-9[9:c=1]");
    let request = FetchRequest { isolation_level: 1, ..fetch(&rig, &[(0, 0)]) };
    assert_eq!(summary(&rig.call(1, &request)), "0[1-2 6-6 7-7 8-8]10/9x7@3");
    assert_eq!(mark(&mut rig, 7, true, 0), ErrorCode::NONE);
    produce(&mut rig, "c=2");
    produce(&mut rig, "z=2");
    clean(&mut rig);
    let left = "1-2[1:a=2] 6-6[6:b=4] 7-7[7:z=1] 8-8[C] 9-9[] 10-10[C] 11-11[11:c=2] 12-12[12:z=2]";
    assert_eq!(log(&mut rig), left, "what was committed stands for nothing any more, and markers stay");
}

#[test]
fn the_last_batch_of_a_producer_stays_without_its_records() {
    let mut rig = rig();
    let codec = BatchOptions { compression: Compression::Gzip, ..idempotent(7, 0) };
    assert_eq!(produce_as(&mut rig, codec, "a=1 b=1"), 0);
    produce(&mut rig, "a=2 b=2");
    produce(&mut rig, "z=1");
    clean(&mut rig);
    assert_eq!(log(&mut rig), "0-1[] 2-3[2:a=2 3:b=2] 4-4[4:z=1]");
    let batch = &read(&mut rig, 0)[0];
    assert_eq!((batch.producer_id(), batch.base_sequence(), batch.last_offset_delta()), (7, 0, 1));
    assert_eq!(batch.compression(), Compression::None);
    assert_eq!(produce_as(&mut rig, codec, "a=1 b=1"), 0, "a retry is known");
    assert_eq!(list(&mut rig, -3, 0), Ok((0, 2, 0)), "a batch without records has no youngest record");
    assert_eq!(list(&mut rig, STARTED_MS, 0), Ok((0, 2, 0)));
    assert_eq!(produce_as(&mut rig, idempotent(7, 2), "a=3"), 5);
    clean(&mut rig);
    assert_eq!(log(&mut rig), "2-3[2:a=2 3:b=2] 4-4[4:z=1] 5-5[5:a=3]");
}

#[test]
fn records_without_a_key_go() {
    let mut rig = Rig::new();
    for records in ["=1 a=1 =2", "=3", "=4"] {
        produce(&mut rig, records);
    }
    set(&mut rig, "cleanup.policy", "compact");
    clean(&mut rig);
    assert_eq!(log(&mut rig), "0-2[1:a=1] 4-4[4:=4]");
}

#[test]
fn a_log_with_a_batch_that_cannot_be_read_is_left_alone() {
    let mut rig = rig();
    produce(&mut rig, "a=1");
    produce(&mut rig, "a=2");
    let mut damaged = keyed(BatchOptions::default(), STARTED_MS, "a=3").to_vec();
    assign_offsets(&mut damaged, 2, 0).unwrap();
    *damaged.last_mut().unwrap() ^= 1;
    rig.cluster.append_raw(rig.now, TOPIC, 0, damaged.into()).unwrap();
    clean(&mut rig);
    let request = fetch(&rig, &[(0, 0)]);
    assert_eq!(summary(&rig.call(1, &request)), "0[1-1 2-2]3/3", "as the last one it is not looked at");
    produce(&mut rig, "a=4");
    produce(&mut rig, "z=1");
    clean(&mut rig);
    assert_eq!(summary(&rig.call(1, &request)), "0[1-1 2-2 3-3 4-4]5/5");
}

#[test]
fn retention_counts_what_compaction_left() {
    let mut rig = rig();
    for records in ["a=1", "a=2", "b=1", "z=1"] {
        produce(&mut rig, records);
    }
    clean(&mut rig);
    assert_eq!(log(&mut rig), "1-1[1:a=2] 2-2[2:b=1] 3-3[3:z=1]");
    let size = read(&mut rig, 0)[0].size_in_bytes();
    set(&mut rig, "cleanup.policy", "compact,delete");
    set(&mut rig, "retention.bytes", &(3 * size).to_string());
    produce(&mut rig, "y=1");
    clean(&mut rig);
    assert_eq!(log(&mut rig), "2-2[2:b=1] 3-3[3:z=1] 4-4[4:y=1]");
}

#[test]
fn a_share_group_reads_over_gaps_to_the_end() {
    let mut rig = rig();
    for records in ["a=1", "a=2 b=1 a=3", "c=1", "c=2", "d=1", "c=3"] {
        produce(&mut rig, records);
    }
    produce(&mut rig, "z=1");
    clean(&mut rig);
    assert_eq!(log(&mut rig), "1-3[2:b=1 3:a=3] 6-6[6:d=1] 7-7[7:c=3] 8-8[8:z=1]");
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    assert_eq!(member.fetch(&mut rig, 3), "0[1-3x1]");
    assert_eq!(rig.lag(0), Some(8));
    assert_eq!(member.ack_all(&mut rig, &[(1, 3, &[0, 1, 1])]), ErrorCode::NONE);
    assert_eq!(member.fetch(&mut rig, 100), "0[6-8x1]");
    assert_eq!(member.ack(&mut rig, 6, 8, 1), ErrorCode::NONE);
    assert_eq!(rig.lag(0), Some(0));
}

#[test]
fn what_a_share_group_gave_back_and_compaction_took_is_done() {
    let mut rig = rig();
    for records in ["a=1", "b=1 b=2", "c=1 a=2 c=2", "z=1"] {
        produce(&mut rig, records);
    }
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    assert_eq!(member.fetch_limited(&mut rig, 1), "0[0-0x1]");
    assert_eq!(member.fetch(&mut rig, 100), "0[1-6x1]");
    assert_eq!(member.ack(&mut rig, 0, 0, 2), ErrorCode::NONE);
    assert_eq!(member.ack_all(&mut rig, &[(1, 6, &[2, 2, 2, 1, 2, 1])]), ErrorCode::NONE);
    produce(&mut rig, "b=3");
    produce(&mut rig, "z=2");
    clean(&mut rig);
    assert_eq!(log(&mut rig), "3-5[4:a=2 5:c=2] 6-6[6:z=1] 7-7[7:b=3] 8-8[8:z=2]");
    // Of 0 to 2 nothing is left; 3 is a gap in a batch that is read, and for the client to say.
    assert_eq!(member.fetch(&mut rig, 100), "0[3-3x2 5-5x2 7-8x1]");
    assert_eq!(rig.lag(0), Some(4));
    assert_eq!(member.ack_all(&mut rig, &[(3, 3, &[0]), (5, 5, &[1]), (7, 8, &[1])]), ErrorCode::NONE);
    assert_eq!(rig.lag(0), Some(0));
}

#[test]
fn a_share_group_whose_last_open_records_were_compacted_has_no_lag() {
    let mut rig = rig();
    for records in ["a=1", "a=2", "z=1"] {
        produce(&mut rig, records);
    }
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    assert_eq!(member.fetch(&mut rig, 100), "0[0-2x1]");
    assert_eq!(member.ack_all(&mut rig, &[(0, 2, &[2, 1, 1])]), ErrorCode::NONE);
    assert_eq!(rig.lag(0), Some(1));
    clean(&mut rig);
    assert_eq!(member.fetch(&mut rig, 100), "");
    assert_eq!(rig.lag(0), Some(0));
}
