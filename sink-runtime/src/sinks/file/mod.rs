//! `file`: each record as one line of JSON at the end of a file, and `FileStreamSink`: the text of each value, as Connect's class of that
//! name writes it.
//!
//! A record is accepted after its line was written and the file synced. The tasks of a connector share one writer, so several puts share one
//! sync. The file is locked against other writers while the connector runs.

mod output;

use std::path::Path;

use self::output::FileOutput;
use super::{
    LARGE_PUTS,
    appender::{AppendTasks, Appender},
    console::Console,
    lines::Format,
};
use crate::{
    config::{ConfigDef, ConfigKey, ConfigType, ConfigValues, Validator},
    contract::{SinkConnector, SinkError, TaskFactory},
};

/// The connector, in one of its two forms.
#[derive(Debug)]
pub(super) struct FileSink {
    name: &'static str,
    aliases: &'static [&'static str],
    format: Format,
    config: ConfigDef,
}

impl FileSink {
    /// `file`.
    pub(super) fn json_lines() -> Self {
        let key = ConfigKey::required("file", ConfigType::String, "the path of the file to append to");
        let config = ConfigDef::new([key.accepting(Validator::NonEmpty)]);
        Self { name: "file", aliases: &[], format: Format::Json, config }
    }

    /// `FileStreamSink`.
    pub(super) fn file_stream() -> Self {
        let key =
            ConfigKey::optional("file", ConfigType::String, "the path of the file; the standard output if not set");
        let config = ConfigDef::new([key.accepting(Validator::NonEmpty)]);
        let aliases = &["org.apache.kafka.connect.file.FileStreamSinkConnector"];
        Self { name: "FileStreamSink", aliases, format: Format::Plain, config }
    }
}

impl SinkConnector for FileSink {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[&str] {
        self.aliases
    }

    fn config(&self) -> &ConfigDef {
        &self.config
    }

    fn consumer_defaults(&self) -> &[(&str, &str)] {
        LARGE_PUTS
    }

    fn start(&self, config: &ConfigValues) -> Result<Box<dyn TaskFactory>, SinkError> {
        let appender = match config.string("file") {
            Some(path) => Appender::start(FileOutput::open(Path::new(path), self.format)?),
            None => Appender::start(Console),
        };
        Ok(Box::new(AppendTasks { appender: appender.map_err(SinkError::fatal)?, format: self.format }))
    }
}

#[cfg(test)]
mod tests;
