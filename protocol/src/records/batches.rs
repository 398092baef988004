//! The walk over a `records` field, batch by batch.

use bytes::Bytes;

use super::{
    batch::RecordBatch,
    error::BatchError,
    header::{LOG_OVERHEAD, MAGIC_AT},
};

/// The smallest length field that any format has: that of a magic 0 message.
const SHORTEST_LENGTH: i32 = 14;

/// Iterator over the batches of one `records` field.
///
/// A broker cuts the field at a byte limit, so the last batch may be partial: there the iteration ends without an
/// error, and [`remaining`](Self::remaining) tells how many bytes of it are there. A batch that cannot be read gives an
/// error, and the iteration goes on with the next one, unless the length field itself makes no sense.
#[derive(Debug, Clone)]
pub struct Batches {
    rest: Bytes,
    ended: bool,
}

impl Batches {
    /// Walks over the bytes of a `records` field. They are sliced, never copied.
    pub fn new(records: Bytes) -> Self {
        Self { rest: records, ended: false }
    }

    /// Bytes that were not given out. After the end: those of a partial batch, or of everything from a bad length field
    /// on.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// After the end: how many bytes the partial batch has where it is whole. `None` where there is none, or its length is
    /// not there or makes no sense.
    pub fn partial_size(&self) -> Option<usize> {
        let (_, after) = self.rest.split_first_chunk::<8>()?;
        let length = i32::from_be_bytes(*after.first_chunk()?);
        (length >= SHORTEST_LENGTH).then(|| LOG_OVERHEAD + length as usize)
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let frame = match split_frame(&mut self.rest) {
            Ok(Some(frame)) => frame,
            Ok(None) => {
                self.ended = true;
                return None;
            }
            Err(error) => {
                self.ended = true;
                return Some(Err(error));
            }
        };
        Some(RecordBatch::parse(frame))
    }
}

impl std::iter::FusedIterator for Batches {}

/// Takes the bytes of one batch off the front; `None` when they are not all there.
fn split_frame(rest: &mut Bytes) -> Result<Option<Bytes>, BatchError> {
    let Some((offset, after)) = rest.split_first_chunk() else {
        return Ok(None);
    };
    let Some((length, _)) = after.split_first_chunk() else {
        return Ok(None);
    };
    let length = i32::from_be_bytes(*length);
    if length < SHORTEST_LENGTH {
        return Err(BatchError::Length { base_offset: i64::from_be_bytes(*offset), length });
    }
    let size = LOG_OVERHEAD + length as usize;
    debug_assert!(size > MAGIC_AT);
    Ok((size <= rest.len()).then(|| rest.split_to(size)))
}
