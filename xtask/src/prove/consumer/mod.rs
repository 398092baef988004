//! The consumer of KIP-848 on real brokers: what a group lives through, what a topic of transactions holds, and what a record costs.

mod contents;
mod group;
mod journal;
mod throughput;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::Proof;
use super::support::bench::Bench;
use super::verdict::Verdict;
use crate::workspace;

pub(super) const PROOF: Proof = Proof {
    name: "consumer",
    shows: "the consumer on three brokers: joins, leaves, fencing, restarts, reassignments; read_committed as Java reads; twice librdkafka's records a CPU second",
    run,
};

fn run() -> Result<Verdict> {
    let program = Program::build()?;
    let mut verdict = Verdict::default();
    group::prove(&program, &mut verdict)?;
    contents::prove(&program, &mut verdict)?;
    throughput::prove(&program, &mut verdict)?;
    Ok(verdict)
}

/// benches/src/bin/consumer, built. Its processes are signalled by their own ids, so cargo does not stand between.
struct Program(PathBuf);

impl Program {
    fn build() -> Result<Self> {
        Bench::build("consumer")?;
        let metadata = workspace::metadata()?;
        let target = metadata["target_directory"].as_str().context("cargo metadata names no target directory")?;
        Ok(Self(PathBuf::from(target).join("release/consumer")))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.0);
        command.args(arguments);
        command
    }
}
