//! The process whose start is measured: a member of a share group, as small as a program can be.

use std::io::Write;
use std::time::Duration;

use ackflow_client::share::{OwnedShareConsumer, ShareConsumerConfig};
use clap::Args as ClapArgs;

/// What it prints when it has a record.
pub(crate) const FIRST: &str = "first";

const WAIT: Duration = Duration::from_secs(30);

#[derive(ClapArgs)]
pub(crate) struct Args {
    /// Addresses of the cluster.
    #[arg(long)]
    bootstrap_server: String,
    /// The topic.
    #[arg(long)]
    topic: String,
    /// The share group.
    #[arg(long)]
    group: String,
    /// Id of the member; a random one by default.
    #[arg(long)]
    member_id: Option<String>,
    /// How many records to take before it ends: it accepts them and leaves the group. Without this it keeps what it gets, and never ends.
    #[arg(long)]
    records: Option<usize>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(consume(args))
}

async fn consume(args: &Args) -> anyhow::Result<()> {
    let mut config = ShareConsumerConfig::builder(&args.bootstrap_server, &args.group);
    if let Some(id) = &args.member_id {
        config = config.member_id(id);
    }
    let mut consumer = OwnedShareConsumer::new(config.build()?)?;
    consumer.subscribe([&args.topic])?;
    let (mut held, mut got) = (Vec::new(), 0);
    while args.records.is_none_or(|records| got < records) {
        let Some(delivery) = consumer.poll(WAIT).await? else { continue };
        if got == 0 {
            writeln!(std::io::stdout(), "{FIRST}")?;
        }
        got += delivery.len();
        held.push(delivery);
    }
    for delivery in held {
        delivery.accept().await?;
    }
    Ok(consumer.close(WAIT).await?)
}
