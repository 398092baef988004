//! Configuration: Kafka's own keys, or a builder that says the same.

mod client;
mod properties;
mod secret;
mod security;

pub use client::{ClientConfig, IGNORED_CLIENT_KEYS, MetadataRecovery};
pub use properties::{Properties, nearest};
pub use secret::Secret;
