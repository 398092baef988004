//! Apache Kafka itself, for vectors, tests and comparisons.

mod broker;
mod cluster;
pub mod command;
mod libs;
mod secure;
mod settings;
mod telemetry;
#[cfg(test)]
mod tests;
mod tools;

pub use cluster::Cluster;
pub use libs::{DEFAULT_VERSION, Libs};
pub use settings::Options;
pub use tools::{SCRIPT_OPTIONS, Tools};
