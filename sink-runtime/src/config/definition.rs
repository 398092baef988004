//! What keys there are: a configuration definition, after Kafka's `ConfigDef`.

use std::collections::BTreeMap;

use super::{
    nearest::nearest,
    problem::ConfigProblem,
    values::{ConfigValue, ConfigValues},
};

/// The keys of a sink, or of another part that is configured.
#[derive(Debug, Clone, Default)]
pub struct ConfigDef {
    keys: Vec<ConfigKey>,
    open: bool,
}

/// One key.
#[derive(Debug, Clone, Copy)]
pub struct ConfigKey {
    /// Its name.
    pub name: &'static str,
    /// What its values are.
    pub kind: ConfigType,
    /// What holds when it is not set.
    pub default: ConfigDefault,
    /// Which values are accepted.
    pub validator: Validator,
    /// What it is for, in one or two sentences.
    pub doc: &'static str,
}

/// What a key holds when it is not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigDefault {
    /// It must be set.
    Required,
    /// Nothing.
    Null,
    /// This, written as in a file.
    Text(&'static str),
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigType {
    /// `true` or `false`.
    Boolean,
    /// A whole number of 32 bits.
    Int,
    /// A whole number of 64 bits.
    Long,
    /// Text.
    String,
    /// Text between commas; blanks around an item, and empty items, are dropped.
    List,
    /// Text that is never shown.
    Password,
}

/// Which values of its type a key accepts.
#[derive(Debug, Clone, Copy)]
pub enum Validator {
    /// All.
    Any,
    /// Text or a list that is not empty.
    NonEmpty,
    /// Numbers from here on.
    AtLeast(i64),
    /// One of these, in any case of letters.
    OneOf(&'static [&'static str]),
    /// What this accepts. The error says what is wrong and what to do.
    Check(fn(&ConfigValue) -> Result<(), (String, String)>),
}

impl ConfigDef {
    /// Of these keys. A key that is not among them is an error.
    pub fn new(keys: impl IntoIterator<Item = ConfigKey>) -> Self {
        Self { keys: keys.into_iter().collect(), open: false }
    }

    /// Lets keys pass that it does not know; [`ConfigValues::others`] has them.
    pub fn open(self) -> Self {
        Self { open: true, ..self }
    }

    /// The keys, in their order.
    pub fn keys(&self) -> &[ConfigKey] {
        &self.keys
    }

    /// Reads all of `entries`.
    ///
    /// # Errors
    /// Every value that is missing or wrong, and every key that is not known.
    pub fn parse(&self, mut entries: BTreeMap<String, String>) -> Result<ConfigValues, Vec<ConfigProblem>> {
        let mut problems = Vec::new();
        let mut values = ConfigValues::default();
        for key in &self.keys {
            match key.parse(entries.remove(key.name).as_deref()) {
                Ok(value) => values.insert(key.name, value),
                Err(problem) => problems.push(problem),
            }
        }
        if self.open {
            values.set_others(entries);
        } else {
            problems
                .extend(entries.iter().map(|(key, value)| unknown(key, value, self.keys.iter().map(|key| key.name))));
        }
        if problems.is_empty() { Ok(values) } else { Err(problems) }
    }
}

impl ConfigKey {
    /// A key that need not be set.
    pub const fn optional(name: &'static str, kind: ConfigType, doc: &'static str) -> Self {
        Self { name, kind, default: ConfigDefault::Null, validator: Validator::Any, doc }
    }

    /// A key that must be set.
    pub const fn required(name: &'static str, kind: ConfigType, doc: &'static str) -> Self {
        Self { default: ConfigDefault::Required, ..Self::optional(name, kind, doc) }
    }

    /// A key with a default.
    pub const fn with_default(name: &'static str, kind: ConfigType, default: &'static str, doc: &'static str) -> Self {
        Self { default: ConfigDefault::Text(default), ..Self::optional(name, kind, doc) }
    }

    /// The same with a validator.
    pub const fn accepting(self, validator: Validator) -> Self {
        Self { validator, ..self }
    }

    /// The value that `text`, or its absence, means.
    pub(super) fn parse(&self, text: Option<&str>) -> Result<ConfigValue, ConfigProblem> {
        let text = match (text, self.default) {
            (Some(text), _) | (None, ConfigDefault::Text(text)) => text,
            (None, ConfigDefault::Null) => return Ok(ConfigValue::Null),
            (None, ConfigDefault::Required) => {
                return Err(ConfigProblem::new(self.name, None, "is required", format!("set it: {}", self.doc)));
            }
        };
        let problem = |(problem, remedy): (String, String)| {
            let shown = if self.kind == ConfigType::Password { super::problem::HIDDEN } else { text };
            ConfigProblem::new(self.name, Some(shown), problem, remedy)
        };
        let value = ConfigValue::parse(self.kind, text).map_err(problem)?;
        self.validator.check(&value).map_err(problem)?;
        Ok(value)
    }
}

impl Validator {
    fn check(&self, value: &ConfigValue) -> Result<(), (String, String)> {
        match (self, value) {
            (Self::NonEmpty, ConfigValue::String(text)) if text.trim().is_empty() => {
                Err(("is empty".to_owned(), "give it a value".to_owned()))
            }
            (Self::NonEmpty, ConfigValue::List(items)) if items.is_empty() => {
                Err(("is empty".to_owned(), "name at least one".to_owned()))
            }
            (Self::AtLeast(least), ConfigValue::Number(number)) if number < least => {
                Err(("is too small".to_owned(), format!("give a number of at least {least}")))
            }
            (Self::OneOf(choices), ConfigValue::String(text))
                if !choices.iter().any(|choice| choice.eq_ignore_ascii_case(text)) =>
            {
                Err(("is not known here".to_owned(), format!("choose one of {}", choices.join(", "))))
            }
            (Self::Check(check), value) => check(value),
            _ => Ok(()),
        }
    }
}

/// The problem with a key that nobody knows.
pub(super) fn unknown<'a>(key: &str, value: &str, known: impl IntoIterator<Item = &'a str>) -> ConfigProblem {
    let remedy = match nearest(key, known) {
        Some(near) => format!("did you mean {near}?"),
        None => "remove it".to_owned(),
    };
    ConfigProblem::new(key, Some(value), "is no known key", remedy)
}
