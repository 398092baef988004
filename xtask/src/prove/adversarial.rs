//! The share consumer in situations in which other clients lose records, hand out stale ones, or stop.

use anyhow::{Context, Result};
use serde_json::Value;

use super::Proof;
use super::support::bench::Bench;
use super::verdict::Verdict;
use crate::kafka::{Cluster, Options};

pub(super) const PROOF: Proof = Proof {
    name: "adversarial",
    shows: "the share consumer is exact in 13 hostile situations on a real Kafka, lost and moved leaders among them",
    run,
};

fn run() -> Result<Verdict> {
    let mut verdict = Verdict::default();
    for brokers in [1, 3] {
        let options = Options { fast: true, brokers, heap: "700m".to_owned(), ..Options::default() };
        let played = play(&options, &[], |name| name.to_owned(), &mut verdict)?;
        verdict.require(!played.is_empty(), format!("scenarios for {brokers} broker(s) were played"));
    }
    Ok(verdict)
}

/// Plays scenarios on such a cluster: all that suit it, or those that the arguments name. Gives what each of them reported, which is a figure
/// under the name that `name` makes of its own.
pub(super) fn play(
    options: &Options,
    arguments: &[&str],
    name: impl Fn(&str) -> String,
    verdict: &mut Verdict,
) -> Result<Vec<(String, Value)>> {
    let bench = Bench::build("adversarial")?;
    let cluster = Cluster::start(options)?;
    let mut command = bench.command();
    cluster.describe_to(command.args(arguments));
    let output = bench.run(&mut command)?;
    let mut played = Vec::new();
    for line in output.lines() {
        let outcome: Value = serde_json::from_str(line).context("a line of `adversarial` is JSON")?;
        let scenario = outcome["scenario"].as_str().context("a line names its scenario")?;
        let (name, report) = (name(scenario), &outcome["report"]);
        verdict.figure(&name, format!("{}-{}+{}", report["records"], report["lost"], report["again"]));
        verdict.require(outcome["exact"] == true, format!("{name} is exact: {report}"));
        played.push((scenario.to_owned(), report.clone()));
    }
    Ok(played)
}
