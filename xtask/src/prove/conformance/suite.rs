//! Runs of the suite, and what they report.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::process::Process;
use crate::prove::support::ackflow::Ackflow;

/// A run of all cases that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(1200);

/// What a run has reported.
#[derive(Debug)]
pub(super) struct Run {
    cases: Vec<Case>,
    /// Where the broker has gone before the end, the cases that were under way.
    pub(super) gone: Option<Vec<String>>,
    pub(super) took: Duration,
}

/// What it has reported of a case.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) group: String,
    pub(super) verdict: String,
    pub(super) expected: String,
    pub(super) got: String,
}

impl Run {
    /// Plays all cases to a broker.
    ///
    /// # Errors
    /// When they could not be played, or the report is none.
    pub(super) fn play(ackflow: &Ackflow, bootstrap: &str) -> Result<Self> {
        let run = Self::play_some(ackflow, bootstrap, &[])?;
        ensure!(run.gone.is_none(), "the broker has gone; under way were {:?}", run.gone);
        Ok(run)
    }

    /// Plays those cases to a broker that further arguments select, and stands it when the broker goes.
    ///
    /// # Errors
    /// As [`play`](Self::play).
    pub(super) fn play_some(ackflow: &Ackflow, bootstrap: &str, more: &[&str]) -> Result<Self> {
        let arguments = [&["conformance", "--bootstrap-server", bootstrap, "--format", "json"], more].concat();
        let mut command = ackflow.command(&arguments);
        let (output, exit) = Process::finish("the conformance suite", &mut command, LIMIT)?;
        ensure!(!output.trim().is_empty(), "the suite could not run: {}", exit.status);
        let report: Value = serde_json::from_str(&output).context("the report of the suite is JSON")?;
        let text = |case: &Value, name: &str| case[name].as_str().unwrap_or_default().to_owned();
        let cases = report["cases"].as_array().context("the report has cases")?;
        let cases = cases
            .iter()
            .map(|case| Case {
                name: text(case, "name"),
                group: text(case, "group"),
                verdict: text(case, "verdict"),
                expected: text(case, "expected"),
                got: text(case, "got"),
            })
            .collect();
        let under_way = report["gone"]["underWay"].as_array();
        let gone = under_way.map(|cases| cases.iter().filter_map(Value::as_str).map(str::to_owned).collect());
        let run = Self { cases, gone, took: Duration::from_millis(report["millis"].as_u64().unwrap_or_default()) };
        let code = if run.gone.is_some() { 2 } else { i32::from(run.failed().next().is_some()) };
        ensure!(exit.status.code() == Some(code), "the exit code {} does not fit the report", exit.status);
        Ok(run)
    }

    /// The cases that failed.
    pub(super) fn failed(&self) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(|case| case.verdict == "failed")
    }

    /// The names of the cases that failed.
    pub(super) fn names_of_failed(&self) -> BTreeSet<&str> {
        self.failed().map(|case| case.name.as_str()).collect()
    }

    /// How many cases there are.
    pub(super) fn count(&self) -> usize {
        self.cases.len()
    }

    /// How many ended so.
    pub(super) fn count_of(&self, verdict: &str) -> usize {
        self.cases.iter().filter(|case| case.verdict == verdict).count()
    }

    /// The verdict of each case.
    pub(super) fn verdicts(&self) -> BTreeMap<&str, &str> {
        self.cases.iter().map(|case| (case.name.as_str(), case.verdict.as_str())).collect()
    }

    /// Prints what failed, for who reads the proof.
    pub(super) fn tell_failures(&self, of: &str) {
        for case in self.failed() {
            println!("{of}: {} {}\n  expected: {}\n  got: {}", case.group, case.name, case.expected, case.got);
        }
    }
}
