//! Apache Kafka itself, for vectors, tests and comparisons.

mod libs;

pub(crate) use libs::{DEFAULT_VERSION, Libs};
