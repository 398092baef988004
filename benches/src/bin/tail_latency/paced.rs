//! A producer of ten records a second, which knows when it sent each.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ackflow_client::producer::{Producer, ProducerConfig, ProducerRecord};
use anyhow::Context;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

const PACE: Duration = Duration::from_millis(100);

/// When each record was handed to the producer; a record's value is its place here.
#[derive(Clone, Default)]
pub(crate) struct Sent(Arc<Mutex<Vec<Instant>>>);

impl Sent {
    /// How long ago the record with this value was sent.
    pub(crate) fn age(&self, value: Option<&[u8]>) -> anyhow::Result<Duration> {
        let number = value.and_then(|value| std::str::from_utf8(value).ok()).and_then(|text| text.trim().parse().ok());
        let number: usize = number.context("a value is the number of its record")?;
        self.lock().get(number).map(Instant::elapsed).context("a record that was not sent")
    }

    fn next(&self) -> usize {
        let mut sent = self.lock();
        sent.push(Instant::now());
        sent.len() - 1
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Produces until it is aborted. Values have 100 bytes.
pub(crate) fn produce(bootstrap: &str, topic: &str, sent: Sent) -> anyhow::Result<JoinHandle<anyhow::Result<()>>> {
    let producer = Producer::new(ProducerConfig::new(bootstrap)?)?;
    let topic: Arc<str> = topic.into();
    Ok(tokio::spawn(async move {
        let mut ticks = interval(PACE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let value = format!("{:>100}", sent.next());
            producer.send(ProducerRecord::new(topic.clone(), value)).await?.await?;
        }
    }))
}
