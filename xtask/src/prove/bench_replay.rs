//! What the client itself costs, without a broker: answers from memory over loopback.

use anyhow::{Context, Result};

use super::Proof;
use super::support::bench::Bench;
use super::verdict::Verdict;

pub(super) const PROOF: Proof = Proof {
    name: "bench-replay",
    shows: "canned responses over loopback: at least 15 M records/s a core of the client's CPU time, poll and accept",
    run,
};

const RECORDS_PER_CPU_S: f64 = 15e6;

fn run() -> Result<Verdict> {
    let bench = Bench::build("replay")?;
    let result = bench.figures(&mut bench.command())?;

    let mut verdict = Verdict::default();
    for side in ["client", "client_two_threads", "bare_loop"] {
        let figures = &result[side];
        let rate = figures["records_per_cpu_s"].as_f64().with_context(|| format!("no rate of {side}"))?;
        verdict.figure(&format!("{side}_records_per_cpu_s"), format!("{rate:.0}"));
        verdict.figure(&format!("{side}_cpu_ns_per_record"), &figures["cpu_ns_per_record"]);
        if side != "bare_loop" {
            let enough = rate >= RECORDS_PER_CPU_S;
            verdict.require(enough, format!("{side} gets at least {RECORDS_PER_CPU_S} records through a CPU second"));
        }
    }
    Ok(verdict)
}
