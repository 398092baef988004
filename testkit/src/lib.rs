//! An embedded Kafka broker for tests, demos and simulations.
//!
//! ```
//! use ackflow_testkit::EmbeddedBroker;
//!
//! #[tokio::test]
//! async fn a_group_starts_where_its_settings_say() -> Result<(), Box<dyn std::error::Error>> {
//!     let broker = EmbeddedBroker::builder()
//!         .fast()
//!         .topic("orders", 3)
//!         .group_config("billing", "share.auto.offset.reset", "earliest")
//!         .start()
//!         .await?;
//!     broker.produce("orders", 0, ["first", "second"]).await?;
//!
//!     // Point a client at broker.bootstrap_servers() and consume; then:
//!     assert_eq!(broker.group_lag("billing", "orders", 0).await?, None);
//!     broker.shutdown().await;
//!     Ok(())
//! }
//! ```
//!
//! [`core`] is the same broker without sockets and clocks, for simulations.

pub mod core;
mod embedded;
/// Bodies of fuzz targets, as `ackflow_protocol::fuzzing` has them (feature `fuzzing`).
#[cfg(feature = "fuzzing")]
pub mod fuzzing {
    pub use crate::core::fuzzing::cluster;
}
mod server;
mod token_endpoint;

pub use embedded::{BrokerError, EmbeddedBroker, EmbeddedBrokerBuilder, StartError};
pub use token_endpoint::{TokenAnswer, TokenEndpoint, TokenRequest};
