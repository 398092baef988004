//! Share consumers in virtual time: the machines of many members run in one thread against the core of a cluster of several
//! nodes, over a network that delays, cuts and loses, from a seed. After each step what has to hold is checked.
//!
//! A seed that fails is printed. `ACKFLOW_SIM_SEED=N cargo test -p ackflow-testkit --test sim every_seed -- --nocapture` runs
//! it again, the same in every step, and prints what happens. `ACKFLOW_SIM_RUNS=N` asks for more runs than an ordinary test
//! makes, and `ACKFLOW_SIM_FIRST=N` for others.

mod app;
mod chaos;
mod driver;
mod member;
mod network;
mod oracle;
mod plan;
mod promises;
mod random;
mod runs;
mod sim;
mod storm;
mod trace;
mod world;

use runs::{number, run_all, trace_of};

/// How many seeds CI runs.
const RUNS: u64 = 300;

#[test]
fn every_seed_keeps_every_promise() {
    if let Some(seed) = number("ACKFLOW_SIM_SEED") {
        return runs::replay(seed);
    }
    let first = number("ACKFLOW_SIM_FIRST").unwrap_or(1);
    run_all(first, number("ACKFLOW_SIM_RUNS").unwrap_or(RUNS));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 1..=10 {
        let (one, other) = (trace_of(seed), trace_of(seed));
        assert_ne!(one, 0);
        assert_eq!(one, other, "seed {seed}");
    }
    assert_ne!(trace_of(1), trace_of(2));
}
