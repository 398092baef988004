//! Everything of a topic, under `read_committed`.

use std::time::Duration;

use ackflow_client::consumer::{Consumer, ConsumerConfig, IsolationLevel, TopicPartition};
use anyhow::Result;

const POLL: Duration = Duration::from_secs(1);

/// Print the committed records of a topic, a line each: partition, offset, value, separated by tabs.
#[derive(clap::Args)]
pub(crate) struct Args {
    bootstrap: String,
    topic: String,
    partitions: i32,
}

pub(crate) async fn run(args: Args) -> Result<()> {
    let config = ConsumerConfig::builder(&args.bootstrap)
        .enable_auto_commit(false)
        .isolation_level(IsolationLevel::ReadCommitted)
        .build()?;
    let mut consumer = Consumer::new(config)?;
    let partitions: Vec<_> =
        (0..args.partitions).map(|index| TopicPartition::new(args.topic.as_str(), index)).collect();
    consumer.assign(partitions.clone())?;
    consumer.seek_to_beginning(&partitions)?;
    // Under read_committed that is the last stable offset, behind the mark at the end of the last transaction.
    let ends = consumer.end_offsets(partitions.clone()).await?;
    let mut out = String::new();
    loop {
        let mut is_read = true;
        for partition in &partitions {
            is_read &= consumer.position(partition).await? >= ends[partition];
        }
        if is_read {
            break;
        }
        for record in &consumer.poll(POLL).await? {
            let record = record?;
            let value = String::from_utf8_lossy(record.value.unwrap_or_default());
            out.push_str(&format!("{}\t{}\t{value}\n", record.partition, record.offset));
        }
    }
    print!("{out}");
    Ok(consumer.close(POLL).await?)
}
