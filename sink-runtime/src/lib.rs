//! A sink runtime after Kafka Connect whose records come from a share group.
//!
//! A [`SinkConnector`] names a sink and its configuration and makes [`SinkTask`]s, which write [`SinkRecords`]. A [`Worker`] runs the tasks of
//! connectors, each a member of the connector's share group: a record is accepted when its sink has it, held and renewed while a failure may
//! pass, and given back when it does not. Configuration files are Connect's.
//!
//! ```no_run
//! use ackflow_sink_runtime::{
//!     ConnectorConfig, DynSinkTask, Plugins, PutOutcome, SinkConnector, SinkError, SinkRecords, SinkTask, SinkTaskContext,
//!     TaskFactory, Worker, WorkerConfig,
//!     config::{ConfigDef, ConfigValues},
//! };
//!
//! /// Prints where each record comes from.
//! struct Places(ConfigDef);
//! struct PlacesTask;
//!
//! impl SinkConnector for Places {
//!     fn name(&self) -> &str {
//!         "places"
//!     }
//!
//!     fn config(&self) -> &ConfigDef {
//!         &self.0
//!     }
//!
//!     fn start(&self, _: &ConfigValues) -> Result<Box<dyn TaskFactory>, SinkError> {
//!         Ok(Box::new(PlacesTask))
//!     }
//! }
//!
//! impl TaskFactory for PlacesTask {
//!     fn task(&self, _: u32) -> Box<dyn DynSinkTask> {
//!         Box::new(PlacesTask)
//!     }
//! }
//!
//! impl SinkTask for PlacesTask {
//!     async fn start(&mut self, _: &SinkTaskContext) -> Result<(), SinkError> {
//!         Ok(())
//!     }
//!
//!     async fn put(&mut self, records: &SinkRecords) -> Result<PutOutcome, SinkError> {
//!         for record in records {
//!             println!("{}-{} {}", record.topic, record.partition, record.offset);
//!         }
//!         Ok(PutOutcome::ok())
//!     }
//! }
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let mut plugins = Plugins::builtin();
//! plugins.register(Box::new(Places(ConfigDef::default())));
//! let worker = WorkerConfig::from_properties("bootstrap.servers=localhost:9092\nconsumer.group.protocol=share", "worker")?;
//! let connector = ConnectorConfig::from_properties("name=p\nconnector.class=places\ntopics=orders", "p")?;
//! let running = Worker::start(worker, plugins, vec![connector]).await?;
//! running.finished().await;
//! # Ok(())
//! # }
//! ```

pub mod config;
mod contract;
pub mod convert;
/// Bodies of fuzz targets, as `ackflow_protocol::fuzzing` has them (feature `fuzzing`).
#[cfg(feature = "fuzzing")]
pub mod fuzzing {
    pub use crate::worker::fuzzing::worker;
}
mod plugins;
pub mod record_json;
mod sinks;
mod worker;

pub use config::{ConfigError, ConnectorConfig, WorkerConfig};
pub use contract::{
    BoxError, BoxFuture, DynSinkTask, FailedRecord, Offsets, PutOutcome, RecordId, SinkConnector, SinkError,
    SinkRecord, SinkRecords, SinkRecordsIter, SinkTask, SinkTaskContext, TaskFactory, TopicPartition, Value,
};
pub use plugins::Plugins;
pub use worker::{RunningWorker, StartError, TaskCounters, TaskState, TaskStatus, Worker};
