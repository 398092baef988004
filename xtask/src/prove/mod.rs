//! What the product claims, as commands: each builds what it needs, runs it, judges it, and prints its figures last.

mod support;
mod verdict;

mod admin;
mod adversarial;
mod bench_codec;
mod bench_replay;
mod cancel;
mod cold_start;
mod conformance;
mod consumer;
mod demo;
mod embedded_speed;
mod fair;
mod faults_codec;
mod faults_core;
mod faults_net;
mod faults_share;
mod faults_txn;
mod file_sink;
mod file_sink_kill;
mod foreign_clients;
mod fuzz;
mod growth;
mod java_on_embedded;
mod kip_1289;
mod mixed_group;
mod perf_core;
mod perf_produce;
mod perf_share;
mod reauth;
mod records_interop;
mod schema_oracle;
mod security;
mod sim;
mod tail_latency;
mod txn_real;
mod vectors_all;
mod vectors_core;
mod versions;

use std::time::Instant;

use anyhow::{Result, bail, ensure};

use crate::interrupt;
use verdict::Verdict;

/// A claim and how it is proved.
pub struct Proof {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it shows, in one line.
    pub shows: &'static str,
    run: fn() -> Result<Verdict>,
}

/// The rows of the catalogue of faults whose mutations some proof tries.
pub(crate) fn rows_tried() -> Vec<u32> {
    [&faults_share::ROWS[..], &faults_codec::ROWS, &faults_txn::ROWS, &faults_net::ROWS].concat()
}

/// Sees that what the conformance suite has to notice can still be broken.
///
/// # Errors
/// With the first that has no place in the code.
pub(crate) fn check_broken_rules() -> Result<()> {
    conformance::check_broken_rules()
}

/// All claims.
pub static ALL: &[Proof] = &[
    demo::PROOF,
    file_sink::PROOF,
    file_sink_kill::PROOF,
    mixed_group::PROOF,
    java_on_embedded::PROOF,
    conformance::CLIENT,
    foreign_clients::PROOF,
    vectors_core::PROOF,
    vectors_all::PROOF,
    schema_oracle::PROOF,
    records_interop::PROOF,
    perf_core::PROOF,
    perf_produce::PROOF,
    perf_share::PROOF,
    faults_core::PROOF,
    faults_codec::PROOF,
    faults_share::PROOF,
    faults_net::PROOF,
    tail_latency::PROOF,
    cold_start::PROOF,
    fair::PROOF,
    bench_replay::PROOF,
    bench_codec::PROOF,
    adversarial::PROOF,
    versions::PROOF,
    fuzz::PROOF,
    sim::PROOF,
    cancel::PROOF,
    growth::PROOF,
    security::PROOF,
    admin::PROOF,
    consumer::PROOF,
    reauth::PROOF,
    txn_real::PROOF,
    faults_txn::PROOF,
    embedded_speed::PROOF,
    kip_1289::PROOF,
    conformance::TWO,
    conformance::BITES,
    conformance::OTHERS,
    conformance::TIME,
    conformance::OLDER,
];

/// Prove a claim: build, run, judge. The figures are the last line, the exit code is 1 when the claim does not hold.
#[derive(clap::Args)]
pub struct Arguments {
    /// Claims by name.
    #[arg(required_unless_present_any = ["list", "all"])]
    names: Vec<String>,
    /// List the claims.
    #[arg(long)]
    list: bool,
    /// Prove all of them.
    #[arg(long)]
    all: bool,
}

/// Runs it.
///
/// # Errors
/// When a claim does not hold, or there is none of that name.
pub fn run(arguments: &Arguments) -> Result<()> {
    if arguments.list {
        for proof in ALL {
            println!("{:<18} {}", proof.name, proof.shows);
        }
        return Ok(());
    }
    let proofs = if arguments.all { ALL.iter().collect() } else { named(&arguments.names)? };
    let failed = proofs.iter().filter(|proof| run_one(proof).is_err()).count();
    interrupt::check()?;
    match failed {
        0 => Ok(()),
        _ if proofs.len() == 1 => bail!("not proved"),
        _ => bail!("{failed} of {} not proved", proofs.len()),
    }
}

fn named(names: &[String]) -> Result<Vec<&'static Proof>> {
    let find = |name: &String| match ALL.iter().find(|proof| proof.name == name) {
        Some(proof) => Ok(proof),
        None => bail!("there is no claim `{name}`; `cargo xtask prove --list` names them"),
    };
    names.iter().map(find).collect()
}

/// Proves one claim and prints its line.
///
/// # Errors
/// When it does not hold.
pub fn run_one(proof: &Proof) -> Result<()> {
    interrupt::check()?;
    let start = Instant::now();
    let outcome = (proof.run)();
    let took = start.elapsed().as_secs();
    let (holds, figures) = match outcome {
        Ok(verdict) => (verdict.holds(), verdict.to_string()),
        Err(error) => (false, format!("{error:#}")),
    };
    println!("prove {}: {}  {figures} ({took} s)", proof.name, if holds { "ok" } else { "FAILED" });
    ensure!(holds, "{} does not hold", proof.name);
    Ok(())
}
