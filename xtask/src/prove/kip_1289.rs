//! Exactly once through share groups, as the draft KIP-1289 has it: each situation on the embedded broker, and seeded runs in virtual time.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::Proof;
use super::verdict::Verdict;
use crate::mutate;
use crate::process::Process;
use crate::simulation::KIP_1289;
use crate::workspace::cargo;

pub(super) const PROOF: Proof = Proof {
    name: "kip-1289",
    shows: "what a share group reads and a transaction writes counts exactly once, in each situation and in 1,000 seeded runs with faults",
    run,
};

const SEEDS: u64 = 1_000;
/// Fewer planted mistakes prove little.
const MUTATIONS: usize = 10;
/// A build and its tests that take longer hang.
const LIMIT: Duration = Duration::from_secs(1800);

/// Each situation, by the test that is named for it.
const SITUATIONS: [&str; 7] = [
    "a_commit_makes_input_and_output_count_together",
    "an_abort_gives_the_records_to_another_attempt",
    "after_a_crash_before_the_end_the_next_producer_aborts_and_passes_on",
    "after_a_crash_behind_the_end_everything_counts_once",
    "a_transaction_survives_the_restart_of_the_broker_that_holds_its_records",
    "a_lock_that_ends_before_staging_makes_the_transaction_abortable",
    "two_members_in_turn_pass_everything_on_once",
];

/// What has to have happened in the runs, or they prove nothing.
const HAPPENED: [&str; 9] = [
    "commits",
    "aborts",
    "crashes_before_end",
    "crashes_behind_end",
    "node_kills",
    "locks_ended",
    "aborts_of_errors",
    "producers_replaced",
    "rejected",
];

fn run() -> Result<Verdict> {
    let mut verdict = Verdict::default();
    let tests = situations()?;
    let passed = SITUATIONS.iter().filter(|name| tests.contains(&format!("situations::{name} ... ok"))).count();
    verdict.figure("situations", format!("{passed}/{}", SITUATIONS.len()));
    verdict.require(passed == SITUATIONS.len(), "every situation has its test, and it passes");
    let figures = KIP_1289.run(SEEDS)?;
    for (name, value) in &figures {
        verdict.figure(name, value);
    }
    for name in HAPPENED {
        let count = figures.iter().find(|(found, _)| found == name).and_then(|(_, value)| value.parse::<u64>().ok());
        verdict.require(count.is_some_and(|count| count > 0), format!("{name} happen in the runs"));
    }
    let noticed = mutate::notice_of("testkit", KIP_1289.target)?;
    verdict.figure("mutations_noticed", noticed.figure());
    verdict.require(noticed.all >= MUTATIONS, format!("there are at least {MUTATIONS} planted mistakes"));
    verdict.require(noticed.unnoticed.is_empty(), format!("the runs notice {}", noticed.unnoticed.join(", ")));
    Ok(verdict)
}

/// Runs the client's tests on the embedded broker, and returns what they print.
fn situations() -> Result<String> {
    let mut tests = cargo();
    tests.args(["test", "-p", "ackflow-client", "--features", "unstable-kip-1289", "--test", "kip_1289"]);
    let (output, exit) = Process::finish("the situations", &mut tests, LIMIT)?;
    print!("{output}");
    ensure!(exit.status.success(), "a situation goes wrong, see above");
    Ok(output)
}
