//! JSON.

mod envelope;
mod payload;
mod schema;

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use serde_json::value::RawValue;

use self::envelope::Schemas;
use super::{Converter, DataError};
use crate::{
    config::{ConfigDef, ConfigKey, ConfigProblem, ConfigType, Validator},
    contract::Value,
};

/// `org.apache.kafka.connect.json.JsonConverter`: one JSON value, or with `schemas.enable` (the default, as in Connect) an object of
/// `schema` and `payload`, of which the sink gets the payload.
///
/// Stricter than Connect, which wraps or guesses: the text must be exactly one JSON value in UTF-8, and a payload must be what its schema
/// says. Numbers are handed on as they are written.
#[derive(Debug)]
pub struct JsonConverter {
    schemas: Option<Schemas>,
}

impl JsonConverter {
    /// For plain JSON, without schemas.
    pub fn schemaless() -> Self {
        Self { schemas: None }
    }
}

impl Converter for JsonConverter {
    fn convert<'a>(&self, _topic: &str, bytes: Option<&'a [u8]>) -> Result<Value<'a>, DataError> {
        match (&self.schemas, bytes) {
            (_, None) | (None, Some([])) => Ok(Value::Null),
            (None, Some(bytes)) => {
                let text: &RawValue = serde_json::from_slice(bytes).map_err(not_json)?;
                Ok(one_line(text.get()))
            }
            (Some(schemas), Some(bytes)) => schemas.payload(bytes),
        }
    }
}

/// A JSON text as a value; null becomes null. Line breaks lie between tokens only, so they can go.
fn one_line(text: &str) -> Value<'_> {
    match text {
        "null" => Value::Null,
        text if text.contains(['\n', '\r']) => Value::Json(Cow::Owned(text.replace(['\n', '\r'], ""))),
        text => Value::Json(Cow::Borrowed(text)),
    }
}

fn not_json(error: serde_json::Error) -> DataError {
    DataError::Bytes(format!("is no JSON: {error}"))
}

const KEYS: [ConfigKey; 4] = [
    ConfigKey::with_default(
        "schemas.enable",
        ConfigType::Boolean,
        "true",
        "whether each record is an object of schema and payload",
    ),
    ConfigKey::with_default("schemas.cache.size", ConfigType::Int, "1000", "how many schemas are kept")
        .accepting(Validator::AtLeast(0)),
    ConfigKey::with_default(
        "replace.null.with.default",
        ConfigType::Boolean,
        "true",
        "whether null becomes the default of its schema",
    ),
    ConfigKey::with_default("decimal.format", ConfigType::String, "BASE64", "matters to sources alone")
        .accepting(Validator::OneOf(&["BASE64", "NUMERIC"])),
];

pub(super) fn from_settings(settings: BTreeMap<String, String>) -> Result<Arc<dyn Converter>, Vec<ConfigProblem>> {
    let values = ConfigDef::new(KEYS).parse(settings)?;
    let cache = values.number("schemas.cache.size").and_then(|number| usize::try_from(number).ok()).unwrap_or_default();
    let schemas =
        values.boolean("schemas.enable").then(|| Schemas::new(cache, values.boolean("replace.null.with.default")));
    Ok(Arc::new(JsonConverter { schemas }))
}

#[cfg(test)]
mod tests;
