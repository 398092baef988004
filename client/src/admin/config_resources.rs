//! What has a configuration.

use std::fmt;

use ackflow_protocol::messages::list_config_resources::ListConfigResourcesRequest;

use super::{Admin, result};
use crate::error::{ClientError, ErrorKind};

/// Whose configuration.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConfigResource {
    /// What it is.
    pub kind: ResourceKind,
    /// Its name; of a broker, its id, or empty for the defaults of all brokers.
    pub name: String,
}

/// What can be configured, with the wire's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i8)]
pub enum ResourceKind {
    /// A topic.
    Topic = 2,
    /// A broker, or the defaults of all brokers.
    Broker = 4,
    /// The log levels of a broker, by logger.
    BrokerLogger = 8,
    /// A subscription to the metrics of clients (KIP-714), which need not exist.
    ClientMetrics = 16,
    /// A group of any kind, which need not exist.
    Group = 32,
}

impl ConfigResource {
    /// A topic.
    pub fn topic(name: impl Into<String>) -> Self {
        Self { kind: ResourceKind::Topic, name: name.into() }
    }

    /// A group, which need not exist.
    pub fn group(id: impl Into<String>) -> Self {
        Self { kind: ResourceKind::Group, name: id.into() }
    }

    /// A broker.
    pub fn broker(id: i32) -> Self {
        Self { kind: ResourceKind::Broker, name: id.to_string() }
    }

    /// The log levels of a broker.
    pub fn broker_logger(id: i32) -> Self {
        Self { kind: ResourceKind::BrokerLogger, name: id.to_string() }
    }

    /// A subscription to the metrics of clients, which need not exist.
    pub fn client_metrics(name: impl Into<String>) -> Self {
        Self { kind: ResourceKind::ClientMetrics, name: name.into() }
    }

    /// What holds for all brokers that have no value of their own.
    pub fn all_brokers() -> Self {
        Self { kind: ResourceKind::Broker, name: String::new() }
    }

    /// The broker that has to be asked; `None` where any broker can answer or pass the request on.
    pub(super) fn node(&self) -> Result<Option<i32>, ClientError> {
        match self.kind {
            ResourceKind::Broker if self.name.is_empty() => return Ok(None),
            ResourceKind::Broker | ResourceKind::BrokerLogger => {}
            ResourceKind::Topic | ResourceKind::ClientMetrics | ResourceKind::Group => return Ok(None),
        }
        let not_an_id = |_| {
            ClientError::new(
                ErrorKind::Invalid,
                "reaching a broker",
                format!("{} is not the id of a broker", self.name),
            )
            .remedy("give the broker's node.id")
        };
        self.name.parse().map(Some).map_err(not_an_id)
    }
}

impl fmt::Display for ConfigResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kind, self.name.as_str()) {
            (ResourceKind::Topic, name) => write!(f, "topic {name}"),
            (ResourceKind::Group, name) => write!(f, "group {name}"),
            (ResourceKind::Broker, "") => f.write_str("all brokers"),
            (ResourceKind::Broker, id) => write!(f, "broker {id}"),
            (ResourceKind::BrokerLogger, id) => write!(f, "the loggers of broker {id}"),
            (ResourceKind::ClientMetrics, name) => write!(f, "client metrics {name}"),
        }
    }
}

impl ResourceKind {
    const ALL: [Self; 5] = [Self::Topic, Self::Broker, Self::BrokerLogger, Self::ClientMetrics, Self::Group];

    fn of(code: i8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as i8 == code)
    }
}

impl Admin {
    /// Lists what has a configuration (ListConfigResources, KIP-1142): of the given kinds, or of all where none is given; in the order of kinds and
    /// names. A group or a subscription to metrics is listed once something was set for it. Brokers of before Kafka 4.1 list subscriptions alone.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer or the broker refuses.
    pub async fn list_config_resources(&self, kinds: &[ResourceKind]) -> Result<Vec<ConfigResource>, ClientError> {
        let request = ListConfigResourcesRequest { resource_types: kinds.iter().map(|kind| *kind as i8).collect() };
        let (response, connection) = self.ask_any(&request).await?;
        result((), || "listing what has a configuration".to_owned(), &connection, response.error_code, None)?;
        let mut resources: Vec<_> = response
            .config_resources
            .into_iter()
            .filter_map(|found| {
                Some(ConfigResource { kind: ResourceKind::of(found.resource_type)?, name: found.resource_name })
            })
            .collect();
        resources.sort();
        Ok(resources)
    }
}
