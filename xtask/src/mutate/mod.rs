//! Mutations of our own code that tests are known to notice, recorded beside the tests:
//!
//! ```text
//! // Mutation: protocol/src/wire/varint.rs
//! // - if shift > 28 {
//! // + if shift > 280 {
//! #[test]
//! fn row_47_varints_have_a_limit() {
//! ```
//!
//! A test may have several. The text after `-` stands exactly once in the file, within one line of code; the text after `+` takes its place. A test that
//! passes all the same has lost what it was for.

mod recorded;
mod tree;

use std::time::Instant;

use anyhow::{Result, ensure};

use crate::interrupt;
pub(crate) use recorded::row;
pub use recorded::{KnownTest, Mutation, known_tests};
pub(crate) use tree::Tree;

/// Break the code as tests have it recorded, each time in one place, and see the test fail.
#[derive(clap::Args)]
pub struct Arguments {
    /// Rows of the catalogue by number, or parts of names of tests. All where there is none.
    select: Vec<String>,
    /// Only see that each recorded mutation still has its place in the code.
    #[arg(long)]
    check: bool,
}

/// Runs it.
///
/// # Errors
/// When a mutation has no place in the code, does not build, or is not noticed by its test.
pub fn run(arguments: &Arguments) -> Result<()> {
    let mut tests = known_tests()?;
    if !arguments.select.is_empty() {
        tests.retain(|test| arguments.select.iter().any(|wanted| test.is_meant_by(wanted)));
        ensure!(!tests.is_empty(), "no test with a mutation is meant by {}", arguments.select.join(" "));
    }
    if arguments.check { check(&tests) } else { notice(&tests)?.all_noticed() }
}

/// Sees that each recorded mutation still has its place in the code.
///
/// # Errors
/// With every one that has not.
pub fn check_all() -> Result<()> {
    check(&known_tests()?)
}

/// Sees that each recorded mutation makes its test fail, except those of these rows, which other checks try.
///
/// # Errors
/// As [`run`].
pub fn notice_all_but(rows: &[u32]) -> Result<()> {
    let mut tests = known_tests()?;
    tests.retain(|test| test.row.is_none_or(|row| !rows.contains(&row)));
    notice(&tests)?.all_noticed()
}

/// Sees which of the mutations are noticed that are recorded beside the tests of these rows.
///
/// # Errors
/// As [`notice_of`].
pub(crate) fn notice_rows(rows: &[u32]) -> Result<Noticed> {
    let mut tests = known_tests()?;
    tests.retain(|test| test.row.is_some_and(|row| rows.contains(&row)));
    notice(&tests)
}

/// Sees which of the mutations are noticed that are recorded beside the integration tests `target` of a package.
///
/// # Errors
/// When a mutation has no place in the code, or a test fails while nothing is broken.
pub(crate) fn notice_of(package: &str, target: &str) -> Result<Noticed> {
    let mut tests = known_tests()?;
    tests.retain(|test| test.package() == package && test.target() == Some(target));
    notice(&tests)
}

/// How many mutations were tried, and which of them no test noticed.
pub(crate) struct Noticed {
    pub(crate) all: usize,
    pub(crate) unnoticed: Vec<String>,
}

impl Noticed {
    /// How many of how many were noticed.
    pub(crate) fn figure(&self) -> String {
        format!("{}/{}", self.all - self.unnoticed.len(), self.all)
    }

    fn all_noticed(self) -> Result<()> {
        ensure!(self.unnoticed.is_empty(), "{} mutations were not noticed", self.unnoticed.len());
        Ok(())
    }
}

fn check(tests: &[KnownTest]) -> Result<()> {
    let errors: Vec<String> = tests
        .iter()
        .filter_map(|test| Some((test, test.mutation.as_ref()?.check().err()?)))
        .map(|(test, error)| format!("{}: {error:#}", test.place()))
        .collect();
    ensure!(errors.is_empty(), "mutations without a place in the code:\n{}", errors.join("\n"));
    Ok(())
}

/// Applies each mutation to a copy of the workspace, and runs its test there.
///
/// # Errors
/// As [`notice_of`].
fn notice(tests: &[KnownTest]) -> Result<Noticed> {
    check(tests)?;
    let mut tests: Vec<&KnownTest> = tests.iter().filter(|test| test.mutation.is_some()).collect();
    // What is built stays the same for as long as possible.
    tests.sort_by_key(|test| (test.package(), test.target(), test.mutation.as_ref().map(|mutation| &mutation.file)));
    let tree = Tree::copy()?;
    tree.passes(&tests)?;
    let mut unnoticed = Vec::new();
    for test in &tests {
        interrupt::check()?;
        let start = Instant::now();
        let outcome = tree.mutated(test);
        let took = start.elapsed().as_secs_f64();
        match outcome {
            Ok(()) => println!("noticed {took:>6.1} s  {}", test.shown()),
            Err(error) => {
                interrupt::check()?;
                println!("NOT     {took:>6.1} s  {} {}: {error:#}", test.place(), test.shown());
                unnoticed.push(test.shown());
            }
        }
    }
    println!("{} of {} mutations were noticed by their tests", tests.len() - unnoticed.len(), tests.len());
    Ok(Noticed { all: tests.len(), unnoticed })
}
