//! Rows of the catalogue of faults that other clients had: which have tests, and which of those have a mutation that
//! makes them fail, and does.

use std::collections::BTreeSet;

use anyhow::{Context, Result};

use crate::kafka::{Cluster, Options};
use crate::mutate::{self, KnownTest, known_tests, row};
use crate::process;
use crate::prove::verdict::Verdict;
use crate::workspace::cargo;

/// What has a recorded mutation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::prove) enum Mutated {
    /// A test of each row.
    EachRow,
    /// Each test that needs no broker; and each of the mutations is tried, and noticed by its test.
    EachTest,
}

/// Runs the tests of these rows, on a real Kafka where they need one, and the tests named in `also`.
pub(in crate::prove) fn prove(rows: &[u32], also: &[&str], mutated: Mutated) -> Result<Verdict> {
    prove_on(&Options { fast: true, ..Options::default() }, rows, also, mutated)
}

/// The same on such a Kafka.
pub(in crate::prove) fn prove_on(options: &Options, rows: &[u32], also: &[&str], mutated: Mutated) -> Result<Verdict> {
    let recorded = known_tests()?;
    let cluster = Cluster::start(options)?;
    let mut tests = cargo();
    tests.args(["test", "--workspace", "--no-fail-fast", "--", "--include-ignored"]);
    tests.args(rows.iter().map(|row| format!("row_{row:02}_"))).args(also);
    cluster.describe_to(&mut tests);
    let output = tests.output().context("cannot run cargo test")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let names: Vec<&str> = passed(&text).collect();
    let tested: BTreeSet<u32> = names.iter().filter_map(|name| row(name)).collect();
    let missing: Vec<u32> = rows.iter().copied().filter(|row| !tested.contains(row)).collect();

    let mut verdict = Verdict::default();
    verdict.figure("rows", format!("{}/{}", rows.len() - missing.len(), rows.len()));
    verdict.figure("tests", names.len());
    let of_rows: Vec<&KnownTest> =
        recorded.iter().filter(|test| test.row.is_some_and(|row| rows.contains(&row))).collect();
    verdict.figure("mutations", of_rows.iter().filter(|test| test.mutation.is_some()).count());
    let failed: Vec<&str> = text.lines().filter(|line| line.starts_with("test ") && line.ends_with("FAILED")).collect();
    verdict.require(failed.is_empty(), failed.join(", "));
    verdict.require(
        output.status.success(),
        format!("`{}` succeeds\n{}", process::line(&tests), String::from_utf8_lossy(&output.stderr)),
    );
    verdict.require(missing.is_empty(), format!("rows {missing:?} have a test"));
    for name in also {
        verdict.require(names.iter().any(|passed| passed.ends_with(name)), format!("{name} is run and passes"));
    }
    let without = without_mutation(rows, &of_rows, mutated);
    verdict.require(without.is_empty(), format!("a mutation is recorded for {}", without.join(", ")));
    if mutated == Mutated::EachTest {
        // The brokers have done their part.
        drop(cluster);
        let noticed = mutate::notice_rows(rows)?;
        verdict.figure("noticed", noticed.figure());
        verdict.require(noticed.unnoticed.is_empty(), format!("noticed: {}", noticed.unnoticed.join(", ")));
    }
    Ok(verdict)
}

/// The rows or tests that want a mutation and have none.
fn without_mutation(rows: &[u32], tests: &[&KnownTest], mutated: Mutated) -> Vec<String> {
    match mutated {
        Mutated::EachRow => {
            let has_one = |row| tests.iter().any(|test| test.row == Some(row) && test.mutation.is_some());
            rows.iter().filter(|row| !has_one(**row)).map(|row| format!("row {row}")).collect()
        }
        Mutated::EachTest => {
            let wants_one = tests.iter().filter(|test| !test.needs_broker() && test.mutation.is_none());
            wants_one.map(|test| test.place()).collect()
        }
    }
}

/// The names of passed tests without their modules, from lines such as `test acks::row_06_gaps ... ok`.
fn passed(output: &str) -> impl Iterator<Item = &str> {
    let names = output.lines().filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... ok"));
    names.filter_map(|path| path.rsplit("::").next())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutate::Mutation;

    #[test]
    fn only_passed_tests_count_for_their_row() {
        let output = "test a::row_06_gaps ... ok\ntest real_kafka_row_12_x ... ok\ntest b::row_07_x ... FAILED\ntest other ... ok\n";
        assert_eq!(passed(output).map(row).collect::<Vec<_>>(), [Some(6), Some(12), None]);
    }

    #[test]
    fn a_row_or_a_test_without_a_mutation_is_named() {
        let test = |row, name: &str, is_mutated: bool| {
            let mutation = is_mutated.then(|| Mutation { file: "a".into(), search: "b".into(), replace: "c".into() });
            KnownTest { row: Some(row), name: name.to_owned(), file: "x.rs".to_owned(), line: 3, mutation }
        };
        let tests = [test(1, "row_01_a", true), test(1, "row_01_b", false), test(2, "real_kafka_row_02_a", false)];
        let tests: Vec<&KnownTest> = tests.iter().collect();
        assert_eq!(without_mutation(&[1, 2], &tests, Mutated::EachRow), ["row 2"]);
        assert_eq!(without_mutation(&[1, 2], &tests, Mutated::EachTest), ["x.rs:3 row_01_b"]);
    }
}
