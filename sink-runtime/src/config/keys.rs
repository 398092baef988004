//! The keys of one file as they are taken one by one; what is left at the end is unknown.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    ConfigError, ConfigKey, ConfigProblem,
    definition::unknown,
    nearest::nearest,
    values::{ConfigValue, ConfigValues},
};
use crate::convert::{self, Converter};

/// What is left of a file, and what was wrong so far.
pub(super) struct Keys {
    origin: String,
    entries: BTreeMap<String, String>,
    pub(super) problems: Vec<ConfigProblem>,
    pub(super) warnings: Vec<String>,
}

impl Keys {
    pub(super) fn new(origin: &str, entries: BTreeMap<String, String>) -> Self {
        Self { origin: origin.to_owned(), entries, problems: Vec::new(), warnings: Vec::new() }
    }

    /// Takes the keys of a definition. One that is wrong is noted and is null among the values.
    pub(super) fn values(&mut self, definition: &[ConfigKey]) -> ConfigValues {
        let mut values = ConfigValues::default();
        for key in definition {
            let value = key.parse(self.entries.remove(key.name).as_deref()).unwrap_or_else(|problem| {
                self.problems.push(problem);
                ConfigValue::Null
            });
            values.insert(key.name, value);
        }
        values
    }

    /// Takes one key as it stands.
    pub(super) fn take(&mut self, key: &str) -> Option<String> {
        self.entries.remove(key)
    }

    /// Takes every key that starts with `prefix`, without it.
    pub(super) fn take_prefix(&mut self, prefix: &str) -> BTreeMap<String, String> {
        let taken = self.entries.extract_if(.., |key, _| key.starts_with(prefix));
        taken.map(|(key, value)| (key[prefix.len()..].to_owned(), value)).collect()
    }

    /// Takes every key that `list` has, whole or as a prefix with a dot at its end.
    pub(super) fn take_listed(&mut self, list: &[&str]) -> BTreeMap<String, String> {
        let listed =
            |key: &str| list.iter().any(|&entry| key == entry || (entry.ends_with('.') && key.starts_with(entry)));
        self.entries.extract_if(.., |key, _| listed(key)).collect()
    }

    /// Takes every key that `list` has and says so in one warning.
    pub(super) fn warn_about(&mut self, list: &[&str], what: &str) {
        let entries = self.take_listed(list);
        self.warn(&entries, what);
    }

    /// One warning for all of these keys.
    pub(super) fn warn(&mut self, entries: &BTreeMap<String, String>, what: &str) {
        if !entries.is_empty() {
            let names: Vec<&str> = entries.keys().map(String::as_str).collect();
            self.warnings.push(format!("{what}: {}", names.join(", ")));
        }
    }

    /// Refuses `${provider:key}` in any value: it would reach the sink as it stands.
    pub(super) fn refuse_placeholders(&mut self) {
        let problem = |(key, value): (&String, &String)| {
            has_placeholder(value).then(|| {
                ConfigProblem::new(key, Some(value), "config providers are not there yet", "write the value itself")
            })
        };
        self.problems.extend(self.entries.iter().filter_map(problem));
    }

    /// Takes `key`, which names a converter, and what configures it.
    pub(super) fn converter(&mut self, key: &str) -> Option<Arc<dyn Converter>> {
        let class = self.take(key);
        let settings = self.take_prefix(&format!("{key}."));
        let Some(class) = class else {
            for (setting, value) in &settings {
                self.problems.push(ConfigProblem::new(
                    &format!("{key}.{setting}"),
                    Some(value),
                    format!("has no effect, for {key} is not set beside it"),
                    format!("set {key} here, too, or remove it"),
                ));
            }
            return None;
        };
        convert::from_config(key, class.trim(), settings).map_err(|problems| self.problems.extend(problems)).ok()
    }

    /// Notes every key that is left as unknown if it lies in a namespace of ours (its first word is that of a known key, or ours by
    /// name) or looks like a known key misspelt. Gives the others.
    pub(super) fn rest(&mut self, known: &[&str]) -> BTreeMap<String, String> {
        let word = |key: &str| key.split('.').next().unwrap_or_default().to_owned();
        let ours = |key: &str| {
            word(key) == "ackflow"
                || known.iter().any(|known| word(known) == word(key))
                || nearest(key, known.iter().copied()).is_some()
        };
        let unknown_keys: Vec<_> = self.entries.extract_if(.., |key, _| ours(key)).collect();
        self.problems.extend(unknown_keys.iter().map(|(key, value)| unknown(key, value, known.iter().copied())));
        std::mem::take(&mut self.entries)
    }

    /// Notes every key below `prefix` as one that has no place in this file: `known` ones belong `elsewhere`.
    pub(super) fn misplaced(&mut self, prefix: &str, known: &[ConfigKey], elsewhere: &str) {
        let entries: Vec<_> = self.entries.extract_if(.., |key, _| key.starts_with(prefix)).collect();
        self.problems.extend(entries.iter().map(|(key, value)| {
            if known.iter().any(|known| known.name == key) {
                let remedy = format!("move it to {elsewhere}");
                return ConfigProblem::new(key, Some(value), "is not read from this file", remedy);
            }
            unknown(key, value, known.iter().map(|known| known.name))
        }));
    }

    /// What `build` makes, unless something was wrong.
    pub(super) fn finish<T>(self, build: impl FnOnce(Vec<String>) -> T) -> Result<T, ConfigError> {
        if self.problems.is_empty() {
            Ok(build(self.warnings))
        } else {
            Err(ConfigError { origin: self.origin, problems: self.problems })
        }
    }
}

fn has_placeholder(value: &str) -> bool {
    value.split("${").skip(1).any(|rest| {
        let name = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-')).unwrap_or(rest.len());
        name > 0 && rest[name..].starts_with(':') && rest.contains('}')
    })
}
