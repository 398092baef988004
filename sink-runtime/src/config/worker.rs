//! The worker's file.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::{
    ConfigError, ConfigKey, ConfigProblem,
    definition::{ConfigType, Validator},
    keys::Keys,
    overrides::OverridePolicy,
    parse_properties, property_lines,
    settings::Settings,
    share::SHARE_KEYS,
};
use crate::convert::{ByteArrayConverter, Converter};

/// A worker.properties: what holds for every connector of a process.
#[derive(Debug, Clone)]
pub struct WorkerConfig {
    pub(crate) bootstrap_servers: String,
    pub(crate) key_converter: Arc<dyn Converter>,
    pub(crate) value_converter: Arc<dyn Converter>,
    pub(crate) flush_interval: Duration,
    pub(crate) graceful_timeout: Duration,
    /// `consumer.*`, without the prefix and without `group.protocol`.
    pub(crate) consumer: Settings,
    pub(crate) group_protocol: Option<String>,
    /// The worker's own client settings under `admin.*`.
    pub(crate) admin: Settings,
    pub(super) overrides: OverridePolicy,
    pub(crate) warnings: Vec<String>,
}

/// Keys that are served here.
pub(super) const WORKER_KEYS: [ConfigKey; 5] = [
    ConfigKey::required(
        "bootstrap.servers",
        ConfigType::List,
        "the brokers to ask first, as host:port, separated by commas",
    )
    .accepting(Validator::NonEmpty),
    ConfigKey::with_default(
        "offset.flush.interval.ms",
        ConfigType::Long,
        "60000",
        "how often a task is called without records, and how long a task that buffers may buffer at most",
    )
    .accepting(Validator::AtLeast(1)),
    ConfigKey::with_default(
        "task.shutdown.graceful.timeout.ms",
        ConfigType::Long,
        "5000",
        "how long all tasks together may take to stop",
    )
    .accepting(Validator::AtLeast(0)),
    ConfigKey::with_default(
        "connector.client.config.override.policy",
        ConfigType::String,
        "All",
        "which client settings a connector may override",
    )
    .accepting(Validator::OneOf(&["All", "None", "Principal", "Allowlist"])),
    ConfigKey::optional(
        "connector.client.config.override.allowlist",
        ConfigType::List,
        "the client settings that the policy Allowlist lets a connector override",
    ),
];

/// Further keys whose misspelling shall be noticed.
const NAMED_APART: [&str; 3] = ["key.converter", "value.converter", "consumer.group.protocol"];

/// Connect's worker keys that mean nothing here (yet), whole or as a prefix with a dot at its end. They are accepted with a warning, so that
/// a worker file can be carried over.
const NOT_SERVED: [&str; 40] = [
    "access.control.allow.methods",
    "access.control.allow.origin",
    "admin.listeners",
    "auto.include.jmx.reporter",
    "config.providers",
    "config.providers.",
    "config.storage.",
    "connect.protocol",
    "exactly.once.source.support",
    "group.id",
    "header.converter",
    "header.converter.",
    "heartbeat.interval.ms",
    "inter.worker.",
    "internal.",
    "listeners",
    "listeners.",
    "metadata.recovery.",
    "metric.reporters",
    "metrics.",
    "offset.flush.timeout.ms",
    "offset.storage.",
    "plugin.discovery",
    "plugin.path",
    "producer.",
    "rebalance.timeout.ms",
    "response.http.headers.config",
    "rest.",
    "scheduled.rebalance.max.delay.ms",
    "session.timeout.ms",
    "ssl.client.auth",
    "status.storage.",
    "task.startup.",
    "topic.creation.enable",
    "topic.tracking.",
    "worker.sync.timeout.ms",
    "worker.unsync.backoff.ms",
    "key.converter.plugin.version",
    "value.converter.plugin.version",
    "header.converter.plugin.version",
];

/// Settings of the worker's own client, which stand in its file without a prefix.
const CLIENT_KEYS: [&str; 13] = [
    "client.",
    "connections.max.idle.ms",
    "default.api.timeout.ms",
    "metadata.max.age.ms",
    "receive.buffer.bytes",
    "reconnect.backoff.",
    "request.timeout.ms",
    "retry.backoff.",
    "sasl.",
    "security.",
    "send.buffer.bytes",
    "socket.connection.setup.",
    "ssl.",
];

impl WorkerConfig {
    /// Reads a worker.properties, standalone or distributed. `origin` is what errors call it.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn from_properties(text: &str, origin: &str) -> Result<Self, ConfigError> {
        let entries = parse_properties(text).map_err(|error| ConfigError {
            origin: origin.to_owned(),
            problems: vec![ConfigProblem::new(
                &format!("line {}", error.line),
                None,
                error.problem,
                "correct the line",
            )],
        })?;
        Self::from_entries(entries, origin).map_err(|error| error.at_lines(&property_lines(text)))
    }

    /// Of keys and values.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn from_entries(entries: BTreeMap<String, String>, origin: &str) -> Result<Self, ConfigError> {
        let mut keys = Keys::new(origin, entries);
        keys.refuse_placeholders();
        keys.warn_about(&NOT_SERVED, "worker keys of Connect that are not served yet, and have no effect");
        let values = keys.values(&WORKER_KEYS);
        let key_converter = keys.converter("key.converter");
        let value_converter = keys.converter("value.converter");
        let mut consumer = keys.take_prefix("consumer.");
        let group_protocol = consumer.remove("group.protocol");
        // As in Connect: the worker's own client has the settings without a prefix, and `admin.` over them.
        let mut admin = keys.take_listed(&CLIENT_KEYS);
        admin.extend(keys.take_prefix("admin."));

        keys.misplaced("share.", &SHARE_KEYS, "the configuration of each connector");

        let tables = WORKER_KEYS.iter().chain(&SHARE_KEYS).map(|key| key.name);
        let known: Vec<&str> = tables.chain(NAMED_APART).collect();
        let foreign = keys.rest(&known);
        keys.warn(&foreign, "keys that are not known here, and have no effect");
        let default = || Arc::new(ByteArrayConverter) as Arc<dyn Converter>;
        let bootstrap_servers = values.list("bootstrap.servers").join(",");
        let (consumer, admin) = (Settings(consumer), Settings(admin));
        if !bootstrap_servers.is_empty() {
            // A mistake is the worker's here, and would be told of each connector later.
            let wrong_consumer = consumer.clone().at(&bootstrap_servers).share_consumer("any").err();
            let wrong_admin = admin.clone().at(&bootstrap_servers).client().err();
            keys.problems.extend(wrong_consumer.map(|error| ConfigProblem::of_client("consumer.*", &error)));
            keys.problems.extend(wrong_admin.map(|error| ConfigProblem::of_client("the worker's client", &error)));
        }
        keys.finish(|warnings| Self {
            bootstrap_servers,
            key_converter: key_converter.unwrap_or_else(default),
            value_converter: value_converter.unwrap_or_else(default),
            flush_interval: values.millis("offset.flush.interval.ms").unwrap_or_default(),
            graceful_timeout: values.millis("task.shutdown.graceful.timeout.ms").unwrap_or_default(),
            consumer,
            group_protocol,
            admin,
            overrides: OverridePolicy::from_values(&values),
            warnings,
        })
    }

    /// What should be said to the operator: one line each.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}
