//! Consumers of partitions: members of a consumer group by KIP-848 (`group.protocol=consumer`), or readers of partitions that they are told.
//!
//! A [`Consumer`] has the partitions that its group gives it for itself, and the group keeps how far each was read. It runs a driver task of
//! its own, which fetches while the application works and stays a member meanwhile. For groups whose members share partitions, record by
//! record, see [`share`](crate::share).
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use ackflow_client::consumer::{Consumer, ConsumerConfig};
//!
//! # async fn run() -> Result<(), ackflow_client::ClientError> {
//! let mut consumer = Consumer::new(ConsumerConfig::builder("localhost:9092").group_id("invoices").build()?)?;
//! consumer.subscribe(["orders"])?;
//! loop {
//!     let records = consumer.poll(Duration::from_secs(1)).await?;
//!     for record in records.iter().flatten() {
//!         println!("{}-{}@{}: {:?}", record.topic, record.partition, record.offset, record.value);
//!     }
//!     // What this poll handed out is committed by a later one, or by `commit`.
//! }
//! # }
//! ```
//!
//! How it is built: the machine of `ackflow_protocol::machine::consumer` decides everything about the protocol, and the driver moves bytes. What
//! was fetched goes to the consumer a partition of a response at a time, never a record at a time; records are read where they lie in the
//! response. What waits to be handed out lies with the consumer, so that a poll that is dropped has taken nothing.

mod config;
#[expect(clippy::module_inception, reason = "it is what the module is named for")]
mod consumer;
mod conversation;
mod dialogue;
mod driver;
mod duration;
mod failures;
mod handle;
mod link;
mod part;
mod rebalance;
mod record;
mod records;
mod standing;
#[cfg(test)]
mod tests;
mod waiting;

pub use ackflow_protocol::machine::consumer::{
    IsolationLevel, OffsetAndMetadata, OffsetAndTimestamp, OffsetReset, Offsets, TopicPartition,
};

pub use crate::share::{ReadError, RecordError};
pub use config::{ConsumerBuilder, ConsumerConfig};
pub use consumer::Consumer;
pub use rebalance::{Rebalance, RebalanceListener};
pub use record::ConsumerRecord;
pub use records::{ConsumerRecords, ConsumerRecordsIter, PartitionRecords};
