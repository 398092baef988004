//! Reads a message from bytes, without copying them.

use bytes::Bytes;

use super::varint::{self, VarintError};
use super::{Decode, DecodeError, DecodeErrorKind as Kind, Decoder, Element, Uuid};

/// Room for elements that an array takes before any has been read, in bytes: the count is the sender's word, and more is
/// taken only where the bytes bear so much out.
const FIRST_ROOM: usize = 256 << 10;

/// What the elements of all arrays may take: this, and [`TIMES_INPUT`] bytes for each byte of input.
const ALLOWANCE: usize = (16 << 20) - FIRST_ROOM;
const TIMES_INPUT: usize = 7;

/// Reads a message, or several things one after the other, from one buffer.
///
/// What it allocates, for the elements of arrays and for strings, is at most 16 MiB and eight times the buffer; an array that
/// wants more is [`DecodeErrorKind::Memory`](super::DecodeErrorKind::Memory). An element may take 100 bytes in memory and
/// one in the buffer, so that bytes that mean nothing would cost many times their number. What brokers and clients say stays
/// below whatever its size: a partition of a metadata response with three replicas takes three times its bytes, one of a
/// share fetch that brings nothing six times. Strings, which take no more than in the buffer, are one of the eight times.
#[derive(Debug)]
pub struct Reader {
    buf: Bytes,
    at: usize,
    version: i16,
    flexible: bool,
    null_allowed: bool,
    /// What arrays may still take for their elements, in bytes.
    memory: usize,
    /// Whether the struct that is open has read its tag section.
    tags_done: bool,
}

impl Reader {
    /// A reader for one version and form.
    pub fn new(buf: Bytes, version: i16, flexible: bool) -> Self {
        let memory = allowed(buf.len());
        Self { buf, at: 0, version, flexible, null_allowed: true, memory, tags_done: false }
    }

    /// Reads a whole message, its tag section included.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn message<T: Decode>(&mut self) -> Result<T, DecodeError> {
        self.structure("")
    }

    /// Takes what has not been read.
    pub fn into_rest(mut self) -> Bytes {
        self.buf.split_off(self.at)
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// [`DecodeError`] where bytes are left that belong to no field.
    pub fn finish(&self) -> Result<(), DecodeError> {
        match self.left() {
            0 => Ok(()),
            left => Err(self.error(Kind::Trailing(left))),
        }
    }

    #[inline]
    fn left(&self) -> usize {
        self.buf.len() - self.at
    }

    #[inline]
    fn error(&self, kind: Kind) -> DecodeError {
        DecodeError::new(kind, self.at)
    }

    #[inline]
    fn fixed<const N: usize>(&mut self, name: &'static str) -> Result<[u8; N], DecodeError> {
        match self.buf[self.at..].first_chunk::<N>() {
            Some(chunk) => {
                self.at += N;
                Ok(*chunk)
            }
            None => Err(self.error(Kind::Truncated { needed: N, left: self.left() }).in_field(name)),
        }
    }

    #[inline]
    fn unsigned_varint(&mut self) -> Result<u32, DecodeError> {
        match varint::read_u32(&self.buf[self.at..]) {
            Ok((value, size)) => {
                self.at += size;
                Ok(value)
            }
            Err(VarintError::Truncated) => {
                Err(self.error(Kind::Truncated { needed: self.left() + 1, left: self.left() }))
            }
            Err(VarintError::Overflow) => Err(self.error(Kind::Varint)),
        }
    }

    /// Reads a length or count, `None` for null; it is never more than the bytes left.
    #[inline]
    fn length(
        &mut self,
        classic: impl FnOnce(&mut Self) -> Result<i32, DecodeError>,
    ) -> Result<Option<usize>, DecodeError> {
        let null_allowed = std::mem::replace(&mut self.null_allowed, true);
        let length = if self.flexible { i64::from(self.unsigned_varint()?) - 1 } else { classic(self)?.into() };
        match usize::try_from(length) {
            Ok(length) if length <= self.left() => Ok(Some(length)),
            Err(_) if length == -1 && null_allowed => Ok(None),
            Err(_) if length == -1 => Err(self.error(Kind::Null)),
            _ => Err(self.error(Kind::Length { length, left: self.left() })),
        }
    }

    #[inline]
    fn short_length(&mut self) -> Result<Option<usize>, DecodeError> {
        match self.length(|r| r.i16("").map(i32::from))? {
            Some(length) if length > i16::MAX as usize => Err(self.error(Kind::LongString(length))),
            length => Ok(length),
        }
    }

    #[inline]
    fn long_length(&mut self) -> Result<Option<usize>, DecodeError> {
        self.length(|r| r.i32(""))
    }

    #[inline]
    fn text(&mut self, length: usize) -> Result<String, DecodeError> {
        match std::str::from_utf8(&self.buf[self.at..self.at + length]) {
            Ok(text) => {
                self.at += length;
                Ok(text.to_owned())
            }
            Err(_) => Err(self.error(Kind::Utf8)),
        }
    }

    #[inline]
    fn slice(&mut self, length: usize) -> Bytes {
        self.at += length;
        self.buf.slice(self.at - length..self.at)
    }

    #[inline]
    fn elements<T: Element>(&mut self, count: usize) -> Result<Vec<T>, DecodeError> {
        let size = size_of::<T>().max(1);
        let wanted = count.saturating_mul(size);
        let Some(memory) = self.memory.checked_sub(wanted) else {
            let (left, allowed) = (self.memory, allowed(self.buf.len()));
            return Err(self.error(Kind::Memory { count, wanted, left, allowed }));
        };
        self.memory = memory;
        let first = count.min(FIRST_ROOM / size);
        let mut elements = Vec::new();
        for part in [0..first, first..count] {
            // Doubling would take more than was asked for.
            elements.reserve_exact(part.len());
            for i in part {
                elements.push(T::take(self).map_err(|e| e.at_index(i))?);
            }
        }
        Ok(elements)
    }

    #[inline]
    fn not_null<T>(&self, value: Option<T>) -> Result<T, DecodeError> {
        value.ok_or_else(|| self.error(Kind::Null))
    }

    fn tagged_field(
        &mut self,
        known: &[(u32, &'static str)],
        tag: u32,
        field: &mut impl FnMut(&mut Self, u32) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        let declared = self.unsigned_varint()? as usize;
        if declared > self.left() {
            return Err(self.error(Kind::Length { length: declared as i64, left: self.left() }));
        }
        let end = self.at + declared;
        if let Some((_, name)) = known.iter().find(|(k, _)| *k == tag) {
            field(self, tag)?;
            if self.at != end {
                let actual = declared + self.at - end;
                return Err(self.error(Kind::TagSize { declared, actual }).in_field(name));
            }
        }
        self.at = end;
        Ok(())
    }
}

/// What the elements of arrays may take in a message of `input` bytes.
fn allowed(input: usize) -> usize {
    input.saturating_mul(TIMES_INPUT).saturating_add(ALLOWANCE)
}

impl Decoder for Reader {
    #[inline]
    fn version(&self) -> i16 {
        self.version
    }

    #[inline]
    fn allow_null(&mut self, allowed: bool) {
        self.null_allowed = allowed;
    }

    #[inline]
    fn bool(&mut self, name: &'static str) -> Result<bool, DecodeError> {
        self.i8(name).map(|byte| byte != 0)
    }

    #[inline]
    fn i8(&mut self, name: &'static str) -> Result<i8, DecodeError> {
        self.fixed(name).map(i8::from_be_bytes)
    }

    #[inline]
    fn i16(&mut self, name: &'static str) -> Result<i16, DecodeError> {
        self.fixed(name).map(i16::from_be_bytes)
    }

    #[inline]
    fn u16(&mut self, name: &'static str) -> Result<u16, DecodeError> {
        self.fixed(name).map(u16::from_be_bytes)
    }

    #[inline]
    fn i32(&mut self, name: &'static str) -> Result<i32, DecodeError> {
        self.fixed(name).map(i32::from_be_bytes)
    }

    #[inline]
    fn u32(&mut self, name: &'static str) -> Result<u32, DecodeError> {
        self.fixed(name).map(u32::from_be_bytes)
    }

    #[inline]
    fn i64(&mut self, name: &'static str) -> Result<i64, DecodeError> {
        self.fixed(name).map(i64::from_be_bytes)
    }

    #[inline]
    fn f64(&mut self, name: &'static str) -> Result<f64, DecodeError> {
        self.fixed(name).map(f64::from_be_bytes)
    }

    #[inline]
    fn uuid(&mut self, name: &'static str) -> Result<Uuid, DecodeError> {
        self.fixed(name).map(Uuid)
    }

    #[inline]
    fn string(&mut self, name: &'static str) -> Result<String, DecodeError> {
        self.nullable_string(name).and_then(|text| self.not_null(text).map_err(|e| e.in_field(name)))
    }

    #[inline]
    fn nullable_string(&mut self, name: &'static str) -> Result<Option<String>, DecodeError> {
        self.short_length().and_then(|length| length.map(|n| self.text(n)).transpose()).map_err(|e| e.in_field(name))
    }

    #[inline]
    fn classic_nullable_string(&mut self, name: &'static str) -> Result<Option<String>, DecodeError> {
        let flexible = std::mem::replace(&mut self.flexible, false);
        let text = self.nullable_string(name);
        self.flexible = flexible;
        text
    }

    #[inline]
    fn bytes(&mut self, name: &'static str) -> Result<Bytes, DecodeError> {
        self.nullable_bytes(name).and_then(|bytes| self.not_null(bytes).map_err(|e| e.in_field(name)))
    }

    #[inline]
    fn nullable_bytes(&mut self, name: &'static str) -> Result<Option<Bytes>, DecodeError> {
        let length = self.long_length().map_err(|e| e.in_field(name))?;
        Ok(length.map(|n| self.slice(n)))
    }

    #[inline]
    fn records(&mut self, name: &'static str) -> Result<Option<Bytes>, DecodeError> {
        self.nullable_bytes(name)
    }

    #[inline]
    fn array<T: Element>(&mut self, name: &'static str) -> Result<Vec<T>, DecodeError> {
        self.nullable_array(name).and_then(|array| self.not_null(array).map_err(|e| e.in_field(name)))
    }

    #[inline]
    fn nullable_array<T: Element>(&mut self, name: &'static str) -> Result<Option<Vec<T>>, DecodeError> {
        self.long_length().and_then(|count| count.map(|n| self.elements(n)).transpose()).map_err(|e| e.in_field(name))
    }

    #[inline]
    fn structure<T: Decode>(&mut self, name: &'static str) -> Result<T, DecodeError> {
        self.tags_done = false;
        let value = T::decode(self).map_err(|e| e.in_field(name))?;
        if !self.tags_done {
            self.tags(&[], |_, _| Ok(())).map_err(|e| e.in_field(name))?;
        }
        self.tags_done = false;
        Ok(value)
    }

    #[inline]
    fn nullable_structure<T: Decode>(&mut self, name: &'static str) -> Result<Option<T>, DecodeError> {
        let null_allowed = std::mem::replace(&mut self.null_allowed, true);
        match self.i8(name)? {
            1 => self.structure(name).map(Some),
            -1 if null_allowed => Ok(None),
            -1 => Err(self.error(Kind::Null).in_field(name)),
            marker => Err(self.error(Kind::Marker(marker)).in_field(name)),
        }
    }

    #[inline]
    fn tags(
        &mut self,
        known: &[(u32, &'static str)],
        mut field: impl FnMut(&mut Self, u32) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        if self.flexible {
            let mut previous: Option<u32> = None;
            for _ in 0..self.unsigned_varint()? {
                let tag = self.unsigned_varint()?;
                if let Some(previous) = previous.filter(|p| *p >= tag) {
                    return Err(self.error(Kind::TagOrder { tag, previous }));
                }
                previous = Some(tag);
                self.tagged_field(known, tag, &mut field)?;
            }
        }
        self.tags_done = true;
        Ok(())
    }
}
