//! Races between what a share consumer waits for and a timer: poll, acknowledge, commit and close are dropped at random moments, and a
//! ledger says whether a record was lost by that.
//!
//! Each round has a topic, a group and a kind of consumer of its own, and follows from the seed as far as the machine lets it. It runs on
//! an embedded broker, or on the cluster that `--bootstrap-server` names. One JSON line tells of each round, the last one of all.

mod explicit;
mod implicit;
mod ledger;
mod moment;
mod owned;
mod round;
mod stage;

use std::time::Instant;

use ackflow_testkit::EmbeddedBroker;
use anyhow::Result;
use clap::Parser;
use serde_json::json;

use round::{Kind, Round};
use stage::Stage;

/// Drop futures of share consumers at random moments, and see that nothing is lost.
#[derive(Parser)]
struct Args {
    /// A cluster; an embedded broker if none is named.
    #[arg(long)]
    bootstrap_server: Option<String>,
    /// How many races.
    #[arg(long, default_value_t = 1_000)]
    races: u64,
    /// How many of them are between the start and the close of one consumer.
    #[arg(long, default_value_t = 250)]
    races_a_round: u64,
    /// What decides.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    let embedded = match &args.bootstrap_server {
        Some(_) => None,
        None => Some(EmbeddedBroker::builder().fast().start().await?),
    };
    let named = args.bootstrap_server.clone();
    let bootstrap = named.or_else(|| embedded.as_ref().map(EmbeddedBroker::bootstrap_servers)).unwrap_or_default();
    let start = Instant::now();
    let (mut races, mut dropped, mut records, mut again, mut faults) = (0, 0, 0, 0, 0);
    for number in 0.. {
        if races >= args.races {
            break;
        }
        let seed = args.seed.wrapping_add(number);
        let kind = Kind::ALL[number as usize % Kind::ALL.len()];
        let mut stage = Stage::new(&bootstrap).await?;
        let wanted = args.races_a_round.min(args.races - races);
        let report = Round::new(&mut stage, seed, kind).play(wanted).await?;
        println!("{}", report.to_json());
        races += wanted;
        dropped += report.dropped;
        records += report.records;
        again += report.again;
        faults += report.faults.len();
    }
    let seconds = start.elapsed().as_secs();
    println!(
        "{}",
        json!({
            "races": races, "dropped": dropped, "records": records, "again": again, "faults": faults,
            "seconds": seconds, "seed": args.seed,
        })
    );
    Ok(())
}
