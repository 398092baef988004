//! A real Kafka with listeners of TLS and SASL: each way in, and what a client makes of being refused.
//!
//! The cluster is that of `cargo xtask kafka --secure`. One JSON line tells of each way and of each refusal, the last one of all.

mod outcome;
mod proxy;
mod refusals;
mod ways_in;

use ackflow_benches::secure::SecureCluster;
use serde_json::json;

use outcome::Outcome;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let cluster = SecureCluster::from_environment()?;
    let ways = ways_in::all(&cluster).await?;
    let refusals = refusals::all(&cluster).await?;
    let good = |outcomes: &[Outcome]| outcomes.iter().filter(|outcome| outcome.faults.is_empty()).count();
    let slowest = refusals.iter().filter_map(|outcome| outcome.told_ms).max();
    let attempts = refusals.iter().filter_map(|outcome| outcome.attempts).max();
    println!(
        "{}",
        json!({
            "ways": ways.len(), "good_ways": good(&ways), "refusals": refusals.len(), "good_refusals": good(&refusals),
            "slowest_ms": slowest, "most_attempts": attempts, "watched_seconds": refusals::WATCHED.as_secs(),
        })
    );
    Ok(())
}
