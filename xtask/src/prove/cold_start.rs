//! How soon a process that starts has its first record, on a real Kafka with default settings.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Proof;
use super::verdict::Verdict;
use crate::kafka::{Cluster, Options};
use crate::process::Process;
use crate::workspace::cargo;

pub(super) const PROOF: Proof = Proof {
    name: "cold-start",
    shows: "from process start to first record: under 300 ms in an existing group, 1.5 s in a new one, 500 ms after kill -9",
    run,
};

/// What the median of each situation has to be under, in milliseconds.
const LIMITS_MS: [(&str, f64); 3] = [("existing_group", 300.0), ("new_group", 1_500.0), ("after_kill", 500.0)];
const LIMIT: Duration = Duration::from_secs(1800);

fn run() -> Result<Verdict> {
    // The build must not run beside the measurement.
    let build = ["build", "--release", "-q", "-p", "ackflow-benches", "--bin", "cold_start"];
    Process::start("the release build", cargo().args(build))?.success(LIMIT)?;

    let cluster = Cluster::start(&Options::default())?;
    let mut bench = cargo();
    bench.args(["run", "--release", "-q", "-p", "ackflow-benches", "--bin", "cold_start", "--", "measure"]);
    bench.args(["--bootstrap-server", &cluster.bootstrap()]);
    let (output, _) = Process::capture("cold_start", &mut bench, LIMIT)?;
    print!("{output}");
    let result: Value =
        serde_json::from_str(output.lines().last().unwrap_or_default()).context("the last line is JSON")?;

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
