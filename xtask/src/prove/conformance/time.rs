//! How long the suite takes.

use std::time::Duration;

use anyhow::Result;

use super::suite::Run;
use crate::kafka::{Cluster, Options};
use crate::prove::Proof;
use crate::prove::support::ackflow::Ackflow;
use crate::prove::verdict::Verdict;

pub(super) const PROOF: Proof = Proof {
    name: "conformance-time",
    shows: "the whole suite takes less than 3 minutes on a real Kafka with short minimums, and less than 10 on one with defaults",
    run,
};

fn run() -> Result<Verdict> {
    let ackflow = Ackflow::build()?;
    let mut verdict = Verdict::default();
    for (name, fast, limit) in [("short", true, 180), ("defaults", false, 600)] {
        let cluster = Cluster::start(&Options { fast, ..Options::default() })?;
        let run = Run::play(&ackflow, &cluster.bootstrap())?;
        run.tell_failures(name);
        verdict.figure(name, format!("{:.1}s", run.took.as_secs_f64()));
        verdict.require(run.took < Duration::from_secs(limit), format!("{name} takes less than {limit} s"));
        verdict.require(run.names_of_failed().is_empty(), format!("no case fails: {:?}", run.names_of_failed()));
        verdict.figure("passed", run.count_of("passed"));
    }
    Ok(verdict)
}
