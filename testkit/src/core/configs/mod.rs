//! Settings of broker, topics and groups: names, types, defaults and bounds as in Kafka 4.4.0.

pub(crate) mod broker;
pub(crate) mod group;
pub(crate) mod topic;

use std::collections::BTreeMap;
use std::time::Duration;

/// Settings by name, as text.
pub(crate) type Values = BTreeMap<String, String>;

/// The type of a setting; the number is that of DescribeConfigs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConfigType {
    /// `true` or `false`.
    Boolean = 1,
    /// Text.
    String = 2,
    /// 32 bits.
    Int = 3,
    /// 64 bits.
    Long = 5,
    /// A decimal number.
    Double = 6,
    /// Texts separated by commas.
    List = 7,
}

/// Which values of its type a setting may have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Valid {
    /// All.
    Any,
    /// From this number on.
    AtLeast(i64),
    /// Between two numbers, inclusive.
    Between(i64, i64),
    /// One of these texts; of a list, each element.
    OneOf(&'static [&'static str]),
    /// `earliest`, `latest`, or `by_duration:` and an ISO 8601 duration.
    OffsetReset,
}

/// Where a value comes from; the number is that of DescribeConfigs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// Set on the topic.
    Topic = 1,
    /// Set when the broker was made.
    StaticBroker = 4,
    /// Kafka's default.
    Default = 5,
    /// Set on the group.
    Group = 8,
}

/// One setting.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConfigDef {
    /// The name.
    pub(crate) name: &'static str,
    /// The type.
    pub(crate) kind: ConfigType,
    /// The default as text.
    pub(crate) default: &'static str,
    /// The bounds.
    pub(crate) valid: Valid,
    /// The broker setting that is the default, where there is one.
    pub(crate) broker_synonym: Option<&'static str>,
}

/// A table entry.
const fn def(name: &'static str, kind: ConfigType, default: &'static str, valid: Valid) -> ConfigDef {
    ConfigDef { name, kind, default, valid, broker_synonym: None }
}

impl ConfigDef {
    const fn of_broker(mut self, name: &'static str) -> Self {
        self.broker_synonym = Some(name);
        self
    }

    /// Checks a value on its own.
    ///
    /// # Errors
    /// The reason, in Kafka's words.
    pub(crate) fn check(&self, value: &str) -> Result<(), String> {
        let value = value.trim();
        let invalid = |why: &str| Err(format!("Invalid value {value} for configuration {}: {why}", self.name));
        match self.kind {
            ConfigType::Boolean if !["true", "false"].iter().any(|b| value.eq_ignore_ascii_case(b)) => {
                return invalid("Expected value to be either true or false");
            }
            ConfigType::Int if value.parse::<i32>().is_err() => return invalid("Not a number of type INT"),
            ConfigType::Long if value.parse::<i64>().is_err() => return invalid("Not a number of type LONG"),
            ConfigType::Double if value.parse::<f64>().is_err() => return invalid("Not a number of type DOUBLE"),
            _ => {}
        }
        let number = || value.parse::<f64>().unwrap_or_default();
        match self.valid {
            Valid::AtLeast(least) | Valid::Between(least, _) if number() < least as f64 => {
                invalid(&format!("Value must be at least {least}"))
            }
            Valid::Between(_, most) if number() > most as f64 => invalid(&format!("Value must be no more than {most}")),
            Valid::OneOf(allowed) if !elements(self.kind, value).all(|element| allowed.contains(&element)) => {
                invalid(&format!("String must be one of: {}", allowed.join(", ")))
            }
            Valid::OffsetReset if OffsetReset::parse(value).is_none() => invalid(&format!(
                "Invalid value `{value}` for configuration {}. The value must be either 'earliest', 'latest' or of \
                 the format 'by_duration:<PnDTnHnMn.nS>'.",
                self.name
            )),
            _ => Ok(()),
        }
    }
}

fn elements(kind: ConfigType, value: &str) -> impl Iterator<Item = &str> {
    let separator = if kind == ConfigType::List { ',' } else { '\0' };
    value.split(separator).map(str::trim)
}

/// The entry of this name.
pub(crate) fn find(defs: &'static [ConfigDef], name: &str) -> Option<&'static ConfigDef> {
    defs.iter().find(|def| def.name == name)
}

/// `share.auto.offset.reset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OffsetReset {
    /// From the first record on.
    Earliest,
    /// Only what comes later.
    Latest,
    /// From the first record on that is younger than this.
    ByDuration(Duration),
}

impl OffsetReset {
    /// Reads a value as Kafka does; `None` where it is none.
    pub(crate) fn parse(value: &str) -> Option<Self> {
        match value {
            "earliest" => Some(Self::Earliest),
            "latest" => Some(Self::Latest),
            _ => parse_iso_duration(value.strip_prefix("by_duration:")?).map(Self::ByDuration),
        }
    }
}

/// Reads `PnDTnHnMn.nS`; signs are not taken, because a negative age makes no sense.
fn parse_iso_duration(text: &str) -> Option<Duration> {
    let text = text.to_ascii_uppercase();
    let text = text.strip_prefix('P')?;
    let (date, time) = match text.split_once('T') {
        Some((_, "")) => return None,
        Some((date, time)) => (date, time),
        None => (text, ""),
    };
    if date.is_empty() && time.is_empty() {
        return None;
    }
    let mut seconds = 0.0;
    for (part, units) in [(date, &[('D', 86_400.0)][..]), (time, &[('H', 3600.0), ('M', 60.0), ('S', 1.0)][..])] {
        let mut rest = part;
        let mut units = units.iter();
        while !rest.is_empty() {
            let end = rest.find(|c: char| c.is_ascii_alphabetic())?;
            let unit = rest[end..].chars().next()?;
            let digits = &rest[..end];
            let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit() || (unit == 'S' && b == b'.'));
            // Units stand in falling order, each at most once.
            let (_, scale) = units.find(|(name, _)| *name == unit)?;
            seconds += scale * plain.then(|| digits.parse::<f64>().ok())??;
            rest = &rest[end + 1..];
        }
    }
    Duration::try_from_secs_f64(seconds).ok()
}
