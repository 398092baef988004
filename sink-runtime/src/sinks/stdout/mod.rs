//! `stdout`: each record as one line of JSON on the standard output.

use super::{
    LARGE_PUTS,
    appender::{AppendTasks, Appender},
    console::Console,
    lines::Format,
};
use crate::{
    config::{ConfigDef, ConfigValues},
    contract::{SinkConnector, SinkError, TaskFactory},
};

/// The connector.
#[derive(Debug, Default)]
pub(super) struct Stdout {
    config: ConfigDef,
}

impl SinkConnector for Stdout {
    fn name(&self) -> &str {
        "stdout"
    }

    fn config(&self) -> &ConfigDef {
        &self.config
    }

    fn consumer_defaults(&self) -> &[(&str, &str)] {
        LARGE_PUTS
    }

    fn start(&self, _config: &ConfigValues) -> Result<Box<dyn TaskFactory>, SinkError> {
        let appender = Appender::start(Console).map_err(SinkError::fatal)?;
        Ok(Box::new(AppendTasks { appender, format: Format::Json }))
    }
}
