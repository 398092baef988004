//! Counts the bytes that a message takes, so that its buffer is allocated once.

use bytes::Bytes;

use super::{Element, Encode, EncodeError, Encoder, Uuid, varint};

/// Counts what a [`BytesWriter`](super::BytesWriter) would write.
#[derive(Debug)]
pub struct SizeWriter {
    size: usize,
    /// Of which record sets.
    records: usize,
    version: i16,
    flexible: bool,
    tags_done: bool,
    error: Option<EncodeError>,
}

impl SizeWriter {
    /// A counter for one version and form.
    pub fn new(version: i16, flexible: bool) -> Self {
        Self { size: 0, records: 0, version, flexible, tags_done: false, error: None }
    }

    /// Counts a whole message, its tag section included.
    pub fn message<T: Encode>(&mut self, message: &T) {
        self.structure("", message);
    }

    /// The bytes counted.
    ///
    /// # Errors
    /// The first [`EncodeError`] that a field met. What only the writing shows (a string too long) is not met here.
    pub fn finish(self) -> Result<usize, EncodeError> {
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.size),
        }
    }

    /// The bytes counted, and how many of them are those of record sets.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub(super) fn finish_with_records(self) -> Result<(usize, usize), EncodeError> {
        let records = self.records;
        Ok((self.finish()?, records))
    }

    #[inline]
    fn length(&mut self, length: Option<usize>, classic: usize) {
        self.size += if self.flexible { varint::size_u64(length.map_or(0, |n| n as u64 + 1)) } else { classic };
    }
}

impl Encoder for SizeWriter {
    #[inline]
    fn version(&self) -> i16 {
        self.version
    }

    #[inline]
    fn fail(&mut self, error: EncodeError) {
        self.error.get_or_insert(error);
    }

    #[inline]
    fn allow_null(&mut self, _: bool) {}

    #[inline]
    fn bool(&mut self, _: &'static str, _: bool) {
        self.size += 1;
    }

    #[inline]
    fn i8(&mut self, _: &'static str, _: i8) {
        self.size += 1;
    }

    #[inline]
    fn i16(&mut self, _: &'static str, _: i16) {
        self.size += 2;
    }

    #[inline]
    fn u16(&mut self, _: &'static str, _: u16) {
        self.size += 2;
    }

    #[inline]
    fn i32(&mut self, _: &'static str, _: i32) {
        self.size += 4;
    }

    #[inline]
    fn u32(&mut self, _: &'static str, _: u32) {
        self.size += 4;
    }

    #[inline]
    fn i64(&mut self, _: &'static str, _: i64) {
        self.size += 8;
    }

    #[inline]
    fn f64(&mut self, _: &'static str, _: f64) {
        self.size += 8;
    }

    #[inline]
    fn uuid(&mut self, _: &'static str, _: Uuid) {
        self.size += 16;
    }

    #[inline]
    fn string(&mut self, name: &'static str, value: &str) {
        self.nullable_string(name, Some(value));
    }

    #[inline]
    fn nullable_string(&mut self, _: &'static str, value: Option<&str>) {
        self.length(value.map(str::len), 2);
        self.size += value.map_or(0, str::len);
    }

    #[inline]
    fn classic_nullable_string(&mut self, _: &'static str, value: Option<&str>) {
        self.size += 2 + value.map_or(0, str::len);
    }

    #[inline]
    fn bytes(&mut self, name: &'static str, value: &[u8]) {
        self.nullable_bytes(name, Some(value));
    }

    #[inline]
    fn nullable_bytes(&mut self, _: &'static str, value: Option<&[u8]>) {
        self.length(value.map(<[u8]>::len), 4);
        self.size += value.map_or(0, <[u8]>::len);
    }

    #[inline]
    fn records(&mut self, name: &'static str, value: Option<&Bytes>) {
        self.nullable_bytes(name, value.map(Bytes::as_ref));
        self.records += value.map_or(0, Bytes::len);
    }

    #[inline]
    fn array<T: Element>(&mut self, name: &'static str, value: &[T]) {
        self.nullable_array(name, Some(value));
    }

    #[inline]
    fn nullable_array<T: Element>(&mut self, _: &'static str, value: Option<&[T]>) {
        self.length(value.map(<[T]>::len), 4);
        for element in value.unwrap_or_default() {
            element.put(self);
        }
    }

    #[inline]
    fn structure<T: Encode>(&mut self, _: &'static str, value: &T) {
        self.tags_done = false;
        value.encode(self);
        if !self.tags_done {
            self.tags(|_| ());
        }
        self.tags_done = false;
    }

    #[inline]
    fn nullable_structure<T: Encode>(&mut self, name: &'static str, value: Option<&T>) {
        self.size += 1;
        if let Some(value) = value {
            self.structure(name, value);
        }
    }

    #[inline]
    fn tags(&mut self, fields: impl FnOnce(&mut Self)) {
        self.size += usize::from(self.flexible);
        fields(self);
        self.tags_done = true;
    }

    #[inline]
    fn tag(&mut self, tag: u32, present: bool, field: impl FnOnce(&mut Self)) {
        if present && self.flexible {
            let before = self.size;
            field(self);
            self.size += varint::size_u64(tag.into()) + varint::size_u64((self.size - before) as u64);
        }
    }
}
