//! Many runs, their figures, and the one that fails.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use crate::world::World;

/// How many lines before a failure are shown.
const LINES: usize = 80;
const UNPOISONED: &str = "panics of runs are caught";

/// A number in the environment.
pub(crate) fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

fn attempt(seed: u64, traces: bool) -> (World, Result<(), String>) {
    let mut world = World::new(seed, traces);
    let outcome = catch_unwind(AssertUnwindSafe(|| world.run())).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
    });
    (world, outcome)
}

/// The hash of what happens in a run.
pub(crate) fn trace_of(seed: u64) -> u64 {
    let (world, outcome) = attempt(seed, false);
    outcome.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    world.hash
}

/// Runs one seed, and prints what happens.
pub(crate) fn replay(seed: u64) {
    let (world, outcome) = attempt(seed, true);
    println!("{:#?}\n{}", world.plan, world.trace.join("\n"));
    outcome.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    println!("seed {seed} is well: {:?}", world.counts);
}

/// Runs seeds on all processors. Panics with the first one that fails and how it came to that.
pub(crate) fn run_all(first: u64, runs: u64) {
    let began = Instant::now();
    let (next, failed) = (AtomicU64::new(first), Mutex::new(BTreeMap::<u64, String>::new()));
    let counts = Mutex::new(BTreeMap::<&'static str, u64>::new());
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + runs || !failed.lock().expect(UNPOISONED).is_empty() {
                        break;
                    }
                    let (world, outcome) = attempt(seed, false);
                    match outcome {
                        Ok(()) => {
                            let mut all = counts.lock().expect(UNPOISONED);
                            world.counts.iter().for_each(|(name, count)| *all.entry(name).or_default() += count);
                        }
                        Err(error) => _ = failed.lock().expect(UNPOISONED).insert(seed, error),
                    }
                }
            });
        }
    });
    if let Some((seed, error)) = failed.into_inner().expect(UNPOISONED).into_iter().next() {
        let (world, again) = attempt(seed, true);
        let same = again.is_err_and(|again| again == error);
        let from = world.trace.len().saturating_sub(LINES);
        panic!(
            "seed {seed}: {error}\n{}\n{}again with: ACKFLOW_KIP_1289_SEED={seed} cargo test --release -p ackflow-testkit --features \
             unstable-kip-1289 --test kip_1289 every_seed -- --nocapture",
            world.trace[from..].join("\n"),
            if same { "" } else { "THE SECOND RUN OF THE SAME SEED WENT ANOTHER WAY\n" },
        );
    }
    let counts = counts.into_inner().expect(UNPOISONED);
    let others = counts.iter().filter(|(name, _)| **name != "runs").map(|(name, count)| format!(" {name}={count}"));
    println!("runs={} seconds={:.1}{}", counts["runs"], began.elapsed().as_secs_f64(), others.collect::<String>());
}
