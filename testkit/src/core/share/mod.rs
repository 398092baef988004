//! Share groups: membership, sessions, share partitions, fetches that wait.

pub(crate) mod fetch;
pub(crate) mod group;
pub(crate) mod parked;
pub(crate) mod partition;
pub(crate) mod session;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use super::topics::TopicIdPartition;
use partition::SharePartition;

/// A share partition, and the timer for its locks.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The states of its records.
    pub(crate) partition: SharePartition,
    /// When its timer will look at the locks; `None` where no timer runs.
    armed: Option<Instant>,
}

impl Entry {
    /// When a timer has to be set for the locks, where none runs that is early enough.
    pub(crate) fn arm(&mut self) -> Option<Instant> {
        let deadline = self.partition.next_lock_deadline()?;
        if self.armed.is_some_and(|armed| armed <= deadline) {
            return None;
        }
        self.armed = Some(deadline);
        self.armed
    }

    /// Notes that a timer has gone off.
    pub(crate) fn disarm(&mut self, now: Instant) {
        if self.armed.is_some_and(|armed| armed <= now) {
            self.armed = None;
        }
    }
}

/// All share partitions, by group and partition.
#[derive(Debug, Default)]
pub(crate) struct SharePartitions {
    by_group: HashMap<Arc<str>, HashMap<TopicIdPartition, Entry>>,
}

impl SharePartitions {
    /// The share partition, where the group has fetched from it.
    pub(crate) fn get(&self, group: &str, partition: TopicIdPartition) -> Option<&SharePartition> {
        self.by_group.get(group)?.get(&partition).map(|entry| &entry.partition)
    }

    /// The share partition, where the group has fetched from it.
    pub(crate) fn get_mut(&mut self, group: &str, partition: TopicIdPartition) -> Option<&mut Entry> {
        self.by_group.get_mut(group)?.get_mut(&partition)
    }

    /// The share partition; `start` gives the start offset of one that is new.
    pub(crate) fn get_or_insert(
        &mut self,
        group: &Arc<str>,
        partition: TopicIdPartition,
        start: impl FnOnce() -> i64,
    ) -> &mut Entry {
        let partitions = self.by_group.entry(group.clone()).or_default();
        partitions.entry(partition).or_insert_with(|| Entry { partition: SharePartition::new(start()), armed: None })
    }

    /// Forgets what the members of a group hold.
    pub(crate) fn forget_acquired(&mut self, group: &str) {
        for entry in self.by_group.get_mut(group).into_iter().flat_map(HashMap::values_mut) {
            entry.partition.forget_acquired();
        }
    }

    /// Forgets the partition in every group.
    pub(crate) fn remove(&mut self, partition: TopicIdPartition) {
        for partitions in self.by_group.values_mut() {
            partitions.remove(&partition);
        }
    }
}
