//! The share consumer in situations in which other clients lose records, hand out stale ones, or stop.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Proof;
use super::verdict::Verdict;
use crate::kafka::{Cluster, Options};
use crate::process::Process;
use crate::workspace::cargo;

pub(super) const PROOF: Proof = Proof {
    name: "adversarial",
    shows: "the share consumer is exact in 13 hostile situations on a real Kafka, lost and moved leaders among them",
    run,
};

const LIMIT: Duration = Duration::from_secs(1800);

fn run() -> Result<Verdict> {
    let mut verdict = Verdict::default();
    play(1, &mut verdict)?;
    play(3, &mut verdict)?;
    Ok(verdict)
}

/// Plays all scenarios for a cluster of so many brokers.
fn play(brokers: u16, verdict: &mut Verdict) -> Result<()> {
    let build = ["build", "--release", "-q", "-p", "ackflow-benches", "--bin", "adversarial"];
    Process::start("the release build", cargo().args(build))?.success(LIMIT)?;
    let cluster = Cluster::start(&Options { fast: true, brokers, heap: "700m".to_owned(), ..Options::default() })?;
    let mut program = cargo();
    program.args(["run", "--release", "-q", "-p", "ackflow-benches", "--bin", "adversarial"]);
    cluster.describe_to(&mut program);
    let (output, _) = Process::capture("adversarial", &mut program, LIMIT)?;
    print!("{output}");
    let mut played = 0;
    for line in output.lines() {
        let outcome: Value = serde_json::from_str(line).context("a line of `adversarial` is JSON")?;
        let name = outcome["scenario"].as_str().context("a line names its scenario")?;
        let report = &outcome["report"];
        verdict.figure(name, format!("{}-{}+{}", report["records"], report["lost"], report["again"]));
        verdict.require(outcome["exact"] == true, format!("{name} is exact: {report}"));
        played += 1;
    }
    verdict.require(played > 0, format!("scenarios for {brokers} broker(s) were played"));
    Ok(())
}
