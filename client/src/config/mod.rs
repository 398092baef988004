//! Configuration: Kafka's own keys, or a builder that says the same.

mod client;
mod properties;

pub use client::{ClientConfig, IGNORED_CLIENT_KEYS, MetadataRecovery};
pub use properties::{Properties, nearest};
