//! Writes a message as bytes.

use bytes::{BufMut, Bytes, BytesMut};

use super::{Element, Encode, EncodeError, Encoder, Uuid, varint};

/// Writes a message, or several things one after the other, into one buffer.
#[derive(Debug)]
pub struct BytesWriter {
    buf: BytesMut,
    version: i16,
    flexible: bool,
    null_allowed: bool,
    /// Tagged fields written in the section that is open.
    tag_count: u8,
    /// Whether the struct that is open has written its tag section.
    tags_done: bool,
    /// Record sets that are not copied, each with its place in `buf`; `None` where all are copied.
    apart: Option<Vec<(usize, Bytes)>>,
    error: Option<EncodeError>,
}

/// The smallest record set that is worth a piece of its own: below, a copy costs less than another slice to write.
pub(super) const APART_FROM: usize = 1 << 10;

impl BytesWriter {
    /// A writer for one version and form, with an empty buffer.
    pub fn new(version: i16, flexible: bool) -> Self {
        Self {
            buf: BytesMut::new(),
            version,
            flexible,
            null_allowed: true,
            tag_count: 0,
            tags_done: false,
            apart: None,
            error: None,
        }
    }

    /// Leaves large record sets where they are, for [`finish_in_pieces`](Self::finish_in_pieces).
    #[must_use]
    pub(super) fn in_pieces(mut self) -> Self {
        self.apart = Some(Vec::new());
        self
    }

    /// Continues in `buf` instead of an empty buffer.
    #[must_use]
    pub fn with_buffer(mut self, buf: BytesMut) -> Self {
        self.buf = buf;
        self
    }

    /// Makes room for `size` more bytes at once.
    pub fn reserve(&mut self, size: usize) {
        self.buf.reserve(size);
    }

    /// Writes a whole message, its tag section included.
    pub fn message<T: Encode>(&mut self, message: &T) {
        self.structure("", message);
    }

    /// The bytes written.
    ///
    /// # Errors
    /// The first [`EncodeError`] that a field met.
    pub fn finish(self) -> Result<BytesMut, EncodeError> {
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.buf),
        }
    }

    /// The bytes written, with the record sets that were left where they are.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub(super) fn finish_in_pieces(mut self) -> Result<Vec<Bytes>, EncodeError> {
        let apart = self.apart.take().unwrap_or_default();
        let written = self.finish()?.freeze();
        let mut pieces = Vec::with_capacity(2 * apart.len() + 1);
        let mut from = 0;
        for (at, records) in apart {
            pieces.push(written.slice(from..at));
            pieces.push(records);
            from = at;
        }
        if from < written.len() {
            pieces.push(written.slice(from..));
        }
        Ok(pieces)
    }

    /// Writes a length or count; `None` is null. `classic` writes the non-flexible form.
    #[inline]
    fn length(&mut self, name: &'static str, length: Option<usize>, classic: impl FnOnce(&mut BytesMut, i32)) {
        if length.is_none() && !self.null_allowed {
            self.fail(EncodeError::null(name));
        }
        self.null_allowed = true;
        let Ok(wire) = length.map_or(Ok(-1), i32::try_from) else {
            return self.fail(EncodeError::too_long(name, length.unwrap_or_default()));
        };
        if self.flexible {
            varint::write_u64(&mut self.buf, (i64::from(wire) + 1) as u64);
        } else {
            classic(&mut self.buf, wire);
        }
    }

    #[inline]
    fn short_length(&mut self, name: &'static str, length: Option<usize>) {
        if length.is_some_and(|n| n > i16::MAX as usize) {
            return self.fail(EncodeError::too_long(name, length.unwrap_or_default()));
        }
        self.length(name, length, |buf, n| buf.put_i16(n as i16));
    }
}

impl Encoder for BytesWriter {
    #[inline]
    fn version(&self) -> i16 {
        self.version
    }

    #[inline]
    fn fail(&mut self, error: EncodeError) {
        self.error.get_or_insert(error);
    }

    #[inline]
    fn allow_null(&mut self, allowed: bool) {
        self.null_allowed = allowed;
    }

    #[inline]
    fn bool(&mut self, _: &'static str, value: bool) {
        self.buf.put_u8(value.into());
    }

    #[inline]
    fn i8(&mut self, _: &'static str, value: i8) {
        self.buf.put_i8(value);
    }

    #[inline]
    fn i16(&mut self, _: &'static str, value: i16) {
        self.buf.put_i16(value);
    }

    #[inline]
    fn u16(&mut self, _: &'static str, value: u16) {
        self.buf.put_u16(value);
    }

    #[inline]
    fn i32(&mut self, _: &'static str, value: i32) {
        self.buf.put_i32(value);
    }

    #[inline]
    fn u32(&mut self, _: &'static str, value: u32) {
        self.buf.put_u32(value);
    }

    #[inline]
    fn i64(&mut self, _: &'static str, value: i64) {
        self.buf.put_i64(value);
    }

    #[inline]
    fn f64(&mut self, _: &'static str, value: f64) {
        self.buf.put_f64(value);
    }

    #[inline]
    fn uuid(&mut self, _: &'static str, value: Uuid) {
        self.buf.put_slice(&value.0);
    }

    #[inline]
    fn string(&mut self, name: &'static str, value: &str) {
        self.short_length(name, Some(value.len()));
        self.buf.put_slice(value.as_bytes());
    }

    #[inline]
    fn nullable_string(&mut self, name: &'static str, value: Option<&str>) {
        self.short_length(name, value.map(str::len));
        self.buf.put_slice(value.unwrap_or_default().as_bytes());
    }

    #[inline]
    fn classic_nullable_string(&mut self, name: &'static str, value: Option<&str>) {
        let flexible = std::mem::replace(&mut self.flexible, false);
        self.nullable_string(name, value);
        self.flexible = flexible;
    }

    #[inline]
    fn bytes(&mut self, name: &'static str, value: &[u8]) {
        self.nullable_bytes(name, Some(value));
    }

    #[inline]
    fn nullable_bytes(&mut self, name: &'static str, value: Option<&[u8]>) {
        self.length(name, value.map(<[u8]>::len), BytesMut::put_i32);
        self.buf.put_slice(value.unwrap_or_default());
    }

    #[inline]
    fn records(&mut self, name: &'static str, value: Option<&Bytes>) {
        match (value, &mut self.apart) {
            (Some(records), Some(_)) if records.len() >= APART_FROM => {
                self.length(name, Some(records.len()), BytesMut::put_i32);
                if let Some(apart) = &mut self.apart {
                    apart.push((self.buf.len(), records.clone()));
                }
            }
            _ => self.nullable_bytes(name, value.map(Bytes::as_ref)),
        }
    }

    #[inline]
    fn array<T: Element>(&mut self, name: &'static str, value: &[T]) {
        self.nullable_array(name, Some(value));
    }

    #[inline]
    fn nullable_array<T: Element>(&mut self, name: &'static str, value: Option<&[T]>) {
        self.length(name, value.map(<[T]>::len), BytesMut::put_i32);
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
        if value.is_none() && !self.null_allowed {
            self.fail(EncodeError::null(name));
        }
        self.null_allowed = true;
        self.buf.put_i8(if value.is_some() { 1 } else { -1 });
        if let Some(value) = value {
            self.structure(name, value);
        }
    }

    #[inline]
    fn tags(&mut self, fields: impl FnOnce(&mut Self)) {
        if self.flexible {
            let outer = std::mem::take(&mut self.tag_count);
            let at = self.buf.len();
            // No struct has 128 known tags, so its count is always one byte.
            self.buf.put_u8(0);
            fields(self);
            self.buf[at] = std::mem::replace(&mut self.tag_count, outer);
        } else {
            fields(self);
        }
        self.tags_done = true;
    }

    #[inline]
    fn tag(&mut self, tag: u32, present: bool, field: impl FnOnce(&mut Self)) {
        if !present || !self.flexible {
            return;
        }
        self.tag_count += 1;
        varint::write_u32(&mut self.buf, tag);
        // The size comes first but is known last; tagged fields are rare and small, so moving them is cheap.
        let at = self.buf.len();
        let apart = self.apart.take();
        field(self);
        self.apart = apart;
        let value = self.buf.split_off(at);
        varint::write_u64(&mut self.buf, value.len() as u64);
        self.buf.extend_from_slice(&value);
    }
}
