//! `blackhole`: takes everything and writes nothing. It measures what is in front of a sink.

use super::LARGE_PUTS;
use crate::{
    config::{ConfigDef, ConfigValues},
    contract::{
        DynSinkTask, PutOutcome, SinkConnector, SinkError, SinkRecords, SinkTask, SinkTaskContext, TaskFactory,
    },
};

/// The connector.
#[derive(Debug, Default)]
pub(super) struct Blackhole {
    config: ConfigDef,
}

impl SinkConnector for Blackhole {
    fn name(&self) -> &str {
        "blackhole"
    }

    fn config(&self) -> &ConfigDef {
        &self.config
    }

    fn consumer_defaults(&self) -> &[(&str, &str)] {
        LARGE_PUTS
    }

    fn start(&self, _config: &ConfigValues) -> Result<Box<dyn TaskFactory>, SinkError> {
        Ok(Box::new(Tasks))
    }
}

struct Tasks;

impl TaskFactory for Tasks {
    fn task(&self, _number: u32) -> Box<dyn DynSinkTask> {
        Box::new(BlackholeTask)
    }
}

struct BlackholeTask;

impl SinkTask for BlackholeTask {
    async fn start(&mut self, _context: &SinkTaskContext) -> Result<(), SinkError> {
        Ok(())
    }

    async fn put(&mut self, _records: &SinkRecords) -> Result<PutOutcome, SinkError> {
        Ok(PutOutcome::ok())
    }
}
