//! What of a log is too old or too much.

use super::{PartitionLog, StoredBatch};

/// How much of a log is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Retention {
    /// `retention.ms` before now, in ms: what is older goes.
    pub(crate) oldest: Option<i64>,
    /// `retention.bytes`.
    pub(crate) bytes: Option<u64>,
}

impl PartitionLog {
    /// Where the log begins once nothing is in it that need not be kept. A batch goes as a segment of Kafka's does: once its youngest record
    /// is too old and nothing before it is left, or as long as what is behind it is enough.
    pub(crate) fn start_after(&self, retention: Retention) -> i64 {
        let is_old = |batch: &&StoredBatch| match (newest(batch), retention.oldest) {
            (Some(newest), Some(oldest)) => newest < oldest,
            _ => false,
        };
        let old = self.batches.iter().take_while(is_old).count();
        let is_enough = |batch: &&StoredBatch| {
            let behind = self.size - batch.position - batch.bytes.len() as u64;
            retention.bytes.is_some_and(|bytes| behind >= bytes)
        };
        let gone = old + self.batches[old..].iter().take_while(is_enough).count();
        self.batches.get(gone).map_or(self.end_offset, |batch| batch.first).max(self.start_offset)
    }

    /// Whether there is nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }
}

/// The time of the youngest record, where records have times.
fn newest(batch: &StoredBatch) -> Option<i64> {
    Some(batch.batch()?.max_timestamp()).filter(|newest| *newest >= 0)
}
