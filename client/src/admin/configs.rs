//! Configurations of topics, groups and brokers.

use std::collections::BTreeMap;
use std::fmt;

use ackflow_protocol::messages::describe_configs::{DescribeConfigsRequest, DescribeConfigsResource};
use ackflow_protocol::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterableConfig, IncrementalAlterConfigsRequest,
};
use ackflow_protocol::wire::Request;

use super::{Admin, ConfigResource, Results, result};
use crate::error::{ClientError, ErrorKind};
use crate::net::Connection;

/// A change of one setting. The value may be a password, so `Debug` shows its length alone.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigChange {
    key: String,
    operation: i8,
    value: Option<String>,
}

impl fmt::Debug for ConfigChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfigChange")
            .field("key", &self.key)
            .field("operation", &self.operation)
            .field("value", &self.value.as_ref().map(|value| format!("<{} bytes>", value.len())))
            .finish()
    }
}

impl ConfigChange {
    /// Gives the setting a value.
    pub fn set(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self { key: key.into(), operation: 0, value: Some(value.into()) }
    }

    /// Takes the resource's own value away, so that the default holds again.
    pub fn delete(key: impl Into<String>) -> Self {
        Self { key: key.into(), operation: 1, value: None }
    }

    /// Adds a value to a list.
    pub fn append(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self { key: key.into(), operation: 2, value: Some(value.into()) }
    }

    /// Takes a value out of a list.
    pub fn subtract(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self { key: key.into(), operation: 3, value: Some(value.into()) }
    }
}

/// A setting as it holds for a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigEntry {
    /// The value; `None` where there is none or it is sensitive.
    pub value: Option<String>,
    /// Where the value comes from.
    pub source: ConfigSource,
    /// Whether it can only be changed with a restart.
    pub read_only: bool,
    /// Whether the broker keeps the value to itself.
    pub sensitive: bool,
}

impl ConfigEntry {
    /// Whether the value is this one to Kafka, however it is written: `TRUE` and `true`, `07` and `7`, `a, b` and `a,b`.
    pub fn says(&self, value: &str) -> bool {
        self.value.as_deref().is_some_and(|own| is_same(own, value))
    }
}

fn is_same(one: &str, other: &str) -> bool {
    let part = |part: &str| {
        let part = part.trim();
        let whole = part.parse::<i64>().map(|number| number.to_string());
        let number = whole.or_else(|_| part.parse::<f64>().map(|number| number.to_string()));
        number.unwrap_or_else(|_| part.to_ascii_lowercase())
    };
    one.split(',').map(part).eq(other.split(',').map(part))
}

/// Where the value of a setting comes from. Open: a source that Kafka adds later is a value too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConfigSource(pub i8);

impl ConfigSource {
    /// The topic's own.
    pub const TOPIC: Self = Self(1);
    /// The broker's own, changed at run time.
    pub const DYNAMIC_BROKER: Self = Self(2);
    /// That of all brokers, changed at run time.
    pub const DYNAMIC_DEFAULT_BROKER: Self = Self(3);
    /// The broker's `server.properties`.
    pub const STATIC_BROKER: Self = Self(4);
    /// Built into Kafka.
    pub const DEFAULT: Self = Self(5);
    /// A broker's logger, changed at run time.
    pub const DYNAMIC_BROKER_LOGGER: Self = Self(6);
    /// The subscription's own, where clients are asked for their metrics.
    pub const CLIENT_METRICS: Self = Self(7);
    /// The group's own.
    pub const GROUP: Self = Self(8);
}

impl Admin {
    /// Changes single settings (IncrementalAlterConfigs); what is not named stays as it is.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer. Changes may have been made nevertheless. A resource of a broker that the cluster does not have has
    /// [`ErrorKind::Invalid`] after 5 s.
    pub async fn alter_configs(
        &self,
        changes: impl IntoIterator<Item = (ConfigResource, Vec<ConfigChange>)>,
    ) -> Result<Results<ConfigResource, ()>, ClientError> {
        self.change_configs(changes, false).await
    }

    /// Says how [`alter_configs`](Self::alter_configs) would go, and changes nothing.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer.
    pub async fn validate_configs(
        &self,
        changes: impl IntoIterator<Item = (ConfigResource, Vec<ConfigChange>)>,
    ) -> Result<Results<ConfigResource, ()>, ClientError> {
        self.change_configs(changes, true).await
    }

    async fn change_configs(
        &self,
        changes: impl IntoIterator<Item = (ConfigResource, Vec<ConfigChange>)>,
        validate_only: bool,
    ) -> Result<Results<ConfigResource, ()>, ClientError> {
        let named = |changes: &[(ConfigResource, _)]| changes.iter().map(|(resource, _)| resource.clone()).collect();
        let (mut results, mut absent) = (Results::new(), Absent::default());
        for (node, changes) in by_node(changes, |(resource, _)| resource)? {
            let request =
                IncrementalAlterConfigsRequest { resources: changes.iter().map(altered).collect(), validate_only };
            let Some((response, connection)) = absent.of(self.ask_for(node, &request).await, || named(&changes))?
            else {
                continue;
            };
            for answer in response.responses {
                let asked = changes.iter().map(|(resource, _)| resource);
                let Some(resource) = of(asked, answer.resource_type, &answer.resource_name) else { continue };
                let doing = || format!("changing the configuration of {resource}");
                let message = answer.error_message.as_deref();
                results.insert(resource.clone(), result((), doing, &connection, answer.error_code, message));
            }
        }
        absent.settle(results)
    }

    /// Asks the broker with this id, or any.
    async fn ask_for<R: Request>(
        &self,
        node: Option<i32>,
        request: &R,
    ) -> Result<(R::Response, Connection), ClientError> {
        match node {
            Some(node) => self.ask_node(node, request).await,
            None => self.ask_any(request).await,
        }
    }

    /// All settings of resources, by key (DescribeConfigs).
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer. A resource of a broker that the cluster does not have has [`ErrorKind::Invalid`] after 5 s.
    pub async fn describe_configs(
        &self,
        resources: impl IntoIterator<Item = ConfigResource>,
    ) -> Result<Results<ConfigResource, BTreeMap<String, ConfigEntry>>, ClientError> {
        let (mut results, mut absent) = (Results::new(), Absent::default());
        for (node, resources) in by_node(resources, |resource| resource)? {
            let all_keys = |resource: &ConfigResource| DescribeConfigsResource {
                resource_type: resource.kind as i8,
                resource_name: resource.name.clone(),
                configuration_keys: None,
            };
            let request =
                DescribeConfigsRequest { resources: resources.iter().map(all_keys).collect(), ..Default::default() };
            let Some((response, connection)) = absent.of(self.ask_for(node, &request).await, || resources.clone())?
            else {
                continue;
            };
            for answer in response.results {
                let Some(resource) = of(&resources, answer.resource_type, &answer.resource_name) else { continue };
                let entries = answer.configs.into_iter().map(|config| {
                    let entry = ConfigEntry {
                        value: config.value,
                        source: ConfigSource(config.config_source),
                        read_only: config.read_only,
                        sensitive: config.is_sensitive,
                    };
                    (config.name, entry)
                });
                let doing = || format!("reading the configuration of {resource}");
                let message = answer.error_message.as_deref();
                let entries = result(entries.collect(), doing, &connection, answer.error_code, message);
                results.insert(resource.clone(), entries);
            }
        }
        absent.settle(results)
    }

    /// Waits until every broker knows these settings of a resource, for up to `default.api.timeout.ms`.
    ///
    /// The answer to [`alter_configs`](Self::alter_configs) says that a change is in the metadata log of the cluster. A broker obeys once it has
    /// read so far, which takes one that is busy a second and more; until then, a share group that begins on it begins with what held before.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where a broker does not say, or still says something else when the time is over.
    pub async fn await_configs(&self, resource: &ConfigResource, settings: &[(&str, &str)]) -> Result<(), ClientError> {
        let keys = settings.iter().map(|(key, _)| (*key).to_owned()).collect();
        let asked = DescribeConfigsResource {
            resource_type: resource.kind as i8,
            resource_name: resource.name.clone(),
            configuration_keys: Some(keys),
        };
        let request = DescribeConfigsRequest { resources: vec![asked], ..Default::default() };
        for broker in self.describe_cluster().await?.brokers {
            let mut retries = self.retries();
            while retries.attempt(self.knows(broker.id, &request, resource, settings)).await?.is_none() {}
        }
        Ok(())
    }

    async fn knows(
        &self,
        node: i32,
        request: &DescribeConfigsRequest,
        resource: &ConfigResource,
        settings: &[(&str, &str)],
    ) -> Result<(), ClientError> {
        let doing = || format!("waiting until a broker knows the configuration of {resource}");
        let (response, connection) = self.ask_node(node, request).await?;
        let known = response.results.into_iter().next().unwrap_or_default();
        result((), doing, &connection, known.error_code, known.error_message.as_deref())?;
        let is_known = |(key, value): &(&str, &str)| {
            let own =
                known.configs.iter().filter(|config| config.name == *key).filter_map(|config| config.value.as_deref());
            own.into_iter().any(|own| is_same(own, value))
        };
        match settings.iter().find(|setting| !is_known(setting)) {
            None => Ok(()),
            Some((key, _)) => {
                let reason = format!("it has another value of {key} so far");
                Err(ClientError::new(ErrorKind::TimedOut, doing(), reason).at(connection.broker().to_owned()))
            }
        }
    }
}

/// Resources of brokers that the cluster does not have: they keep no other from its result.
#[derive(Default)]
struct Absent(Vec<(ConfigResource, ClientError)>);

impl Absent {
    /// Takes note of `resources` where the `answer` is that there is no such broker.
    fn of<T>(
        &mut self,
        answer: Result<T, ClientError>,
        resources: impl FnOnce() -> Vec<ConfigResource>,
    ) -> Result<Option<T>, ClientError> {
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if error.kind() == ErrorKind::Invalid => {
                self.0.extend(resources().into_iter().map(|resource| (resource, error.clone())));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// All results; an error where there is none but of brokers that are not there.
    fn settle<T>(mut self, mut results: Results<ConfigResource, T>) -> Result<Results<ConfigResource, T>, ClientError> {
        match self.0.pop() {
            Some((_, error)) if results.is_empty() => Err(error),
            last => {
                let absent = self.0.into_iter().chain(last);
                results.extend(absent.map(|(resource, error)| (resource, Err(error))));
                Ok(results)
            }
        }
    }
}

fn altered((resource, changes): &(ConfigResource, Vec<ConfigChange>)) -> AlterConfigsResource {
    let config = |change: &ConfigChange| AlterableConfig {
        name: change.key.clone(),
        config_operation: change.operation,
        value: change.value.clone(),
    };
    AlterConfigsResource {
        resource_type: resource.kind as i8,
        resource_name: resource.name.clone(),
        configs: changes.iter().map(config).collect(),
    }
}

/// Sorts by the broker that has to be asked.
fn by_node<T>(
    items: impl IntoIterator<Item = T>,
    resource: impl Fn(&T) -> &ConfigResource,
) -> Result<BTreeMap<Option<i32>, Vec<T>>, ClientError> {
    let mut by_node: BTreeMap<_, Vec<T>> = BTreeMap::new();
    for item in items {
        by_node.entry(resource(&item).node()?).or_default().push(item);
    }
    Ok(by_node)
}

/// The resource that an answer is about.
fn of<'a>(asked: impl IntoIterator<Item = &'a ConfigResource>, kind: i8, name: &str) -> Option<&'a ConfigResource> {
    asked.into_iter().find(|resource| resource.kind as i8 == kind && resource.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_may_be_written_in_several_ways() {
        for (one, other) in [("true", "TRUE"), ("7", "07"), ("compact,delete", "compact, delete"), ("0.5", ".5")] {
            assert!(is_same(one, other), "{one} {other}");
        }
        for (one, other) in [("7", "8"), ("compact", "compact,delete"), ("9007199254740993", "9007199254740992")] {
            assert!(!is_same(one, other), "{one} {other}");
        }
    }

    #[test]
    fn values_of_changes_are_not_shown() {
        let shown = format!("{:?}", ConfigChange::set("ssl.key.password", "secret-of-the-test"));
        assert!(shown.contains("ssl.key.password") && shown.contains("<18 bytes>"), "{shown}");
        assert!(!shown.contains("secret-of-the-test"), "{shown}");
    }
}
