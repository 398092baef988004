//! A record as peers print it.

use anyhow::{Context, Result};
use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};

/// What a record says, its place aside. Bytes are base64, as in the lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) timestamp: i64,
    pub(super) timestamp_type: String,
    pub(super) key: Option<String>,
    pub(super) value: Option<String>,
    pub(super) headers: Vec<(String, Option<String>)>,
}

/// Partition and offset.
pub(super) type Place = (i32, i64);

impl Shown {
    /// A line: the topic, the place in it, and the record.
    pub(super) fn parse(line: &str) -> Result<(String, Place, Self)> {
        let line: Value = serde_json::from_str(line).with_context(|| format!("no JSON: {}", short(line)))?;
        let parse = || -> Option<(String, Place, Self)> {
            let pair = |pair: &Value| Some((pair[0].as_str()?.to_owned(), text(&pair[1])?));
            let shown = Self {
                timestamp: line["timestamp"].as_i64()?,
                timestamp_type: line["timestamp_type"].as_str()?.to_owned(),
                key: text(&line["key"])?,
                value: text(&line["value"])?,
                headers: line["headers"].as_array()?.iter().map(pair).collect::<Option<_>>()?,
            };
            let place = (i32::try_from(line["partition"].as_i64()?).ok()?, line["offset"].as_i64()?);
            Some((line["topic"].as_str()?.to_owned(), place, shown))
        };
        parse().with_context(|| format!("no record: {}", short(&line.to_string())))
    }

    /// The first field that differs, and how; `None` where all are equal.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        let says = |name: &str, a: &Value, b: &Value| {
            format!("{name} is {}, not {}", short(&b.to_string()), short(&a.to_string()))
        };
        let (a, b) = (self.to_json(), other.to_json());
        ["timestamp", "timestamp_type", "key", "value", "headers"]
            .into_iter()
            .find(|name| a[*name] != b[*name])
            .map(|name| says(name, &a[name], &b[name]))
    }

    fn to_json(&self) -> Value {
        json!({
            "timestamp": self.timestamp,
            "timestamp_type": self.timestamp_type,
            "key": self.key,
            "value": self.value,
            "headers": self.headers,
        })
    }
}

/// Text or null; `None` where it is neither.
fn text(value: &Value) -> Option<Option<String>> {
    match value {
        Value::Null => Some(None),
        Value::String(text) => Some(Some(text.clone())),
        _ => None,
    }
}

pub(super) fn base64(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

/// The beginning of what may be a very long line.
fn short(text: &str) -> String {
    const LONGEST: usize = 120;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}.. ({} bytes)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"topic":"t","partition":1,"offset":7,"timestamp":5,"timestamp_type":"CreateTime","key":null,"value":"","headers":[["h",null],["h","AA=="]]}"#;

    #[test]
    fn null_and_empty_are_different() {
        let (topic, place, shown) = Shown::parse(LINE).unwrap();
        assert_eq!((topic.as_str(), place), ("t", (1, 7)));
        assert_eq!((&shown.key, shown.value.as_deref()), (&None, Some("")));
        assert_eq!(shown.headers, [("h".to_owned(), None), ("h".to_owned(), Some("AA==".to_owned()))]);
        let other = Shown { key: Some(String::new()), ..shown.clone() };
        assert_eq!(shown.difference(&other).unwrap(), "key is \"\", not null");
        assert_eq!(shown.difference(&shown), None);
    }

    #[test]
    fn what_lacks_a_field_is_no_record() {
        for field in ["topic", "partition", "offset", "timestamp", "timestamp_type", "value", "headers"] {
            assert!(Shown::parse(&LINE.replace(&format!("\"{field}\""), "\"x\"")).is_err() || field == "value");
        }
        assert!(Shown::parse("{}").is_err());
    }
}
