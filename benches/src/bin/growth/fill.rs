//! Topics whose batches are all alike, however many partitions there are.

use std::time::Duration;

use ackflow_benches::create_topic;
use ackflow_client::admin::NewTopic;
use ackflow_client::{Admin, ClientConfig, Producer, ProducerConfig, ProducerRecord};
use anyhow::{Result, ensure};
use bytes::Bytes;

/// Records of a batch.
pub(crate) const BATCH: u64 = 1_000;
/// Bytes of a value.
const VALUE: usize = 32;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(long)]
    topic: String,
    #[arg(long)]
    partitions: i32,
    /// A multiple of what fills one batch of each partition.
    #[arg(long)]
    records: u64,
}

pub(crate) async fn run(bootstrap: &str, args: Args) -> Result<()> {
    let batches = args.records / BATCH;
    ensure!(batches * BATCH == args.records, "{} records fill no whole batches of {BATCH}", args.records);
    let admin = Admin::new(ClientConfig::new(bootstrap)?);
    let topic = NewTopic { replication_factor: Some(1), ..NewTopic::new(&args.topic, args.partitions) };
    create_topic(&admin, topic).await?;
    let mut config = ProducerConfig::new(bootstrap)?;
    // A batch is sent when it is full of these records, and never earlier.
    (config.linger, config.batch_size) = (Duration::from_millis(20), 1 << 20);
    let producer = Producer::new(config)?;
    let value = Bytes::from(vec![b'x'; VALUE]);
    let mut sent = Vec::new();
    for batch in 0..batches {
        let partition = (batch % args.partitions as u64) as i32;
        for _ in 0..BATCH {
            let record = ProducerRecord::new(args.topic.as_str(), value.clone()).partition(partition);
            sent.push(producer.send(record).await?);
        }
        // One batch a partition at a time.
        if (batch + 1) % args.partitions as u64 == 0 || batch + 1 == batches {
            producer.flush().await?;
            for delivery in sent.drain(..) {
                delivery.await?;
            }
        }
    }
    Ok(producer.close().await?)
}
