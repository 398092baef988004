//! Faults that other share consumers had.

use anyhow::Result;

use super::support::rows::{Mutated, prove};
use super::{Proof, verdict::Verdict};

pub(super) const PROOF: Proof = Proof {
    name: "faults-share",
    shows: "each public fault of share consumers has tests, each with a mutation of our code that is tried and noticed",
    run,
};

/// Sections A (acknowledgements) and B (session, fetch, membership) of the catalogue.
pub(super) const ROWS: [u32; 28] =
    [1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 15, 16, 17, 18, 19, 20, 22, 23, 24, 26, 27, 28, 31, 32, 33, 74, 35];

fn run() -> Result<Verdict> {
    prove(&ROWS, &[], Mutated::EachTest)
}
