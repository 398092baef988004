//! Record headers.

use std::borrow::Cow;

use super::{error::RecordFault, record::take_nullable};

/// One header: a key, which may repeat, and a value, which may be null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header<'a> {
    /// The key as it is on the wire: UTF-8, unless a careless producer wrote something else.
    pub key: &'a [u8],
    /// The value, or null.
    pub value: Option<&'a [u8]>,
}

impl<'a> Header<'a> {
    /// A header to be written.
    pub fn new(key: &'a str, value: Option<&'a [u8]>) -> Self {
        Self { key: key.as_bytes(), value }
    }

    /// The key as text. As in Kafka's client, malformed bytes become U+FFFD; only then does it allocate.
    pub fn key_str(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.key)
    }
}

/// Iterator over the headers of a record, in the order in which they were written. It is a cheap copy of two numbers
/// and a slice; nothing is parsed before it is asked for. The first error ends it.
#[derive(Debug, Clone, Copy)]
pub struct Headers<'a> {
    rest: &'a [u8],
    left: u32,
}

/// The smallest header: an empty key and a null value.
const SMALLEST_HEADER: usize = 2;

impl<'a> Headers<'a> {
    /// No headers; `end` is the end of the record, for their place.
    #[inline(always)]
    pub(super) fn none(end: &'a [u8]) -> Self {
        Self { rest: end, left: 0 }
    }

    /// Of `bytes` that hold `count` headers and nothing else.
    #[inline(always)]
    pub(super) fn new(bytes: &'a [u8], count: i32) -> Result<Self, RecordFault> {
        if count == 0 && bytes.is_empty() {
            return Ok(Self::none(bytes));
        }
        Self::with_some(bytes, count)
    }

    fn with_some(bytes: &'a [u8], count: i32) -> Result<Self, RecordFault> {
        match u32::try_from(count) {
            Ok(0) => Err(RecordFault::Trailing(bytes.len())),
            Ok(left) if left as usize <= bytes.len() / SMALLEST_HEADER => Ok(Self { rest: bytes, left }),
            _ => Err(RecordFault::HeaderCount(count)),
        }
    }

    /// As [`new`](Self::new) did, of what it accepted.
    pub(super) fn checked(bytes: &'a [u8], count: u32) -> Self {
        Self { rest: bytes, left: count }
    }

    /// The encoded headers that are still to come.
    pub(super) fn bytes(&self) -> &'a [u8] {
        self.rest
    }

    /// How many headers are still to come.
    pub fn len(&self) -> usize {
        self.left as usize
    }

    /// Whether no header is to come.
    pub fn is_empty(&self) -> bool {
        self.left == 0
    }

    fn take(&mut self) -> Result<Header<'a>, RecordFault> {
        let key = take_nullable(&mut self.rest)?.ok_or(RecordFault::Length(-1))?;
        let value = take_nullable(&mut self.rest)?;
        self.left -= 1;
        if self.left == 0 && !self.rest.is_empty() {
            return Err(RecordFault::Trailing(self.rest.len()));
        }
        Ok(Header { key, value })
    }
}

impl<'a> Iterator for Headers<'a> {
    type Item = Result<Header<'a>, RecordFault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let header = self.take();
        if header.is_err() {
            self.left = 0;
        }
        Some(header)
    }
}

impl std::iter::FusedIterator for Headers<'_> {}
