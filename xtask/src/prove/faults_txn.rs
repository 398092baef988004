//! Faults that other clients had with transactions and idempotence.

use anyhow::Result;

use super::support::rows::{Mutated, prove};
use super::{Proof, verdict::Verdict};

pub(super) const PROOF: Proof = Proof {
    name: "faults-txn",
    shows: "each public fault of transactions and idempotence has tests, each with a mutation of our code that is tried and noticed",
    run,
};

/// Section D of the catalogue.
pub(super) const ROWS: [u32; 6] = [53, 54, 55, 58, 59, 60];

fn run() -> Result<Verdict> {
    prove(&ROWS, &[], Mutated::EachTest)
}
