//! Records that come at a steady pace, whatever happens to the cluster.

use std::time::Duration;

use ackflow_client::{Producer, ProducerConfig, ProducerRecord};
use anyhow::Result;
use tokio::time::{MissedTickBehavior, interval};

const TICK: Duration = Duration::from_millis(20);

/// Produce records whose values are 0, 1, 2 and so on, so many a second, in turn to each partition; ends when all are confirmed.
#[derive(clap::Args)]
pub(crate) struct Args {
    bootstrap: String,
    topic: String,
    partitions: i32,
    records: u64,
    per_second: u64,
}

pub(crate) async fn run(args: Args) -> Result<()> {
    let producer = Producer::new(ProducerConfig::new(&args.bootstrap)?)?;
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let each = args.per_second * TICK.as_millis() as u64 / 1000;
    let mut confirmations = Vec::new();
    for number in 0..args.records {
        if number % each.max(1) == 0 {
            ticks.tick().await;
        }
        let partition = (number % args.partitions as u64) as i32;
        let record = ProducerRecord::new(args.topic.as_str(), number.to_string()).partition(partition);
        confirmations.push(producer.send(record).await?);
    }
    for confirmation in confirmations {
        confirmation.await?;
    }
    Ok(producer.close().await?)
}
