//! How late the slowest are on a quiet topic of a real Kafka.

use anyhow::{Context, Result};

use super::Proof;
use super::support::bench::Bench;
use super::verdict::Verdict;
use crate::kafka::{Cluster, Options};

pub(super) const PROOF: Proof = Proof {
    name: "tail-latency",
    shows: "10 records/s on a real Kafka: commit_sync p99 under 30 ms, produce-to-put p99 under 50 ms",
    run,
};

const COMMIT_P99_MS: f64 = 30.0;
const PUT_P99_MS: f64 = 50.0;

fn run() -> Result<Verdict> {
    let bench = Bench::build("tail_latency")?;

    let cluster = Cluster::start(&Options::default())?;
    let tools = cluster.tools();
    for (topic, group) in [("commit", "tail-commit"), ("put", "connect-tail-put")] {
        tools.create_topic(topic, 1)?;
        tools.read_from_the_start(group)?;
    }
    let mut command = bench.command();
    command.args(["--bootstrap-server", tools.bootstrap(), "--commit-topic", "commit", "--put-topic", "put"]);
    let result = bench.figures(&mut command)?;

    let mut verdict = Verdict::default();
    for (what, limit) in [("commit_sync", COMMIT_P99_MS), ("produce_to_put", PUT_P99_MS)] {
        let of = &result[what];
        for figure in ["p50_ms", "p99_ms", "max_ms", "count"] {
            verdict.figure(&format!("{what}_{figure}"), &of[figure]);
        }
        let p99 = of["p99_ms"].as_f64().with_context(|| format!("no p99 of {what}"))?;
        verdict.require(p99 < limit, format!("the p99 of {what} is under {limit} ms"));
    }
    Ok(verdict)
}
