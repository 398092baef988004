//! The demo's sink: it counts, and one of its tasks hangs so that it can be killed with records in its hands.

use std::sync::Arc;

use ackflow_sink_runtime::config::{ConfigDef, ConfigValues};
use ackflow_sink_runtime::{
    DynSinkTask, PutOutcome, SinkConnector, SinkError, SinkRecords, SinkTask, SinkTaskContext, TaskFactory,
};

use super::tally::Tally;

/// What `connector.class` calls the sink.
pub(super) const CLASS: &str = "demo-tally";

/// Counts records in a [`Tally`].
pub(super) struct TallySink {
    tally: Arc<Tally>,
    config: ConfigDef,
}

impl TallySink {
    pub(super) fn new(tally: Arc<Tally>) -> Self {
        Self { tally, config: ConfigDef::new([]) }
    }
}

impl SinkConnector for TallySink {
    fn name(&self) -> &str {
        CLASS
    }

    fn config(&self) -> &ConfigDef {
        &self.config
    }

    fn start(&self, _: &ConfigValues) -> Result<Box<dyn TaskFactory>, SinkError> {
        Ok(Box::new(TallyTasks(Arc::clone(&self.tally))))
    }
}

struct TallyTasks(Arc<Tally>);

impl TaskFactory for TallyTasks {
    fn task(&self, number: u32) -> Box<dyn DynSinkTask> {
        Box::new(TallyTask { number, tally: Arc::clone(&self.0) })
    }
}

struct TallyTask {
    number: u32,
    tally: Arc<Tally>,
}

impl SinkTask for TallyTask {
    async fn start(&mut self, _: &SinkTaskContext) -> Result<(), SinkError> {
        Ok(())
    }

    async fn put(&mut self, records: &SinkRecords) -> Result<PutOutcome, SinkError> {
        if !records.is_empty() && self.tally.take_victim(self.number) {
            // What this task holds is not counted: it has to come again through another one.
            std::future::pending::<()>().await;
        }
        self.tally.add(self.number, records.iter().map(|r| (r.offset, r.delivery_count.unwrap_or(1))));
        Ok(PutOutcome::ok())
    }
}
