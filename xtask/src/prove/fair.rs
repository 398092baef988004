//! What a slow member leaves to a fast one, and full fetches ahead to commits, on a real Kafka.

use anyhow::{Context, Result};

use super::Proof;
use super::support::bench::Bench;
use super::verdict::Verdict;
use crate::kafka::{Cluster, Options};

pub(super) const PROOF: Proof = Proof {
    name: "fair",
    shows: "a fast member beside a slow one never waits a second while records wait; commit_sync p99 under 30 ms beside full fetches",
    run,
};

const LONGEST_WAIT_MS: f64 = 1_000.0;
const COMMIT_P99_MS: f64 = 30.0;

fn run() -> Result<Verdict> {
    let bench = Bench::build("fair")?;

    let cluster = Cluster::start(&Options::default())?;
    let mut command = bench.command();
    command.args(["--bootstrap-server", &cluster.bootstrap()]);
    let result = bench.figures(&mut command)?;

    let mut verdict = Verdict::default();
    for what in ["waits", "commit_sync"] {
        for figure in ["p50_ms", "p99_ms", "max_ms", "count"] {
            verdict.figure(&format!("{what}_{figure}"), &result[what][figure]);
        }
    }
    for who in ["slow_records", "fast_records"] {
        verdict.figure(who, &result["members"][who]);
    }
    let wait = result["waits"]["max_ms"].as_f64().context("no longest wait")?;
    verdict.require(wait < LONGEST_WAIT_MS, "the fast member never waits for a second");
    let commit = result["commit_sync"]["p99_ms"].as_f64().context("no p99 of commit_sync")?;
    verdict.require(commit < COMMIT_P99_MS, format!("the p99 of commit_sync is under {COMMIT_P99_MS} ms"));
    Ok(verdict)
}
