//! The sinks of this build, each behind a feature of its name.

#[cfg(any(feature = "sink-file", feature = "sink-stdout"))]
mod appender;
#[cfg(feature = "sink-blackhole")]
mod blackhole;
#[cfg(any(feature = "sink-file", feature = "sink-stdout"))]
mod console;
#[cfg(feature = "sink-file")]
mod file;
#[cfg(any(feature = "sink-file", feature = "sink-stdout"))]
mod lines;
#[cfg(feature = "sink-stdout")]
mod stdout;

use std::sync::Arc;

use crate::contract::SinkConnector;

/// For sinks whose puts cost the same for one record and for thousands, such as a sync.
#[cfg(any(feature = "sink-blackhole", feature = "sink-file", feature = "sink-stdout"))]
const LARGE_PUTS: &[(&str, &str)] = &[("max.poll.records", "4000")];

/// One of each.
pub(crate) fn builtin() -> Vec<Arc<dyn SinkConnector>> {
    vec![
        #[cfg(feature = "sink-blackhole")]
        Arc::new(blackhole::Blackhole::default()),
        #[cfg(feature = "sink-stdout")]
        Arc::new(stdout::Stdout::default()),
        #[cfg(feature = "sink-file")]
        Arc::new(file::FileSink::json_lines()),
        #[cfg(feature = "sink-file")]
        Arc::new(file::FileSink::file_stream()),
    ]
}
