//! Produces records and waits for all of them to be confirmed: our side of `cargo xtask prove perf-produce`. The programs of the other clients are
//! in `benches/peers/produce`; this one has their arguments and their line of output, with the allocations besides.

#[path = "../../../protocol/tests/support/counting.rs"]
mod counting;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ackflow_client::producer::{Acks, DeliveryFuture, Producer, ProducerConfig, ProducerRecord};
use anyhow::{Result, ensure};
use bytes::Bytes;
use clap::Parser;
use counting::allocated;
use serde_json::json;

/// Different values, one after the other.
const VALUES: usize = 1024;

/// How many records may be without a confirmation. Other clients have a setting for that, of 10,000 to 300,000 such records by default; here the program
/// decides, and more would only take longer ways through the memory.
const UNCONFIRMED: usize = 20_000;

/// Produce records and print how fast that was.
#[derive(Parser)]
struct Args {
    /// Addresses of the cluster.
    bootstrap: String,
    /// The topic.
    topic: String,
    /// How many records to send, after a tenth as many that do not count.
    records: u64,
    /// Bytes of a value.
    size: usize,
    /// `batch.size`.
    batch: usize,
    /// `linger.ms`.
    linger: u64,
}

/// One thread: it has everything to do, and its allocator counts all of it.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let args = Args::parse();
    let mut config = ProducerConfig::new(&args.bootstrap)?;
    config.acks = Acks::All;
    config.idempotence = true;
    config.batch_size = args.batch;
    config.linger = Duration::from_millis(args.linger);
    let mut load = Load {
        producer: Producer::new(config)?,
        topic: args.topic.into(),
        values: values(args.size),
        unconfirmed: VecDeque::with_capacity(UNCONFIRMED),
        confirmed: 0,
    };
    load.produce(args.records / 10).await?;
    let warm = load.confirmed;
    let (first, allocated_before) = (Instant::now(), allocated());
    load.produce(args.records).await?;
    let (seconds, allocations) = (first.elapsed().as_secs_f64(), allocated() - allocated_before);
    let records = load.confirmed - warm;
    load.producer.close().await?;
    println!("{}", json!({"records": records, "warm": warm, "seconds": seconds, "allocations": allocations}));
    Ok(())
}

struct Load {
    producer: Producer,
    topic: Arc<str>,
    values: Vec<Bytes>,
    unconfirmed: VecDeque<DeliveryFuture>,
    confirmed: u64,
}

impl Load {
    /// Sends `count` records and waits for the last one.
    async fn produce(&mut self, count: u64) -> Result<()> {
        for value in self.values.clone().iter().cycle().take(usize::try_from(count)?) {
            let record = ProducerRecord::new(self.topic.clone(), value.clone());
            self.unconfirmed.push_back(self.producer.send(record).await?);
            if self.unconfirmed.len() == UNCONFIRMED {
                self.confirm_oldest().await?;
            }
        }
        self.producer.flush().await?;
        while !self.unconfirmed.is_empty() {
            self.confirm_oldest().await?;
        }
        Ok(())
    }

    async fn confirm_oldest(&mut self) -> Result<()> {
        if let Some(oldest) = self.unconfirmed.pop_front() {
            ensure!(oldest.await?.offset.is_some(), "a record has no offset");
            self.confirmed += 1;
        }
        Ok(())
    }
}

/// Random bytes.
fn values(size: usize) -> Vec<Bytes> {
    let mut state = 1_u32;
    let mut byte = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..VALUES).map(|_| (0..size).map(|_| byte()).collect::<Vec<_>>().into()).collect()
}
