//! Share consumers in virtual time (testkit/tests/sim), from many seeds, in release.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::process::Process;
use crate::random;
use crate::workspace::cargo;

/// A build and its runs that take longer hang.
const LIMIT: Duration = Duration::from_secs(1800);

/// How many seeds CI runs.
const SEEDS_OF_CI: u64 = 3_000;

/// Runs the seeds of CI. They are the same each time, so that a change fails for what it did; new ones are for the proof.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_in_ci() -> Result<()> {
    run_from(1, SEEDS_OF_CI).map(drop)
}

/// Runs so many seeds in a row, from a random one, and returns the figures, each with its name.
///
/// # Errors
/// When a run breaks a promise; what is printed then has its seed, and the command that runs it alone.
pub(crate) fn run(seeds: u64) -> Result<Vec<(String, String)>> {
    run_from(random::seed(), seeds)
}

fn run_from(first: u64, seeds: u64) -> Result<Vec<(String, String)>> {
    println!("{seeds} seeds from {first} on");
    let mut tests = cargo();
    tests.args(["test", "--release", "-q", "-p", "ackflow-testkit", "--test", "sim"]);
    tests.args(["every_seed_keeps_every_promise", "--", "--nocapture"]);
    tests.env("ACKFLOW_SIM_FIRST", first.to_string()).env("ACKFLOW_SIM_RUNS", seeds.to_string());
    let (output, exit) = Process::finish("the simulation", &mut tests, LIMIT)?;
    print!("{output}");
    ensure!(exit.status.success(), "a run from a seed of {first}..{} breaks a promise, see above", first + seeds);
    let line = output.lines().find(|line| line.starts_with("runs=")).context("the simulation prints its figures")?;
    let mut figures = vec![("first_seed".to_owned(), first.to_string())];
    figures
        .extend(line.split(' ').filter_map(|figure| figure.split_once('=')).map(|(n, v)| (n.to_owned(), v.to_owned())));
    let is_all = figures.contains(&("runs".to_owned(), seeds.to_string()));
    ensure!(is_all, "of {seeds} seeds not all were run: {line}");
    Ok(figures)
}
