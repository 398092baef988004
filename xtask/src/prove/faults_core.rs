//! Faults that other clients had, each a test here; record batches with the verdict of Kafka's own reader.

use std::collections::BTreeSet;

use anyhow::{Context, Result};

use super::Proof;
use super::verdict::Verdict;
use crate::kafka::{Cluster, Options};
use crate::process;
use crate::workspace::cargo;

pub(super) const PROOF: Proof = Proof {
    name: "faults-core",
    shows: "each public fault that touches the core has a test named row_NN, and the batches are read as Kafka reads them",
    run,
};

/// The catalogue's rows that touch what is built: share consumer (1-35, 74), codec and batches (36-51), the idempotent
/// producer (59, 60), the network without TLS and SASL (61, 62, 67, 75), the sink runtime (68-71). Not yet: transactions
/// (53-58), authentication (63-65).
const ROWS: [u32; 51] = [
    1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 15, 16, 17, 18, 19, 20, 22, 23, 24, 26, 27, 28, 31, 32, 33, 35, 36, 37, 39, 41,
    42, 43, 45, 46, 47, 48, 49, 50, 51, 59, 60, 61, 62, 67, 68, 69, 70, 71, 74, 75,
];
const BATCHES: &str = "every_case_is_accepted_or_refused_as_its_last_column_says";

fn run() -> Result<Verdict> {
    let cluster = Cluster::start(&Options { fast: true, ..Options::default() })?;
    let mut tests = cargo();
    tests.args(["test", "--workspace", "--no-fail-fast", "--", "--include-ignored", "row_", BATCHES]);
    cluster.describe_to(&mut tests);
    let output = tests.output().context("cannot run cargo test")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let names: Vec<&str> = passed(&text).collect();
    let tested: BTreeSet<u32> = names.iter().filter_map(|name| row(name)).collect();
    let missing: Vec<u32> = ROWS.into_iter().filter(|row| !tested.contains(row)).collect();
    let mut verdict = Verdict::default();
    verdict.figure("rows", format!("{}/{}", ROWS.len() - missing.len(), ROWS.len()));
    verdict.figure("tests", names.len());
    let failed: Vec<&str> = text.lines().filter(|line| line.starts_with("test ") && line.ends_with("FAILED")).collect();
    verdict.require(failed.is_empty(), failed.join(", "));
    verdict.require(
        output.status.success(),
        format!("`{}` succeeds\n{}", process::line(&tests), String::from_utf8_lossy(&output.stderr)),
    );
    verdict.require(missing.is_empty(), format!("rows {missing:?} have a test"));
    verdict.require(names.iter().any(|name| name.ends_with(BATCHES)), "the batches are read");
    Ok(verdict)
}

/// The names of passed tests, from lines such as `test acks::row_06_gaps ... ok`.
fn passed(output: &str) -> impl Iterator<Item = &str> {
    output.lines().filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... ok"))
}

/// The row that a test is named for.
fn row(name: &str) -> Option<u32> {
    name.rsplit("::").next()?.split_once("row_")?.1.split('_').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_passed_tests_count_for_their_row() {
        let output = "test a::row_06_gaps ... ok\ntest real_kafka_row_12_x ... ok\ntest b::row_07_x ... FAILED\ntest other ... ok\n";
        assert_eq!(passed(output).map(row).collect::<Vec<_>>(), [Some(6), Some(12), None]);
    }
}
