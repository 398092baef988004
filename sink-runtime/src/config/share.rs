//! The keys of draft KIP-1302 and what they really are: few belong to the consumer, most are settings of the group.

use std::time::Duration;

use super::{
    ConfigKey,
    definition::{ConfigType, Validator},
    keys::Keys,
    settings::Settings,
    values::{ConfigValue, ConfigValues},
};

/// What becomes of a record that cannot be written when this is the last time that the broker hands it out
/// (`share.last.delivery`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastDelivery {
    /// The failed task stays a member of the group and renews the lock on the record until somebody acts.
    Hold,
    /// It is released like any other, and the broker archives it: nobody will see it again.
    Archive,
}

/// How a connector uses its share group.
#[derive(Debug, Clone)]
pub struct ShareConfig {
    /// The group; `connect-<connector>` unless `share.group.id` says otherwise.
    pub group_id: String,
    /// `share.last.delivery`.
    pub last_delivery: LastDelivery,
    /// How long a put is tried again, `share.retry.timeout.ms`; `None` is for ever.
    pub retry_timeout: Option<Duration>,
    /// Settings that the group shall have.
    pub group_settings: Vec<GroupSetting>,
}

/// A setting of the group that a key of the connector asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupSetting {
    /// Kafka's name of the group's setting.
    pub name: &'static str,
    /// What it shall be.
    pub value: String,
    /// The connector's key that says so; `None` if it is only this runtime's default, which gives way to a value that the group has of its
    /// own.
    pub key: Option<&'static str>,
}

pub(super) const SHARE_KEYS: [ConfigKey; 8] = [
    ConfigKey::optional("share.group.id", ConfigType::String, "the share group; connect-<name> if not set")
        .accepting(Validator::NonEmpty),
    ConfigKey::with_default(
        "share.acknowledgement.mode",
        ConfigType::String,
        "explicit",
        "explicit: a record is accepted after it was written",
    )
    .accepting(Validator::Check(explicit)),
    ConfigKey::with_default(
        "share.delivery.semantics",
        ConfigType::String,
        "at-least-once",
        "what is promised about each record",
    )
    .accepting(Validator::Check(at_least_once)),
    ConfigKey::with_default(
        "share.last.delivery",
        ConfigType::String,
        "hold",
        "what becomes of a record that cannot be written on its last allowed delivery",
    )
    .accepting(Validator::Check(last_delivery)),
    ConfigKey::with_default(
        "share.retry.timeout.ms",
        ConfigType::Long,
        "-1",
        "how long a put that may succeed later is tried again; -1 is for ever",
    )
    .accepting(Validator::AtLeast(-1)),
    ConfigKey::optional(
        "share.auto.offset.reset",
        ConfigType::String,
        "where the group starts in a partition that it has not read: earliest, latest or by_duration:<ISO 8601>",
    )
    .accepting(Validator::Check(offset_reset)),
    ConfigKey::optional(
        "share.acquisition.lock.timeout.ms",
        ConfigType::Int,
        "how long a record is locked for a task: the group's share.record.lock.duration.ms",
    )
    .accepting(Validator::AtLeast(1000)),
    ConfigKey::optional(
        "share.max.delivery.count",
        ConfigType::Int,
        "how often a record is handed out at most: the group's share.delivery.count.limit",
    )
    .accepting(Validator::AtLeast(2)),
];

fn check(value: &ConfigValue, served: &[&str], refused: &[(&str, &str)]) -> Result<(), (String, String)> {
    let ConfigValue::String(text) = value else { return Ok(()) };
    let remedy = format!("write {}", served.join(" or "));
    if served.iter().any(|served| served.eq_ignore_ascii_case(text)) {
        return Ok(());
    }
    match refused.iter().find(|(refused, _)| refused.eq_ignore_ascii_case(text)) {
        Some((_, why)) => Err(((*why).to_owned(), remedy)),
        None => Err(("is not known here".to_owned(), remedy)),
    }
}

fn explicit(value: &ConfigValue) -> Result<(), (String, String)> {
    check(value, &["explicit"], &[("implicit", "implicit acknowledgement is not there yet")])
}

fn at_least_once(value: &ConfigValue) -> Result<(), (String, String)> {
    const NO_KIP: &str = "exactly-once under a share group needs the transactional acknowledgements of draft KIP-1289, which no released broker offers";
    check(value, &["at-least-once"], &[("exactly-once", NO_KIP)])
}

fn last_delivery(value: &ConfigValue) -> Result<(), (String, String)> {
    check(value, &["hold", "archive"], &[("dlq", "the dead-letter producer is not there yet")])
}

fn offset_reset(value: &ConfigValue) -> Result<(), (String, String)> {
    match value {
        ConfigValue::String(text) if text.starts_with("by_duration:P") => Ok(()),
        value => check(value, &["earliest", "latest", "by_duration:<ISO 8601>"], &[]),
    }
}

impl ShareConfig {
    /// Takes the share keys, and out of a connector's consumer settings those which a share group has elsewhere.
    pub(super) fn take(keys: &mut Keys, name: &str, consumer: &mut Settings) -> Self {
        let values = keys.values(&SHARE_KEYS);
        let group_id = values.string("share.group.id").map(str::to_owned);
        let own_group_id = consumer.0.remove("group.id");
        Self {
            group_id: group_id.or(own_group_id).unwrap_or_else(|| format!("connect-{name}")),
            last_delivery: match values.string("share.last.delivery") {
                Some(text) if text.eq_ignore_ascii_case("archive") => LastDelivery::Archive,
                _ => LastDelivery::Hold,
            },
            retry_timeout: values.millis("share.retry.timeout.ms"),
            group_settings: group_settings(&values, consumer),
        }
    }
}

fn group_settings(values: &ConfigValues, consumer: &mut Settings) -> Vec<GroupSetting> {
    let offset_reset = "share.auto.offset.reset";
    let mut settings = vec![match (values.string(offset_reset), consumer.0.remove("auto.offset.reset")) {
        (Some(value), _) => GroupSetting { name: offset_reset, value: value.to_owned(), key: Some(offset_reset) },
        (None, Some(value)) => {
            GroupSetting { name: offset_reset, value, key: Some("consumer.override.auto.offset.reset") }
        }
        (None, None) => GroupSetting { name: offset_reset, value: "earliest".to_owned(), key: None },
    }];
    if let Some(value) = consumer.0.remove("isolation.level") {
        let key = Some("consumer.override.isolation.level");
        settings.push(GroupSetting { name: "share.isolation.level", value, key });
    }
    for (name, key) in [
        ("share.record.lock.duration.ms", "share.acquisition.lock.timeout.ms"),
        ("share.delivery.count.limit", "share.max.delivery.count"),
    ] {
        if let Some(number) = values.number(key) {
            settings.push(GroupSetting { name, value: number.to_string(), key: Some(key) });
        }
    }
    settings
}
