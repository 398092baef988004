//! Sessions of three seconds under load: what producers and share consumers notice of it, and what a certificate that is replaced does.
//!
//! The cluster is that of `cargo xtask kafka --secure`, whose listener SHORT ends sessions after 3 s. One JSON line tells of each mechanism, the
//! last one of all.

mod certificate;
mod load;
mod renewals;

use std::time::Duration;

use ackflow_benches::secure::{CREDENTIALS, SCRAM, SecureCluster, sasl, unsigned_token};
use ackflow_testkit::{TokenAnswer, TokenEndpoint};
use clap::Parser;
use serde_json::json;

/// Produce and consume while sessions end and are renewed.
#[derive(Parser)]
struct Args {
    /// Seconds of load.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let renewals = renewals::count();
    let cluster = SecureCluster::from_environment()?;
    let replaced = certificate::replace(&cluster).await?;
    let endpoint = TokenEndpoint::start(|_| TokenAnswer::token(&unsigned_token(0, 3600), 3600)).await?;
    let url = endpoint.url();
    let tokens = [&sasl("OAUTHBEARER", CREDENTIALS)[..], &[("sasl.oauthbearer.token.endpoint.url", &url)]].concat();
    let period = Duration::from_secs(args.seconds);
    let (scram, tokens) = tokio::try_join!(
        load::run("SCRAM-SHA-512", cluster.properties("SHORT", &sasl("SCRAM-SHA-512", SCRAM))?, period),
        load::run("OAUTHBEARER", cluster.properties("SHORT", &tokens)?, period),
    )?;
    let both = [scram, tokens];
    both.iter().for_each(|report| println!("{}", report.to_json()));
    let sum = |of: fn(&load::Report) -> u64| both.iter().map(of).sum::<u64>();
    let longest = |of: fn(&load::Report) -> Duration| both.iter().map(of).max().unwrap_or_default().as_millis();
    println!(
        "{}",
        json!({
            "produced": sum(|report| report.produced), "consumed": sum(|report| report.consumed),
            "lost": sum(|report| report.lost), "again": sum(|report| report.again), "errors": sum(|report| report.errors),
            "longest_ack_pause_ms": longest(|report| report.longest_ack_pause),
            "longest_record_pause_ms": longest(|report| report.longest_record_pause),
            "renewals": renewals.get(), "replaced": replaced, "groups": both.each_ref().map(|report| &report.group),
        })
    );
    Ok(())
}
