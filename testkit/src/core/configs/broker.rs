//! Broker settings that mean something to the embedded broker. They are fixed when it is made.

use std::cmp::Reverse;
use std::time::Duration;

use super::{ConfigDef, ConfigType, Valid, Values, def, find};
use crate::core::sasl::Mechanism;

/// The settings. Bounds are Kafka's.
pub(crate) static DEFS: &[ConfigDef] = &[
    def("node.id", ConfigType::Int, "1", Valid::AtLeast(0)),
    def("auto.create.topics.enable", ConfigType::Boolean, "true", Valid::Any),
    def("num.partitions", ConfigType::Int, "1", Valid::AtLeast(1)),
    def("default.replication.factor", ConfigType::Int, "1", Valid::AtLeast(1)),
    def("message.max.bytes", ConfigType::Int, "1048588", Valid::AtLeast(0)),
    def("socket.request.max.bytes", ConfigType::Int, "104857600", Valid::AtLeast(1)),
    def("sasl.server.max.receive.size", ConfigType::Int, "524288", Valid::AtLeast(1)),
    def("fetch.max.bytes", ConfigType::Int, "57671680", Valid::AtLeast(1024)),
    def("max.incremental.fetch.session.cache.slots", ConfigType::Int, "1000", Valid::AtLeast(0)),
    def("log.message.timestamp.type", ConfigType::String, "CreateTime", Valid::OneOf(&["CreateTime", "LogAppendTime"])),
    def("log.message.timestamp.before.max.ms", ConfigType::Long, "9223372036854775807", Valid::AtLeast(0)),
    def("log.message.timestamp.after.max.ms", ConfigType::Long, "3600000", Valid::AtLeast(0)),
    def("log.retention.bytes", ConfigType::Long, "-1", Valid::Any),
    def("log.retention.check.interval.ms", ConfigType::Long, "300000", Valid::AtLeast(1)),
    def("log.cleanup.policy", ConfigType::List, "delete", Valid::OneOf(&["compact", "delete"])),
    def("connections.max.reauth.ms", ConfigType::Long, "0", Valid::AtLeast(0)),
    def(
        "sasl.enabled.mechanisms",
        ConfigType::List,
        "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        Valid::OneOf(Mechanism::NAMES),
    ),
    def("ssl.client.auth", ConfigType::String, "none", Valid::OneOf(&["required", "requested", "none"])),
    def("ssl.keystore.location", ConfigType::String, "", Valid::Any),
    def("ssl.truststore.location", ConfigType::String, "", Valid::Any),
    def("errors.deadletterqueue.topic.name.prefix", ConfigType::String, "dlq.", Valid::Any),
    def("errors.deadletterqueue.auto.create.topics.enable", ConfigType::Boolean, "false", Valid::Any),
    def("transaction.max.timeout.ms", ConfigType::Int, "900000", Valid::AtLeast(1)),
    def("offset.metadata.max.bytes", ConfigType::Int, "4096", Valid::AtLeast(0)),
    def("group.initial.rebalance.delay.ms", ConfigType::Int, "3000", Valid::AtLeast(0)),
    def("group.min.session.timeout.ms", ConfigType::Int, "6000", Valid::AtLeast(0)),
    def("group.max.session.timeout.ms", ConfigType::Int, "1800000", Valid::AtLeast(0)),
    def("group.max.size", ConfigType::Int, "2147483647", Valid::AtLeast(1)),
    def("group.consumer.session.timeout.ms", ConfigType::Int, "45000", Valid::AtLeast(1)),
    def("group.consumer.min.session.timeout.ms", ConfigType::Int, "45000", Valid::AtLeast(1)),
    def("group.consumer.max.session.timeout.ms", ConfigType::Int, "60000", Valid::AtLeast(1)),
    def("group.consumer.heartbeat.interval.ms", ConfigType::Int, "5000", Valid::AtLeast(1)),
    def("group.consumer.min.heartbeat.interval.ms", ConfigType::Int, "5000", Valid::AtLeast(1)),
    def("group.consumer.max.heartbeat.interval.ms", ConfigType::Int, "15000", Valid::AtLeast(1)),
    def("group.consumer.assignment.interval.ms", ConfigType::Int, "1000", Valid::AtLeast(0)),
    def("group.consumer.min.assignment.interval.ms", ConfigType::Int, "0", Valid::AtLeast(0)),
    def("group.consumer.max.assignment.interval.ms", ConfigType::Int, "15000", Valid::AtLeast(0)),
    def("group.consumer.max.size", ConfigType::Int, "2147483647", Valid::AtLeast(1)),
    def("group.consumer.assignors", ConfigType::List, "uniform,range", Valid::OneOf(&["uniform", "range"])),
    def("group.share.record.lock.duration.ms", ConfigType::Int, "30000", Valid::Between(1000, 3_600_000)),
    def("group.share.min.record.lock.duration.ms", ConfigType::Int, "15000", Valid::Between(1000, 30_000)),
    def("group.share.max.record.lock.duration.ms", ConfigType::Int, "60000", Valid::Between(30_000, 3_600_000)),
    def("group.share.delivery.count.limit", ConfigType::Int, "5", Valid::Between(2, 10)),
    def("group.share.min.delivery.count.limit", ConfigType::Int, "2", Valid::Between(2, 5)),
    def("group.share.max.delivery.count.limit", ConfigType::Int, "10", Valid::Between(5, 25)),
    def("group.share.partition.max.record.locks", ConfigType::Int, "2000", Valid::Between(100, 10_000)),
    def("group.share.min.partition.max.record.locks", ConfigType::Int, "100", Valid::Between(100, 2000)),
    def("group.share.max.partition.max.record.locks", ConfigType::Int, "4000", Valid::Between(2000, 10_000)),
    def("group.share.session.timeout.ms", ConfigType::Int, "45000", Valid::AtLeast(1)),
    def("group.share.min.session.timeout.ms", ConfigType::Int, "45000", Valid::AtLeast(1)),
    def("group.share.max.session.timeout.ms", ConfigType::Int, "60000", Valid::AtLeast(1)),
    def("group.share.heartbeat.interval.ms", ConfigType::Int, "5000", Valid::AtLeast(1)),
    def("group.share.min.heartbeat.interval.ms", ConfigType::Int, "5000", Valid::AtLeast(1)),
    def("group.share.max.heartbeat.interval.ms", ConfigType::Int, "15000", Valid::AtLeast(1)),
    def("group.share.assignment.interval.ms", ConfigType::Int, "1000", Valid::AtLeast(0)),
    def("group.share.min.assignment.interval.ms", ConfigType::Int, "0", Valid::AtLeast(0)),
    def("group.share.max.assignment.interval.ms", ConfigType::Int, "15000", Valid::AtLeast(0)),
    def("group.share.max.size", ConfigType::Int, "200", Valid::Between(1, 1000)),
    def("group.share.max.share.sessions", ConfigType::Int, "2000", Valid::AtLeast(1)),
    def("group.share.assignors", ConfigType::List, "simple", Valid::OneOf(&["simple"])),
];

/// A setting that has to lie between two others: least, value, most.
const ORDERED: &[(&str, &str, &str)] = &[
    (
        "group.consumer.min.session.timeout.ms",
        "group.consumer.session.timeout.ms",
        "group.consumer.max.session.timeout.ms",
    ),
    (
        "group.consumer.min.heartbeat.interval.ms",
        "group.consumer.heartbeat.interval.ms",
        "group.consumer.max.heartbeat.interval.ms",
    ),
    (
        "group.consumer.min.assignment.interval.ms",
        "group.consumer.assignment.interval.ms",
        "group.consumer.max.assignment.interval.ms",
    ),
    (
        "group.share.min.record.lock.duration.ms",
        "group.share.record.lock.duration.ms",
        "group.share.max.record.lock.duration.ms",
    ),
    (
        "group.share.min.delivery.count.limit",
        "group.share.delivery.count.limit",
        "group.share.max.delivery.count.limit",
    ),
    (
        "group.share.min.partition.max.record.locks",
        "group.share.partition.max.record.locks",
        "group.share.max.partition.max.record.locks",
    ),
    ("group.share.min.session.timeout.ms", "group.share.session.timeout.ms", "group.share.max.session.timeout.ms"),
    (
        "group.share.min.heartbeat.interval.ms",
        "group.share.heartbeat.interval.ms",
        "group.share.max.heartbeat.interval.ms",
    ),
    (
        "group.share.min.assignment.interval.ms",
        "group.share.assignment.interval.ms",
        "group.share.max.assignment.interval.ms",
    ),
];

/// The settings of one broker.
#[derive(Debug, Clone, Default)]
pub(crate) struct BrokerConfig {
    values: Values,
}

impl BrokerConfig {
    /// Takes settings over.
    ///
    /// # Errors
    /// The reason, which names the setting, its value and what is allowed.
    pub(crate) fn new(values: Values) -> Result<Self, String> {
        for (name, value) in &values {
            match find(DEFS, name) {
                Some(def) => def.check(value)?,
                None => {
                    return Err(format!(
                        "the embedded broker has no setting {name:?}{}; it has {}",
                        nearest(name).map_or_else(String::new, |near| format!(" (did you mean {near:?}?)")),
                        DEFS.iter().map(|def| def.name).collect::<Vec<_>>().join(", ")
                    ));
                }
            }
        }
        let config = Self { values };
        for (least, name, most) in ORDERED {
            let (low, value, high) = (config.int(least), config.int(name), config.int(most));
            if value < low || value > high {
                return Err(format!(
                    "{name}={value} must lie between {least}={low} and {most}={high}; set those as well"
                ));
            }
        }
        for kind in ["share", "consumer"] {
            let session = format!("group.{kind}.session.timeout.ms");
            let heartbeat = format!("group.{kind}.heartbeat.interval.ms");
            if config.int(&session) <= config.int(&heartbeat) {
                return Err(format!("{session} must be greater than {heartbeat}"));
            }
        }
        Ok(config)
    }

    /// What was set.
    pub(crate) fn values(&self) -> &Values {
        &self.values
    }

    /// The text that applies; empty for a setting that does not exist.
    pub(crate) fn text(&self, name: &str) -> &str {
        match self.values.get(name) {
            Some(value) => value,
            None => find(DEFS, name).map_or("", |def| def.default),
        }
    }

    /// The default of a topic's or group's setting: what the broker says, or Kafka's.
    pub(crate) fn default_of(&self, def: &ConfigDef) -> &str {
        def.broker_synonym.and_then(|name| self.values.get(name)).map_or(def.default, String::as_str)
    }

    /// The number that applies.
    pub(crate) fn int(&self, name: &str) -> i64 {
        self.text(name).trim().parse().unwrap_or_default()
    }

    /// The time that applies, of a setting in milliseconds.
    pub(crate) fn millis(&self, name: &str) -> Duration {
        Duration::from_millis(self.int(name).unsigned_abs())
    }

    /// Whether the setting is `true`.
    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.text(name).trim().eq_ignore_ascii_case("true")
    }
}

/// The setting whose name shares the most words with a name that does not exist; of several, the one of like length.
fn nearest(name: &str) -> Option<&'static str> {
    let words: Vec<&str> = name.split('.').collect();
    let shared = |def: &ConfigDef| def.name.split('.').filter(|word| words.contains(word)).count();
    let nearest = DEFS.iter().max_by_key(|def| (shared(def), Reverse(def.name.len().abs_diff(name.len()))))?;
    (shared(nearest) > words.len() / 2).then_some(nearest.name)
}
