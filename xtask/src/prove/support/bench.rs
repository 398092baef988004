//! The programs of benches/: built before anything is measured, and what they print.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process::Process;
use crate::workspace::cargo;

/// A program of benches/.
#[derive(Clone, Copy)]
pub(crate) struct Bench {
    name: &'static str,
    limit: Duration,
}

impl Bench {
    /// Builds it, since no build may run beside a measurement. It may take half an hour, as may each run.
    pub(crate) fn build(name: &'static str) -> Result<Self> {
        let bench = Self { name, limit: Duration::from_secs(1800) };
        let mut build = cargo();
        build.args(["build", "--release", "-q", "-p", "ackflow-benches", "--bin", name]);
        Process::start("the release build", &mut build)?.success(bench.limit)?;
        Ok(bench)
    }

    /// The same, of which a run that takes longer hangs.
    pub(crate) fn within(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// A command that runs it, for its arguments.
    pub(crate) fn command(&self) -> Command {
        let mut command = cargo();
        command.args(["run", "--release", "-q", "-p", "ackflow-benches", "--bin", self.name, "--"]);
        command
    }

    /// Runs such a command and gives what it printed, which is printed too.
    pub(crate) fn run(&self, command: &mut Command) -> Result<String> {
        let (output, _) = Process::capture(self.name, command, self.limit)?;
        print!("{output}");
        Ok(output)
    }

    /// Runs such a command, whose last line has the figures.
    pub(crate) fn figures(&self, command: &mut Command) -> Result<Value> {
        let output = self.run(command)?;
        let last = output.lines().last().unwrap_or_default();
        serde_json::from_str(last).with_context(|| format!("the last line of `{}` is JSON", self.name))
    }
}
