//! One verdict on two brokers: every case on a real Kafka and on the embedded broker, in the same shapes of cluster.

use anyhow::Result;

use super::suite::Run;
use crate::kafka::{Cluster, Options};
use crate::prove::Proof;
use crate::prove::support::ackflow::Ackflow;
use crate::prove::support::embedded::Embedded;
use crate::prove::verdict::Verdict;

pub(super) const PROOF: Proof = Proof {
    name: "conformance-two",
    shows: "at least 200 cases have the same verdict on Kafka 4.4.0 and on the embedded broker: one broker, three, share.version 1 and 2",
    run,
};

/// Fewer cases are no suite.
const CASES: usize = 200;

/// Cases whose verdicts differ on purpose, and why.
const DIFFERENCES: &[(&str, &str)] = &[];

/// So few that all of them can be tried.
const SESSIONS: (&str, &str) = ("group.share.max.share.sessions", "300");

/// A shape of cluster: its name, brokers, share.version.
const SHAPES: [(&str, u16, u16); 3] = [("one", 1, 2), ("three", 3, 2), ("share.version=1", 1, 1)];

fn run() -> Result<Verdict> {
    let ackflow = Ackflow::build()?;
    let mut verdict = Verdict::default();
    for (shape, brokers, share_version) in SHAPES {
        let options = Options {
            brokers,
            share_version: Some(share_version),
            fast: true,
            config: vec![(SESSIONS.0.to_owned(), SESSIONS.1.to_owned())],
            heap: "700m".to_owned(),
            ..Options::default()
        };
        let real = {
            let cluster = Cluster::start(&options)?;
            Run::play(&ackflow, &cluster.bootstrap())?
        };
        let (nodes, level) = (brokers.to_string(), share_version.to_string());
        let sessions = format!("{}={}", SESSIONS.0, SESSIONS.1);
        let arguments = ["--nodes", &nodes, "--share-version", &level, "--config", &sessions];
        let broker = Embedded::start_fast(&ackflow, &arguments)?;
        let embedded = Run::play(&ackflow, broker.address())?;
        verdict.require(broker.stop()?, "the embedded broker ends in good order");

        for (name, run) in [("kafka", &real), ("embedded", &embedded)] {
            run.tell_failures(&format!("{shape}, {name}"));
            let failed = run.names_of_failed();
            verdict.require(failed.is_empty(), format!("no case fails on {name}, {shape}: {failed:?}"));
        }
        let excused = |name: &str| DIFFERENCES.iter().any(|(case, _)| *case == name);
        let (ours, theirs) = (embedded.verdicts(), real.verdicts());
        let differs = |(name, verdict): &(&&str, &&str)| ours.get(**name) != Some(*verdict) && !excused(name);
        let differing: Vec<_> = theirs.iter().filter(differs).map(|(name, _)| *name).collect();
        verdict
            .require(differing.is_empty(), format!("the verdicts are the same in {shape}: {}", differing.join(", ")));
        verdict.require(real.count() >= CASES, format!("there are at least {CASES} cases, not {}", real.count()));
        verdict.figure(
            shape,
            format!(
                "{}:{}+{} ({:.0}s, {:.0}s)",
                real.count(),
                real.count_of("passed"),
                real.count_of("not-offered"),
                real.took.as_secs_f64(),
                embedded.took.as_secs_f64(),
            ),
        );
    }
    verdict.figure("differences", DIFFERENCES.len());
    Ok(verdict)
}
