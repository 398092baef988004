//! Converters: from the bytes of a topic to keys and values.
//!
//! They are called after Kafka Connect's, whose Java class names work too. A converter lends the record's bytes wherever it can; only what it
//! has to change is copied.

mod bytes;
mod json;
mod string;

use std::{collections::BTreeMap, fmt::Debug, sync::Arc};

use ackflow_client::share::{ReadError, ShareRecord};

use crate::{config::ConfigProblem, contract::Value};

pub use bytes::ByteArrayConverter;
pub use json::JsonConverter;
pub use string::StringConverter;

/// Makes a key or a value of the bytes in the topic.
///
/// The answer depends on its arguments alone: each record is converted once to see whether it can be, and again as the sink reads it.
pub trait Converter: Debug + Send + Sync {
    /// Converts. Null stays null.
    ///
    /// # Errors
    /// What is wrong with the bytes. `errors.tolerance` decides what becomes of the record.
    fn convert<'a>(&self, topic: &str, bytes: Option<&'a [u8]>) -> Result<Value<'a>, DataError>;

    /// Whether it accepts any bytes. Then no record is converted to check it.
    fn is_infallible(&self) -> bool {
        false
    }
}

/// Why no record can be made of the bytes in a topic.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DataError {
    /// The record cannot be read: its batch is malformed from there on.
    #[error("the record cannot be read: {0}")]
    Record(ReadError),
    /// A converter refused the key.
    #[error("key: {0}")]
    Key(Box<DataError>),
    /// A converter refused the value.
    #[error("value: {0}")]
    Value(Box<DataError>),
    /// What a converter says about the bytes.
    #[error("{0}")]
    Bytes(String),
}

/// The converters of one connector.
#[derive(Debug)]
pub(crate) struct Converters {
    key: Arc<dyn Converter>,
    value: Arc<dyn Converter>,
}

impl Converters {
    pub(crate) fn new(key: Arc<dyn Converter>, value: Arc<dyn Converter>) -> Self {
        Self { key, value }
    }

    /// Whether [`convert`](Self::convert) will find a key and a value.
    pub(crate) fn check(&self, record: &ShareRecord<'_>) -> Result<(), DataError> {
        if !self.key.is_infallible() {
            self.key.convert(record.topic, record.key).map_err(|error| DataError::Key(Box::new(error)))?;
        }
        if !self.value.is_infallible() {
            self.value.convert(record.topic, record.value).map_err(|error| DataError::Value(Box::new(error)))?;
        }
        Ok(())
    }

    /// Key and value of a record that was [checked](Self::check).
    ///
    /// # Panics
    /// If a converter changed its mind, which its contract forbids. The task that put the record fails then; passing the record over would
    /// lose it.
    pub(crate) fn convert<'a>(&self, record: &ShareRecord<'a>) -> (Value<'a>, Value<'a>) {
        const CHECKED: &str = "the converter accepted these bytes before the put";
        (
            self.key.convert(record.topic, record.key).expect(CHECKED),
            self.value.convert(record.topic, record.value).expect(CHECKED),
        )
    }
}

/// The converter that `class` names, with the keys below `key`, which is `key.converter` or `value.converter`.
pub(crate) fn from_config(
    key: &str,
    class: &str,
    settings: BTreeMap<String, String>,
) -> Result<Arc<dyn Converter>, Vec<ConfigProblem>> {
    let built = match class.rsplit('.').next().unwrap_or(class).to_ascii_lowercase().as_str() {
        "bytearrayconverter" | "bytes" => bytes::from_settings(settings),
        "stringconverter" | "string" => string::from_settings(settings),
        "jsonconverter" | "json" => json::from_settings(settings),
        _ => {
            let remedy =
                "choose ByteArrayConverter, StringConverter or JsonConverter; their Java class names work, too";
            return Err(vec![ConfigProblem::new(key, Some(class), "is no converter of this build", remedy)]);
        }
    };
    built.map_err(|problems| {
        let below = |problem: ConfigProblem| ConfigProblem { key: format!("{key}.{}", problem.key), ..problem };
        problems.into_iter().map(below).collect()
    })
}
