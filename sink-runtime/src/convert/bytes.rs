//! Bytes as they are.

use std::{collections::BTreeMap, sync::Arc};

use super::{Converter, DataError};
use crate::{
    config::{ConfigDef, ConfigProblem},
    contract::Value,
};

/// `org.apache.kafka.connect.converters.ByteArrayConverter`: the bytes themselves.
#[derive(Debug, Clone, Copy, Default)]
pub struct ByteArrayConverter;

impl Converter for ByteArrayConverter {
    fn convert<'a>(&self, _topic: &str, bytes: Option<&'a [u8]>) -> Result<Value<'a>, DataError> {
        Ok(bytes.map_or(Value::Null, Value::Bytes))
    }

    fn is_infallible(&self) -> bool {
        true
    }
}

pub(super) fn from_settings(settings: BTreeMap<String, String>) -> Result<Arc<dyn Converter>, Vec<ConfigProblem>> {
    ConfigDef::default().parse(settings)?;
    Ok(Arc::new(ByteArrayConverter))
}
