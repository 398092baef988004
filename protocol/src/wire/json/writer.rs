//! Writes a message as JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Map, Value};

use crate::wire::{Element, Encode, EncodeError, Encoder, Message, Uuid};

/// How much memory the JSON of a message may take, about: small elements take a hundred times as much as on the wire.
const MOST_MEMORY: usize = 256 << 20;

/// About what a field of an object takes beside its name and its text.
const A_FIELD: usize = 128;

/// Builds the JSON of a message, which may take about 256 MiB.
#[derive(Debug)]
pub struct JsonWriter {
    version: i16,
    null_allowed: bool,
    open: Container,
    /// What it may still take.
    memory: usize,
    error: Option<EncodeError>,
}

/// What the next value goes into.
#[derive(Debug)]
enum Container {
    Object(Map<String, Value>),
    Array(Vec<Value>),
}

impl JsonWriter {
    /// Writes `message` in `version`.
    ///
    /// # Errors
    /// [`EncodeError`] where a field holds what this version cannot say, the message has no such version, or its JSON takes too much memory.
    pub fn to_json<M: Message>(message: &M, version: i16) -> Result<Value, EncodeError> {
        M::check_version(version)?;
        Self::encode(message, version).map_err(|e| e.in_message(M::NAME, version))
    }

    /// Writes anything that has fields, a header for example.
    ///
    /// # Errors
    /// As for [`JsonWriter::to_json`].
    pub fn encode<T: Encode>(value: &T, version: i16) -> Result<Value, EncodeError> {
        Self::encode_within(value, version, MOST_MEMORY)
    }

    /// As [`JsonWriter::encode`], with so much memory.
    fn encode_within<T: Encode>(value: &T, version: i16, memory: usize) -> Result<Value, EncodeError> {
        let open = Container::Object(Map::new());
        let mut w = Self { version, null_allowed: true, open, memory, error: None };
        value.encode(&mut w);
        match (w.error, w.open) {
            (Some(error), _) => Err(error),
            (None, Container::Object(fields)) => Ok(Value::Object(fields)),
            (None, Container::Array(elements)) => Ok(Value::Array(elements)),
        }
    }

    fn emit(&mut self, name: &'static str, value: impl Into<Value>) {
        let value = value.into();
        let taken = value.as_str().map_or(0, str::len)
            + if name.is_empty() { size_of::<Value>() } else { A_FIELD + name.len() };
        match self.memory.checked_sub(taken) {
            Some(left) => self.memory = left,
            // What comes after it is not kept either.
            None => {
                self.memory = 0;
                return self.fail(EncodeError::too_much_json(name, MOST_MEMORY));
            }
        }
        match &mut self.open {
            Container::Object(fields) => {
                fields.insert(name.to_owned(), value);
            }
            Container::Array(elements) => elements.push(value),
        }
    }

    fn emit_nullable(&mut self, name: &'static str, value: Option<impl Into<Value>>) {
        if value.is_none() && !self.null_allowed {
            self.fail(EncodeError::null(name));
        }
        self.null_allowed = true;
        self.emit(name, value.map_or(Value::Null, Into::into));
    }

    /// Collects what `fields` writes into a container of its own.
    fn nested(&mut self, container: Container, fields: impl FnOnce(&mut Self)) -> Value {
        let outer = std::mem::replace(&mut self.open, container);
        fields(self);
        match std::mem::replace(&mut self.open, outer) {
            Container::Object(fields) => Value::Object(fields),
            Container::Array(elements) => Value::Array(elements),
        }
    }
}

impl Encoder for JsonWriter {
    fn version(&self) -> i16 {
        self.version
    }

    fn fail(&mut self, error: EncodeError) {
        self.error.get_or_insert(error);
    }

    fn allow_null(&mut self, allowed: bool) {
        self.null_allowed = allowed;
    }

    fn bool(&mut self, name: &'static str, value: bool) {
        self.emit(name, value);
    }

    fn i8(&mut self, name: &'static str, value: i8) {
        self.emit(name, value);
    }

    fn i16(&mut self, name: &'static str, value: i16) {
        self.emit(name, value);
    }

    fn u16(&mut self, name: &'static str, value: u16) {
        self.emit(name, value);
    }

    fn i32(&mut self, name: &'static str, value: i32) {
        self.emit(name, value);
    }

    fn u32(&mut self, name: &'static str, value: u32) {
        self.emit(name, value);
    }

    fn i64(&mut self, name: &'static str, value: i64) {
        self.emit(name, value);
    }

    fn f64(&mut self, name: &'static str, value: f64) {
        self.emit(name, value);
    }

    fn uuid(&mut self, name: &'static str, value: Uuid) {
        self.emit(name, value.to_string());
    }

    fn string(&mut self, name: &'static str, value: &str) {
        self.emit(name, value);
    }

    fn nullable_string(&mut self, name: &'static str, value: Option<&str>) {
        self.emit_nullable(name, value);
    }

    fn classic_nullable_string(&mut self, name: &'static str, value: Option<&str>) {
        self.emit_nullable(name, value);
    }

    fn bytes(&mut self, name: &'static str, value: &[u8]) {
        self.emit(name, STANDARD.encode(value));
    }

    fn nullable_bytes(&mut self, name: &'static str, value: Option<&[u8]>) {
        self.emit_nullable(name, value.map(|bytes| STANDARD.encode(bytes)));
    }

    fn records(&mut self, name: &'static str, value: Option<&Bytes>) {
        self.nullable_bytes(name, value.map(Bytes::as_ref));
    }

    fn array<T: Element>(&mut self, name: &'static str, value: &[T]) {
        let array = self.nested(Container::Array(Vec::with_capacity(value.len())), |w| {
            value.iter().for_each(|element| element.put(w));
        });
        self.emit(name, array);
    }

    fn nullable_array<T: Element>(&mut self, name: &'static str, value: Option<&[T]>) {
        match value {
            Some(value) => {
                self.null_allowed = true;
                self.array(name, value);
            }
            None => self.emit_nullable(name, None::<Value>),
        }
    }

    fn structure<T: Encode>(&mut self, name: &'static str, value: &T) {
        let object = self.nested(Container::Object(Map::new()), |w| value.encode(w));
        self.emit(name, object);
    }

    fn nullable_structure<T: Encode>(&mut self, name: &'static str, value: Option<&T>) {
        match value {
            Some(value) => {
                self.null_allowed = true;
                self.structure(name, value);
            }
            None => self.emit_nullable(name, None::<Value>),
        }
    }

    fn tags(&mut self, fields: impl FnOnce(&mut Self)) {
        fields(self);
    }

    fn tag(&mut self, _: u32, present: bool, field: impl FnOnce(&mut Self)) {
        if present {
            field(self);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::create_topics::{CreatableTopic, CreateTopicsRequest};
    use crate::wire::EncodeErrorKind;

    // Mutation: protocol/src/wire/json/writer.rs
    // - Some(left) => self.memory = left,
    // + Some(_) => {}
    #[test]
    fn json_that_takes_too_much_memory_is_an_error() {
        let of = |topics: usize| CreateTopicsRequest {
            topics: vec![CreatableTopic::default(); topics],
            ..Default::default()
        };
        assert!(JsonWriter::encode_within(&of(100), 5, 100 << 10).is_ok());
        let error = JsonWriter::encode_within(&of(1_000), 5, 100 << 10).unwrap_err();
        assert_eq!(error.kind(), &EncodeErrorKind::TooMuchJson(MOST_MEMORY));
        assert!(JsonWriter::encode(&of(1_000), 5).is_ok());
    }
}
