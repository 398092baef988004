//! The whole codec against Kafka's own classes, on a thousand messages of each kind and version.

use anyhow::Result;

use super::Proof;
use super::vectors_core;
use super::verdict::Verdict;

pub(super) const PROOF: Proof = Proof {
    name: "vectors-all",
    shows: "1,000 random messages of every API, kind and version pass in both directions",
    run,
};

fn run() -> Result<Verdict> {
    vectors_core::prove(&["core", "rest"], 1_000)
}
