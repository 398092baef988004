//! Values of keys, read by their definition.

use std::{collections::BTreeMap, fmt, time::Duration};

use super::{definition::ConfigType, problem::HIDDEN};

/// One value.
#[derive(Clone, PartialEq, Eq)]
pub enum ConfigValue {
    /// Not set, and without a default.
    Null,
    /// From [`ConfigType::Boolean`].
    Boolean(bool),
    /// From [`ConfigType::Int`] and [`ConfigType::Long`].
    Number(i64),
    /// From [`ConfigType::String`].
    String(String),
    /// From [`ConfigType::List`].
    List(Vec<String>),
    /// From [`ConfigType::Password`]. `Debug` hides it.
    Password(String),
}

impl fmt::Debug for ConfigValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Boolean(value) => value.fmt(f),
            Self::Number(value) => value.fmt(f),
            Self::String(value) => value.fmt(f),
            Self::List(items) => items.fmt(f),
            Self::Password(_) => f.write_str(HIDDEN),
        }
    }
}

impl ConfigValue {
    /// Reads a value of this type. The error says what is wrong and what to do.
    pub(super) fn parse(kind: ConfigType, text: &str) -> Result<Self, (String, String)> {
        let number = |ok: fn(i64) -> bool, range: &str| match text.trim().parse() {
            Ok(number) if ok(number) => Ok(Self::Number(number)),
            _ => Err(("is no whole number of the right size".to_owned(), format!("give a number {range}"))),
        };
        match kind {
            ConfigType::Boolean => match text.trim() {
                text if text.eq_ignore_ascii_case("true") => Ok(Self::Boolean(true)),
                text if text.eq_ignore_ascii_case("false") => Ok(Self::Boolean(false)),
                _ => Err(("is neither true nor false".to_owned(), "write true or false".to_owned())),
            },
            ConfigType::Int => number(|number| i32::try_from(number).is_ok(), "from -2147483648 to 2147483647"),
            ConfigType::Long => number(|_| true, "of 64 bits"),
            ConfigType::String => Ok(Self::String(text.trim().to_owned())),
            ConfigType::List => {
                let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                Ok(Self::List(items.map(str::to_owned).collect()))
            }
            ConfigType::Password => Ok(Self::Password(text.to_owned())),
        }
    }
}

/// The values of a [`ConfigDef`](super::ConfigDef).
///
/// The getters take a key of the definition and the type that it has there. They panic on another: it is a mistake in the code, not in a
/// configuration.
#[derive(Debug, Clone, Default)]
pub struct ConfigValues {
    values: BTreeMap<&'static str, ConfigValue>,
    others: BTreeMap<String, String>,
}

impl ConfigValues {
    pub(super) fn insert(&mut self, key: &'static str, value: ConfigValue) {
        self.values.insert(key, value);
    }

    pub(super) fn set_others(&mut self, others: BTreeMap<String, String>) {
        self.others = others;
    }

    /// Keys that the definition does not know, if it is [open](super::ConfigDef::open).
    pub fn others(&self) -> &BTreeMap<String, String> {
        &self.others
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> &ConfigValue {
        self.values.get(key).unwrap_or_else(|| panic!("{key} is not in the definition"))
    }

    /// Text or a password, if it is set.
    pub fn string(&self, key: &str) -> Option<&str> {
        match self.get(key) {
            ConfigValue::String(text) | ConfigValue::Password(text) => Some(text),
            ConfigValue::Null => None,
            other => panic!("{key} is not text but {other:?}"),
        }
    }

    /// A number, if it is set.
    pub fn number(&self, key: &str) -> Option<i64> {
        match self.get(key) {
            ConfigValue::Number(number) => Some(*number),
            ConfigValue::Null => None,
            other => panic!("{key} is no number but {other:?}"),
        }
    }

    /// A time in ms, if it is set. Below zero, which stands for no limit, it is `None`.
    pub fn millis(&self, key: &str) -> Option<Duration> {
        self.number(key).and_then(|number| u64::try_from(number).ok()).map(Duration::from_millis)
    }

    /// Whether a switch is on. One that is not set is off.
    pub fn boolean(&self, key: &str) -> bool {
        match self.get(key) {
            ConfigValue::Boolean(value) => *value,
            ConfigValue::Null => false,
            other => panic!("{key} is no switch but {other:?}"),
        }
    }

    /// The items of a list; none if it is not set.
    pub fn list(&self, key: &str) -> &[String] {
        match self.get(key) {
            ConfigValue::List(items) => items,
            ConfigValue::Null => &[],
            other => panic!("{key} is no list but {other:?}"),
        }
    }
}
