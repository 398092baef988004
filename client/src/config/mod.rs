//! Configuration: Kafka's own keys, or a builder that says the same.

mod client;
mod file;
mod ignored;
mod properties;
mod secret;
mod security;

pub use client::{ClientConfig, MetadataRecovery};
#[cfg(feature = "tls")]
pub(crate) use file::read_bytes;
pub use file::{LONGEST_SETTINGS, read_text};
pub use ignored::IGNORED_CLIENT_KEYS;
pub(crate) use properties::outside;
pub use properties::{Properties, nearest};
pub use secret::Secret;
