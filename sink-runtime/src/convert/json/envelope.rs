//! The object of schema and payload.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{not_json, one_line, payload::conform, schema::Schema};
use crate::{contract::Value, convert::DataError};

/// Reads envelopes, and keeps the schemas that it met: producers send the same few with every record.
#[derive(Debug)]
pub(super) struct Schemas {
    cache: Mutex<HashMap<Box<str>, Arc<Schema>>>,
    size: usize,
    replace_null: bool,
}

/// Exactly these two.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<'a> {
    #[serde(borrow)]
    schema: &'a RawValue,
    #[serde(borrow)]
    payload: &'a RawValue,
}

impl Schemas {
    pub(super) fn new(size: usize, replace_null: bool) -> Self {
        Self { cache: Mutex::default(), size, replace_null }
    }

    /// The payload of an envelope, as its schema says. With a null schema it is handed on as it is.
    pub(super) fn payload<'a>(&self, bytes: &'a [u8]) -> Result<Value<'a>, DataError> {
        let envelope: Envelope<'_> = serde_json::from_slice(bytes).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => DataError::Bytes(format!(
                "is no object of exactly schema and payload ({error}); for plain JSON set schemas.enable=false"
            )),
            _ => not_json(error),
        })?;
        if envelope.schema.get() == "null" {
            return Ok(one_line(envelope.payload.get()));
        }
        let schema = self.schema(envelope.schema.get())?;
        let payload = serde_json::from_str(envelope.payload.get()).map_err(not_json)?;
        match conform(&schema, payload, self.replace_null) {
            Ok(serde_json::Value::Null) => Ok(Value::Null),
            Ok(payload) => Ok(Value::Json(Cow::Owned(payload.to_string()))),
            Err(error) => Err(DataError::Bytes(format!("payload{error}"))),
        }
    }

    fn schema(&self, text: &str) -> Result<Arc<Schema>, DataError> {
        if let Some(schema) = self.cache().get(text) {
            return Ok(schema.clone());
        }
        let schema = Schema::parse(text).map_err(|error| DataError::Bytes(format!("schema: {error}")))?;
        let schema = Arc::new(schema);
        let mut cache = self.cache();
        if cache.len() >= self.size {
            // More schemas than were thought of: start over instead of growing.
            cache.clear();
        }
        if self.size > 0 {
            cache.insert(text.into(), schema.clone());
        }
        Ok(schema)
    }

    pub(super) fn cache(&self) -> std::sync::MutexGuard<'_, HashMap<Box<str>, Arc<Schema>>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
