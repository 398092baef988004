//! Records as borrowed views, and the walk over them.

use super::{
    batch::RecordBatch,
    compression::Compression,
    error::{BatchError, RecordFault},
    header::TimestampType,
    headers::Headers,
    usual::{take_most, take_usual},
    varint::{take_i32, take_i64},
};

/// One record, lent by its batch. Null and empty are kept apart everywhere.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// Offset in the partition.
    pub offset: i64,
    /// Time in ms, the producer's or the broker's by [`RecordBatch::timestamp_type`].
    pub timestamp: i64,
    /// The key, or null.
    pub key: Option<&'a [u8]>,
    /// The value, or null (a tombstone, in a compacted topic).
    pub value: Option<&'a [u8]>,
    headers: Headers<'a>,
    /// The record without its length prefix; key, value and headers lie in it.
    raw: &'a [u8],
}

impl<'a> Record<'a> {
    /// The headers, parsed as they are asked for.
    pub fn headers(&self) -> Headers<'a> {
        self.headers
    }

    /// The encoded record that the views point into.
    pub(super) fn raw(&self) -> &'a [u8] {
        self.raw
    }
}

/// A place between two records of a batch, to go on from later without holding a borrow. The default is the start. It
/// means something only for the batch that it came from; with any other it leads to an error or to wrong records, never
/// to a panic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordCursor {
    /// Bytes of the decompressed body that lie before this place.
    pub position: u32,
    /// Records before this place.
    pub index: u32,
}

/// Iterator over the records of a batch, without a heap allocation or an atomic a record.
///
/// The first error ends it: the records before are good, none after can be found. It is an error when bytes are left
/// after the last record, or when offsets do not rise or leave the batch.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    rest: &'a [u8],
    body_len: usize,
    /// Records that are still to come: 0 when there is nothing to walk, or after an error.
    left: u32,
    /// The index of the record at which none are left.
    end: u32,
    last_delta: i32,
    base: Base,
    finish: Finish,
}

/// What the header says about all records of a batch.
#[derive(Debug, Clone, Copy)]
struct Base {
    offset: i64,
    max_delta: i32,
    timestamp: i64,
    /// The bits of a record's timestamp delta that count: all, or none where `timestamp` is the broker's.
    timestamp_mask: i64,
}

/// What is to be said when no more records come.
#[derive(Debug, Clone, Copy)]
enum Finish {
    /// Whether bytes are left.
    Check,
    /// That the batch is compressed.
    Compressed(Compression),
    /// Nothing: it was said.
    Done,
}

impl<'a> Records<'a> {
    pub(super) fn new(batch: &'a RecordBatch, cursor: RecordCursor) -> Self {
        let body = batch.body();
        let (count, finish) = match batch.is_compressed() {
            false => (batch.count() as u32, Finish::Check),
            true => (0, Finish::Compressed(batch.compression())),
        };
        let left = count.saturating_sub(cursor.index);
        let (timestamp, timestamp_mask) = match batch.timestamp_type() {
            TimestampType::CreateTime => (batch.base_timestamp(), -1),
            TimestampType::LogAppendTime => (batch.max_timestamp(), 0),
        };
        Self {
            rest: body.get(cursor.position as usize..).unwrap_or_default(),
            body_len: body.len(),
            left,
            end: cursor.index + left,
            last_delta: -1,
            base: Base { offset: batch.base_offset(), max_delta: batch.last_offset_delta(), timestamp, timestamp_mask },
            finish,
        }
    }

    /// The place before the record that comes next.
    pub fn cursor(&self) -> RecordCursor {
        RecordCursor { position: (self.body_len - self.rest.len()) as u32, index: self.index() }
    }

    /// The index of the record that comes next.
    fn index(&self) -> u32 {
        self.end - self.left
    }

    /// Passes the records before `offset`, and ends as the iterator would when none is left.
    pub(super) fn skip_to(&mut self, offset: i64) -> Result<(), BatchError> {
        while self.left > 0 {
            let mut rest = self.rest;
            let delta = match take_frame(&mut rest).and_then(take_offset_delta) {
                Ok(delta) => delta,
                Err(fault) => return Err(self.fail(fault)),
            };
            if self.base.offset + i64::from(delta) >= offset {
                return Ok(());
            }
            self.rest = rest;
            self.left -= 1;
        }
        self.finish().map_or(Ok(()), Err)
    }

    // What ends the walk is inlined and calls nothing with `self`: if its address escaped, the walk would go through memory.

    /// Ends the walk with an error about the record at hand.
    #[inline(always)]
    fn fail(&mut self, fault: RecordFault) -> BatchError {
        let index = self.index();
        self.end = index;
        self.left = 0;
        self.finish = Finish::Done;
        BatchError::Record { base_offset: self.base.offset, index, fault }
    }

    /// Ends the walk after the last record, or before the first.
    #[inline(always)]
    fn finish(&mut self) -> Option<BatchError> {
        let Self { base: Base { offset: base_offset, .. }, finish, .. } = *self;
        self.finish = Finish::Done;
        match finish {
            Finish::Check if !self.rest.is_empty() => {
                Some(BatchError::Trailing { base_offset, bytes: self.rest.len() })
            }
            Finish::Compressed(codec) => Some(BatchError::Compressed { base_offset, codec }),
            Finish::Check | Finish::Done => None,
        }
    }
}

impl Base {
    /// Takes the record off the front of `rest`. Its offset has to be higher than `last_delta` says.
    #[inline(always)]
    fn take<'a>(&self, rest: &mut &'a [u8], last_delta: &mut i32) -> Result<Record<'a>, RecordFault> {
        let framed = match take_usual(rest) {
            Some(framed) => framed,
            None => Framed::take(rest)?,
        };
        self.accept(framed, rest, last_delta)
    }

    /// The record that was taken off the front of `rest`.
    #[inline(always)]
    fn accept<'a>(
        &self,
        Framed { fields, raw, rest: after }: Framed<'a>,
        rest: &mut &'a [u8],
        last_delta: &mut i32,
    ) -> Result<Record<'a>, RecordFault> {
        let delta = fields.offset_delta;
        if delta <= *last_delta || delta > self.max_delta {
            return Err(RecordFault::OffsetDelta(delta));
        }
        *last_delta = delta;
        *rest = after;
        Ok(Record {
            offset: self.offset + i64::from(delta),
            timestamp: self.timestamp.wrapping_add(fields.timestamp_delta & self.timestamp_mask),
            key: fields.key,
            value: fields.value,
            headers: fields.headers,
            raw,
        })
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, BatchError>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return self.finish().map(Err);
        }
        match self.base.take(&mut self.rest, &mut self.last_delta) {
            Ok(record) => {
                self.left -= 1;
                Some(Ok(record))
            }
            Err(fault) => Some(Err(self.fail(fault))),
        }
    }

    /// What `for_each`, `sum` and their like stand on. It is faster than a loop over [`next`](Self::next): where the walk
    /// stands is kept in registers, and a record never shares its place with an error.
    #[inline(always)]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(mut self, init: B, mut f: F) -> B {
        let Self { mut rest, mut left, mut last_delta, base, .. } = self;
        let mut result = init;
        let fault = loop {
            if left == 0 {
                break None;
            }
            left -= 1;
            // The most usual records come to `f` by a way of their own, on which nothing is merged with other ways.
            if let Some(framed) = take_most(rest) {
                match base.accept(framed, &mut rest, &mut last_delta) {
                    Ok(record) => result = f(result, Ok(record)),
                    Err(fault) => break Some(fault),
                }
            } else {
                match base.take(&mut rest, &mut last_delta) {
                    Ok(record) => result = f(result, Ok(record)),
                    Err(fault) => break Some(fault),
                }
            }
        };
        (self.rest, self.left) = (rest, left + u32::from(fault.is_some()));
        let error = match fault {
            Some(fault) => Some(self.fail(fault)),
            None => self.finish(),
        };
        match error {
            Some(error) => f(result, Err(error)),
            None => result,
        }
    }
}

impl std::iter::FusedIterator for Records<'_> {}

/// One record, and what follows it.
#[derive(Debug, Clone)]
pub(super) struct Framed<'a> {
    pub(super) fields: Fields<'a>,
    /// The record without its length prefix.
    pub(super) raw: &'a [u8],
    pub(super) rest: &'a [u8],
}

impl<'a> Framed<'a> {
    /// Takes any record off the front of `input`.
    #[inline(never)]
    pub(super) fn take(input: &'a [u8]) -> Result<Self, RecordFault> {
        let mut rest = input;
        let raw = take_frame(&mut rest)?;
        Ok(Self { fields: Fields::parse(raw)?, raw, rest })
    }
}

/// The fields of one record, and how many bytes follow key and value.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a> {
    pub(super) timestamp_delta: i64,
    pub(super) offset_delta: i32,
    pub(super) key: Option<&'a [u8]>,
    pub(super) after_key: usize,
    pub(super) value: Option<&'a [u8]>,
    pub(super) after_value: usize,
    pub(super) headers: Headers<'a>,
}

impl<'a> Fields<'a> {
    /// Of a record without its length prefix.
    #[inline(always)]
    pub(super) fn parse(raw: &'a [u8]) -> Result<Self, RecordFault> {
        let mut rest = raw;
        let (timestamp_delta, offset_delta) = take_deltas(&mut rest)?;
        let key = take_nullable(&mut rest)?;
        let after_key = rest.len();
        let value = take_nullable(&mut rest)?;
        let after_value = rest.len();
        let header_count = take_i32(&mut rest)?;
        let headers = Headers::new(rest, header_count)?;
        Ok(Self { timestamp_delta, offset_delta, key, after_key, value, after_value, headers })
    }
}

/// The bytes of one record, without the length that says how many they are.
#[inline(always)]
fn take_frame<'a>(input: &mut &'a [u8]) -> Result<&'a [u8], RecordFault> {
    let length = take_i32(input)?;
    if length < 0 {
        return Err(RecordFault::Length(length));
    }
    let (frame, rest) = input.split_at_checked(length as usize).ok_or(RecordFault::Truncated)?;
    *input = rest;
    Ok(frame)
}

/// Attributes (unused in this format, so passed over), timestamp delta, offset delta.
#[inline(always)]
fn take_deltas(fields: &mut &[u8]) -> Result<(i64, i32), RecordFault> {
    let (_attributes, rest) = fields.split_first().ok_or(RecordFault::Truncated)?;
    *fields = rest;
    Ok((take_i64(fields)?, take_i32(fields)?))
}

fn take_offset_delta(mut fields: &[u8]) -> Result<i32, RecordFault> {
    take_deltas(&mut fields).map(|(_, offset_delta)| offset_delta)
}

/// A length and as many bytes; -1 is null.
#[inline(always)]
pub(super) fn take_nullable<'a>(input: &mut &'a [u8]) -> Result<Option<&'a [u8]>, RecordFault> {
    let length = take_i32(input)?;
    if length < 0 {
        return if length == -1 { Ok(None) } else { Err(RecordFault::Length(length)) };
    }
    let (bytes, rest) = input.split_at_checked(length as usize).ok_or(RecordFault::Truncated)?;
    *input = rest;
    Ok(Some(bytes))
}
