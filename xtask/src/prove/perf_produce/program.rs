//! A producer as a program, and what a run of it took.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Setting;
use crate::kafka::Tools;
use crate::peers::Peer;
use crate::process::{Process, TICK};
use crate::prove::support::program;

/// How many records are timed.
const RECORDS: u64 = 2_000_000;
const SIZE: u64 = 100;
const RUN_LIMIT: Duration = Duration::from_secs(300);

pub(super) struct Program(Peer);

/// One run.
pub(super) struct Run {
    /// How many records were confirmed, those of the warm-up among them.
    pub(super) records: u64,
    /// Records a second, from the first that was sent to the last that was confirmed.
    pub(super) rate: f64,
    /// CPU time of the whole process, in nanoseconds a record.
    pub(super) cpu: f64,
    /// The most resident memory, in bytes.
    pub(super) memory: f64,
    /// Heap allocations a record, where they were counted.
    pub(super) allocations: Option<f64>,
}

impl Program {
    /// Ours, built.
    pub(super) fn ours() -> Result<Self> {
        let built = program::Program::build("produce_throughput")?;
        Ok(Self(Peer::new("ackflow", [built.command(&[]).get_program()])))
    }

    pub(super) fn peer(peer: Peer) -> Self {
        Self(peer)
    }

    pub(super) fn name(&self) -> &'static str {
        self.0.name
    }

    /// Produces everything.
    pub(super) fn run(&self, tools: &Tools, setting: &Setting) -> Result<Run> {
        let mut command = self.0.command();
        command.args([tools.bootstrap(), "t"]);
        command.args([RECORDS, SIZE, setting.batch.into(), setting.linger.into()].map(|number| number.to_string()));
        let (output, exit) = Process::capture(self.name(), &mut command, RUN_LIMIT)?;
        let last = output.lines().last().unwrap_or_default();
        let line: Value = serde_json::from_str(last).with_context(|| format!("{} printed:\n{output}", self.name()))?;
        let number = |name: &str| line[name].as_f64().with_context(|| format!("{} printed no {name}", self.name()));
        let (timed, records) = (number("records")?, RECORDS + RECORDS / 10);
        ensure!(timed + number("warm")? == records as f64, "{}: not every record was confirmed: {line}", self.name());
        // User and system time are each rounded down to a tick, by half of one in the mean.
        let cpu = (exit.cpu + TICK).as_nanos() as f64 / records as f64;
        let run = Run {
            records,
            rate: timed / number("seconds")?,
            cpu,
            memory: exit.peak_memory as f64,
            allocations: number("allocations").ok().map(|allocations| allocations / timed),
        };
        println!(
            "{:<11} {:>5} a batch  {:>9.0} records/s  {:>6.0} ns CPU a record  {:>6.1} MB  {:?} allocations a record",
            self.name(),
            setting.name,
            run.rate,
            run.cpu,
            run.memory / 1e6,
            run.allocations,
        );
        Ok(run)
    }
}
