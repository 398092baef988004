//! Reading settings from properties, with errors that name the key, the value and the remedy.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

pub use ackflow_protocol::nearest::nearest;

use crate::error::ClientError;

/// Properties on their way into a configuration: it remembers which keys were asked for, so that the rest can be refused.
#[derive(Debug)]
pub struct Properties<'a> {
    values: &'a BTreeMap<String, String>,
    known: BTreeSet<&'static str>,
}

impl<'a> Properties<'a> {
    /// Of these keys and values.
    pub fn new(values: &'a BTreeMap<String, String>) -> Self {
        Self { values, known: BTreeSet::new() }
    }

    /// The value of `key`, trimmed as Kafka trims it.
    pub fn get(&mut self, key: &'static str) -> Option<&'a str> {
        self.known.insert(key);
        self.values.get(key).map(|value| value.trim())
    }

    /// Takes `key` where its value is one of `own`, names of what this client does anyway. Any other value is left for [`Self::finish`] to judge.
    #[cfg(feature = "oidc")]
    pub(super) fn take_own(&mut self, key: &'static str, own: &[&str]) {
        if self.values.get(key).is_some_and(|value| own.contains(&value.trim())) {
            self.known.insert(key);
        }
    }

    /// The value of a key that has no default.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) where it is missing or empty.
    pub fn required(&mut self, key: &'static str, remedy: &'static str) -> Result<&'a str, ClientError> {
        match self.get(key) {
            Some(value) if !value.is_empty() => Ok(value),
            _ => Err(self.missing(key, remedy)),
        }
    }

    /// `key` has no value, which it needs. Where a key stands there that nobody has asked for and that comes near to it, that is what is wrong: the other
    /// keys are not looked at before this one is put right.
    pub(super) fn missing(&self, key: &'static str, remedy: &'static str) -> ClientError {
        self.required_for(key, "a value is required", remedy)
    }

    /// The same, with what is said where no key comes near.
    pub(super) fn required_for(&self, key: &'static str, reason: &str, remedy: &'static str) -> ClientError {
        let unasked = self.values.keys().filter(|written| !self.known.contains(written.as_str()));
        let near = |written: &&String| nearest(written, self.known.iter().copied().chain([key])) == Some(key);
        match unasked.filter(|_| !self.values.contains_key(key)).find(near) {
            Some(written) => self.unknown(written, Some(key)),
            None => ClientError::config(key, "", reason, remedy),
        }
    }

    fn unknown(&self, key: &str, meant: Option<&str>) -> ClientError {
        let remedy = meant.map_or_else(|| "remove it".to_owned(), |meant| format!("did you mean {meant}?"));
        // The value may be a secret under a misspelt key.
        let shown = if self.values.get(key).is_none_or(String::is_empty) { "" } else { "..." };
        ClientError::config(key, shown, "no such setting", remedy)
    }

    /// Sets `field` to a number of `key`, if it is there.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) where it is no number or outside `range`.
    pub fn number<T>(&mut self, key: &'static str, range: RangeInclusive<T>, field: &mut T) -> Result<(), ClientError>
    where
        T: FromStr + PartialOrd + Display,
    {
        let Some(value) = self.get(key) else {
            return Ok(());
        };
        match value.parse() {
            Ok(number) if range.contains(&number) => {
                *field = number;
                Ok(())
            }
            _ => Err(outside(key, value, &range)),
        }
    }

    /// Sets `field` to a time of `key` in milliseconds, if it is there.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) where it is no number or outside `range`.
    pub fn millis(
        &mut self,
        key: &'static str,
        range: RangeInclusive<u64>,
        field: &mut Duration,
    ) -> Result<(), ClientError> {
        let mut millis = 0;
        if self.get(key).is_some() {
            self.number(key, range, &mut millis)?;
            *field = Duration::from_millis(millis);
        }
        Ok(())
    }

    /// Sets `field` to `true` or `false`, if `key` is there.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) where it is neither.
    pub fn boolean(&mut self, key: &'static str, field: &mut bool) -> Result<(), ClientError> {
        self.one_of(key, &[("true", true), ("false", false)], field)
    }

    /// Sets `field` to what the value of `key` stands for, if it is there. Values are matched without regard to case.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) where the value is none of `values`.
    pub fn one_of<T: Clone>(
        &mut self,
        key: &'static str,
        values: &[(&str, T)],
        field: &mut T,
    ) -> Result<(), ClientError> {
        let Some(value) = self.get(key) else {
            return Ok(());
        };
        match values.iter().find(|(name, _)| name.eq_ignore_ascii_case(value)) {
            Some((_, meant)) => {
                *field = meant.clone();
                Ok(())
            }
            None => {
                let names: Vec<_> = values.iter().map(|(name, _)| *name).collect();
                Err(ClientError::config(
                    key,
                    value,
                    "not a value of this setting",
                    format!("use {}", names.join(" or ")),
                ))
            }
        }
    }

    /// Ends the reading. Keys of Kafka's that have no meaning here (`ignored`) are logged once; a key that ends in a dot
    /// stands for all that begin with it.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) for a key that nobody knows, with the nearest one that is known.
    pub fn finish(self, ignored: &[&str]) -> Result<(), ClientError> {
        let is_family = |key: &str| key.ends_with('.');
        let is_ignored = |key: &str| ignored.iter().any(|i| if is_family(i) { key.starts_with(i) } else { key == *i });
        for key in self.values.keys().filter(|key| !self.known.contains(key.as_str())) {
            if !is_ignored(key) {
                let suggested = self.known.iter().copied().chain(ignored.iter().copied().filter(|key| !is_family(key)));
                return Err(self.unknown(key, nearest(key, suggested)));
            }
            tracing::warn!("setting {key} has no effect in this client");
        }
        Ok(())
    }
}

/// The error of a value that is no number of these.
pub(crate) fn outside<T: Display>(key: &str, value: &str, range: &RangeInclusive<T>) -> ClientError {
    let remedy = format!("give a whole number from {} to {}", range.start(), range.end());
    ClientError::config(key, value, "not a number that is allowed here", remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn an_unknown_key_is_refused_with_the_nearest_one_and_without_its_value() {
        let values = map(&[("retry.backof.ms", "secret")]);
        let mut properties = Properties::new(&values);
        properties.get("retry.backoff.ms");
        properties.get("retry.backoff.max.ms");
        let error = properties.finish(&[]).unwrap_err().to_string();
        assert!(error.contains("retry.backof.ms") && error.contains("did you mean retry.backoff.ms?"), "{error}");
        assert!(!error.contains("secret"));
    }

    #[test]
    fn ignored_keys_and_prefixes_are_let_through() {
        let values = map(&[("metric.reporters", "x"), ("ssl.endpoint.identification.algorithm", "")]);
        assert!(Properties::new(&values).finish(&["metric.reporters", "ssl."]).is_ok());
        assert!(Properties::new(&values).finish(&["metric.reporters"]).is_err());
    }

    #[test]
    fn values_out_of_range_name_key_value_and_range() {
        let values = map(&[("linger.ms", "-1"), ("acks", "2")]);
        let mut properties = Properties::new(&values);
        let mut linger = Duration::ZERO;
        let error = properties.millis("linger.ms", 0..=1000, &mut linger).unwrap_err().to_string();
        assert!(error.contains("linger.ms=-1") && error.contains("0 to 1000"), "{error}");
        let error = properties.one_of("acks", &[("all", -1), ("1", 1)], &mut 0).unwrap_err().to_string();
        assert!(error.contains("acks=2") && error.contains("use all or 1"), "{error}");
    }
}
