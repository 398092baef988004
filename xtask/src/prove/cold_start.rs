//! How soon a process that starts has its first record, on a real Kafka with default settings.

use anyhow::{Context, Result};

use super::Proof;
use super::support::bench::Bench;
use super::verdict::Verdict;
use crate::kafka::{Cluster, Options};

pub(super) const PROOF: Proof = Proof {
    name: "cold-start",
    shows: "from process start to first record: under 300 ms in an existing group, 1.5 s in a new one, 500 ms after kill -9",
    run,
};

/// What the median of each situation has to be under, in milliseconds.
const LIMITS_MS: [(&str, f64); 3] = [("existing_group", 300.0), ("new_group", 1_500.0), ("after_kill", 500.0)];

fn run() -> Result<Verdict> {
    let bench = Bench::build("cold_start")?;

    let cluster = Cluster::start(&Options::default())?;
    let mut command = bench.command();
    command.args(["measure", "--bootstrap-server", &cluster.bootstrap()]);
    let result = bench.figures(&mut command)?;

    let mut verdict = Verdict::default();
    for (what, limit) in LIMITS_MS {
        for figure in ["median_ms", "worst_ms", "count"] {
            verdict.figure(&format!("{what}_{figure}"), &result[what][figure]);
        }
        let median = result[what]["median_ms"].as_f64().with_context(|| format!("no median of {what}"))?;
        verdict.require(median < limit, format!("the median of {what} is under {limit} ms"));
    }
    Ok(verdict)
}
