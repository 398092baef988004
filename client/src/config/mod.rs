//! Configuration: Kafka's own keys, or a builder that says the same.

mod client;
mod ignored;
mod properties;
mod secret;
mod security;

pub use client::{ClientConfig, MetadataRecovery};
pub use ignored::IGNORED_CLIENT_KEYS;
pub use properties::{Properties, nearest};
pub use secret::Secret;
