//! What has to hold of records while transactions have them: the cluster's own history is the judge.

use std::collections::BTreeMap;

use ackflow_testkit::core::{FailedAttempt, RecordEvent};

use crate::trace;
use crate::world::World;

#[derive(Debug, Default, Clone, Copy)]
struct Record {
    is_pending: bool,
    is_done: bool,
    delivery_count: i16,
}

/// The records of the input, by partition and offset.
#[derive(Debug, Default)]
pub(crate) struct Oracle {
    records: BTreeMap<(i32, i64), Record>,
}

impl World {
    /// Looks at what has happened to records.
    pub(crate) fn take_history(&mut self) {
        for change in self.cluster.take_history() {
            let (partition, change) = (change.partition, change.change);
            trace!(
                self,
                "{partition}@{}-{}x{} {:?} {}",
                change.first,
                change.last,
                change.delivery_count,
                change.what,
                change.member
            );
            for offset in change.first..=change.last {
                let record = self.oracle.records.entry((partition, offset)).or_default();
                let at = format!("{partition}@{offset}");
                assert!(!record.is_done, "{at} is done, and then {:?}", change.what);
                match change.what {
                    RecordEvent::Acquired => {
                        assert!(!record.is_pending, "{at} is handed out while a transaction has it");
                        assert!(
                            change.delivery_count > record.delivery_count,
                            "{at} is delivered for the {}. time again",
                            change.delivery_count
                        );
                        record.delivery_count = change.delivery_count;
                    }
                    RecordEvent::Staged => {
                        assert!(!record.is_pending, "{at} is staged twice");
                        record.is_pending = true;
                    }
                    RecordEvent::Accepted | RecordEvent::Rejected => {
                        assert!(record.is_pending, "{at} is done outside a transaction");
                        (record.is_pending, record.is_done) = (false, true);
                    }
                    // The marker of no transaction: there are none in the input.
                    RecordEvent::Gap => panic!("{at} is no gap"),
                    RecordEvent::Failed { cause, archived } => {
                        assert!(!archived, "{at} has failed too often for this run");
                        let by_abort = cause == FailedAttempt::TransactionAborted;
                        assert_eq!(record.is_pending, by_abort, "{at} is given back by {cause:?}");
                        record.is_pending = false;
                    }
                    RecordEvent::Forgotten => {
                        assert!(!record.is_pending, "{at} is forgotten while a transaction has it");
                        record.delivery_count -= 1;
                    }
                    RecordEvent::Renewed => panic!("{at} is renewed by nobody"),
                }
                assert!(
                    change.what == RecordEvent::Forgotten || change.delivery_count == record.delivery_count,
                    "{at} counts {} deliveries of {}",
                    change.delivery_count,
                    record.delivery_count
                );
            }
            let what = match change.what {
                RecordEvent::Staged => "staged",
                RecordEvent::Accepted => "accepted",
                RecordEvent::Rejected => "rejected",
                RecordEvent::Failed { cause: FailedAttempt::TransactionAborted, .. } => "given_back",
                RecordEvent::Failed { cause: FailedAttempt::LockExpired, .. } => "locks_ended",
                _ => continue,
            };
            *self.counts.entry(what).or_default() += (change.last - change.first + 1) as u64;
        }
    }
}
