//! Each way into a secured Kafka, and what a client makes of being refused.

use std::time::Duration;

use anyhow::{Context, Result};

use super::Proof;
use super::support::bench::Bench;
use super::verdict::Verdict;
use crate::kafka::{Cluster, Options};

pub(super) const PROOF: Proof = Proof {
    name: "security",
    shows: "TLS 1.2 and 1.3 with each kind of certificate, mTLS and each SASL mechanism on a real Kafka; each refusal is one clear error, and no busy loop",
    run,
};

/// What the program has to have tried.
const WAYS: u64 = 16;
const REFUSALS: u64 = 11;
const LIMIT: Duration = Duration::from_secs(300);

fn run() -> Result<Verdict> {
    let bench = Bench::build("security")?.within(LIMIT);
    let cluster = Cluster::start(&Options { fast: true, secure: true, ..Options::default() })?;
    let mut command = bench.command();
    cluster.describe_to(&mut command);
    let output = bench.run(&mut command)?;
    let lines: Vec<serde_json::Value> =
        output.lines().map(serde_json::from_str).collect::<Result<_, _>>().context("a line of `security` is JSON")?;
    let (last, cases) = lines.split_last().context("`security` printed nothing")?;
    let number = |name: &str| last[name].as_u64().with_context(|| format!("there is no figure `{name}`"));
    let mut verdict = Verdict::default();
    verdict.figure("ways_in", format!("{}/{}", number("good_ways")?, WAYS));
    verdict.figure("refusals", format!("{}/{}", number("good_refusals")?, REFUSALS));
    verdict.figure("slowest_told_ms", number("slowest_ms")?);
    verdict.figure("most_connections", format!("{}/{}s", number("most_attempts")?, number("watched_seconds")?));
    verdict.require(number("good_ways")? == WAYS, format!("{WAYS} ways lead in"));
    verdict.require(number("good_refusals")? == REFUSALS, format!("{REFUSALS} refusals are told"));
    for case in cases {
        let faults = case["faults"].as_array().map_or(&[][..], Vec::as_slice);
        verdict.require(faults.is_empty(), format!("{} is as it should be: {}", case["case"], case["faults"]));
    }
    Ok(verdict)
}
