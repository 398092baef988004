//! Records as borrowed views, and the walk over them.

use super::{
    batch::RecordBatch,
    compression::Compression,
    error::{BatchError, RecordFault},
    header::TimestampType,
    headers::Headers,
    usual::take_usual,
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
    index: u32,
    /// Where the walk ends: the count of the batch; 0 when there is nothing to walk, `index` after an error.
    end: u32,
    last_delta: i32,
    max_delta: i32,
    base_offset: i64,
    base_timestamp: i64,
    append_time: Option<i64>,
    finish: Finish,
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
        let (end, finish) = match batch.is_compressed() {
            false => (batch.count() as u32, Finish::Check),
            true => (0, Finish::Compressed(batch.compression())),
        };
        Self {
            rest: body.get(cursor.position as usize..).unwrap_or_default(),
            body_len: body.len(),
            index: cursor.index,
            end,
            last_delta: -1,
            max_delta: batch.last_offset_delta(),
            base_offset: batch.base_offset(),
            base_timestamp: batch.base_timestamp(),
            append_time: match batch.timestamp_type() {
                TimestampType::CreateTime => None,
                TimestampType::LogAppendTime => Some(batch.max_timestamp()),
            },
            finish,
        }
    }

    /// The place before the record that comes next.
    pub fn cursor(&self) -> RecordCursor {
        RecordCursor { position: (self.body_len - self.rest.len()) as u32, index: self.index }
    }

    /// Passes the records before `offset`, and ends as the iterator would when none is left.
    pub(super) fn skip_to(&mut self, offset: i64) -> Result<(), BatchError> {
        while self.index < self.end {
            let mut rest = self.rest;
            let delta = match take_frame(&mut rest).and_then(take_offset_delta) {
                Ok(delta) => delta,
                Err(fault) => return Err(self.fail(fault)),
            };
            if self.base_offset + i64::from(delta) >= offset {
                return Ok(());
            }
            self.rest = rest;
            self.index += 1;
        }
        self.finish().map_or(Ok(()), Err)
    }

    #[inline(always)]
    fn take(&mut self) -> Result<Record<'a>, RecordFault> {
        let Framed { fields, raw, rest } = match take_usual(self.rest) {
            Some(framed) => framed,
            None => Framed::take(self.rest)?,
        };
        let delta = fields.offset_delta;
        if delta <= self.last_delta || delta > self.max_delta {
            return Err(RecordFault::OffsetDelta(delta));
        }
        self.last_delta = delta;
        self.rest = rest;
        self.index += 1;
        Ok(Record {
            offset: self.base_offset + i64::from(delta),
            timestamp: match self.append_time {
                None => self.base_timestamp.wrapping_add(fields.timestamp_delta),
                Some(time) => time,
            },
            key: fields.key,
            value: fields.value,
            headers: fields.headers,
            raw,
        })
    }

    // What ends the walk is inlined and calls nothing with `self`: if its address escaped, the walk would go through memory.

    /// Ends the walk with an error about the record at hand.
    #[inline(always)]
    fn fail(&mut self, fault: RecordFault) -> BatchError {
        self.end = self.index;
        self.finish = Finish::Done;
        BatchError::Record { base_offset: self.base_offset, index: self.index, fault }
    }

    /// Ends the walk after the last record, or before the first.
    #[inline(always)]
    fn finish(&mut self) -> Option<BatchError> {
        let Self { base_offset, finish, .. } = *self;
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

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, BatchError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.index >= self.end {
            return self.finish().map(Err);
        }
        match self.take() {
            Ok(record) => Some(Ok(record)),
            Err(fault) => Some(Err(self.fail(fault))),
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
