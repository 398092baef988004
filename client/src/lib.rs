//! A Kafka client for share groups and consumer groups: share consumer, consumer, producer and admin, in pure Rust.
//!
//! Everything here needs a tokio runtime with I/O and time enabled.

pub mod admin;
mod cluster;
pub mod config;
pub mod consumer;
pub mod deserialize;
mod error;
/// Bodies of fuzz targets, as `ackflow_protocol::fuzzing` has them (feature `fuzzing`).
#[cfg(feature = "fuzzing")]
pub mod fuzzing {
    pub use crate::producer::fuzzing::producer_queue;
}
mod heard;
pub mod metrics;
pub mod net;
pub mod producer;
pub mod share;
pub mod telemetry;

pub use admin::Admin;
pub use config::ClientConfig;
pub use consumer::{Consumer, ConsumerConfig};
pub use error::{ClientError, ErrorKind, Fault, RecordRange};
pub use net::{Connection, NetConfig};
pub use producer::{Producer, ProducerConfig, ProducerRecord};
