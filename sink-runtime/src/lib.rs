//! A sink runtime after Kafka Connect whose records come from a share group.

pub mod config;
mod contract;
pub mod convert;
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
