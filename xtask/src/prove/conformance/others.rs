//! A broker that nobody here has written: kfake, which franz-go brings for its tests.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::suite::Run;
use crate::prove::Proof;
use crate::prove::support::ackflow::Ackflow;
use crate::prove::verdict::Verdict;
use crate::{process, workspace};

pub(super) const PROOF: Proof = Proof {
    name: "conformance-others",
    shows: "franz-go's kfake gets a report, which names the null records of its ShareFetch 2 answers, the ones that Java's share consumer hangs on",
    run,
};

/// The case that finds what Java's share consumer hangs on, and what the report has to say of it.
const NULL_RECORDS: &str = "an-answer-without-records-has-empty-records-not-null";

/// Each group has a kfake of its own, since some cases end it.
const GROUPS: [&str; 16] = [
    "versions",
    "membership",
    "sessions",
    "acquisition",
    "acknowledgement",
    "renewal",
    "acquire-modes",
    "delivery-limits",
    "isolation",
    "dlq",
    "admin-and-offsets",
    "lag",
    "idempotence",
    "transactions",
    "errors",
    "limits",
];

fn run() -> Result<Verdict> {
    let ackflow = Ackflow::build()?;
    let mut verdict = Verdict::default();
    let mut counts = [("passed", 0), ("failed", 0), ("not-offered", 0)];
    let mut ended = Vec::new();
    let mut null_records = None;
    for group in GROUPS {
        let kfake = Kfake::start()?;
        let run = Run::play_some(&ackflow, &kfake.address, &["--group", group])?;
        run.tell_failures("kfake");
        counts.iter_mut().for_each(|(outcome, count)| *count += run.count_of(outcome));
        if let Some(cases) = &run.gone {
            println!("kfake has ended in the group {group}; under way were {}", cases.join(", "));
            ended.push(group);
        }
        null_records = null_records.or_else(|| {
            let found = run.failed().find(|case| case.name == NULL_RECORDS);
            found.map(|case| case.got.contains("null") && case.expected.contains("null"))
        });
    }
    counts.iter().for_each(|(outcome, count)| verdict.figure(outcome, count));
    verdict.figure("kfake_ended_in", if ended.is_empty() { "none".to_owned() } else { ended.join("+") });
    verdict.figure("null_records", if null_records == Some(true) { "named" } else { "missed" });
    verdict.require(null_records.is_some(), format!("{NULL_RECORDS} fails"));
    verdict.require(null_records == Some(true), "its report says that records are null");
    Ok(verdict)
}

/// kfake as a process of its own. Dropped, it ends.
struct Kfake {
    process: Child,
    address: String,
}

impl Kfake {
    fn start() -> Result<Self> {
        let program = workspace::cache().join("kfake");
        let mut go = Command::new("go");
        go.args(["build", "-mod=readonly", "-o"]).arg(&program).arg(".");
        process::output(go.current_dir(workspace::root().join("testdata/interop/kfake")))
            .context("Go 1.26 is needed for kfake (its go.mod says so)")?;
        let mut command = Command::new(program);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("starting kfake")?;
        let mut address = String::new();
        let output = process.stdout.as_mut().context("its output is piped")?;
        BufReader::new(output).read_line(&mut address)?;
        let kfake = Self { process, address: address.trim().to_owned() };
        ensure!(!kfake.address.is_empty(), "kfake has ended before it said where it listens");
        Ok(kfake)
    }
}

impl Drop for Kfake {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
