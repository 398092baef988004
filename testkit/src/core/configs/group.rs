//! Group settings (resource type GROUP), which fall back to those of the broker.

use std::time::Duration;

use super::{ConfigDef, ConfigType, OffsetReset, Valid, Values, broker::BrokerConfig, def, find};
use crate::core::Cluster;
use crate::core::groups::consumer::ConsumerSettings;
use crate::core::log::Isolation;
use crate::core::share::group::GroupSettings;
use crate::core::share::partition::ShareLimits;

/// The settings of consumer groups and share groups.
pub(crate) static DEFS: &[ConfigDef] = &[
    def("consumer.session.timeout.ms", ConfigType::Int, "45000", Valid::AtLeast(1))
        .of_broker("group.consumer.session.timeout.ms"),
    def("consumer.heartbeat.interval.ms", ConfigType::Int, "5000", Valid::AtLeast(1))
        .of_broker("group.consumer.heartbeat.interval.ms"),
    def("consumer.assignment.interval.ms", ConfigType::Int, "1000", Valid::AtLeast(0))
        .of_broker("group.consumer.assignment.interval.ms"),
    def("share.session.timeout.ms", ConfigType::Int, "45000", Valid::AtLeast(1))
        .of_broker("group.share.session.timeout.ms"),
    def("share.heartbeat.interval.ms", ConfigType::Int, "5000", Valid::AtLeast(1))
        .of_broker("group.share.heartbeat.interval.ms"),
    def("share.record.lock.duration.ms", ConfigType::Int, "30000", Valid::AtLeast(1000))
        .of_broker("group.share.record.lock.duration.ms"),
    def("share.delivery.count.limit", ConfigType::Int, "5", Valid::AtLeast(2))
        .of_broker("group.share.delivery.count.limit"),
    def("share.partition.max.record.locks", ConfigType::Int, "2000", Valid::AtLeast(100))
        .of_broker("group.share.partition.max.record.locks"),
    def("share.auto.offset.reset", ConfigType::String, "latest", Valid::OffsetReset),
    def(
        "share.isolation.level",
        ConfigType::String,
        "read_uncommitted",
        Valid::OneOf(&["read_committed", "read_uncommitted"]),
    ),
    def("share.renew.acknowledge.enable", ConfigType::Boolean, "true", Valid::Any),
    def("share.assignment.interval.ms", ConfigType::Int, "1000", Valid::AtLeast(0))
        .of_broker("group.share.assignment.interval.ms"),
    def(DEAD_LETTER_TOPIC, ConfigType::String, "", Valid::Any),
    def("errors.deadletterqueue.copy.record.enable", ConfigType::Boolean, "false", Valid::Any),
];

/// The topic of what the group gives up (KIP-1191).
const DEAD_LETTER_TOPIC: &str = "errors.deadletterqueue.topic.name";

/// Group settings that the broker bounds: name, and the broker's settings for the least and the most.
const BOUNDED: &[(&str, &str, &str)] = &[
    (
        "consumer.heartbeat.interval.ms",
        "group.consumer.min.heartbeat.interval.ms",
        "group.consumer.max.heartbeat.interval.ms",
    ),
    ("consumer.session.timeout.ms", "group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms"),
    (
        "consumer.assignment.interval.ms",
        "group.consumer.min.assignment.interval.ms",
        "group.consumer.max.assignment.interval.ms",
    ),
    ("share.heartbeat.interval.ms", "group.share.min.heartbeat.interval.ms", "group.share.max.heartbeat.interval.ms"),
    ("share.session.timeout.ms", "group.share.min.session.timeout.ms", "group.share.max.session.timeout.ms"),
    (
        "share.record.lock.duration.ms",
        "group.share.min.record.lock.duration.ms",
        "group.share.max.record.lock.duration.ms",
    ),
    ("share.delivery.count.limit", "group.share.min.delivery.count.limit", "group.share.max.delivery.count.limit"),
    (
        "share.partition.max.record.locks",
        "group.share.min.partition.max.record.locks",
        "group.share.max.partition.max.record.locks",
    ),
    (
        "share.assignment.interval.ms",
        "group.share.min.assignment.interval.ms",
        "group.share.max.assignment.interval.ms",
    ),
];

/// Checks the settings that a group would have, in Kafka's order and words.
///
/// # Errors
/// The reason.
pub(crate) fn check(values: &Values, broker: &BrokerConfig) -> Result<(), String> {
    for name in values.keys() {
        if find(DEFS, name).is_none() {
            return Err(format!("Unknown group config name: {name}"));
        }
    }
    for def in DEFS {
        if let Some(value) = values.get(def.name) {
            def.check(value)?;
        }
    }
    for (name, least, most) in BOUNDED {
        let Some(value) = values.get(*name).and_then(|value| value.trim().parse::<i64>().ok()) else { continue };
        let (least, most) = (broker.int(least), broker.int(most));
        if value < least || value > most {
            return Err(format!("{name} must be in the range {least} to {most} inclusive."));
        }
    }
    let group = GroupConfig { values: Some(values), broker };
    for kind in ["consumer", "share"] {
        let (session, heartbeat) = (format!("{kind}.session.timeout.ms"), format!("{kind}.heartbeat.interval.ms"));
        let timed = values.contains_key(&session) || values.contains_key(&heartbeat);
        if timed && group.int(&session) <= group.int(&heartbeat) {
            return Err(format!("{session} must be greater than {heartbeat}"));
        }
    }
    if values.get(DEAD_LETTER_TOPIC).is_some_and(|name| name.starts_with("__")) {
        return Err("errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'".to_owned());
    }
    Ok(())
}

/// What applies to one group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GroupConfig<'a> {
    /// What was set on the group.
    pub(crate) values: Option<&'a Values>,
    /// The broker's settings.
    pub(crate) broker: &'a BrokerConfig,
}

impl GroupConfig<'_> {
    /// The text that applies.
    fn text(&self, name: &str) -> &str {
        if let Some(value) = self.values.and_then(|values| values.get(name)) {
            return value;
        }
        find(DEFS, name).map_or("", |def| self.broker.default_of(def))
    }

    fn int(&self, name: &str) -> i64 {
        self.text(name).trim().parse().unwrap_or_default()
    }

    fn is_true(&self, name: &str) -> bool {
        self.text(name).trim().eq_ignore_ascii_case("true")
    }

    fn millis(&self, name: &str) -> Duration {
        Duration::from_millis(self.int(name).unsigned_abs())
    }

    /// `share.heartbeat.interval.ms`.
    pub(crate) fn heartbeat_interval_ms(&self) -> i32 {
        i32::try_from(self.int("share.heartbeat.interval.ms")).unwrap_or(i32::MAX)
    }

    /// `consumer.heartbeat.interval.ms`.
    pub(crate) fn consumer_heartbeat_interval_ms(&self) -> i32 {
        i32::try_from(self.int("consumer.heartbeat.interval.ms")).unwrap_or(i32::MAX)
    }

    /// The settings of the membership in a consumer group.
    pub(crate) fn consumer_membership(&self) -> ConsumerSettings {
        ConsumerSettings {
            session_timeout: self.millis("consumer.session.timeout.ms"),
            assignment_interval: self.millis("consumer.assignment.interval.ms"),
            max_size: usize::try_from(self.broker.int("group.consumer.max.size")).unwrap_or(usize::MAX),
        }
    }

    /// The settings of the membership in a share group.
    pub(crate) fn membership(&self) -> GroupSettings {
        GroupSettings {
            session_timeout: self.millis("share.session.timeout.ms"),
            assignment_interval: self.millis("share.assignment.interval.ms"),
            max_size: usize::try_from(self.broker.int("group.share.max.size")).unwrap_or(usize::MAX),
        }
    }

    /// The settings of acquisition.
    pub(crate) fn limits(&self) -> ShareLimits {
        ShareLimits {
            lock_duration: self.millis("share.record.lock.duration.ms"),
            delivery_count_limit: i16::try_from(self.int("share.delivery.count.limit")).unwrap_or(i16::MAX),
            max_record_locks: i32::try_from(self.int("share.partition.max.record.locks")).unwrap_or(i32::MAX),
            renew_enabled: self.is_true("share.renew.acknowledge.enable"),
            dead_letters: !self.dead_letter_topic().is_empty(),
        }
    }

    /// `errors.deadletterqueue.topic.name`; empty where there is none.
    pub(crate) fn dead_letter_topic(&self) -> &str {
        self.text(DEAD_LETTER_TOPIC).trim()
    }

    /// `errors.deadletterqueue.copy.record.enable`.
    pub(crate) fn copies_dead_letters(&self) -> bool {
        self.is_true("errors.deadletterqueue.copy.record.enable")
    }

    /// `share.isolation.level`.
    pub(crate) fn isolation(&self) -> Isolation {
        match self.text("share.isolation.level").trim() {
            "read_committed" => Isolation::Committed,
            _ => Isolation::Uncommitted,
        }
    }

    /// `share.auto.offset.reset`.
    pub(crate) fn offset_reset(&self) -> OffsetReset {
        OffsetReset::parse(self.text("share.auto.offset.reset").trim()).unwrap_or(OffsetReset::Latest)
    }
}

impl Cluster {
    /// Gives a group these settings, in place of those that it had.
    pub(in crate::core) fn set_group_config(&mut self, group: String, values: Values) {
        let config = GroupConfig { values: Some(&values), broker: &self.config };
        if config.dead_letter_topic().is_empty() {
            self.dead_letter_groups.remove(group.as_str());
        } else {
            self.dead_letter_groups.insert(group.as_str().into());
        }
        self.group_configs.insert(group, values);
    }

    /// The settings that apply to a group.
    pub(in crate::core) fn group_config(&self, group: &str) -> GroupConfig<'_> {
        GroupConfig { values: self.group_configs.get(group), broker: &self.config }
    }
}
