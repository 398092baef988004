//! What became of the records of one put.

use super::{RecordId, SinkError, SinkRecord};

/// What became of the records of one `put`: all written, but for those that are named here.
///
/// A failure that [can be retried](SinkError::Retriable) makes the worker put that record again, and only that. Any other failure is final
/// for that record: under `errors.tolerance=none` it fails the task, under `all` the record is logged and passed over. The records that
/// are not named are accepted either way.
#[derive(Debug, Default)]
pub struct PutOutcome {
    failed: Vec<FailedRecord>,
}

/// A record that was not written, and why.
#[derive(Debug)]
pub struct FailedRecord {
    /// Which record of the put.
    pub id: RecordId,
    /// Why it was not written.
    pub error: SinkError,
}

impl PutOutcome {
    /// Every record was written.
    pub fn ok() -> Self {
        Self::default()
    }

    /// Names a record that was not written.
    pub fn fail(&mut self, record: &SinkRecord<'_>, error: SinkError) {
        self.failed.push(FailedRecord { id: record.id(), error });
    }

    /// The records that were not written.
    pub fn failed(&self) -> &[FailedRecord] {
        &self.failed
    }

    pub(crate) fn into_failed(self) -> Vec<FailedRecord> {
        self.failed
    }
}
