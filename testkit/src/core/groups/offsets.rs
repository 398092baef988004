//! The offsets that a group has committed.

use std::collections::BTreeMap;

/// One committed offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Committed {
    /// The offset of the next record to read.
    pub(crate) offset: i64,
    /// The leader epoch of the last record read; -1 where it is not known.
    pub(crate) leader_epoch: i32,
    /// What the client keeps with it.
    pub(crate) metadata: String,
}

/// A partition by the name of its topic: offsets outlive members, but not topics.
pub(crate) type NamedPartition = (String, i32);

/// The offsets of one group.
#[derive(Debug, Default)]
pub(crate) struct Offsets {
    committed: BTreeMap<NamedPartition, Committed>,
    /// What open transactions would commit, by producer.
    pending: BTreeMap<i64, BTreeMap<NamedPartition, Committed>>,
}

impl Offsets {
    /// Keeps an offset.
    pub(crate) fn commit(&mut self, partition: NamedPartition, committed: Committed) {
        self.committed.insert(partition, committed);
    }

    /// Keeps an offset until the producer's transaction ends.
    pub(crate) fn commit_later(&mut self, producer_id: i64, partition: NamedPartition, committed: Committed) {
        self.pending.entry(producer_id).or_default().insert(partition, committed);
    }

    /// The producer's transaction has ended.
    pub(crate) fn end_transaction(&mut self, producer_id: i64, committed: bool) {
        let pending = self.pending.remove(&producer_id).unwrap_or_default();
        if committed {
            self.committed.extend(pending);
        }
    }

    /// What was committed of a partition.
    pub(crate) fn get(&self, partition: &NamedPartition) -> Option<&Committed> {
        self.committed.get(partition)
    }

    /// All partitions of which anything is committed.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = &NamedPartition> {
        self.committed.keys()
    }

    /// Whether an open transaction would commit an offset of the partition.
    pub(crate) fn is_unstable(&self, partition: &NamedPartition) -> bool {
        self.pending.values().any(|pending| pending.contains_key(partition))
    }

    /// Forgets a partition.
    pub(crate) fn delete(&mut self, partition: &NamedPartition) {
        self.committed.remove(partition);
        self.pending.values_mut().for_each(|pending| drop(pending.remove(partition)));
    }

    /// Forgets a topic that is no more.
    pub(crate) fn delete_topic(&mut self, topic: &str) {
        self.committed.retain(|(name, _), _| name != topic);
        self.pending.values_mut().for_each(|pending| pending.retain(|(name, _), _| name != topic));
    }
}
