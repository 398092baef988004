//! The two forms of a connector's file.

use std::{collections::BTreeMap, path::Path};

use ackflow_client::config::{LONGEST_SETTINGS, read_text};
use serde_json::{Map, Value};

use super::{ConfigError, ConfigProblem, ConnectorConfig, parse_properties};

type Entries = BTreeMap<String, String>;

/// Reads a file of either form.
pub(super) fn read(path: &Path) -> Result<ConnectorConfig, ConfigError> {
    let origin = path.display().to_string();
    let text = read_text(path, LONGEST_SETTINGS).map_err(|error| {
        one(&origin, ConfigProblem::new("file", Some(&origin), format!("cannot be read: {error}"), "check the path"))
    })?;
    let json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    match json || text.trim_start().starts_with('{') {
        true => ConnectorConfig::from_json(&text, &origin),
        false => ConnectorConfig::from_properties(&text, &origin),
    }
}

pub(super) fn from_properties(text: &str, origin: &str) -> Result<Entries, ConfigError> {
    parse_properties(text).map_err(|error| {
        one(origin, ConfigProblem::new(&format!("line {}", error.line), None, error.problem, "correct the line"))
    })
}

pub(super) fn from_json(text: &str, origin: &str) -> Result<Entries, ConfigError> {
    let object: Map<String, Value> = serde_json::from_str(text).map_err(|error| {
        let remedy = "write an object of keys and values, or {\"name\": .., \"config\": {..}}";
        one(origin, ConfigProblem::new("JSON", None, format!("cannot be read: {error}"), remedy))
    })?;
    let mut problems = Vec::new();
    let entries = match object.get("config") {
        Some(Value::Object(config)) => {
            let mut entries = flat(config, &mut problems);
            wrapper(&object, &mut entries, &mut problems);
            entries
        }
        _ => flat(&object, &mut problems),
    };
    if problems.is_empty() { Ok(entries) } else { Err(ConfigError { origin: origin.to_owned(), problems }) }
}

/// Reads what stands around `config`, as in the body of a POST to Connect.
fn wrapper(object: &Map<String, Value>, entries: &mut Entries, problems: &mut Vec<ConfigProblem>) {
    for (key, value) in object {
        match (key.as_str(), value) {
            ("config", _) => {}
            ("name", Value::String(name)) => match entries.get("name") {
                Some(inner) if inner != name => problems.push(ConfigProblem::new(
                    "name",
                    Some(name),
                    format!("is another name than that in config, {inner}"),
                    "give one name",
                )),
                _ => drop(entries.insert("name".to_owned(), name.clone())),
            },
            ("initial_state", Value::String(state)) if state.eq_ignore_ascii_case("RUNNING") => {}
            ("initial_state", state) => problems.push(ConfigProblem::new(
                key,
                Some(&state.to_string()),
                "only RUNNING is there yet",
                "remove it",
            )),
            (_, value) => problems.push(ConfigProblem::new(
                key,
                Some(&value.to_string()),
                "does not belong beside config",
                "move it into config, or remove it",
            )),
        }
    }
}

fn flat(object: &Map<String, Value>, problems: &mut Vec<ConfigProblem>) -> Entries {
    let mut entries = Entries::new();
    for (key, value) in object {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(value) => value.to_string(),
            // As in Connect, null is no value.
            Value::Null => continue,
            Value::Array(_) | Value::Object(_) => {
                let problem = "is not a string, a number or true or false";
                problems.push(ConfigProblem::new(key, None, problem, "write lists as one string with commas"));
                continue;
            }
        };
        entries.insert(key.clone(), text);
    }
    entries
}

fn one(origin: &str, problem: ConfigProblem) -> ConfigError {
    ConfigError { origin: origin.to_owned(), problems: vec![problem] }
}
