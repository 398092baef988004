//! The suite on Kafka 4.2 and 4.3: what they do not keep is known, and nothing else.

use std::collections::BTreeSet;

use anyhow::Result;

use super::suite::Run;
use crate::kafka::{Cluster, Options};
use crate::prove::Proof;
use crate::prove::support::ackflow::Ackflow;
use crate::prove::verdict::Verdict;

pub(super) const PROOF: Proof = Proof {
    name: "conformance-older",
    shows: "the suite on Kafka 4.2 and 4.3: what these do not keep or offer is what is known of them",
    run,
};

/// The newest patch of a version, and the cases that fail there with the reason.
type Older = (&'static str, &'static [(&'static str, &'static str)]);

const OLDER: [Older; 2] = [("4.2.2", &[]), ("4.3.1", &[])];

fn run() -> Result<Verdict> {
    let ackflow = Ackflow::build()?;
    let mut verdict = Verdict::default();
    for (version, known) in OLDER {
        let options = Options { version: version.to_owned(), fast: true, ..Options::default() };
        let cluster = Cluster::start(&options)?;
        let run = Run::play(&ackflow, &cluster.bootstrap())?;
        run.tell_failures(version);
        let known: BTreeSet<&str> = known.iter().map(|(case, _)| *case).collect();
        let failed = run.names_of_failed();
        let (new, gone): (Vec<_>, Vec<_>) = (failed.difference(&known).collect(), known.difference(&failed).collect());
        verdict.require(new.is_empty(), format!("nothing else fails on {version}: {new:?}"));
        verdict.require(gone.is_empty(), format!("what is known to fail on {version} fails: {gone:?}"));
        let counts = ["passed", "failed", "not-offered"].map(|outcome| run.count_of(outcome).to_string());
        verdict.figure(version, counts.join("+"));
    }
    Ok(verdict)
}
