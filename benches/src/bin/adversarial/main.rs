//! The share consumer in situations in which clients lose records, hand out stale ones, or stop: each exact to the record.
//!
//! A scenario makes a topic and a group of its own on the cluster that the environment describes (`cargo xtask kafka`). Java's consumer
//! says what the topic holds, and a [`ledger::Ledger`] keeps what was handed out and what became of it. Every scenario ends with one JSON
//! line, which says whether it was exact.

mod cluster;
mod ledger;
mod member;
mod scenarios;
mod stage;

use std::time::Instant;

use anyhow::{Context, Result};
use clap::Parser;
use serde_json::json;

use cluster::Cluster;
use ledger::Report;
use scenarios::{SCENARIOS, Scenario};

/// Run scenarios, all of those that suit the cluster if none is named.
#[derive(Parser)]
struct Args {
    /// List the scenarios, with how many brokers each wants.
    #[arg(long)]
    list: bool,
    /// Only the first half of the list.
    #[arg(long, conflicts_with = "names")]
    first_half: bool,
    /// Play each so many times.
    #[arg(long, default_value_t = 1)]
    times: u32,
    /// Which ones, by name.
    names: Vec<String>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    if args.list {
        for scenario in SCENARIOS {
            println!("{:<24} {} broker(s)  {}", scenario.name, scenario.brokers, scenario.what);
        }
        return Ok(());
    }
    let cluster = Cluster::from_environment()?;
    let chosen: Vec<&Scenario> = match args.names.as_slice() {
        [] if args.first_half => SCENARIOS[..SCENARIOS.len().div_ceil(2)].iter().collect(),
        [] => SCENARIOS.iter().filter(|scenario| scenario.brokers == cluster.brokers()).collect(),
        names => names.iter().map(|name| scenarios::named(name)).collect::<Result<_>>()?,
    };
    for scenario in chosen.iter().cycle().take(chosen.len() * args.times as usize) {
        let start = Instant::now();
        let outcome = (scenario.run)(cluster.clone()).await.with_context(|| format!("scenario {}", scenario.name));
        let report = outcome.unwrap_or_else(|error| Report::failed(&error));
        let seconds = start.elapsed().as_secs();
        println!(
            "{}",
            json!({"scenario": scenario.name, "exact": report.exact(), "seconds": seconds, "report": report.to_json()})
        );
    }
    Ok(())
}
