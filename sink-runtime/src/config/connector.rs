//! A connector's configuration.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use super::properties::property_lines;
use super::{
    ConfigError, ConfigKey, ConfigProblem, connector_file,
    definition::{ConfigType, Validator},
    keys::Keys,
    settings::Settings,
    share::{SHARE_KEYS, ShareConfig},
    values::ConfigValue,
    worker::WorkerConfig,
};
use crate::convert::Converter;

/// `errors.tolerance`: what becomes of a record that a converter refuses, or that a task names as failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tolerance {
    /// The task fails. The record stays in the group.
    None,
    /// It is logged and passed over.
    All,
}

/// One connector: a sink, its topics, and how to run it.
#[derive(Debug, Clone)]
pub struct ConnectorConfig {
    pub(crate) name: String,
    pub(crate) origin: String,
    /// Where its keys stand, by line: in .properties.
    pub(crate) lines: BTreeMap<String, usize>,
    /// `connector.class`.
    pub(crate) class: String,
    pub(crate) tasks_max: u32,
    pub(crate) topics: Vec<String>,
    /// `None` if the worker's is used.
    pub(crate) key_converter: Option<Arc<dyn Converter>>,
    pub(crate) value_converter: Option<Arc<dyn Converter>>,
    pub(crate) tolerance: Tolerance,
    /// Whether a record that is passed over is logged with its place.
    pub(crate) log_errors: bool,
    pub(crate) retry_delay_max: Duration,
    pub(crate) share: ShareConfig,
    group_protocol: Option<String>,
    /// `consumer.override.*`, without the prefix and what a share group has elsewhere.
    pub(crate) consumer: Settings,
    /// `admin.override.*`, without the prefix.
    pub(crate) admin: Settings,
    /// What is left for the sink.
    pub(crate) sink: Settings,
    pub(crate) warnings: Vec<String>,
}

const CONNECTOR_KEYS: [ConfigKey; 14] = [
    ConfigKey::required("name", ConfigType::String, "what the connector is called").accepting(Validator::Check(name)),
    ConfigKey::required("connector.class", ConfigType::String, "which sink it is").accepting(Validator::NonEmpty),
    ConfigKey::with_default("tasks.max", ConfigType::Int, "1", "how many tasks run in this process")
        .accepting(Validator::AtLeast(1)),
    ConfigKey::with_default("tasks.max.enforce", ConfigType::Boolean, "true", "no connector makes more tasks"),
    ConfigKey::required("topics", ConfigType::List, "the topics to read, separated by commas")
        .accepting(Validator::NonEmpty),
    ConfigKey::optional("topics.regex", ConfigType::String, "topics by pattern").accepting(Validator::Check(no_regex)),
    ConfigKey::optional("transforms", ConfigType::List, "transformations").accepting(Validator::Check(no_transforms)),
    ConfigKey::optional("predicates", ConfigType::List, "predicates").accepting(Validator::Check(no_transforms)),
    ConfigKey::with_default("errors.tolerance", ConfigType::String, "none", "what becomes of a record that fails")
        .accepting(Validator::OneOf(&["none", "all"])),
    ConfigKey::with_default("errors.retry.timeout", ConfigType::Long, "0", "how long a converter tries again")
        .accepting(Validator::AtLeast(-1)),
    ConfigKey::with_default(
        "errors.retry.delay.max.ms",
        ConfigType::Long,
        "60000",
        "the longest time between two tries of a put",
    )
    .accepting(Validator::AtLeast(1)),
    ConfigKey::with_default("errors.log.enable", ConfigType::Boolean, "false", "whether a failed record is logged"),
    ConfigKey::with_default(
        "errors.log.include.messages",
        ConfigType::Boolean,
        "false",
        "whether the log names topic, partition and offset",
    ),
    ConfigKey::optional("errors.deadletterqueue.topic.name", ConfigType::String, "where failed records are copied")
        .accepting(Validator::Check(no_dead_letters)),
];

/// Connect's connector keys that have no meaning here (yet), whole or as a prefix with a dot at its end.
const NOT_SERVED: [&str; 10] = [
    "config.action.reload",
    "connector.plugin.version",
    "errors.deadletterqueue.context.",
    "errors.deadletterqueue.topic.replication.factor",
    "header.converter",
    "header.converter.",
    "key.converter.plugin.version",
    "producer.override.",
    "tasks.max.scope",
    "value.converter.plugin.version",
];

/// Keys that are read apart from the tables.
const NAMED_APART: [&str; 3] = ["key.converter", "value.converter", "consumer.override.group.protocol"];

fn name(value: &ConfigValue) -> Result<(), (String, String)> {
    match value {
        ConfigValue::String(name) if name.is_empty() || name.chars().any(char::is_control) => {
            Err(("is empty or has a control character".to_owned(), "give it a plain name".to_owned()))
        }
        _ => Ok(()),
    }
}

/// Refuses a key that would change which records a sink sees if it were ignored.
fn refuse(value: &ConfigValue, problem: &str, remedy: &str) -> Result<(), (String, String)> {
    match value {
        ConfigValue::String(text) if !text.is_empty() => Err((problem.to_owned(), remedy.to_owned())),
        ConfigValue::List(items) if !items.is_empty() => Err((problem.to_owned(), remedy.to_owned())),
        _ => Ok(()),
    }
}

fn no_regex(value: &ConfigValue) -> Result<(), (String, String)> {
    refuse(value, "a share group subscribes by name; patterns are not there yet", "list the topics under topics")
}

fn no_transforms(value: &ConfigValue) -> Result<(), (String, String)> {
    refuse(value, "transformations are not there yet", "remove it")
}

fn no_dead_letters(value: &ConfigValue) -> Result<(), (String, String)> {
    refuse(value, "the dead-letter producer is not there yet", "remove it; with errors.tolerance=none nothing is lost")
}

impl ConnectorConfig {
    /// Reads a connector's file: JSON if its name ends in `.json` or its text starts with `{`, else .properties.
    ///
    /// # Errors
    /// A file that cannot be read, and everything that is wrong with it.
    pub fn from_file(path: &Path) -> Result<Self, ConfigError> {
        connector_file::read(path)
    }

    /// Reads JSON: a flat object of keys and values, or `{"name": .., "config": {..}}`. `origin` is what errors call it.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn from_json(text: &str, origin: &str) -> Result<Self, ConfigError> {
        Self::from_entries(connector_file::from_json(text, origin)?, origin)
    }

    /// Reads .properties. `origin` is what errors call it.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn from_properties(text: &str, origin: &str) -> Result<Self, ConfigError> {
        let entries = connector_file::from_properties(text, origin)?;
        let lines = property_lines(text);
        match Self::from_entries(entries, origin) {
            Ok(config) => Ok(Self { lines, ..config }),
            Err(error) => Err(error.at_lines(&lines)),
        }
    }

    /// Of keys and values.
    ///
    /// # Errors
    /// Everything that is wrong with them, but for the sink's own keys, which the sink reads when the worker starts.
    pub fn from_entries(entries: BTreeMap<String, String>, origin: &str) -> Result<Self, ConfigError> {
        let mut keys = Keys::new(origin, entries);
        keys.refuse_placeholders();
        keys.warn_about(&NOT_SERVED, "connector keys of Connect that are not served yet, and have no effect");
        let values = keys.values(&CONNECTOR_KEYS);
        let name = values.string("name").unwrap_or_default().to_owned();
        let key_converter = keys.converter("key.converter");
        let value_converter = keys.converter("value.converter");
        let mut consumer = Settings(keys.take_prefix("consumer.override."));
        let group_protocol = consumer.0.remove("group.protocol");
        let admin = Settings(keys.take_prefix("admin.override."));
        let share = ShareConfig::take(&mut keys, &name, &mut consumer);
        let mut topics = values.list("topics").to_vec();
        topics.sort_unstable();
        topics.dedup();

        let tables = CONNECTOR_KEYS.iter().chain(&SHARE_KEYS).map(|key| key.name);
        let sink = keys.rest(&tables.chain(NAMED_APART).collect::<Vec<_>>());
        keys.finish(|warnings| Self {
            name,
            origin: origin.to_owned(),
            lines: BTreeMap::new(),
            class: values.string("connector.class").unwrap_or_default().to_owned(),
            tasks_max: values.number("tasks.max").and_then(|number| u32::try_from(number).ok()).unwrap_or(1),
            topics,
            key_converter,
            value_converter,
            tolerance: match values.string("errors.tolerance") {
                Some(text) if text.eq_ignore_ascii_case("all") => Tolerance::All,
                _ => Tolerance::None,
            },
            log_errors: values.boolean("errors.log.enable"),
            retry_delay_max: values.millis("errors.retry.delay.max.ms").unwrap_or_default(),
            share,
            group_protocol,
            consumer,
            admin,
            sink: Settings(sink),
            warnings,
        })
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What should be said to the operator: one line each.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What is wrong with worker and connector together: the group protocol and the override policy.
    pub(crate) fn check_with(&self, worker: &WorkerConfig) -> Vec<ConfigProblem> {
        let mut problems = worker.overrides.check("consumer.override.", &self.consumer.0);
        problems.extend(worker.overrides.check("admin.override.", &self.admin.0));
        let (key, protocol) = match (&self.group_protocol, &worker.group_protocol) {
            (Some(protocol), _) => ("consumer.override.group.protocol", Some(protocol.trim())),
            (None, protocol) => ("consumer.group.protocol", protocol.as_deref().map(str::trim)),
        };
        let problem = match protocol.map(str::to_ascii_lowercase).as_deref() {
            Some("share") => return problems,
            Some("classic" | "consumer") => "the consumer-group worker is not there yet",
            Some(_) => "is no group protocol",
            None => "is not set, which means consumer, and the consumer-group worker is not there yet",
        };
        let remedy = "set consumer.override.group.protocol=share for this connector, or consumer.group.protocol=share in the worker's file";
        problems.push(ConfigProblem::new(key, protocol, problem, remedy));
        problems
    }
}
