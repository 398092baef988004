//! How fast a consumer reads, and what it allocates.

use std::time::{Duration, Instant};

use ackflow_client::consumer::{Consumer, ConsumerConfig, OffsetReset};
use anyhow::{Result, ensure};
use serde_json::json;

use crate::counting::allocated;

const STALLED: Duration = Duration::from_secs(60);

/// Consume a topic as the only member of a new group and print how fast that was. The programs of other clients (`benches/peers/consumer`) have
/// these arguments and this line of output.
#[derive(clap::Args)]
pub(crate) struct Args {
    bootstrap: String,
    topic: String,
    group: String,
    records: u64,
}

pub(crate) async fn run(args: Args) -> Result<()> {
    let config = ConsumerConfig::builder(&args.bootstrap)
        .group_id(args.group)
        .auto_offset_reset(OffsetReset::Earliest)
        .build()?;
    let mut consumer = Consumer::new(config)?;
    consumer.subscribe([args.topic])?;
    let (mut records, mut bytes, mut first) = (0, 0, None);
    while records < args.records {
        let polled = consumer.poll(STALLED).await?;
        ensure!(!polled.is_empty(), "nothing came for {STALLED:?} after {records} records");
        first.get_or_insert_with(|| (Instant::now(), allocated()));
        for record in &polled {
            records += 1;
            bytes += record?.value.map_or(0, <[u8]>::len);
        }
    }
    let (first, allocated_before) = first.unwrap_or((Instant::now(), 0));
    let (seconds, allocations) = (first.elapsed().as_secs_f64(), allocated() - allocated_before);
    consumer.close(STALLED).await?;
    println!("{}", json!({"records": records, "bytes": bytes, "seconds": seconds, "allocations": allocations}));
    Ok(())
}
