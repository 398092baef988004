//! Every fuzz target for ten minutes, two at a time, after the replay on stable.

mod log;
mod program;

use std::env;
use std::fmt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use self::log::{Outcome, Told};
use self::program::{Programs, Run};
use super::Proof;
use super::verdict::Verdict;
use crate::interrupt;
use crate::process::{self, Process};
use crate::workspace::{self, cargo};

pub(super) const PROOF: Proof = Proof {
    name: "fuzz",
    shows: "every fuzz target runs 10 minutes without a crash, a hang, or 16 MiB held beyond its input; an hour",
    run,
};

/// How long each target has to run, in seconds.
const SECONDS: u64 = 600;
/// Sets another time, to try things out. The claim does not hold then.
const SECONDS_VARIABLE: &str = "ACKFLOW_FUZZ_SECONDS";
const AT_A_TIME: usize = 2;
/// A target that does less than this in a second does not get anywhere.
const EXECUTIONS_PER_S: u64 = 20;
/// How often progress is told.
const PULSE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);
const BUILD_LIMIT: Duration = Duration::from_secs(3600);

fn run() -> Result<Verdict> {
    let seconds = match env::var(SECONDS_VARIABLE) {
        Ok(text) => text.parse().with_context(|| format!("{SECONDS_VARIABLE}={text} is no number of seconds"))?,
        Err(_) => SECONDS,
    };
    replay()?;
    let targets = write_seeds()?;
    let programs = Programs::build()?;

    let mut verdict = Verdict::default();
    let enough = seconds >= SECONDS;
    verdict.require(enough, format!("each target ran as long as it has to: {seconds} s, {SECONDS} s are asked for"));
    let mut outcomes = run_all(&programs, &targets, seconds)?;
    // In the order of the list, whichever ended first.
    outcomes.sort_by_key(|(name, _)| targets.iter().position(|target| target == name));
    for (name, outcome) in &outcomes {
        verdict.figure(name, outcome.told.figures());
        judge(name, outcome, seconds, &mut verdict);
    }
    verdict.require(outcomes.len() == targets.len(), "every target ran");
    Ok(verdict)
}

/// The tests on stable: seeds, mutations of seeds, and what once was found.
fn replay() -> Result<()> {
    Process::start("the replay on stable", cargo().args(["test", "-q", "-p", "ackflow-fuzz-replay"]))?
        .success(BUILD_LIMIT)?;
    Ok(())
}

/// Writes the seeds, and gives the names of all targets.
fn write_seeds() -> Result<Vec<String>> {
    let mut write = cargo();
    write.args(["run", "-q", "-p", "ackflow-fuzz-replay", "--bin", "write-seeds"]);
    let printed = process::output(&mut write)?;
    let names: Vec<_> = printed.lines().filter_map(|line| Some(line.split('\t').next()?.to_owned())).collect();
    ensure!(!names.is_empty(), "write-seeds named no target:\n{printed}");
    Ok(names)
}

/// Runs the targets, each as soon as there is room for it.
fn run_all(programs: &Programs, targets: &[String], seconds: u64) -> Result<Vec<(String, Outcome)>> {
    let mut waiting = targets.iter();
    let (mut running, mut ended) = (Vec::<Run>::new(), Vec::new());
    let mut told = Instant::now();
    loop {
        interrupt::check()?;
        while running.len() < AT_A_TIME
            && let Some(name) = waiting.next()
        {
            running.push(programs.start(name, seconds)?);
        }
        if running.is_empty() {
            return Ok(ended);
        }
        let mut still = Vec::new();
        for mut run in running {
            if let Some(outcome) = run.outcome()? {
                println!("{:<16} {outcome}", run.name);
                ended.push((run.name, outcome));
            } else {
                still.push(run);
            }
        }
        running = still;
        if told.elapsed() >= PULSE {
            told = Instant::now();
            for run in &running {
                println!("{:<16} ... {}", run.name, run.progress()?);
            }
        }
        thread::sleep(POLL);
    }
}

fn judge(name: &str, outcome: &Outcome, seconds: u64, verdict: &mut Verdict) {
    let Outcome { exit, log, told } = outcome;
    if !exit.success() || told.failing_input.is_some() {
        let why = told.complaint.as_deref().unwrap_or("no reason given");
        let remedy = match &told.failing_input {
            Some(input) => format!("mend what {} shows, and move it to testdata/fuzz/crashes/{name}/", shown(input)),
            None => format!("its output is in {}", shown(log)),
        };
        return verdict.require(false, format!("{name} keeps its promises ({exit}: {why}; {remedy})"));
    }
    let Told { executions, seconds: ran, seeds_cover, covers, .. } = *told;
    verdict.require(ran >= seconds, format!("{name} runs {seconds} s, and not {ran}"));
    let least = EXECUTIONS_PER_S * seconds;
    verdict.require(executions >= least, format!("{name} gets somewhere: {executions} executions of {least}"));
    let reached = seeds_cover > 0 && covers >= seeds_cover;
    verdict.require(reached, format!("{name} covers what its seeds cover: {covers} places of {seeds_cover}"));
}

/// As one would type it.
fn shown(path: &Path) -> impl fmt::Display {
    path.strip_prefix(workspace::root()).unwrap_or(path).display()
}
