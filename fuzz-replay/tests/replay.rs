//! The fuzz targets on stable: seeds, mutations of seeds that are the same in every run, and what once was found.
//! `ACKFLOW_FUZZ_MUTATIONS=N cargo test -p ackflow-fuzz-replay` makes N times as many mutations.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use ackflow_fuzz_replay::mutations::Mutator;
use ackflow_fuzz_replay::{ALL, Target, root};

/// No input takes so long, however busy the machine.
const SLOWEST: Duration = Duration::from_secs(20);

/// Runs one input, and shows it where a promise is broken.
fn replay(target: &'static Target, input: &[u8]) {
    let shown = ShownOnPanic { target: target.name, input };
    let start = Instant::now();
    target.check(input);
    assert!(start.elapsed() < SLOWEST, "{:?}", start.elapsed());
    drop(shown);
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

fn replay_all(name: &str) {
    let target = ALL.iter().copied().find(|target| target.name == name).unwrap();
    let seeds = target.seeds();
    assert!(!seeds.is_empty());
    let times: u32 = std::env::var("ACKFLOW_FUZZ_MUTATIONS").map_or(1, |times| times.parse().unwrap());
    let mut mutator = Mutator::new(0x5eed);
    for seed in &seeds {
        replay(target, seed);
        for _ in 0..target.mutations * times {
            let other = &seeds[mutator.below(seeds.len())];
            replay(target, &mutator.mutate(seed, other));
        }
    }
}

macro_rules! replayed {
    ($($test:ident: $target:literal;)*) => {
        $(#[test]
        fn $test() {
            replay_all($target);
        })*

        const REPLAYED: &[&str] = &[$($target),*];
    };
}

replayed! {
    messages_keep_their_promises: "messages";
    frames_keep_their_promises: "frames";
    records_keep_their_promises: "records";
    texts_keep_their_promises: "text";
    captures_keep_their_promises: "capture";
    acquisitions_keep_their_promises: "acquisition";
    sessions_keep_their_promises: "session";
    groups_keep_their_promises: "group";
    metadata_keeps_its_promises: "metadata";
    the_share_consumer_keeps_its_promises: "share_consumer";
    the_consumer_keeps_its_promises: "consumer";
    the_cluster_keeps_its_promises: "cluster";
    the_queue_of_a_producer_keeps_its_promises: "producer_queue";
    the_worker_keeps_its_promises: "worker";
}

#[test]
fn every_target_is_replayed_and_is_one_of_cargo_fuzz() {
    let here: BTreeSet<String> = ALL.iter().map(|target| target.name.to_owned()).collect();
    let replayed: BTreeSet<String> = REPLAYED.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(replayed, here);
    let programs = fs::read_dir(root().join("fuzz/fuzz_targets")).unwrap();
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let programs: Vec<_> = programs.map(|file| file.unwrap().path()).collect();
    assert_eq!(programs.iter().map(|path| name(path)).collect::<BTreeSet<_>>(), here);
    for program in &programs {
        let call = format!("ackflow_fuzz_replay::{}.check(data)", name(program).to_uppercase());
        assert!(fs::read_to_string(program).unwrap().contains(&call), "{} calls another target", program.display());
    }
    let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
    let named = manifest.lines().filter_map(|line| line.strip_prefix("path = \"fuzz_targets/")?.strip_suffix(".rs\""));
    assert_eq!(named.map(str::to_owned).collect::<BTreeSet<_>>(), here);
}

#[test]
fn crashes_are_kept_for_targets_that_there_are() {
    let Ok(folders) = fs::read_dir(root().join("testdata/fuzz/crashes")) else { return };
    for folder in folders {
        let name = folder.unwrap().file_name();
        assert!(ALL.iter().any(|target| name == target.name), "{name:?}");
    }
}
