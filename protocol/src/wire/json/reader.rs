//! Reads a message from JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::Value;

use crate::nearest::nearest;
use crate::wire::{Decode, DecodeError, DecodeErrorKind as Kind, Decoder, Element, Message, Uuid};

/// Hands out the fields of a JSON value.
#[derive(Debug)]
pub struct JsonReader<'a> {
    version: i16,
    null_allowed: bool,
    /// What refuses fields that the message does not have, where they are not ignored.
    strict: Option<Strict>,
    /// Whether the next field is one of another version, and what became of it.
    other: Option<Presence>,
    /// The object whose fields are read, or (name `""`) the array element itself.
    open: &'a Value,
}

/// Whether the JSON has a field that the version does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    NotLookedAt,
    Absent,
}

/// What is needed to find the fields that nobody asked for.
#[derive(Debug)]
struct Strict {
    /// Whether the version has tagged fields.
    flexible: bool,
    /// The fields of the open object that were asked for.
    asked: Vec<&'static str>,
}

impl JsonReader<'_> {
    /// Reads a message of `version` from `json`, as Kafka does: names that no version of the message has are ignored, and a field of another
    /// version is read, so that writing it is an error unless it may be ignored.
    ///
    /// # Errors
    /// [`DecodeError`] where a field is missing, has another type or is out of range, or the message has no such version.
    pub fn from_json<M: Message>(json: &Value, version: i16) -> Result<M, DecodeError> {
        if !M::VERSIONS.contains(&version) {
            return Err(DecodeError::unknown_version::<M>(version));
        }
        Self::decode(json, version).map_err(|e| e.in_message(M::NAME, version))
    }

    /// Reads anything that has fields, a header for example.
    ///
    /// # Errors
    /// As for [`JsonReader::from_json`].
    pub fn decode<T: Decode>(json: &Value, version: i16) -> Result<T, DecodeError> {
        let mut r = JsonReader { version, null_allowed: true, strict: None, other: None, open: json };
        r.structure("")
    }

    /// Reads as [`JsonReader::decode`], and refuses fields that the version does not have: made for JSON that is written
    /// by hand, where such a field is a mistake. Tagged fields are there only if the version is `flexible`.
    ///
    /// # Errors
    /// As for [`JsonReader::from_json`], and where there is a field too many.
    pub fn decode_strictly<T: Decode>(json: &Value, version: i16, flexible: bool) -> Result<T, DecodeError> {
        let strict = Some(Strict { flexible, asked: Vec::new() });
        let mut r = JsonReader { version, null_allowed: true, strict, other: None, open: json };
        r.structure("")
    }
}

fn error(kind: Kind) -> DecodeError {
    DecodeError::without_offset(kind)
}

fn wrong(expected: &'static str) -> DecodeError {
    error(Kind::Json { expected })
}

impl<'a> JsonReader<'a> {
    fn value(&mut self, name: &'static str) -> Result<&'a Value, DecodeError> {
        if name.is_empty() {
            return Ok(self.open);
        }
        if let Some(strict) = &mut self.strict {
            strict.asked.push(name);
        }
        let found = self.open.get(name);
        if self.other.take().is_some() && found.is_none() {
            self.other = Some(Presence::Absent);
        }
        found.ok_or_else(|| error(self.missing(name)).in_field(name))
    }

    fn missing(&self, name: &str) -> Kind {
        let near = self.strict.as_ref().and_then(|_| nearest(name, self.open.as_object()?.keys().map(String::as_str)));
        near.map_or(Kind::Missing, |found| Kind::Misspelt { found: found.to_owned() })
    }

    fn read<T>(
        &mut self,
        name: &'static str,
        expected: &'static str,
        get: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<T, DecodeError> {
        get(self.value(name)?).ok_or_else(|| wrong(expected).in_field(name))
    }

    fn nullable<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, DecodeError> {
        let null_allowed = std::mem::replace(&mut self.null_allowed, true);
        match self.value(name)? {
            Value::Null if null_allowed => Ok(None),
            Value::Null => Err(error(Kind::Null).in_field(name)),
            _ => read(self).map(Some),
        }
    }

    fn signed<T: TryFrom<i64>>(&mut self, name: &'static str, expected: &'static str) -> Result<T, DecodeError> {
        self.read(name, expected, |v| v.as_i64()?.try_into().ok())
    }

    /// Reads the fields of an object, and then knows whether it has others.
    fn fields<T: Decode>(&mut self, object: &'a Value) -> Result<T, DecodeError> {
        let outer = self.strict.as_mut().map(|strict| std::mem::take(&mut strict.asked));
        let value = self.within(object, T::decode)?;
        if let (Some(strict), Some(outer)) = (&mut self.strict, outer) {
            let asked = std::mem::replace(&mut strict.asked, outer);
            let names = object.as_object().into_iter().flat_map(|fields| fields.keys());
            if let Some(field) = names.into_iter().find(|name| !asked.contains(&name.as_str())) {
                let hint = nearest(field, asked).map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
                return Err(error(Kind::UnknownField { field: field.clone(), hint }));
            }
        }
        Ok(value)
    }

    /// Reads `read` with `value` in the place of the open object.
    fn within<T>(
        &mut self,
        value: &'a Value,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let outer = std::mem::replace(&mut self.open, value);
        let result = read(self);
        self.open = outer;
        result
    }
}

impl Decoder for JsonReader<'_> {
    fn version(&self) -> i16 {
        self.version
    }

    fn allow_null(&mut self, allowed: bool) {
        self.null_allowed = allowed;
    }

    /// Reads a field that the version does not have, where it is there all the same, as Kafka does: writing it then fails unless it may be
    /// ignored. Strictly read, it is left to be found as unknown.
    fn of_another_version<T>(
        &mut self,
        default: T,
        field: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        if self.strict.is_some() {
            return Ok(default);
        }
        self.other = Some(Presence::NotLookedAt);
        let read = field(self);
        match self.other.take() {
            Some(Presence::Absent) => Ok(default),
            _ => read,
        }
    }

    fn bool(&mut self, name: &'static str) -> Result<bool, DecodeError> {
        self.read(name, "a boolean", Value::as_bool)
    }

    fn i8(&mut self, name: &'static str) -> Result<i8, DecodeError> {
        self.signed(name, "an int8")
    }

    fn i16(&mut self, name: &'static str) -> Result<i16, DecodeError> {
        self.signed(name, "an int16")
    }

    fn u16(&mut self, name: &'static str) -> Result<u16, DecodeError> {
        self.signed(name, "a uint16")
    }

    fn i32(&mut self, name: &'static str) -> Result<i32, DecodeError> {
        self.signed(name, "an int32")
    }

    fn u32(&mut self, name: &'static str) -> Result<u32, DecodeError> {
        self.signed(name, "a uint32")
    }

    fn i64(&mut self, name: &'static str) -> Result<i64, DecodeError> {
        self.signed(name, "an int64")
    }

    fn f64(&mut self, name: &'static str) -> Result<f64, DecodeError> {
        self.read(name, "a number", Value::as_f64)
    }

    fn uuid(&mut self, name: &'static str) -> Result<Uuid, DecodeError> {
        self.read(name, "a uuid", |v| v.as_str()?.parse().ok())
    }

    fn string(&mut self, name: &'static str) -> Result<String, DecodeError> {
        self.read(name, "a string", |v| v.as_str().map(str::to_owned))
    }

    fn nullable_string(&mut self, name: &'static str) -> Result<Option<String>, DecodeError> {
        self.nullable(name, |r| r.string(name))
    }

    fn classic_nullable_string(&mut self, name: &'static str) -> Result<Option<String>, DecodeError> {
        self.nullable_string(name)
    }

    fn bytes(&mut self, name: &'static str) -> Result<Bytes, DecodeError> {
        self.read(name, "base64", |v| STANDARD.decode(v.as_str()?).ok().map(Bytes::from))
    }

    fn nullable_bytes(&mut self, name: &'static str) -> Result<Option<Bytes>, DecodeError> {
        self.nullable(name, |r| r.bytes(name))
    }

    fn records(&mut self, name: &'static str) -> Result<Option<Bytes>, DecodeError> {
        self.nullable_bytes(name)
    }

    fn array<T: Element>(&mut self, name: &'static str) -> Result<Vec<T>, DecodeError> {
        let elements = self.read(name, "an array", Value::as_array)?;
        let element = |(i, value)| self.within(value, T::take).map_err(|e| e.at_index(i).in_field(name));
        elements.iter().enumerate().map(element).collect()
    }

    fn nullable_array<T: Element>(&mut self, name: &'static str) -> Result<Option<Vec<T>>, DecodeError> {
        self.nullable(name, |r| r.array(name))
    }

    fn structure<T: Decode>(&mut self, name: &'static str) -> Result<T, DecodeError> {
        let object = self.value(name)?;
        if !object.is_object() {
            return Err(wrong("an object").in_field(name));
        }
        self.fields(object).map_err(|e| e.in_field(name))
    }

    fn nullable_structure<T: Decode>(&mut self, name: &'static str) -> Result<Option<T>, DecodeError> {
        self.nullable(name, |r| r.structure(name))
    }

    fn tags(
        &mut self,
        known: &[(u32, &'static str)],
        mut field: impl FnMut(&mut Self, u32) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        // Left to be found as unknown.
        if self.strict.as_ref().is_some_and(|strict| !strict.flexible) {
            return Ok(());
        }
        if let Some(strict) = &mut self.strict {
            strict.asked.extend(known.iter().map(|(_, name)| *name));
        }
        for (tag, name) in known {
            if self.open.get(name).is_some() {
                field(self, *tag)?;
            }
        }
        Ok(())
    }
}
