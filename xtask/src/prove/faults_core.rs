//! Faults that other clients had, each a test here; record batches with the verdict of Kafka's own reader.

use anyhow::Result;

use super::support::rows::{Mutated, prove};
use super::{Proof, verdict::Verdict};

pub(super) const PROOF: Proof = Proof {
    name: "faults-core",
    shows: "each public fault that touches the core has a test named row_NN, and the batches are read as Kafka reads them",
    run,
};

/// The catalogue's rows that touch what is built: share consumer (1-35, 74), codec and batches (36-51), the idempotent
/// producer (59, 60), the network without TLS and SASL (61, 62, 67, 75), the sink runtime (68-71). Not yet: transactions
/// (53-58). Authentication (63-65) has listeners of its own: `faults-net`.
const ROWS: [u32; 51] = [
    1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 15, 16, 17, 18, 19, 20, 22, 23, 24, 26, 27, 28, 31, 32, 33, 35, 36, 37, 39, 41,
    42, 43, 45, 46, 47, 48, 49, 50, 51, 59, 60, 61, 62, 67, 68, 69, 70, 71, 74, 75,
];

pub(super) const BATCHES: &str = "every_case_is_accepted_or_refused_as_its_last_column_says";

fn run() -> Result<Verdict> {
    prove(&ROWS, &[BATCHES], Mutated::EachRow)
}
