//! README's first command, on a clean clone.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Proof;
use super::verdict::Verdict;
use crate::process::{self, Process};
use crate::readme;
use crate::workspace;

pub(super) const PROOF: Proof = Proof {
    name: "demo",
    shows: "README's first command on a clean clone: 200,000 records, a task killed on the way, lost 0",
    run,
};

const RECORDS: u64 = 200_000;
/// A build from nothing and the demo.
const LIMIT: Duration = Duration::from_secs(3600);

fn run() -> Result<Verdict> {
    let folder = tempfile::tempdir()?;
    let clone = folder.path().join("ackflow");
    // What is committed, as a user gets it.
    process::output(Command::new("git").args(["clone", "--quiet"]).arg(workspace::root()).arg(&clone))?;
    let readme = fs::read_to_string(clone.join("README.md")).context("cannot read README.md")?;
    let line =
        readme::cargo_lines(&readme).next().context("README.md has no line in ```sh that starts with `cargo`")?;

    let mut verdict = Verdict::default();
    verdict.figure("command", format!("{line:?}"));
    let table = shell(line, &clone)?;
    verdict.require(row(&table, "lost") == Some("0"), format!("the table says that nothing is lost:\n{table}"));

    let json = shell(&format!("{line} --json"), &clone)?;
    let last = json.lines().last().unwrap_or_default();
    let result: Value = serde_json::from_str(last).with_context(|| format!("the last line is not JSON: {last}"))?;
    for name in ["produced", "delivered", "redelivered", "lost", "records_per_s"] {
        verdict.figure(name, &result[name]);
    }
    verdict.require(result["produced"] == RECORDS, "200,000 records are produced");
    verdict.require(result["delivered"] == RECORDS, "all are delivered");
    verdict.require(result["lost"] == 0, "none is lost");
    verdict.require(result["redelivered"].as_u64().is_some_and(|n| n > 0), "the killed task's records come again");
    verdict.require(result["records_per_s"].as_f64().is_some_and(|rate| rate > 0.0), "the rate is known");
    Ok(verdict)
}

/// Runs a line of the README in the clone and returns what it printed; it must succeed.
fn shell(line: &str, clone: &Path) -> Result<String> {
    let mut shell = Command::new("sh");
    // The clone builds into its own folder, whatever this build was told.
    shell.args(["-c", line]).current_dir(clone).env_remove("CARGO_TARGET_DIR");
    let (text, _) = Process::capture(line, &mut shell, LIMIT)?;
    print!("{text}");
    Ok(text)
}

/// The number in the table's row of that name.
fn row<'a>(table: &'a str, name: &str) -> Option<&'a str> {
    let line = table.lines().find(|line| line.split_whitespace().next() == Some(name))?;
    line.split_whitespace().nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_their_first_word() {
        let table = "produced   200000\nlost            3   really\n";
        assert_eq!(row(table, "lost"), Some("3"));
        assert_eq!(row(table, "found"), None);
    }
}
