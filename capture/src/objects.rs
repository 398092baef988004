//! JSON objects one behind the other, each on one line or on several, in which no name stands twice.

use std::fmt;
use std::io::{BufRead, Read};

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Reads objects, and knows the lines that they begin on.
pub(crate) struct Objects<R> {
    reader: Lines<R>,
}

impl<R: BufRead> Objects<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader: Lines { reader, line: 1 } }
    }

    /// The line that the next object begins on, and the object; `None` at the end.
    pub(crate) fn next_object(&mut self) -> Option<(u64, serde_json::Result<Map<String, Value>>)> {
        let started = self.reader.skip_space();
        let line = self.reader.line;
        match started {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => return Some((line, Err(serde_json::Error::io(error)))),
        }
        // Behind the brace that ends an object nothing is read ahead.
        let Unique(value) = match Unique::deserialize(&mut serde_json::Deserializer::from_reader(&mut self.reader)) {
            Ok(value) => value,
            Err(error) => return Some((line, Err(error))),
        };
        let object = match value {
            Value::Object(object) => Ok(object),
            _ => Err(serde_json::Error::custom("it is another JSON value")),
        };
        Some((line, object))
    }
}

/// A reader that counts lines.
struct Lines<R> {
    reader: R,
    line: u64,
}

impl<R: BufRead> Lines<R> {
    /// Goes to the first byte that is no white space; `false` where there is none.
    fn skip_space(&mut self) -> std::io::Result<bool> {
        loop {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                return Ok(false);
            }
            let space = buffer.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let found = space < buffer.len();
            self.line += newlines(&buffer[..space]);
            self.reader.consume(space);
            if found {
                return Ok(true);
            }
        }
    }
}

impl<R: BufRead> Read for Lines<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = self.reader.read(into)?;
        self.line += newlines(&into[..count]);
        Ok(count)
    }
}

fn newlines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// A JSON value whose objects have each name once. JSON itself leaves open which of two would hold.
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Values).map(Self)
    }
}

struct Values;

impl<'de> Visitor<'de> for Values {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Unique(element)) = elements.next_element()? {
            array.push(element);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            let Unique(value) = fields.next_value()?;
            if object.contains_key(&name) {
                return Err(A::Error::custom(format_args!("{name:?} is there twice")));
            }
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}
