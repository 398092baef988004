//! Futures of share consumers that are dropped at random moments, on the embedded broker and on a real Kafka.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Proof;
use super::verdict::Verdict;
use crate::kafka::{Cluster, Options};
use crate::process::Process;
use crate::random;
use crate::workspace::cargo;

pub(super) const PROOF: Proof = Proof {
    name: "cancel",
    shows: "10,000 races of poll, acknowledge, commit and close with a timer, 1,000 of them again on a real Kafka: no record is lost",
    run,
};

const EMBEDDED: u64 = 10_000;
const REAL: u64 = 1_000;
const LIMIT: Duration = Duration::from_secs(900);

fn run() -> Result<Verdict> {
    let build = ["build", "--release", "-q", "-p", "ackflow-benches", "--bin", "cancel"];
    Process::start("the release build", cargo().args(build))?.success(LIMIT)?;
    // Few digits: somebody may have to type it.
    let seed = random::u64() % 1_000_000_000;
    let mut verdict = Verdict::default();
    verdict.figure("seed", seed);
    play("embedded", EMBEDDED, &["--seed", &seed.to_string(), "--races-a-round", "500"], &mut verdict)?;
    let cluster = Cluster::start(&Options { fast: true, ..Options::default() })?;
    let bootstrap = cluster.bootstrap();
    play("kafka", REAL, &["--seed", &seed.to_string(), "--bootstrap-server", &bootstrap], &mut verdict)?;
    Ok(verdict)
}

/// Plays so many races.
fn play(where_: &str, races: u64, arguments: &[&str], verdict: &mut Verdict) -> Result<()> {
    let mut program = cargo();
    program.args(["run", "--release", "-q", "-p", "ackflow-benches", "--bin", "cancel", "--"]);
    program.args(["--races", &races.to_string()]).args(arguments);
    let (output, _) = Process::capture("cancel", &mut program, LIMIT)?;
    print!("{output}");
    let last = output.lines().last().unwrap_or_default();
    let result: Value = serde_json::from_str(last).context("the last line of `cancel` is JSON")?;
    for figure in ["races", "dropped", "records", "again", "faults"] {
        verdict.figure(&format!("{where_}_{figure}"), &result[figure]);
    }
    let number = |name: &str| result[name].as_u64().with_context(|| format!("there is no figure `{name}`"));
    verdict.require(number("races")? == races, format!("{races} races are run on {where_}"));
    verdict.require(number("faults")? == 0, format!("the ledger is exact on {where_}"));
    // Where the timer never wins nothing is proved, and neither where it always does.
    let dropped = number("dropped")?;
    verdict.require((races / 10..races).contains(&dropped), format!("the timer wins some races on {where_}"));
    Ok(())
}
