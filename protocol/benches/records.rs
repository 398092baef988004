//! What reading a share fetch costs next to checking its checksum: `cargo bench -p ackflow-protocol --bench records`.
//!
//! Each case is the body of a ShareFetch response that holds one batch of 1,000 records. `crc` is the crate `crc32c` over
//! the bytes that the batch's checksum covers and nothing else: a yardstick that does not move with our own checksum. `read` decodes the response, reads the batch's header,
//! verifies the checksum, walks the records and looks at both ends of every key and value. Both take turns; of each the
//! fastest round counts. Two things have a goal, and the program fails when one is missed: the ratio of the first case,
//! and that a thousand records take no more allocations than one.

#[path = "../tests/support/counting.rs"]
mod counting;

use std::{
    hint::black_box,
    process::ExitCode,
    time::{Duration, Instant},
};

use ackflow_protocol::messages::share_fetch::{
    AcquiredRecords, PartitionData, ShareFetchResponse, ShareFetchableTopicResponse,
};
use ackflow_protocol::records::{BatchBuilder, BatchOptions, Batches, Header};
use ackflow_protocol::wire::Message;
use bytes::Bytes;
use counting::allocations;

const RECORDS: u32 = 1_000;
const ROUNDS: usize = 300;
const REPEATS: u32 = 20;
const GOAL: f64 = 4.0;

/// Version of ShareFetch.
const VERSION: i16 = 2;

/// Where the bytes of a batch start that the checksum covers.
const CRC_COVERS_FROM: usize = 21;

struct Case {
    name: &'static str,
    key: Option<usize>,
    value: usize,
    headers: usize,
}

const CASES: [Case; 3] = [
    Case { name: "no key, 100 B value", key: None, value: 100, headers: 0 },
    Case { name: "16 B key, 100 B value", key: Some(16), value: 100, headers: 0 },
    Case { name: "16 B key, 1000 B value, 2 headers", key: Some(16), value: 1_000, headers: 2 },
];

fn main() -> ExitCode {
    println!(
        "{:<36}{:>10}{:>12}{:>13}{:>8}{:>14}",
        "response of 1,000 records", "bytes", "crc ns/rec", "read ns/rec", "ratio", "allocations"
    );
    let mut ratios = Vec::new();
    let mut extra_allocations = 0;
    for case in &CASES {
        let batch = batch(case, RECORDS);
        let covered = batch.slice(CRC_COVERS_FROM..);
        let (response, one) = (response(batch), response(self::batch(case, 1)));
        let (crc, read) = measure(&covered, &response);
        let (of_many, _) = allocations(|| read_all(&response));
        let (of_one, _) = allocations(|| read_all(&one));
        let ratio = read / crc;
        println!("{:<36}{:>10}{crc:>12.1}{read:>13.1}{ratio:>8.2}{of_many:>14}", case.name, response.len());
        ratios.push(ratio);
        extra_allocations += of_many.saturating_sub(of_one);
    }
    let ratio = ratios[0];
    let met = ratio <= GOAL && extra_allocations == 0;
    println!(
        "{}: ratio {ratio:.2} (goal at most {GOAL:.1}), allocations that grow with the records: {extra_allocations} (goal 0)",
        if met { "met" } else { "MISSED" }
    );
    // As a test, unoptimised, it only has to run.
    if met || cfg!(debug_assertions) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn batch(case: &Case, records: u32) -> Bytes {
    let mut builder = BatchBuilder::new(BatchOptions { max_size: usize::MAX, ..BatchOptions::default() });
    let key = vec![b'k'; case.key.unwrap_or_default()];
    let value = vec![b'v'; case.value];
    let headers = vec![Header::new("trace-id", Some(b"0123456789abcdef")); case.headers];
    for i in 0..records {
        let time = 1_700_000_000_000 + i64::from(i / 10);
        let key = case.key.map(|_| &key[..]);
        let place = builder.try_append(time, key, Some(&value), headers.iter().copied());
        assert!(matches!(place, Ok(Some(_))));
    }
    builder.build().expect("the batch has records")
}

fn response(batch: Bytes) -> Bytes {
    let last_offset = i64::from(RECORDS) - 1;
    let partition = PartitionData {
        records: Some(batch),
        acquired_records: vec![AcquiredRecords { first_offset: 0, last_offset, delivery_count: 1 }],
        ..PartitionData::default()
    };
    let topic = ShareFetchableTopicResponse { partitions: vec![partition], ..ShareFetchableTopicResponse::default() };
    let response = ShareFetchResponse { responses: vec![topic], ..ShareFetchResponse::default() };
    response.to_bytes(VERSION).expect("every field exists in this version")
}

/// Fastest time a record in ns: of the checksum alone, and of reading the response.
fn measure(covered: &Bytes, response: &Bytes) -> (f64, f64) {
    let (mut crc, mut read) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        crc = crc.min(time(|| u64::from(crc32c::crc32c(black_box(covered)))));
        read = read.min(time(|| read_all(black_box(response))));
    }
    let a_record = |time: Duration| time.as_nanos() as f64 / f64::from(REPEATS * RECORDS);
    (a_record(crc), a_record(read))
}

fn time(work: impl Fn() -> u64) -> Duration {
    let start = Instant::now();
    for _ in 0..REPEATS {
        black_box(work());
    }
    start.elapsed()
}

fn read_all(response: &Bytes) -> u64 {
    let response = ShareFetchResponse::from_bytes(response.clone(), VERSION).expect("the response is good");
    let partitions = response.responses.into_iter().flat_map(|topic| topic.partitions);
    let mut sum = 0;
    for batch in partitions.filter_map(|partition| partition.records).flat_map(Batches::new) {
        let batch = batch.expect("the batch is good");
        batch.verify_crc().expect("the checksum is good");
        for record in batch.records() {
            let record = record.expect("the record is good");
            sum += touch(record.key) + touch(record.value);
        }
    }
    sum
}

fn touch(bytes: Option<&[u8]>) -> u64 {
    match bytes {
        Some([first, .., last]) => u64::from(*first) + u64::from(*last),
        _ => 0,
    }
}
