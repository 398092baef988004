//! Every fuzz target: what it runs, the inputs that a fuzzer begins with, and the cap on its memory.
//!
//! The bodies are in the crates that they try, behind the feature `fuzzing`. `fuzz/` has a target of cargo-fuzz for each;
//! `tests/replay.rs` plays seeds, mutations of seeds and past crashes on stable, in every run of the tests.
//!
//! - `testdata/fuzz/crashes/TARGET/` holds every input that ever broke a target; `testdata/fuzz/TARGET/` inputs that are
//!   worth keeping. The other seeds are made of the test vectors, the record batches and the captures.
//! - `cargo run -p ackflow-fuzz-replay --bin write-seeds` writes them to `fuzz/corpus/` for cargo-fuzz.

#[path = "../../protocol/tests/support/counting.rs"]
mod counting;
pub mod mutations;
mod seeds;
mod text;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ackflow_protocol::fuzzing;

/// What a target may hold beyond its input at a time, in bytes.
pub use ackflow_protocol::fuzzing::MEMORY;

/// A fuzz target.
pub struct Target {
    /// Its name for cargo-fuzz.
    pub name: &'static str,
    /// How often a replay changes each of its seeds.
    pub mutations: u32,
    run: fn(&[u8]),
    seeds: fn() -> Vec<Vec<u8>>,
}

/// All targets, in the order of the layers. A program of cargo-fuzz names its own alone, so that no other is linked into
/// it: every place in the program costs the fuzzer time in every execution.
pub static ALL: &[&Target] = &[
    &MESSAGES,
    &FRAMES,
    &RECORDS,
    &TEXT,
    &CAPTURE,
    &ACQUISITION,
    &SESSION,
    &GROUP,
    &METADATA,
    &SHARE_CONSUMER,
    &CONSUMER,
    &CLUSTER,
    &PRODUCER_QUEUE,
    &WORKER,
];

/// [`fuzzing::messages`].
pub static MESSAGES: Target =
    Target { name: "messages", run: fuzzing::messages, seeds: seeds::messages, mutations: 150 };

/// [`fuzzing::frames`].
pub static FRAMES: Target = Target { name: "frames", run: fuzzing::frames, seeds: seeds::frames, mutations: 150 };

/// [`fuzzing::records`].
pub static RECORDS: Target = Target { name: "records", run: fuzzing::records, seeds: seeds::records, mutations: 250 };

/// [`fuzzing::text`], and the texts of other crates.
pub static TEXT: Target = Target { name: "text", run: text::text, seeds: seeds::text, mutations: 250 };

/// [`ackflow_capture::fuzzing::capture`].
pub static CAPTURE: Target =
    Target { name: "capture", run: ackflow_capture::fuzzing::capture, seeds: seeds::capture, mutations: 20 };

/// [`fuzzing::acquisition`].
pub static ACQUISITION: Target =
    Target { name: "acquisition", run: fuzzing::acquisition, mutations: 200, ..OPERATIONS };

/// [`fuzzing::session`].
pub static SESSION: Target =
    Target { name: "session", run: |data| fuzzing::session(Instant::now(), data), ..OPERATIONS };

/// [`fuzzing::group`].
pub static GROUP: Target = Target { name: "group", run: |data| fuzzing::group(Instant::now(), data), ..OPERATIONS };

/// [`fuzzing::metadata`].
pub static METADATA: Target =
    Target { name: "metadata", run: |data| fuzzing::metadata(Instant::now(), data), ..OPERATIONS };

/// [`fuzzing::share_consumer`].
pub static SHARE_CONSUMER: Target =
    Target { name: "share_consumer", run: |data| fuzzing::share_consumer(Instant::now(), data), ..OPERATIONS };

/// [`fuzzing::consumer`].
pub static CONSUMER: Target =
    Target { name: "consumer", run: |data| fuzzing::consumer(Instant::now(), data), ..OPERATIONS };

/// [`ackflow_testkit::fuzzing::cluster`].
pub static CLUSTER: Target = Target {
    name: "cluster",
    run: |data| ackflow_testkit::fuzzing::cluster(Instant::now(), data),
    mutations: 20,
    ..OPERATIONS
};

/// [`ackflow_client::fuzzing::producer_queue`].
pub static PRODUCER_QUEUE: Target = Target {
    name: "producer_queue",
    run: |data| ackflow_client::fuzzing::producer_queue(Instant::now(), data),
    ..OPERATIONS
};

/// [`ackflow_sink_runtime::fuzzing::worker`].
pub static WORKER: Target =
    Target { name: "worker", run: |data| ackflow_sink_runtime::fuzzing::worker(Instant::now(), data), ..OPERATIONS };

/// What targets of operation sequences have in common.
const OPERATIONS: Target = Target { name: "", run: |_| {}, seeds: seeds::operations, mutations: 60 };

impl Target {
    /// Runs one input.
    ///
    /// # Panics
    /// Where the target's promises are broken, or more than [`MEMORY`] is held at a time.
    pub fn check(&self, data: &[u8]) {
        let (held, ()) = counting::peak(|| (self.run)(data));
        assert!(held <= MEMORY, "{held} bytes held, {MEMORY} are allowed");
    }

    /// What a fuzzer begins with: made of the test vectors, and kept in `testdata/fuzz/`.
    ///
    /// # Panics
    /// Where the test data cannot be read.
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        let mut seeds = (self.seeds)();
        for folder in ["testdata/fuzz", "testdata/fuzz/crashes"] {
            let Ok(files) = fs::read_dir(root().join(folder).join(self.name)) else { continue };
            let mut paths: Vec<_> = files.filter_map(|file| Some(file.ok()?.path())).collect();
            paths.sort();
            seeds.extend(paths.iter().map(|path| fs::read(path).expect("files of test data can be read")));
        }
        seeds
    }
}

/// The folder of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
