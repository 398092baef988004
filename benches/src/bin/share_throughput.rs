//! Consumes a topic through a share group, and accepts everything: our side of `cargo xtask prove perf-share`. The programs of the other
//! clients are in `benches/peers/share`; this one has their arguments and their line of output, with the allocations besides.

#[path = "../../../protocol/tests/support/counting.rs"]
mod counting;

use std::time::{Duration, Instant};

use ackflow_client::share::{ShareConsumer, ShareConsumerConfig};
use clap::Parser;
use counting::allocated;
use serde_json::json;

/// Consume a topic through a share group and print how fast that was.
#[derive(Parser)]
struct Args {
    /// Addresses of the cluster.
    bootstrap: String,
    /// The topic.
    topic: String,
    /// The share group.
    group: String,
    /// How many records to consume.
    records: u64,
    /// `max.poll.records`, which is the size of a fetch elsewhere; 0 for the default.
    fetch: u32,
}

/// One thread: it has everything to do, and its allocator counts all of it.
#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let mut config = ShareConsumerConfig::builder(&args.bootstrap, &args.group);
    if args.fetch > 0 {
        config = config.max_poll_records(args.fetch);
    }
    let mut consumer = ShareConsumer::new(config.build()?)?;
    consumer.subscribe([args.topic.as_str()])?;

    let (mut records, mut bytes) = (0, 0);
    let mut first = None;
    while records < args.records {
        let polled = consumer.poll(Duration::from_secs(1)).await?;
        if !polled.is_empty() {
            first.get_or_insert_with(|| (Instant::now(), allocated()));
        }
        for record in &polled {
            records += 1;
            bytes += record?.value.map_or(0, <[u8]>::len);
        }
    }
    let (first, allocated_before) = first.expect("there was a record");
    let (seconds, allocations) = (first.elapsed().as_secs_f64(), allocated() - allocated_before);
    let committed = consumer.commit_sync(Duration::from_secs(30)).await?;
    anyhow::ensure!(committed.first_error().is_none(), "acknowledging failed: {committed:?}");
    let dropped = consumer.dropped_records();
    consumer.close(Duration::from_secs(30)).await?;
    let line = json!({
        "records": records, "bytes": bytes, "seconds": seconds, "allocations": allocations, "dropped": dropped,
    });
    println!("{line}");
    Ok(())
}
