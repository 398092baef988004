//! The transactions of one partition: which are open, and which were aborted.

use std::collections::BTreeMap;

/// A transaction that was aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Aborted {
    /// Its producer.
    pub(crate) producer_id: i64,
    /// The offset of its first record.
    pub(crate) first: i64,
    /// The offset of its marker.
    pub(crate) last: i64,
}

/// The transactions of one partition.
#[derive(Debug, Default)]
pub(crate) struct Transactions {
    /// Producers by the first offset of their open transaction.
    open: BTreeMap<i64, i64>,
    /// In the order of their markers.
    aborted: Vec<Aborted>,
}

impl Transactions {
    /// A producer's transaction begins.
    pub(crate) fn begin(&mut self, producer_id: i64, first: i64) {
        self.open.insert(first, producer_id);
    }

    /// A producer's transaction that began at `first` has its marker at `last`.
    pub(crate) fn end(&mut self, producer_id: i64, first: i64, last: i64, committed: bool) {
        self.open.remove(&first);
        if !committed {
            self.aborted.push(Aborted { producer_id, first, last });
        }
    }

    /// The first offset of which it is open whether it counts.
    pub(crate) fn first_open(&self) -> Option<i64> {
        self.open.first_key_value().map(|(first, _)| *first)
    }

    /// The aborted transactions that reach into `from..to`, in the order of their markers.
    pub(crate) fn aborted(&self, from: i64, to: i64) -> impl Iterator<Item = Aborted> {
        let begin = self.aborted.partition_point(|aborted| aborted.last < from);
        self.aborted[begin..].iter().copied().filter(move |aborted| aborted.first < to)
    }

    /// Forgets what lies before the start of the log.
    pub(crate) fn truncate_before(&mut self, start: i64) {
        self.aborted.retain(|aborted| aborted.last >= start);
    }
}
