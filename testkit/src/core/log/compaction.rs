//! Of each key only the last record: what compaction takes out of a log.

use std::collections::HashMap;

use ackflow_protocol::records::{DEFAULT_DECOMPRESSION_LIMIT, Record, RecordBatch, retain_records};
use bytes::Bytes;

use super::{PartitionLog, StoredBatch};

/// How a log is compacted; all times in ms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compaction {
    /// Now.
    pub(crate) now: i64,
    /// `min.compaction.lag.ms`: what is younger stays, and what is behind it.
    pub(crate) min_lag: i64,
    /// `delete.retention.ms`: so long a tombstone stays once nothing else of its key is left before it.
    pub(crate) delete_retention: i64,
}

/// The offset of the last record of each key.
type Latest = HashMap<Vec<u8>, i64>;

impl PartitionLog {
    /// Takes out the records that a later one of their key stands for, those of aborted transactions and those without a key. Offsets stay; a batch
    /// of which nothing is left vanishes, unless its producer's last sequence number is in it. Markers of transactions stay for good.
    ///
    /// A batch is what a segment is to Kafka: the last one is left alone, and so is what is not decided yet. Where a batch cannot be read nothing is
    /// done, as Kafka's cleaner gives up such a log.
    pub(crate) fn compact(&mut self, rules: Compaction) {
        let cleanable = self.cleanable(rules);
        let Some(latest) = self.latest(cleanable) else { return };
        let compacted: Option<Vec<_>> =
            self.batches[..cleanable].iter().map(|stored| self.compacted(stored, &latest, rules)).collect();
        let Some(compacted) = compacted else { return };
        let mut position = self.batches.first().map_or(self.size, |first| first.position);
        let stored = std::mem::take(&mut self.batches).into_iter();
        let compacted = compacted.into_iter().map(Some).chain(std::iter::repeat(None));
        for (stored, compacted) in stored.zip(compacted) {
            let Some(bytes) = compacted.unwrap_or(Some(stored.bytes)) else { continue };
            let size = bytes.len() as u64;
            self.batches.push(StoredBatch { position, bytes, ..stored });
            position += size;
        }
        self.size = position;
    }

    /// How many batches may be compacted.
    fn cleanable(&self, rules: Compaction) -> usize {
        let stable = self.last_stable_offset();
        let decided =
            self.batches.partition_point(|batch| batch.last < stable).min(self.batches.len().saturating_sub(1));
        let is_old = |stored: &&StoredBatch| {
            let newest = stored.batch().map_or(i64::MIN, |batch| batch.max_timestamp());
            rules.min_lag <= 0 || newest <= rules.now.saturating_sub(rules.min_lag)
        };
        self.batches[..decided].iter().take_while(is_old).count()
    }

    /// The last record of each key in the first `cleanable` batches; `None` where one cannot be read.
    fn latest(&self, cleanable: usize) -> Option<Latest> {
        let mut latest = Latest::new();
        for stored in &self.batches[..cleanable] {
            let batch = read(stored)?;
            let counts = !batch.is_control() && !self.is_aborted(stored);
            for record in batch.records() {
                let record = record.ok()?;
                if let Some(key) = record.key.filter(|_| counts) {
                    latest.insert(key.to_vec(), record.offset);
                }
            }
        }
        Some(latest)
    }

    /// What is left of a batch, if anything; the outer `None` where it cannot be read.
    fn compacted(&self, stored: &StoredBatch, latest: &Latest, rules: Compaction) -> Option<Option<Bytes>> {
        let batch = read(stored)?;
        if batch.is_control() {
            return Some(Some(stored.bytes.clone()));
        }
        let is_aborted = self.is_aborted(stored);
        let tombstones_go = batch.has_delete_horizon() && batch.base_timestamp() <= rules.now;
        let stays = |record: &Record<'_>| {
            let is_last = record.key.is_some_and(|key| latest.get(key) == Some(&record.offset));
            is_last && !is_aborted && (record.value.is_some() || !tombstones_go)
        };
        let (mut left, mut has_tombstone) = (0, false);
        for record in batch.records().map_while(Result::ok).filter(&stays) {
            left += 1;
            has_tombstone |= record.value.is_none();
        }
        if left == 0 && !self.producers.ends_with(batch.producer_id(), stored.first) {
            return Some(None);
        }
        let is_new = has_tombstone && !batch.has_delete_horizon();
        if left == batch.count() && !is_new {
            return Some(Some(stored.bytes.clone()));
        }
        let horizon = is_new.then(|| rules.now.saturating_add(rules.delete_retention));
        retain_records(&batch, horizon, stays).ok().map(Some)
    }
}

/// The only batch of these bytes, checked and with records that can be read.
fn read(stored: &StoredBatch) -> Option<RecordBatch> {
    let batch = stored.batch().filter(|batch| batch.size_in_bytes() == stored.bytes.len())?;
    batch.verify_crc().ok()?;
    batch.decompress(DEFAULT_DECOMPRESSION_LIMIT).ok()
}
