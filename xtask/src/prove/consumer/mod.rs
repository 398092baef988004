//! The consumer of KIP-848 on real brokers: what a group lives through, what a topic of transactions holds, and what a record costs.

mod contents;
mod group;
mod journal;
mod throughput;

use anyhow::Result;

use super::Proof;
use super::support::program::Program;
use super::verdict::Verdict;

pub(super) const PROOF: Proof = Proof {
    name: "consumer",
    shows: "the consumer on three brokers: joins, leaves, fencing, restarts, reassignments; read_committed as Java reads; twice librdkafka's records a CPU second",
    run,
};

fn run() -> Result<Verdict> {
    let program = Program::build("consumer")?;
    let mut verdict = Verdict::default();
    group::prove(&program, &mut verdict)?;
    contents::prove(&program, &mut verdict)?;
    throughput::prove(&program, &mut verdict)?;
    Ok(verdict)
}
