//! Clients that are measured beside each other, each a program that prints its figures as one line of JSON, and ackflow among them.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::program;
use super::statistics::median;
use crate::peers::Peer;
use crate::process::{Exit, Process, TICK};
use crate::prove::verdict::Verdict;

pub(in crate::prove) const OURS: &str = "ackflow";

const RUN_LIMIT: Duration = Duration::from_secs(300);

/// Ours, a program of benches/, built.
pub(in crate::prove) fn ours(name: &'static str) -> Result<Peer> {
    let built = program::Program::build(name)?;
    Ok(Peer::new(OURS, [built.command(&[]).get_program()]))
}

/// What a client printed last, and how it ended.
pub(in crate::prove) struct Report {
    client: &'static str,
    pub(in crate::prove) line: Value,
    exit: Exit,
}

impl Report {
    /// Runs a client to its end.
    pub(in crate::prove) fn of(client: &'static str, command: &mut Command) -> Result<Self> {
        let (output, exit) = Process::capture(client, command, RUN_LIMIT)?;
        let last = output.lines().last().unwrap_or_default();
        let line = serde_json::from_str(last).with_context(|| format!("{client} printed:\n{output}"))?;
        Ok(Self { client, line, exit })
    }

    pub(in crate::prove) fn number(&self, name: &str) -> Result<f64> {
        self.line[name].as_f64().with_context(|| format!("{} printed no {name}", self.client))
    }

    /// The run, of which it has timed so many records out of `all`; told in one line, with `setting`.
    pub(in crate::prove) fn run(&self, setting: &str, timed: f64, all: f64) -> Result<Run> {
        let run = Run {
            rate: timed / self.number("seconds")?,
            // User and system time are each rounded down to a tick, by half of one in the mean.
            cpu: (self.exit.cpu + TICK).as_nanos() as f64 / all,
            memory: self.exit.peak_memory as f64,
            allocations: self.number("allocations").ok().map(|allocations| allocations / timed),
        };
        println!(
            "{:<11} {setting}  {:>9.0} records/s  {:>6.0} ns CPU a record  {:>6.1} MB  {:?} allocations a record",
            self.client,
            run.rate,
            run.cpu,
            run.memory / 1e6,
            run.allocations,
        );
        Ok(run)
    }
}

/// One run.
pub(in crate::prove) struct Run {
    /// Records a second, from the first record to the last.
    pub(in crate::prove) rate: f64,
    /// CPU time of the whole process, in nanoseconds a record.
    pub(in crate::prove) cpu: f64,
    /// The most resident memory, in bytes.
    pub(in crate::prove) memory: f64,
    /// Heap allocations a record that was timed, where they were counted.
    pub(in crate::prove) allocations: Option<f64>,
}

/// All runs of one setting, by client. A figure that is missing is no number, which fails every comparison.
#[derive(Default)]
pub(in crate::prove) struct Results(pub(in crate::prove) BTreeMap<&'static str, Vec<Run>>);

impl Results {
    pub(in crate::prove) fn add(&mut self, name: &'static str, run: Run) {
        self.0.entry(name).or_default().push(run);
    }

    pub(in crate::prove) fn median(&self, name: &str, of: impl Fn(&Run) -> f64) -> f64 {
        median(&self.0.get(name).map(|runs| runs.iter().map(of).collect::<Vec<_>>()).unwrap_or_default())
    }

    pub(in crate::prove) fn rate(&self, name: &str) -> f64 {
        self.median(name, |run| run.rate)
    }

    pub(in crate::prove) fn cpu(&self, name: &str) -> f64 {
        self.median(name, |run| run.cpu)
    }

    /// Heap allocations a record of ours.
    pub(in crate::prove) fn allocations(&self) -> f64 {
        self.median(OURS, |run| run.allocations.unwrap_or(f64::NAN))
    }

    /// The highest rate of another client.
    pub(in crate::prove) fn fastest(&self) -> f64 {
        self.0.keys().filter(|name| **name != OURS).map(|name| self.rate(name)).fold(0.0, f64::max)
    }

    /// Adds every client's figures to the verdict.
    pub(in crate::prove) fn tell(&self, verdict: &mut Verdict, setting: &str) {
        for name in self.0.keys() {
            verdict.figure(&format!("{name}_{setting}_records_per_s"), format!("{:.0}", self.rate(name)));
            verdict.figure(&format!("{name}_{setting}_cpu_ns"), format!("{:.0}", self.cpu(name)));
            let memory = self.median(name, |run| run.memory) / 1e6;
            verdict.figure(&format!("{name}_{setting}_mb"), format!("{memory:.1}"));
        }
    }
}
