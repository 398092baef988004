//! Sessions of three seconds under load, and a certificate that is replaced.

use std::time::Duration;

use anyhow::{Context, Result};

use super::Proof;
use super::support::bench::Bench;
use super::verdict::Verdict;
use crate::kafka::{Cluster, Options};

pub(super) const PROOF: Proof = Proof {
    name: "reauth",
    shows: "sessions that a real Kafka ends every 3 s, under full load for a minute: nothing is lost, nothing stalls; a replaced certificate is used",
    run,
};

const SECONDS: u64 = 60;
const LIMIT: Duration = Duration::from_secs(300);
/// The longest pause between two acknowledgements of a producer, or two deliveries of a consumer.
const LONGEST_MS: u64 = 1_000;
/// Two producers and two consumers have a connection each at least, and a session lasts three seconds at most.
const LEAST_RENEWALS: u64 = 4 * SECONDS / 3;
/// How many connections are made after the file of a certificate has changed.
const REPLACEMENTS: u64 = 4;

fn run() -> Result<Verdict> {
    let bench = Bench::build("reauth")?.within(LIMIT);
    let cluster = Cluster::start(&Options { fast: true, secure: true, ..Options::default() })?;
    let mut command = bench.command();
    cluster.describe_to(command.args(["--seconds", &SECONDS.to_string()]));
    let result = bench.figures(&mut command)?;
    let number = |name: &str| result[name].as_u64().with_context(|| format!("there is no figure `{name}`"));
    let mut verdict = Verdict::default();
    for figure in ["produced", "consumed", "lost", "again", "errors", "renewals"] {
        verdict.figure(figure, number(figure)?);
    }
    let pauses = (number("longest_ack_pause_ms")?, number("longest_record_pause_ms")?);
    verdict.figure("longest_pause_ms", format!("{}/{}", pauses.0, pauses.1));
    verdict.figure("replaced", format!("{}/{REPLACEMENTS}", number("replaced")?));
    verdict.require(number("produced")? > 0 && number("lost")? == 0, "every record that was produced comes");
    verdict.require(number("again")? == 0, "none comes twice");
    verdict.require(number("errors")? == 0, "no call fails");
    let renewals = number("renewals")?;
    verdict.require(renewals >= LEAST_RENEWALS, format!("sessions are renewed {LEAST_RENEWALS} times at least"));
    verdict.require(pauses.0.max(pauses.1) <= LONGEST_MS, format!("nothing stalls for more than {LONGEST_MS} ms"));
    verdict
        .require(number("replaced")? == REPLACEMENTS, "a certificate that is replaced is used by the next connection");
    let groups = result["groups"].as_array().context("the groups are named")?;
    for group in groups.iter().filter_map(serde_json::Value::as_str) {
        let lag = cluster.tools().share_group_lag(group)?;
        verdict.require(lag == Some(0), format!("all records of {group} are acknowledged, not all but {lag:?}"));
    }
    Ok(verdict)
}
