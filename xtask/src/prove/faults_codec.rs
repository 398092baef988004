//! Faults that other codecs had.

use anyhow::Result;

use super::support::rows::{Mutated, prove};
use super::{Proof, faults_core::BATCHES, verdict::Verdict};

pub(super) const PROOF: Proof = Proof {
    name: "faults-codec",
    shows: "each public fault of codecs and record batches has tests, each with a mutation of our code that is tried and noticed",
    run,
};

/// Section C of the catalogue.
pub(super) const ROWS: [u32; 13] = [36, 37, 39, 41, 42, 43, 45, 46, 47, 48, 49, 50, 51];

fn run() -> Result<Verdict> {
    prove(&ROWS, &[BATCHES], Mutated::EachTest)
}
