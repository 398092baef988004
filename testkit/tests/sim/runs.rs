//! Many runs, their figures, and the one that fails.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once};
use std::thread;
use std::time::Instant;

use ackflow_protocol::wire::ApiKey;

use crate::sim::Counts;
use crate::trace::Trace;
use crate::world::{Outcome, World};

/// How many lines before a failure are shown.
const LINES: usize = 60;

/// What all runs came to.
#[derive(Debug, Default)]
struct Figures {
    runs: u64,
    accepted: u64,
    rejected: u64,
    exhausted: u64,
    counts: Counts,
}

/// A number in the environment.
pub(crate) fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

const UNPOISONED: &str = "panics of runs are caught";

thread_local! {
    /// Whether a panic of this thread is told by whoever catches it.
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
    /// Where the last one was.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

fn attempt(seed: u64, trace: Trace) -> (World, Result<Outcome, String>) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let told = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_CAUGHT.get() {
                told(panic);
            } else if let Some(place) = panic.location() {
                PLACE.set(place.to_string());
            }
        }));
    });
    let mut world = World::new(seed, trace);
    IS_CAUGHT.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(|| world.run()));
    IS_CAUGHT.set(false);
    let outcome = outcome.map_err(|panic| {
        let text = match panic.downcast::<String>() {
            Ok(text) => *text,
            Err(panic) => panic.downcast::<&str>().map_or_else(|_| String::new(), |text| (*text).to_owned()),
        };
        format!("{text} ({})", PLACE.take())
    });
    (world, outcome)
}

/// The hash of what happens in a run.
pub(crate) fn trace_of(seed: u64) -> u64 {
    match attempt(seed, Trace::kept(false)) {
        (_, Ok(outcome)) => outcome.hash,
        (_, Err(error)) => panic!("seed {seed}: {error}"),
    }
}

/// Runs one seed, and prints what happens.
pub(crate) fn replay(seed: u64) {
    match attempt(seed, Trace::kept(true)).1 {
        Ok(outcome) => println!("seed {seed} is well: {:?}", outcome.counts),
        Err(error) => panic!("seed {seed}: {error}"),
    }
}

/// So many failures are enough.
const FAILURES: usize = 50;

/// Runs seeds on all processors. Panics with the first one that fails and how it came to that.
pub(crate) fn run_all(first: u64, runs: u64) {
    let began = Instant::now();
    let (next, failed) = (AtomicU64::new(first), Mutex::new(BTreeMap::<u64, String>::new()));
    let figures = Mutex::new(Figures::default());
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let mut own = Figures::default();
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + runs || failed.lock().expect(UNPOISONED).len() >= FAILURES {
                        break;
                    }
                    match attempt(seed, Trace::default()).1 {
                        Ok(outcome) => own.take(&outcome),
                        Err(error) => _ = failed.lock().expect(UNPOISONED).insert(seed, error),
                    }
                }
                figures.lock().expect(UNPOISONED).add(&own);
            });
        }
    });
    figures.into_inner().expect(UNPOISONED).print(began);
    let failed = failed.into_inner().expect(UNPOISONED);
    for (seed, error) in &failed {
        println!("failed: seed {seed}: {error}");
    }
    if let Some((seed, error)) = failed.into_iter().next() {
        let (world, again) = attempt(seed, Trace::kept(false));
        let same = again.is_err_and(|again| again == error);
        panic!(
            "seed {seed}: {error}\n{}\n{}again with: ACKFLOW_SIM_SEED={seed} cargo test --release -p ackflow-testkit \
             --test sim every_seed -- --nocapture",
            world.sim.trace.tail(LINES),
            if same { "" } else { "THE SECOND RUN OF THE SAME SEED WENT ANOTHER WAY\n" },
        );
    }
}

impl Figures {
    fn take(&mut self, outcome: &Outcome) {
        self.runs += 1;
        self.accepted += outcome.accepted;
        self.rejected += outcome.rejected;
        self.exhausted += outcome.exhausted;
        self.counts.add(&outcome.counts);
    }

    fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.accepted += other.accepted;
        self.rejected += other.rejected;
        self.exhausted += other.exhausted;
        self.counts.add(&other.counts);
    }

    fn print(&self, began: Instant) {
        let Counts { steps, virtual_time, requests, produced, handed_out, acknowledgements, checks, faults } =
            &self.counts;
        println!(
            "runs={} seconds={:.1} virtual_seconds={:.0} steps={steps} checks={checks}",
            self.runs,
            began.elapsed().as_secs_f64(),
            virtual_time.as_secs_f64()
        );
        println!(
            "records produced {produced}, handed out {handed_out}, accepted {}, rejected {}, archived at the limit {}, words {acknowledgements}",
            self.accepted, self.rejected, self.exhausted
        );
        let requests: Vec<String> =
            requests.iter().map(|(key, count)| format!("{} {count}", ApiKey(*key).name().unwrap_or("?"))).collect();
        println!("requests: {}", requests.join(", "));
        let faults: Vec<String> = faults.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        println!("faults: {}", faults.join(", "));
    }
}
