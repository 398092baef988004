//! `commit_sync` after each poll.

use std::time::{Duration, Instant};

use ackflow_client::share::{ShareConsumer, ShareConsumerConfig};

use crate::paced::{Sent, produce};
use crate::summary::Summary;

/// Polls and commits for so long after the first record has come.
pub(crate) async fn measure(bootstrap: &str, topic: &str, period: Duration) -> anyhow::Result<Summary> {
    let mut consumer = ShareConsumer::new(ShareConsumerConfig::builder(bootstrap, "tail-commit").build()?)?;
    consumer.subscribe([topic])?;
    let producer = produce(bootstrap, topic, Sent::default())?;
    let mut durations = Vec::new();
    let mut end = None;
    while end.is_none_or(|end| Instant::now() < end) {
        anyhow::ensure!(!producer.is_finished(), "the producer has ended");
        if consumer.poll(Duration::from_secs(1)).await?.is_empty() {
            continue;
        }
        let start = Instant::now();
        let results = consumer.commit_sync(Duration::from_secs(10)).await?;
        if let Some((partition, error)) = results.first_error() {
            anyhow::bail!("commit_sync of {partition:?}: {error:?}");
        }
        // The first one stands for what comes once only: connections, the group's first record.
        if end.is_some() {
            durations.push(start.elapsed());
        }
        end.get_or_insert(start + period);
    }
    producer.abort();
    consumer.close(Duration::from_secs(10)).await?;
    Summary::of(durations)
}
