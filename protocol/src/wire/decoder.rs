//! The reading side of a field walk.

use bytes::Bytes;

use super::{Decode, DecodeError, Element, Uuid};

/// Hands out the fields of a message in order. Every method fails with a [`DecodeError`] that names the field.
pub trait Decoder: Sized {
    /// The version being read.
    fn version(&self) -> i16;
    /// Whether the next nullable field may be null; see [`Decoder::nullable_since`].
    fn allow_null(&mut self, allowed: bool);

    /// Reads a boolean: any byte but 0 is true.
    fn bool(&mut self, name: &'static str) -> Result<bool, DecodeError>;
    /// Reads an int8.
    fn i8(&mut self, name: &'static str) -> Result<i8, DecodeError>;
    /// Reads an int16, big-endian as all numbers.
    fn i16(&mut self, name: &'static str) -> Result<i16, DecodeError>;
    /// Reads a uint16.
    fn u16(&mut self, name: &'static str) -> Result<u16, DecodeError>;
    /// Reads an int32.
    fn i32(&mut self, name: &'static str) -> Result<i32, DecodeError>;
    /// Reads a uint32.
    fn u32(&mut self, name: &'static str) -> Result<u32, DecodeError>;
    /// Reads an int64.
    fn i64(&mut self, name: &'static str) -> Result<i64, DecodeError>;
    /// Reads a float64.
    fn f64(&mut self, name: &'static str) -> Result<f64, DecodeError>;
    /// Reads a uuid.
    fn uuid(&mut self, name: &'static str) -> Result<Uuid, DecodeError>;
    /// Reads a string; invalid UTF-8 is an error.
    fn string(&mut self, name: &'static str) -> Result<String, DecodeError>;
    /// Reads a nullable string.
    fn nullable_string(&mut self, name: &'static str) -> Result<Option<String>, DecodeError>;
    /// Reads a nullable string in the classic form in every version (the client id of a request header).
    fn classic_nullable_string(&mut self, name: &'static str) -> Result<Option<String>, DecodeError>;
    /// Reads bytes as a slice of the input, without a copy.
    fn bytes(&mut self, name: &'static str) -> Result<Bytes, DecodeError>;
    /// Reads nullable bytes as a slice of the input, without a copy.
    fn nullable_bytes(&mut self, name: &'static str) -> Result<Option<Bytes>, DecodeError>;
    /// Reads a record set as a slice of the input, without a copy.
    fn records(&mut self, name: &'static str) -> Result<Option<Bytes>, DecodeError>;
    /// Reads an array. The count is bounded by the bytes left, and by the memory that a message of this size may take.
    fn array<T: Element>(&mut self, name: &'static str) -> Result<Vec<T>, DecodeError>;
    /// Reads a nullable array.
    fn nullable_array<T: Element>(&mut self, name: &'static str) -> Result<Option<Vec<T>>, DecodeError>;
    /// Reads a struct in place.
    fn structure<T: Decode>(&mut self, name: &'static str) -> Result<T, DecodeError>;
    /// Reads a nullable struct: a marker byte (-1 null, 1 present), then the struct.
    fn nullable_structure<T: Decode>(&mut self, name: &'static str) -> Result<Option<T>, DecodeError>;
    /// Reads the struct's tagged fields, calling `field` for each of `known` that is present; the others are
    /// skipped. `known` pairs tag and name and rises by tag. Call it after the last ordinary field.
    fn tags(
        &mut self,
        known: &[(u32, &'static str)],
        field: impl FnMut(&mut Self, u32) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError>;

    /// Reads a field that exists from `version` on; older versions give `default`, the schema's.
    #[inline]
    fn since<T>(
        &mut self,
        version: i16,
        default: T,
        field: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        if self.version() >= version { field(self) } else { self.of_another_version(default, field) }
    }

    /// Reads a field that exists up to and including `version`; newer versions give `default`.
    #[inline]
    fn until<T>(
        &mut self,
        version: i16,
        default: T,
        field: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        if self.version() <= version { field(self) } else { self.of_another_version(default, field) }
    }

    /// What a field gives that the version does not have: `default`, where the input cannot have it either.
    #[inline]
    fn of_another_version<T>(
        &mut self,
        default: T,
        _field: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        Ok(default)
    }

    /// Makes null an error for the nullable field that follows where the version is older than `version`:
    /// `r.nullable_since(1).nullable_array("topics")?`.
    #[inline]
    fn nullable_since(&mut self, version: i16) -> &mut Self {
        self.allow_null(self.version() >= version);
        self
    }
}
