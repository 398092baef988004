//! Futures of share consumers that are dropped at random moments, on the embedded broker and on a real Kafka.

use std::time::Duration;

use anyhow::{Context, Result};

use super::Proof;
use super::support::bench::Bench;
use super::verdict::Verdict;
use crate::kafka::{Cluster, Options};
use crate::random;

pub(super) const PROOF: Proof = Proof {
    name: "cancel",
    shows: "10,000 races of poll, acknowledge, commit and close with a timer, 1,000 of them again on a real Kafka: no record is lost",
    run,
};

const EMBEDDED: u64 = 10_000;
const REAL: u64 = 1_000;
const LIMIT: Duration = Duration::from_secs(900);

fn run() -> Result<Verdict> {
    let bench = Bench::build("cancel")?.within(LIMIT);
    let seed = random::seed();
    let mut verdict = Verdict::default();
    verdict.figure("seed", seed);
    play(bench, "embedded", EMBEDDED, &["--seed", &seed.to_string(), "--races-a-round", "500"], &mut verdict)?;
    let cluster = Cluster::start(&Options { fast: true, ..Options::default() })?;
    let bootstrap = cluster.bootstrap();
    play(bench, "kafka", REAL, &["--seed", &seed.to_string(), "--bootstrap-server", &bootstrap], &mut verdict)?;
    Ok(verdict)
}

/// Plays so many races.
fn play(bench: Bench, where_: &str, races: u64, arguments: &[&str], verdict: &mut Verdict) -> Result<()> {
    let result = bench.figures(bench.command().args(["--races", &races.to_string()]).args(arguments))?;
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
