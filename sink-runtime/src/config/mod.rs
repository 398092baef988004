//! Configuration: Kafka Connect's files and keys, and those of draft KIP-1302.
//!
//! [`WorkerConfig`] is a worker.properties, [`ConnectorConfig`] a connector's properties or JSON. Every problem of a file is found in one
//! go, and each names the key, the value and the remedy. What a sink adds is described by its [`ConfigDef`].

mod connector;
mod connector_file;
mod definition;
mod keys;
mod nearest;
mod overrides;
mod problem;
mod properties;
mod settings;
mod share;
mod values;
mod worker;

#[cfg(test)]
mod tests;

pub use connector::{ConnectorConfig, Tolerance};
pub use definition::{ConfigDef, ConfigDefault, ConfigKey, ConfigType, Validator};
pub use problem::{ConfigError, ConfigProblem};
pub use properties::{PropertiesError, parse_properties, property_lines};
pub use share::{GroupSetting, LastDelivery, ShareConfig};
pub use values::{ConfigValue, ConfigValues};
pub use worker::WorkerConfig;

pub(crate) use settings::Settings;
