//! The writing side of a field walk.

use bytes::Bytes;

use super::{Element, Encode, EncodeError, Uuid};

/// Receives the fields of a message in order.
///
/// `name` is the schema's camelCase name; it costs nothing where bytes are written and becomes the key in JSON. In
/// an array it is empty.
pub trait Encoder: Sized {
    /// The version being written.
    fn version(&self) -> i16;
    /// Keeps `error` unless there is one already; the writer's end reports it.
    fn fail(&mut self, error: EncodeError);
    /// Whether the next nullable field may be null; see [`Encoder::nullable_since`].
    fn allow_null(&mut self, allowed: bool);

    /// Writes a boolean as one byte.
    fn bool(&mut self, name: &'static str, value: bool);
    /// Writes an int8.
    fn i8(&mut self, name: &'static str, value: i8);
    /// Writes an int16, big-endian as all numbers.
    fn i16(&mut self, name: &'static str, value: i16);
    /// Writes a uint16.
    fn u16(&mut self, name: &'static str, value: u16);
    /// Writes an int32.
    fn i32(&mut self, name: &'static str, value: i32);
    /// Writes a uint32.
    fn u32(&mut self, name: &'static str, value: u32);
    /// Writes an int64.
    fn i64(&mut self, name: &'static str, value: i64);
    /// Writes a float64.
    fn f64(&mut self, name: &'static str, value: f64);
    /// Writes a uuid as 16 bytes.
    fn uuid(&mut self, name: &'static str, value: Uuid);
    /// Writes a string; at most 32,767 bytes of UTF-8.
    fn string(&mut self, name: &'static str, value: &str);
    /// Writes a nullable string.
    fn nullable_string(&mut self, name: &'static str, value: Option<&str>);
    /// Writes a nullable string in the classic form in every version (the client id of a request header).
    fn classic_nullable_string(&mut self, name: &'static str, value: Option<&str>);
    /// Writes bytes.
    fn bytes(&mut self, name: &'static str, value: &[u8]);
    /// Writes nullable bytes.
    fn nullable_bytes(&mut self, name: &'static str, value: Option<&[u8]>);
    /// Writes a record set: length and bytes like [`Encoder::nullable_bytes`], a name of its own because Kafka's own JSON converters leave its bytes out (ours write base64).
    fn records(&mut self, name: &'static str, value: Option<&Bytes>);
    /// Writes an array.
    fn array<T: Element>(&mut self, name: &'static str, value: &[T]);
    /// Writes a nullable array.
    fn nullable_array<T: Element>(&mut self, name: &'static str, value: Option<&[T]>);
    /// Writes a struct in place, without a marker.
    fn structure<T: Encode>(&mut self, name: &'static str, value: &T);
    /// Writes a nullable struct: a marker byte (-1 null, 1 present), then the struct.
    fn nullable_structure<T: Encode>(&mut self, name: &'static str, value: Option<&T>);
    /// Writes the struct's tagged fields. `fields` calls [`Encoder::tag`] in rising tag order, each within the
    /// [`Encoder::since`] or [`Encoder::required_since`] of its version. It is called in versions that are not flexible
    /// too, so that those can refuse a value; they write nothing of it.
    fn tags(&mut self, fields: impl FnOnce(&mut Self));
    /// Writes one tagged field unless it is absent; `field` writes the value under the same name.
    fn tag(&mut self, tag: u32, present: bool, field: impl FnOnce(&mut Self));

    /// Writes what exists from `version` on; older versions drop it silently (a field the schema calls ignorable).
    #[inline]
    fn since(&mut self, version: i16, fields: impl FnOnce(&mut Self)) {
        if self.version() >= version {
            fields(self);
        }
    }

    /// Writes what exists up to and including `version`.
    #[inline]
    fn until(&mut self, version: i16, fields: impl FnOnce(&mut Self)) {
        if self.version() <= version {
            fields(self);
        }
    }

    /// Writes what exists from `version` on; in older versions a value that is not the default cannot be dropped
    /// silently (the schema does not call the field ignorable) and is an error.
    #[inline]
    fn required_since(&mut self, version: i16, name: &'static str, is_default: bool, fields: impl FnOnce(&mut Self)) {
        if self.version() >= version {
            fields(self);
        } else if !is_default {
            self.fail(EncodeError::unsupported(name));
        }
    }

    /// Writes what exists up to `version`; in newer versions a value that is not the default is an error.
    #[inline]
    fn required_until(&mut self, version: i16, name: &'static str, is_default: bool, fields: impl FnOnce(&mut Self)) {
        if self.version() <= version {
            fields(self);
        } else if !is_default {
            self.fail(EncodeError::unsupported(name));
        }
    }

    /// Makes null an error for the nullable field that follows where the version is older than `version`:
    /// `w.nullable_since(1).nullable_array("topics", ..)`.
    #[inline]
    fn nullable_since(&mut self, version: i16) -> &mut Self {
        self.allow_null(self.version() >= version);
        self
    }
}
