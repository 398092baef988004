//! What reading a batch costs next to checking its checksum: `cargo bench -p ackflow-protocol --bench records`.
//!
//! Each case is a batch of 1,000 records. `crc` is `crc32c` over the bytes that the checksum covers and nothing else;
//! `walk` reads the header, verifies the checksum, walks the records and looks at both ends of every key and value.
//! Both take turns; of each the fastest round counts. The ratio of the first case has a goal: the program fails above
//! it.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use ackflow_protocol::records::{BATCH_OVERHEAD, BatchBuilder, BatchOptions, Batches, Header};
use bytes::Bytes;

const RECORDS: u32 = 1_000;
const ROUNDS: usize = 300;
const REPEATS: u32 = 20;
const GOAL: f64 = 4.0;

/// Where the bytes start that the checksum covers.
const CRC_COVERS_FROM: usize = 21;

struct Case {
    name: &'static str,
    key: Option<usize>,
    value: usize,
    headers: usize,
}

fn main() {
    let cases = [
        Case { name: "no key, 100 B value", key: None, value: 100, headers: 0 },
        Case { name: "16 B key, 100 B value", key: Some(16), value: 100, headers: 0 },
        Case { name: "16 B key, 1000 B value, 2 headers", key: Some(16), value: 1_000, headers: 2 },
    ];
    println!("{:<36}{:>12}{:>13}{:>14}{:>8}", "batch of 1,000 records", "bytes", "crc ns/rec", "walk ns/rec", "ratio");
    let mut ratios = Vec::new();
    for case in &cases {
        let bytes = batch(case);
        let (crc, walk) = measure(&bytes);
        let ratio = walk / crc;
        println!("{:<36}{:>12}{:>13.1}{:>14.1}{:>8.2}", case.name, bytes.len(), crc, walk, ratio);
        ratios.push(ratio);
    }
    let met = ratios[0] <= GOAL;
    println!("ratio {:.2}, goal at most {GOAL:.1}: {}", ratios[0], if met { "met" } else { "MISSED" });
    // As a test, unoptimised, it only has to run.
    if !met && !cfg!(debug_assertions) {
        std::process::exit(1);
    }
}

fn batch(case: &Case) -> Bytes {
    let mut builder = BatchBuilder::new(BatchOptions { max_size: usize::MAX, ..BatchOptions::default() });
    let key = vec![b'k'; case.key.unwrap_or_default()];
    let value = vec![b'v'; case.value];
    let headers = vec![Header::new("trace-id", Some(b"0123456789abcdef")); case.headers];
    for i in 0..RECORDS {
        let time = 1_700_000_000_000 + i64::from(i / 10);
        let key = case.key.map(|_| &key[..]);
        let place = builder.try_append(time, key, Some(&value), headers.iter().copied());
        assert!(matches!(place, Ok(Some(_))));
    }
    builder.build().expect("the batch has records")
}

/// Fastest time a record in ns: of the checksum alone, and of the walk.
fn measure(bytes: &Bytes) -> (f64, f64) {
    let covered = &bytes[CRC_COVERS_FROM..];
    assert!(covered.len() > BATCH_OVERHEAD);
    let (mut crc, mut walk) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        crc = crc.min(time(|| u64::from(crc32c::crc32c(black_box(covered)))));
        walk = walk.min(time(|| touch_all(black_box(bytes))));
    }
    let a_record = |time: Duration| time.as_nanos() as f64 / f64::from(REPEATS * RECORDS);
    (a_record(crc), a_record(walk))
}

fn time(work: impl Fn() -> u64) -> Duration {
    let start = Instant::now();
    for _ in 0..REPEATS {
        black_box(work());
    }
    start.elapsed()
}

fn touch_all(bytes: &Bytes) -> u64 {
    let mut sum = 0;
    for batch in Batches::new(bytes.clone()) {
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
