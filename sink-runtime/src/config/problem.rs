//! What is wrong with a configuration.

use std::collections::BTreeMap;
use std::fmt;

use ackflow_client::ClientError;

/// One thing that is wrong: the key, its value, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// The line of the file at which the entry of the key starts, from 1, where that is known: in .properties.
    pub line: Option<usize>,
    /// The key, as it stands in the file.
    pub key: String,
    /// Its value; `None` if the key is missing. A secret's value is never here.
    pub value: Option<String>,
    /// What is wrong.
    pub problem: String,
    /// What to do about it; empty if `problem` says it.
    pub remedy: String,
}

impl ConfigProblem {
    pub(crate) fn new(key: &str, value: Option<&str>, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        let value = value.map(|value| if is_secret(key) { HIDDEN.to_owned() } else { value.to_owned() });
        Self { line: None, key: key.to_owned(), value, problem: problem.into(), remedy: remedy.into() }
    }
}

impl ConfigProblem {
    /// What a client says about its settings, which stand in the file under `keys`.
    pub(crate) fn of_client(keys: &str, error: &ClientError) -> Self {
        let text = error.to_string();
        let text = text.strip_prefix("reading the configuration: ").unwrap_or(&text);
        Self { line: None, key: keys.to_owned(), value: None, problem: text.to_owned(), remedy: String::new() }
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        match &self.value {
            Some(value) => write!(f, "{} = {value}: {}", self.key, self.problem)?,
            None => write!(f, "{}: {}", self.key, self.problem)?,
        }
        match self.remedy.as_str() {
            "" => Ok(()),
            remedy => write!(f, "; {remedy}"),
        }
    }
}

/// Everything that is wrong with one configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// Where the configuration came from: a path, or what its caller called it.
    pub origin: String,
    /// At least one.
    pub problems: Vec<ConfigProblem>,
}

impl ConfigError {
    /// The same, which says where the keys stand.
    pub(crate) fn at_lines(mut self, lines: &BTreeMap<String, usize>) -> Self {
        for problem in &mut self.problems {
            problem.line = lines.get(&problem.key).copied();
        }
        self
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.problems[..] {
            [problem] => write!(f, "{}: {problem}", self.origin),
            problems => {
                write!(f, "{}: {} problems", self.origin, problems.len())?;
                problems.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
            }
        }
    }
}

/// What stands in the place of a secret.
pub(crate) const HIDDEN: &str = "[hidden]";

/// Whether the value of a key must not be shown, by its name. Keys of type password are secret whatever they are called.
pub(crate) fn is_secret(key: &str) -> bool {
    const ENDINGS: [&str; 6] = ["password", "secret", "token", "sasl.jaas.config", "ssl.key", "keystore.key"];
    let key = key.to_ascii_lowercase();
    ENDINGS.iter().any(|ending| key.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_quoted() {
        let key = "consumer.override.sasl.jaas.config";
        let problem =
            ConfigProblem::new(key, Some("PlainLoginModule password=hunter2"), "cannot be read", "write it anew");
        assert_eq!(problem.to_string(), format!("{key} = [hidden]: cannot be read; write it anew"));
        assert!(!format!("{problem:?}").contains("hunter2"));
    }

    #[test]
    fn one_problem_takes_one_line_and_several_a_line_each() {
        let problem = |key| ConfigProblem::new(key, None, "is required", "set it");
        let mut error = ConfigError { origin: "w.properties".to_owned(), problems: vec![problem("a")] };
        assert_eq!(error.to_string(), "w.properties: a: is required; set it");
        error.problems.push(problem("b"));
        assert_eq!(error.to_string(), "w.properties: 2 problems\n  a: is required; set it\n  b: is required; set it");
    }
}
