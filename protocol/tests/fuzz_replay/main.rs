//! The fuzz targets on stable: seeds, mutations of seeds that are the same in every run, and what once was found.
//!
//! - `testdata/fuzz/crashes/TARGET/` holds every input that ever broke a target; `testdata/fuzz/TARGET/` inputs that are
//!   worth keeping. The other seeds are made of the test vectors and the record batches.
//! - `ACKFLOW_FUZZ_MUTATIONS=N cargo test -p ackflow-protocol --test fuzz_replay` makes N times as many mutations.
//! - `cargo test -p ackflow-protocol --test fuzz_replay -- --ignored` writes the seeds to `fuzz/corpus/` for cargo-fuzz.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

#[path = "../support/counting.rs"]
mod counting;
mod mutations;
mod seeds;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ackflow_protocol::fuzzing;

use mutations::Random;

/// No input takes so long, however busy the machine.
const SLOWEST: Duration = Duration::from_secs(20);

struct Target {
    name: &'static str,
    run: fn(&[u8]),
    seeds: fn() -> Vec<Vec<u8>>,
    /// Mutations of each seed.
    mutations: u32,
}

const TARGETS: [Target; 5] = [
    Target { name: "messages", run: fuzzing::messages, seeds: seeds::messages, mutations: 400 },
    Target { name: "frames", run: fuzzing::frames, seeds: seeds::frames, mutations: 500 },
    Target { name: "records", run: fuzzing::records, seeds: seeds::records, mutations: 1_000 },
    Target { name: "text", run: fuzzing::text, seeds: seeds::text, mutations: 1_000 },
    Target {
        name: "share_consumer",
        run: |data| fuzzing::share_consumer(Instant::now(), data),
        seeds: seeds::share_consumer,
        mutations: 200,
    },
];

impl Target {
    fn named(name: &str) -> &'static Self {
        TARGETS.iter().find(|target| target.name == name).unwrap()
    }

    /// Runs one input, and shows it where a promise is broken.
    fn replay(&self, input: &[u8]) {
        let shown = ShownOnPanic { target: self.name, input };
        let start = Instant::now();
        let (held, ()) = counting::peak(|| (self.run)(input));
        assert!(start.elapsed() < SLOWEST, "{:?}", start.elapsed());
        assert!(held <= fuzzing::MEMORY, "{held} bytes held");
        drop(shown);
    }

    fn replay_all(&self) {
        let seeds: Vec<_> = (self.seeds)().into_iter().chain(kept(self.name)).collect();
        assert!(!seeds.is_empty());
        let times: u32 = std::env::var("ACKFLOW_FUZZ_MUTATIONS").map_or(1, |times| times.parse().unwrap());
        let mut random = Random::new(0x5eed);
        for seed in &seeds {
            self.replay(seed);
            for _ in 0..self.mutations * times {
                let other = &seeds[random.below(seeds.len())];
                self.replay(&random.mutate(seed, other));
            }
        }
    }
}

struct ShownOnPanic<'a> {
    target: &'static str,
    input: &'a [u8],
}

impl Drop for ShownOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let hex: String = self.input.iter().map(|byte| format!("{byte:02x}")).collect();
            eprintln!("{} broke a promise on these bytes; keep them in testdata/fuzz/crashes/: {hex}", self.target);
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The inputs of a target that are checked in.
fn kept(target: &str) -> Vec<Vec<u8>> {
    let folders = [root().join("testdata/fuzz").join(target), root().join("testdata/fuzz/crashes").join(target)];
    let files = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn messages_keep_their_promises() {
    Target::named("messages").replay_all();
}

#[test]
fn frames_keep_their_promises() {
    Target::named("frames").replay_all();
}

#[test]
fn records_keep_their_promises() {
    Target::named("records").replay_all();
}

#[test]
fn texts_keep_their_promises() {
    Target::named("text").replay_all();
}

#[test]
fn the_share_consumer_keeps_its_promises() {
    Target::named("share_consumer").replay_all();
}

#[test]
#[ignore = "writes to fuzz/corpus"]
fn write_the_seeds_for_cargo_fuzz() {
    for target in &TARGETS {
        let folder = root().join("fuzz/corpus").join(target.name);
        fs::create_dir_all(&folder).unwrap();
        for (index, seed) in (target.seeds)().into_iter().chain(kept(target.name)).enumerate() {
            fs::write(folder.join(format!("seed-{index}")), seed).unwrap();
        }
    }
}
