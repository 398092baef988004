//! The records of one put.

use std::{fmt, iter::Enumerate, slice, sync::Arc};

use ackflow_client::share::{AcquiredRange, LentRecords, RecordError, ShareRecord, ShareRecordsIter};

use super::{Offsets, RecordId, SinkRecord, TopicPartition};
use crate::convert::{Converters, DataError};

/// The records of one put, lent one after the other. A clone is a second handle on the same bytes: a task that buffers keeps one instead of
/// copying records. While it lives, the fetch responses that the records came in stay in memory.
#[derive(Clone)]
pub struct SinkRecords {
    inner: Arc<Inner>,
}

struct Inner {
    parts: Vec<LentRecords>,
    converters: Arc<Converters>,
    len: usize,
    redelivered: usize,
}

/// Offsets of a part that no record can be made of.
#[derive(Debug)]
pub(crate) struct RecordFailure {
    /// Which part, as they were given.
    pub(crate) part: usize,
    pub(crate) range: AcquiredRange,
    pub(crate) error: DataError,
}

impl SinkRecords {
    /// Reads every record once, and takes out those which are malformed or which a converter refuses: after this, iterating cannot fail.
    pub(crate) fn prepare(mut parts: Vec<LentRecords>, converters: Arc<Converters>) -> (Self, Vec<RecordFailure>) {
        let (mut failures, mut len, mut redelivered) = (Vec::new(), 0, 0);
        for (index, part) in parts.iter_mut().enumerate() {
            let mut bad = Vec::new();
            for item in part.records() {
                match item.map(|record| (record.offset, record.delivery_count, converters.check(&record))) {
                    Ok((_, delivery_count, Ok(()))) => {
                        len += 1;
                        redelivered += usize::from(delivery_count > 1);
                    }
                    Ok((offset, _, Err(error))) => bad.push((offset..=offset, error)),
                    Err(RecordError { first, last, error, .. }) => bad.push((first..=last, DataError::Record(error))),
                }
            }
            for (offsets, error) in bad {
                let failed = part.remove(offsets).into_iter();
                failures.extend(failed.map(|range| RecordFailure { part: index, range, error: error.clone() }));
            }
        }
        (Self { inner: Arc::new(Inner { parts, converters, len, redelivered }) }, failures)
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.inner.len
    }

    /// Whether there are none: `put` is also called on time, with nothing to write.
    pub fn is_empty(&self) -> bool {
        self.inner.len == 0
    }

    /// How many of them were handed out before.
    pub fn redelivered(&self) -> usize {
        self.inner.redelivered
    }

    /// The records: those of one acquisition after the other, in the order of their offsets. A partition may have several acquisitions.
    pub fn iter(&self) -> SinkRecordsIter<'_> {
        SinkRecordsIter {
            converters: &self.inner.converters,
            parts: self.inner.parts.iter().enumerate(),
            current: None,
        }
    }

    /// For each partition the offset after its highest record.
    pub fn end_offsets(&self) -> Offsets {
        let mut offsets = Offsets::new();
        for part in &self.inner.parts {
            if let Some(range) = part.ranges().last() {
                let key = TopicPartition { topic: part.topic().clone(), partition: part.partition() };
                let end = offsets.entry(key).or_insert(0);
                *end = (*end).max(range.last + 1);
            }
        }
        offsets
    }
}

impl fmt::Debug for SinkRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SinkRecords").field("len", &self.len()).field("end_offsets", &self.end_offsets()).finish()
    }
}

impl<'a> IntoIterator for &'a SinkRecords {
    type Item = SinkRecord<'a>;
    type IntoIter = SinkRecordsIter<'a>;

    fn into_iter(self) -> SinkRecordsIter<'a> {
        self.iter()
    }
}

/// Iterator over [`SinkRecords`].
pub struct SinkRecordsIter<'a> {
    converters: &'a Converters,
    parts: Enumerate<slice::Iter<'a, LentRecords>>,
    current: Option<(usize, ShareRecordsIter<'a>)>,
}

impl<'a> Iterator for SinkRecordsIter<'a> {
    type Item = SinkRecord<'a>;

    #[inline]
    fn next(&mut self) -> Option<SinkRecord<'a>> {
        loop {
            if let Some((part, records)) = &mut self.current
                && let Some(record) = records.next()
            {
                match record {
                    Ok(record) => return Some(convert(self.converters, *part, &record)),
                    // What cannot be read was taken out by `prepare`, and is told as a failure.
                    Err(_) => continue,
                }
            }
            let (part, records) = self.parts.next()?;
            self.current = Some((part, records.records()));
        }
    }
}

#[inline]
fn convert<'a>(converters: &Converters, part: usize, record: &ShareRecord<'a>) -> SinkRecord<'a> {
    let (key, value) = converters.convert(record);
    SinkRecord {
        topic: record.topic,
        partition: record.partition,
        offset: record.offset,
        timestamp: record.timestamp,
        timestamp_type: record.timestamp_type,
        delivery_count: Some(record.delivery_count),
        key,
        value,
        raw_key: record.key,
        raw_value: record.value,
        headers: record.headers(),
        id: RecordId { part: part as u32, offset: record.offset },
    }
}

#[cfg(test)]
mod tests;
