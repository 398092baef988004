//! Runs in virtual time (testkit/tests/sim and kip_1289), from many seeds, in release.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::process::Process;
use crate::random;
use crate::workspace::cargo;

/// A build and its runs that take longer hang.
const LIMIT: Duration = Duration::from_secs(1800);

/// A kind of runs.
pub(crate) struct Simulation {
    /// The integration tests of testkit that have it.
    pub(crate) target: &'static str,
    /// The test that runs seeds.
    test: &'static str,
    /// The features that the target takes.
    features: &'static [&'static str],
    /// What the variables begin with that say which seeds.
    variable: &'static str,
    /// How many seeds CI runs.
    seeds_of_ci: u64,
}

/// Share consumers.
pub(crate) const SHARE: Simulation = Simulation {
    target: "sim",
    test: "every_seed_keeps_every_promise",
    features: &[],
    variable: "ACKFLOW_SIM",
    seeds_of_ci: 3_000,
};

/// Share consumers and transactional producers (draft KIP-1289).
pub(crate) const KIP_1289: Simulation = Simulation {
    target: "kip_1289",
    test: "every_seed_passes_each_record_on_exactly_once",
    features: &["unstable-kip-1289"],
    variable: "ACKFLOW_KIP_1289",
    seeds_of_ci: 200,
};

impl Simulation {
    /// Runs the seeds of CI. They are the same each time, so that a change fails for what it did; new ones are for the proof.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub(crate) fn run_in_ci(&self) -> Result<()> {
        self.run_from(1, self.seeds_of_ci).map(drop)
    }

    /// Runs so many seeds in a row, from a random one, and returns the figures, each with its name.
    ///
    /// # Errors
    /// When a run breaks a promise; what is printed then has its seed, and the command that runs it alone.
    pub(crate) fn run(&self, seeds: u64) -> Result<Vec<(String, String)>> {
        self.run_from(random::seed(), seeds)
    }

    fn run_from(&self, first: u64, seeds: u64) -> Result<Vec<(String, String)>> {
        println!("{seeds} seeds from {first} on");
        let mut tests = cargo();
        tests.args(["test", "--release", "-q", "-p", "ackflow-testkit", "--test", self.target]);
        if !self.features.is_empty() {
            tests.args(["--features", &self.features.join(",")]);
        }
        tests.args([self.test, "--", "--nocapture"]);
        let variable = |name| format!("{}_{name}", self.variable);
        tests.env(variable("FIRST"), first.to_string()).env(variable("RUNS"), seeds.to_string());
        let (output, exit) = Process::finish("the simulation", &mut tests, LIMIT)?;
        print!("{output}");
        ensure!(exit.status.success(), "a run from a seed of {first}..{} breaks a promise, see above", first + seeds);
        let line =
            output.lines().find(|line| line.starts_with("runs=")).context("the simulation prints its figures")?;
        let mut figures = vec![("first_seed".to_owned(), first.to_string())];
        figures.extend(
            line.split(' ').filter_map(|figure| figure.split_once('=')).map(|(n, v)| (n.to_owned(), v.to_owned())),
        );
        let is_all = figures.contains(&("runs".to_owned(), seeds.to_string()));
        ensure!(is_all, "of {seeds} seeds not all were run: {line}");
        Ok(figures)
    }
}
