//! One transaction: a record to each partition of two topics, and an offset of a group.

use std::time::Duration;

use ackflow_client::consumer::{OffsetAndMetadata, TopicPartition};
use ackflow_client::producer::GroupMetadata;
use ackflow_client::{ClientError, Producer, ProducerConfig, ProducerRecord};
use anyhow::Result;

/// Where all transactions write, as the proof has made it: topic and partition.
pub(crate) const PLACES: [(&str, i32); 4] = [("left", 0), ("left", 1), ("left", 2), ("right", 0)];
/// The group whose offset of `source`-0 is the number of the last transaction.
const GROUP: &str = "transactors";
const SOURCE: &str = "source";

/// Who produces.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Who {
    pub(crate) bootstrap: String,
    pub(crate) transactional_id: String,
    /// `transaction.timeout.ms`.
    #[arg(long, default_value_t = 60_000)]
    timeout_ms: u64,
}

impl Who {
    pub(crate) async fn producer(&self) -> Result<Producer> {
        let mut config = ProducerConfig::new(&self.bootstrap)?;
        config.transactional_id = Some(self.transactional_id.clone());
        config.transaction_timeout = Duration::from_millis(self.timeout_ms);
        let producer = Producer::new(config)?;
        producer.init_transactions().await?;
        Ok(producer)
    }
}

/// Puts the records of this transaction into batches: each says the number, and which of how many it is.
pub(crate) async fn send(producer: &Producer, number: u64) -> Result<(), ClientError> {
    for (at, (topic, partition)) in PLACES.into_iter().enumerate() {
        let value = format!("{number} {at} {}", PLACES.len());
        drop(producer.send(ProducerRecord::new(topic, value).partition(partition)).await?);
    }
    Ok(())
}

/// The offset that counts with the transaction.
pub(crate) async fn send_offset(producer: &Producer, number: u64) -> Result<(), ClientError> {
    let offset = OffsetAndMetadata::new(i64::try_from(number).unwrap_or(i64::MAX));
    let offsets = [(TopicPartition::new(SOURCE, 0), offset)].into();
    producer.send_offsets_to_transaction(offsets, &GroupMetadata::of_nobody(GROUP)).await
}
