//! The connector: what a sink is called, how it is configured, and where its tasks come from.

use super::{DynSinkTask, SinkError};
use crate::config::{ConfigDef, ConfigValues};

/// A kind of sink, as it stands in the registry of [`Plugins`](crate::Plugins).
pub trait SinkConnector: Send + Sync {
    /// What `connector.class` calls it.
    fn name(&self) -> &str;

    /// Other values of `connector.class` that mean this sink, such as the name of the Java class that it stands for.
    fn aliases(&self) -> &[&str] {
        &[]
    }

    /// The keys that it knows beside those of every connector.
    fn config(&self) -> &ConfigDef;

    /// Settings of the consumer that suit this sink, unless worker or connector say otherwise. A sink whose `put` costs much however few
    /// records it has asks for more of them with `max.poll.records`, which is 500 by default.
    fn consumer_defaults(&self) -> &[(&str, &str)] {
        &[]
    }

    /// Opens what the tasks of one connector share, such as a file. The values have passed [`config`](Self::config). It is called before
    /// anything is asked of a group; an error is reported once and nothing is started.
    ///
    /// # Errors
    /// What stands in the way, by preference as [`SinkError::Config`] with key, value and remedy.
    fn start(&self, config: &ConfigValues) -> Result<Box<dyn TaskFactory>, SinkError>;
}

/// A connector that was started: it makes the tasks. It lives as long as they do.
pub trait TaskFactory: Send + Sync {
    /// Makes the task of this number, counted from 0. Connections belong into [`SinkTask::start`](super::SinkTask::start).
    fn task(&self, number: u32) -> Box<dyn DynSinkTask>;
}
