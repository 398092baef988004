//! Clients in the situations of the conformance suite: ours passes all, and of Kafka's own the departures are known.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::kafka::{DEFAULT_VERSION, Libs};
use crate::process::Process;
use crate::prove::Proof;
use crate::prove::support::ackflow::Ackflow;
use crate::prove::verdict::Verdict;
use crate::workspace::{self, cargo};

pub(super) const PROOF: Proof = Proof {
    name: "conformance-client",
    shows: "our share consumer passes every situation of `ackflow conformance --client`, and Kafka's all but the known ones",
    run,
};

/// How many situations there are at least.
const SITUATIONS: usize = 30;
const BUILD_LIMIT: Duration = Duration::from_secs(1800);
const LIMIT: Duration = Duration::from_secs(1200);

/// What Kafka's share consumer 4.4.0 does not do, and why that is so.
const JAVA_DEPARTS: &[(&str, &str)] = &[
    (
        "a-coordinator-that-is-loading-is-waited-for",
        "a fault of the client: while a member joins, AbstractHeartbeatRequestManager.poll sends without regard to the backoff \
         (shouldHeartbeatNow is true in the state JOINING), thousands of heartbeats a second",
    ),
    (
        "a-partition-that-nobody-asked-for-is-not-handed-out",
        "no broker does that; the client hands out whatever an answer names of a topic that it knows",
    ),
    (
        "an-answer-to-another-request-is-not-taken",
        "no broker does that; no record of that broker comes within 30 s, though request.timeout.ms is 5 s",
    ),
    (
        "an-answer-that-cannot-be-read-is-survived",
        "a fault of the client: after one answer that cannot be read no record of that broker comes within 30 s, and no error is told",
    ),
];

fn run() -> Result<Verdict> {
    let ackflow = Ackflow::build()?;
    let mut shim = cargo();
    shim.args(["build", "--release", "-q", "-p", "ackflow-conformance", "--bins"]);
    Process::start("the release build of the shim", &mut shim)?.success(BUILD_LIMIT)?;
    let metadata = workspace::metadata()?;
    let target = metadata["target_directory"].as_str().context("cargo metadata names no target directory")?;
    let shim = Path::new(target).join("release/ackflow-conformance-shim");
    let mut verdict = Verdict::default();

    let ours = Verdicts::of(&ackflow, &format!("exec '{}'", shim.display()), 8)?;
    verdict.figure("situations", ours.all);
    verdict.figure("ours_passed", ours.passed);
    verdict.require(ours.all >= SITUATIONS, format!("there are {SITUATIONS} situations"));
    verdict.require(ours.passed == ours.all, format!("ours passes all; it fails {:?}", ours.others));

    let java = java()?;
    let java = Verdicts::of(&ackflow, &java, 4)?;
    verdict.figure("java_passed", java.passed);
    verdict.figure("java_departs", java.others.len());
    let known: BTreeSet<String> = JAVA_DEPARTS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let news: Vec<_> = java.others.difference(&known).collect();
    let gone: Vec<_> = known.difference(&java.others).collect();
    verdict.require(news.is_empty(), format!("Kafka's client passes {news:?}"));
    verdict.require(gone.is_empty(), format!("Kafka's client still departs in {gone:?}"));
    for (name, why) in JAVA_DEPARTS {
        eprintln!("Kafka's client, {name}: {why}");
    }
    Ok(verdict)
}

/// The command that starts the shim of Kafka's client. It is compiled once, since a start from source takes seconds of a processor.
fn java() -> Result<String> {
    let libs = Libs::fetch(DEFAULT_VERSION)?;
    let folder = workspace::cache().join("conformance-shim");
    let source = workspace::root().join("conformance/shims/java/Shim.java");
    let jars = libs.folder().join("*");
    let mut javac = std::process::Command::new("javac");
    javac.arg("-cp").arg(&jars).arg("-d").arg(&folder).arg(source);
    Process::start("javac", &mut javac)?.success(LIMIT)?;
    Ok(format!(
        "exec java -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp '{}:{}' Shim",
        folder.display(),
        jars.display()
    ))
}

/// What came of one client.
struct Verdicts {
    all: usize,
    passed: usize,
    /// The names of those that did not pass.
    others: BTreeSet<String>,
}

impl Verdicts {
    fn of(ackflow: &Ackflow, client: &str, jobs: u16) -> Result<Self> {
        let jobs = jobs.to_string();
        let arguments = ["conformance", "--format", "json", "--jobs", &jobs, "--client", client];
        let (output, exit) = Process::finish("ackflow conformance", &mut ackflow.command(&arguments), LIMIT)?;
        ensure!(matches!(exit.status.code(), Some(0 | 1)), "the situations could not be played ({})", exit.status);
        let report: Value = serde_json::from_str(&output).context("the report")?;
        let cases = report["cases"].as_array().context("a report has cases")?;
        let (passed, others): (Vec<&Value>, Vec<&Value>) = cases.iter().partition(|case| case["verdict"] == "passed");
        for case in &others {
            eprintln!("{} {}: expected {}", case["verdict"], case["name"], case["expected"]);
        }
        let others = others.iter().filter_map(|case| Some(case["name"].as_str()?.to_owned())).collect();
        Ok(Self { all: cases.len(), passed: passed.len(), others })
    }
}
