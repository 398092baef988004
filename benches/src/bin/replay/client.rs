//! The real share consumer, through poll and accept.

use std::hint::black_box;
use std::time::Duration;

use ackflow_client::share::{OwnedShareConsumer, ShareConsumerConfig};
use anyhow::Context;
use tokio::runtime;

use crate::canned::{TOPIC, ends};
use crate::cpu::{Clocks, Spent};

/// Polls before the clocks run: the group is joined, and the consumer has shown its pace.
const WARM_UP: u64 = 200;
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn on_one_thread(port: u16, wanted: u64) -> anyhow::Result<Spent> {
    runtime::Builder::new_current_thread().enable_all().build()?.block_on(consume(port, wanted))
}

pub(crate) fn on_two_threads(port: u16, wanted: u64) -> anyhow::Result<Spent> {
    let runtime = runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async { tokio::spawn(consume(port, wanted)).await? })
}

async fn consume(port: u16, wanted: u64) -> anyhow::Result<Spent> {
    let config = ShareConsumerConfig::builder(&format!("127.0.0.1:{port}"), "replay").build()?;
    let mut consumer = OwnedShareConsumer::new(config)?;
    consumer.subscribe([TOPIC])?;
    let mut warm = 0;
    for _ in 0..WARM_UP {
        warm += take(&mut consumer).await?;
    }
    let clocks = Clocks::start();
    let mut records = 0;
    while records < wanted {
        records += take(&mut consumer).await?;
    }
    let mut spent = clocks.spent(records, warm + records);
    while let Some(delivery) = consumer.try_poll() {
        spent.all_records += delivery.len() as u64;
        drop(delivery.accept());
    }
    let results = consumer.commit_sync(PATIENCE).await?;
    if let Some((partition, error)) = results.first_error() {
        anyhow::bail!("accepting records of {partition}: {error:?}");
    }
    consumer.close(PATIENCE).await?;
    Ok(spent)
}

/// One poll: looks at each record and accepts them.
async fn take(consumer: &mut OwnedShareConsumer) -> anyhow::Result<u64> {
    let delivery = consumer.poll(PATIENCE).await?.context("records come")?;
    let (mut records, mut sum) = (0, 0_u64);
    for record in delivery.records() {
        let record = record?;
        sum = sum.wrapping_add(record.offset as u64 + ends(record.key) + ends(record.value));
        records += 1;
    }
    black_box(sum);
    // How it ends is known when everything is committed.
    drop(delivery.accept());
    Ok(records)
}
