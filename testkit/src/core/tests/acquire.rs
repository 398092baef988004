//! What a fetch acquires.

use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::wire::ErrorCode;

use super::rig::{Member, Rig, STARTED_MS, batch, batches};

#[test]
fn batch_optimized_goes_on_to_the_end_of_a_batch() {
    let mut rig = Rig::new();
    for _ in 0..3 {
        rig.produce(0, 10);
    }
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    assert_eq!(member.fetch(&mut rig, 5), "0[0-9x1]");
    assert_eq!(member.fetch(&mut rig, 15), "0[10-29x1]");
    assert_eq!(member.fetch(&mut rig, 15), "");
}

#[test]
fn record_limit_is_exact_and_the_rest_of_the_batch_comes_next() {
    let mut rig = Rig::new();
    for _ in 0..4 {
        rig.produce(0, 10);
    }
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    assert_eq!(member.fetch_limited(&mut rig, 3), "0[0-2x1]");
    assert_eq!(member.fetch_limited(&mut rig, 12), "0[3-9x1 10-14x1]");
    assert_eq!(member.fetch_limited(&mut rig, 12), "0[15-19x1 20-26x1]");
    // Records in flight are not bounded by batch-optimized mode, so the rest comes and a new batch with it.
    assert_eq!(member.fetch(&mut rig, 4), "0[27-29x1 30-39x1]");
    assert_eq!(member.fetch(&mut rig, 4), "");
}

#[test]
fn ranges_are_cut_at_batch_boundaries_near_the_batch_size() {
    for (batch_size, expected) in
        [(15, "0[0-19x1 20-39x1 40-49x1]"), (1, "0[0-9x1 10-19x1 20-29x1 30-39x1 40-49x1]"), (500, "0[0-49x1]")]
    {
        let mut rig = Rig::new();
        for _ in 0..5 {
            rig.produce(0, 10);
        }
        let mut member = Member::new(&rig, "m1", 1, &[0]);
        let request = ShareFetchRequest { batch_size, ..member.request(100) };
        assert_eq!(member.send(&mut rig, &request), expected);
    }
}

#[test]
fn max_records_counts_over_all_partitions() {
    let mut rig = Rig::new();
    for partition in 0..3 {
        rig.produce(partition, 10);
    }
    let mut member = Member::new(&rig, "m1", 1, &[0, 1, 2]);
    assert_eq!(member.fetch(&mut rig, 15), "0[0-9x1] 1[0-9x1] 2[]");
    assert_eq!(member.fetch(&mut rig, 15), "2[0-9x1]");
}

#[test]
fn each_fetch_begins_at_another_partition() {
    let mut rig = Rig::new();
    let mut member = Member::new(&rig, "m1", 1, &[0, 1, 2]);
    member.fetch(&mut rig, 1);
    for partition in 0..3 {
        rig.produce(partition, 4);
        rig.produce(partition, 4);
    }
    let order: Vec<String> = (0..6).map(|_| member.fetch(&mut rig, 1)).collect();
    assert_eq!(order, ["1[0-3x1]", "2[0-3x1]", "0[0-3x1]", "1[4-7x1]", "2[4-7x1]", "0[4-7x1]"]);
}

#[test]
fn the_window_of_record_locks_reaches_from_the_first_unfinished_record() {
    let mut rig = Rig::with(&[], &[("share.partition.max.record.locks", "100")]);
    for _ in 0..30 {
        rig.produce(0, 10);
    }
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    assert_eq!(member.fetch(&mut rig, 500), "0[0-99x1]");
    assert_eq!(member.fetch(&mut rig, 500), "");
    // Record 0 holds the window, although all others are done.
    assert_eq!(member.ack(&mut rig, 1, 99, 1), ErrorCode::NONE);
    assert_eq!(member.fetch(&mut rig, 500), "");
    assert_eq!(member.ack(&mut rig, 0, 0, 2), ErrorCode::NONE);
    assert_eq!(member.fetch(&mut rig, 500), "0[0-0x2]");
    assert_eq!(member.ack(&mut rig, 0, 0, 1), ErrorCode::NONE);
    assert_eq!(member.fetch(&mut rig, 35), "0[100-139x1]");
    assert_eq!(member.fetch(&mut rig, 500), "0[140-199x1]");
    assert_eq!(rig.lag(0), Some(200));
}

#[test]
fn the_window_may_be_exceeded_to_the_end_of_a_batch() {
    let mut rig = Rig::with(&[], &[("share.partition.max.record.locks", "100")]);
    for _ in 0..3 {
        rig.produce(0, 70);
    }
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    assert_eq!(member.fetch(&mut rig, 500), "0[0-139x1]");
    assert_eq!(member.fetch(&mut rig, 500), "");
}

#[test]
fn max_bytes_is_soft_for_the_first_batch() {
    let mut rig = Rig::new();
    for _ in 0..4 {
        rig.produce(0, 50);
    }
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    let request = ShareFetchRequest { max_bytes: 10, ..member.request(500) };
    assert_eq!(member.send(&mut rig, &request), "0[0-49x1]");
    let two = i32::try_from(2 * batch(50, STARTED_MS).len()).unwrap();
    let request = ShareFetchRequest { max_bytes: two + 10, ..member.request(500) };
    assert_eq!(member.send(&mut rig, &request), "0[50-149x1]");
}

#[test]
fn records_are_cut_to_the_batches_of_what_was_acquired() {
    let mut rig = Rig::new();
    for _ in 0..4 {
        rig.produce(0, 10);
    }
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    let request = member.request(5);
    assert_eq!(batches(&rig.call(1, &request)), [(0, 9)]);
    assert_eq!(member.fetch(&mut rig, 10), "0[10-19x1]");
    assert_eq!(member.ack(&mut rig, 12, 13, 2), ErrorCode::NONE);
    let request = member.request(15);
    let response = rig.call(1, &request);
    assert_eq!(batches(&response), [(10, 19), (20, 29), (30, 39)]);
    let acquired = &response.responses[0].partitions[0].acquired_records;
    assert_eq!((acquired[0].first_offset, acquired[0].last_offset), (12, 13));
}

#[test]
fn nothing_is_acquired_without_a_record_or_byte_limit() {
    let mut rig = Rig::new();
    rig.produce(0, 10);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    assert_eq!(member.fetch(&mut rig, 0), "");
    let request = ShareFetchRequest { max_bytes: 0, max_wait_ms: 60_000, ..member.request(500) };
    assert_eq!(member.send(&mut rig, &request), "", "it is answered at once");
    assert_eq!(member.fetch(&mut rig, 500), "0[0-9x1]");
}

#[test]
fn an_unknown_acquire_mode_is_refused() {
    let mut rig = Rig::new();
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    let request = ShareFetchRequest { share_acquire_mode: 2, ..member.request(1) };
    assert_eq!(member.send(&mut rig, &request), "UNKNOWN_SERVER_ERROR");
}
