//! Share consumers: members of a share group, where the group's records are handed out one by one instead of by partition.
//!
//! [`ShareConsumer`] is Kafka's, implicit or explicit; [`OwnedShareConsumer`] gives [`Delivery`]s that settle from any task. All of them
//! run a driver task of their own, which fetches while the application works.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use ackflow_client::share::{ShareConsumer, ShareConsumerConfig};
//!
//! # async fn run() -> Result<(), ackflow_client::ClientError> {
//! let mut consumer = ShareConsumer::new(ShareConsumerConfig::builder("localhost:9092", "invoices").build()?)?;
//! consumer.subscribe(["orders"])?;
//! loop {
//!     let records = consumer.poll(Duration::from_secs(1)).await?;
//!     for record in records.iter().flatten() {
//!         println!("{}-{}@{}: {:?}", record.topic, record.partition, record.offset, record.value);
//!     }
//!     // The next poll accepts them.
//! }
//! # }
//! ```
//!
//! How it is built: the machine of `ackflow_protocol::machine` decides everything about the protocol. The driver feeds it and moves bytes.
//! Commands go to the driver through one channel and notices come back through another, an acquisition or an acknowledgement at a time and
//! never a record at a time. What waits to be handed out lies with the consumer, so that a poll that is dropped has taken nothing.

mod acks;
mod buffer;
mod config;
mod consumer;
mod conversation;
mod decisions;
mod delivery;
mod dialogue;
mod driver;
mod failures;
mod for_each;
mod handle;
mod lent;
mod link;
mod lock;
mod owned;
mod part;
mod ranges;
mod record;
mod records;
mod subscription;
#[cfg(test)]
mod tests;
#[cfg(feature = "unstable-kip-1289")]
mod transactional;
mod unread;

pub use ackflow_protocol::machine::{AckRange, AckType, AcquireMode, AcquiredRange, AutoRenew};

#[cfg(feature = "unstable-kip-1289")]
pub use ackflow_protocol::machine::transaction::{ShareAcknowledgements, ShareGroupMetadata, SourceAcknowledgements};
pub use acks::{AckError, Acknowledged, Commit, CommitResults, Settled, TopicPartition};
pub use config::{AcknowledgementMode, ShareConsumerBuilder, ShareConsumerConfig};
pub use consumer::ShareConsumer;
pub use delivery::Delivery;
pub use for_each::{ForEach, ForEachError, HandlerError, HandlerFailure, HandlerOutput, HeldRecord, Outcome};
pub use lent::LentRecords;
pub use owned::OwnedShareConsumer;
pub use record::{ReadError, RecordError, ShareRecord};
pub use records::{ShareRecords, ShareRecordsIter};
pub(crate) use subscription::check_topic;
