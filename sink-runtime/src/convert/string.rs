//! Text.

use std::{collections::BTreeMap, sync::Arc};

use super::{Converter, DataError};
use crate::{
    config::{ConfigDef, ConfigKey, ConfigProblem, ConfigType, Validator},
    contract::Value,
};

/// `org.apache.kafka.connect.storage.StringConverter`: UTF-8 text. As in Kafka, malformed bytes become U+FFFD; only then is anything copied.
#[derive(Debug, Clone, Copy, Default)]
pub struct StringConverter;

impl Converter for StringConverter {
    fn convert<'a>(&self, _topic: &str, bytes: Option<&'a [u8]>) -> Result<Value<'a>, DataError> {
        Ok(bytes.map_or(Value::Null, |bytes| Value::String(String::from_utf8_lossy(bytes))))
    }

    fn is_infallible(&self) -> bool {
        true
    }
}

const KEYS: [ConfigKey; 1] =
    [ConfigKey::with_default("converter.encoding", ConfigType::String, "UTF-8", "the encoding of the text")
        .accepting(Validator::OneOf(&["UTF-8", "UTF8"]))];

pub(super) fn from_settings(settings: BTreeMap<String, String>) -> Result<Arc<dyn Converter>, Vec<ConfigProblem>> {
    ConfigDef::new(KEYS).parse(settings)?;
    Ok(Arc::new(StringConverter))
}
