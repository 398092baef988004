//! A share consumer as a program, and what a run of it took.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::RECORDS;
use crate::kafka::Tools;
use crate::peers::Peer;
use crate::process::{Process, TICK};
use crate::workspace::{self, cargo};

const BUILD_LIMIT: Duration = Duration::from_secs(1800);
const RUN_LIMIT: Duration = Duration::from_secs(300);

pub(super) struct Program(Peer);

/// One run.
pub(super) struct Run {
    /// Records a second, from the first record to the last.
    pub(super) rate: f64,
    /// CPU time of the whole process, in nanoseconds a record.
    pub(super) cpu: f64,
    /// The most resident memory, in bytes.
    pub(super) memory: f64,
    /// Heap allocations a record between the first record and the last, where they were counted.
    pub(super) allocations: Option<f64>,
}

impl Program {
    /// Ours, built.
    pub(super) fn ours() -> Result<Self> {
        let build = ["build", "--release", "-q", "-p", "ackflow-benches", "--bin", "share_throughput"];
        Process::start("the release build", cargo().args(build))?.success(BUILD_LIMIT)?;
        let metadata = workspace::metadata()?;
        let target = metadata["target_directory"].as_str().context("cargo metadata names no target directory")?;
        Ok(Self(Peer::new("ackflow", [PathBuf::from(target).join("release/share_throughput")])))
    }

    pub(super) fn peer(peer: Peer) -> Self {
        Self(peer)
    }

    pub(super) fn name(&self) -> &'static str {
        self.0.name
    }

    /// Consumes everything as the first and only member of a group.
    pub(super) fn run(&self, tools: &Tools, group: &str, fetch: u32) -> Result<Run> {
        tools.read_from_the_start(group)?;
        let mut command = self.0.command();
        command.args([tools.bootstrap(), "t", group, &RECORDS.to_string(), &fetch.to_string()]);
        let (output, exit) = Process::capture(self.name(), &mut command, RUN_LIMIT)?;
        let last = output.lines().last().unwrap_or_default();
        let line: Value = serde_json::from_str(last).with_context(|| format!("{} printed:\n{output}", self.name()))?;
        let number = |name: &str| line[name].as_f64().with_context(|| format!("{} printed no {name}", self.name()));
        let (records, bytes) = (number("records")?, number("bytes")?);
        ensure!(records >= RECORDS as f64 && bytes >= 100.0 * records, "{} missed records: {line}", self.name());
        // User and system time are each rounded down to a tick, by half of one in the mean.
        let cpu = (exit.cpu + TICK).as_nanos() as f64 / records;
        let run = Run {
            rate: records / number("seconds")?,
            cpu,
            memory: exit.peak_memory as f64,
            allocations: number("allocations").ok().map(|allocations| allocations / records),
        };
        println!(
            "{:<11} {:>6} a fetch  {:>9.0} records/s  {:>6.0} ns CPU a record  {:>6.1} MB  {:?} allocations a record",
            self.name(),
            if fetch == 0 { "default".to_owned() } else { fetch.to_string() },
            run.rate,
            run.cpu,
            run.memory / 1e6,
            run.allocations,
        );
        Ok(run)
    }
}
