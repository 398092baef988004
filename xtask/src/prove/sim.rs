//! Share consumers in virtual time, with faults, from thousands of seeds; and changes of our code that those runs notice.

use anyhow::Result;

use super::Proof;
use super::verdict::Verdict;
use crate::{mutate, simulation};

pub(super) const PROOF: Proof = Proof {
    name: "sim",
    shows: "share consumers keep every promise in 20,000 seeded runs with faults, and the runs notice every planted mistake",
    run,
};

const SEEDS: u64 = 20_000;
/// Fewer planted mistakes prove little.
const MUTATIONS: usize = 20;

fn run() -> Result<Verdict> {
    let mut verdict = Verdict::default();
    for (name, value) in simulation::SHARE.run(SEEDS)? {
        verdict.figure(&name, value);
    }
    let noticed = mutate::notice_of("testkit", simulation::SHARE.target)?;
    verdict.figure("mutations_noticed", noticed.figure());
    verdict.require(noticed.all >= MUTATIONS, format!("there are at least {MUTATIONS} planted mistakes"));
    verdict.require(noticed.unnoticed.is_empty(), format!("the runs notice {}", noticed.unnoticed.join(", ")));
    Ok(verdict)
}
