//! A topic with records that wait, in large batches.

use std::time::{Duration, Instant};

use ackflow_benches::{begin_at_start, create_topic};
use ackflow_client::admin::NewTopic;
use ackflow_client::producer::{Producer, ProducerConfig, ProducerRecord};
use ackflow_client::share::{ShareConsumer, ShareConsumerConfig};
use ackflow_client::{Admin, ClientConfig};
use anyhow::{Result, ensure};

const VALUE: [u8; 100] = [b'x'; 100];

/// Makes a topic of one partition with so many records, in batches of about 8,000, and has the group begin at its start.
pub(crate) async fn prepare(bootstrap: &str, topic: &str, group: &str, records: usize) -> Result<()> {
    let admin = Admin::new(ClientConfig::new(bootstrap)?);
    create_topic(&admin, NewTopic::new(topic, 1)).await?;
    begin_at_start(&admin, group).await?;
    let mut settings = ProducerConfig::new(bootstrap)?;
    settings.batch_size = 900_000;
    settings.linger = Duration::from_millis(200);
    let producer = Producer::new(settings)?;
    for _ in 0..records {
        // How it went is told by closing.
        drop(producer.send(ProducerRecord::new(topic, &VALUE[..])).await?);
    }
    Ok(producer.close().await?)
}

/// A member of the group.
pub(crate) fn member(bootstrap: &str, topic: &str, group: &str, max_poll_records: u32) -> Result<ShareConsumer> {
    let config = ShareConsumerConfig::builder(bootstrap, group).max_poll_records(max_poll_records).build()?;
    let mut consumer = ShareConsumer::new(config)?;
    consumer.subscribe([topic])?;
    Ok(consumer)
}

/// Commits, and gives how long it took.
pub(crate) async fn commit(consumer: &mut ShareConsumer) -> Result<Duration> {
    let begun = Instant::now();
    let results = consumer.commit_sync(Duration::from_secs(30)).await?;
    let took = begun.elapsed();
    ensure!(results.first_error().is_none(), "a commit failed: {results:?}");
    Ok(took)
}
