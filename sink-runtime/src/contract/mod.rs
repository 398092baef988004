//! What a sink is to the runtime: the traits that it implements, and what it is given.
//!
//! The contract is Kafka Connect's, in Rust: a [`SinkConnector`] names the sink and its configuration and opens what its tasks share, a
//! [`SinkTask`] writes batches of [`SinkRecords`]. It is the same whether the records come from a consumer group or from a share group; a
//! sink that can write a record twice without harm runs under both unchanged.

mod connector;
mod context;
mod error;
mod offsets;
mod outcome;
mod record;
mod records;
mod task;

pub use ackflow_client::share::TopicPartition;
pub use connector::{SinkConnector, TaskFactory};
pub use context::SinkTaskContext;
pub use error::{BoxError, SinkError};
pub use offsets::Offsets;
pub use outcome::{FailedRecord, PutOutcome};
pub use record::{RecordId, SinkRecord, Value};
pub use records::{SinkRecords, SinkRecordsIter};
pub use task::{BoxFuture, DynSinkTask, SinkTask};

pub(crate) use records::RecordFailure;
