//! Faults that other clients had on the network and in authentication.

use anyhow::Result;

use super::support::rows::{Mutated, prove_on};
use super::{Proof, verdict::Verdict};
use crate::kafka::Options;

pub(super) const PROOF: Proof = Proof {
    name: "faults-net",
    shows: "each public fault of connections and authentication has tests, each with a mutation of our code that is tried and noticed",
    run,
};

/// Section E of the catalogue.
pub(super) const ROWS: [u32; 7] = [61, 62, 63, 64, 65, 67, 75];

fn run() -> Result<Verdict> {
    prove_on(&Options { fast: true, secure: true, ..Options::default() }, &ROWS, &[], Mutated::EachTest)
}
