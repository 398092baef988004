//! Share groups: membership, sessions, share partitions, fetches that wait.

mod dead_letters;
pub(crate) mod fetch;
pub(crate) mod group;
pub(crate) mod partition;
pub(crate) mod session;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use ackflow_protocol::wire::Uuid;

use super::topics::TopicIdPartition;
use partition::{RecordChange, SharePartition};

/// A share partition, and the timer for its locks.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The states of its records.
    pub(crate) partition: SharePartition,
    /// Whether the partition's leader has it in memory: from the group's first fetch there, until it is unloaded.
    is_loaded: bool,
    /// When its timer will look at the locks; `None` where no timer runs.
    armed: Option<Instant>,
}

impl Entry {
    fn unload(&mut self) {
        if std::mem::replace(&mut self.is_loaded, false) {
            self.partition.forget_acquired();
            // A timer that goes off while it is unloaded finds nothing to look at.
            self.armed = None;
        }
    }

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
    by_group: BTreeMap<Arc<str>, BTreeMap<TopicIdPartition, Entry>>,
    /// Whether what happens to records is noted.
    keeps_history: bool,
}

impl SharePartitions {
    /// The share partition, where the group has fetched from it.
    pub(crate) fn get(&self, group: &str, partition: TopicIdPartition) -> Option<&SharePartition> {
        self.by_group.get(group)?.get(&partition).map(|entry| &entry.partition)
    }

    /// The share partition, where the leader has it in memory.
    pub(crate) fn get_mut(&mut self, group: &str, partition: TopicIdPartition) -> Option<&mut Entry> {
        self.by_group.get_mut(group)?.get_mut(&partition).filter(|entry| entry.is_loaded)
    }

    /// The share partition, whether the leader has it in memory or not.
    #[cfg(feature = "unstable-kip-1289")]
    pub(crate) fn stored_mut(&mut self, group: &str, partition: TopicIdPartition) -> Option<&mut SharePartition> {
        self.by_group.get_mut(group)?.get_mut(&partition).map(|entry| &mut entry.partition)
    }

    /// Loads the share partition; `start` gives the start offset of one that is new.
    pub(crate) fn load(&mut self, group: &Arc<str>, partition: TopicIdPartition, start: impl FnOnce() -> i64) {
        let partitions = self.by_group.entry(group.clone()).or_default();
        let entry = partitions.entry(partition).or_insert_with(|| Entry {
            partition: SharePartition::new(start()),
            is_loaded: true,
            armed: None,
        });
        entry.is_loaded = true;
        if self.keeps_history {
            entry.partition.keep_history();
        }
    }

    /// Notes from now on what happens to records.
    pub(crate) fn keep_history(&mut self) {
        self.keeps_history = true;
        let entries = self.by_group.values_mut().flat_map(BTreeMap::values_mut);
        entries.for_each(|entry| entry.partition.keep_history());
    }

    /// What happened to records since this was asked for last: by group and partition, and in each in the order of time.
    pub(crate) fn take_history(&mut self) -> Vec<(Arc<str>, TopicIdPartition, RecordChange)> {
        let mut history = Vec::new();
        for (group, partitions) in &mut self.by_group {
            for (partition, entry) in partitions {
                let changes = entry.partition.take_history();
                history.extend(changes.into_iter().map(|change| (group.clone(), *partition, change)));
            }
        }
        history
    }

    /// What a group with a dead letter queue has given up since this was asked for last.
    pub(crate) fn take_given_up(&mut self, group: &str) -> Vec<(TopicIdPartition, Vec<RecordChange>)> {
        let partitions = self.by_group.get_mut(group).into_iter().flatten();
        let given_up = partitions.map(|(partition, entry)| (*partition, entry.partition.take_given_up()));
        given_up.filter(|(_, changes)| !changes.is_empty()).collect()
    }

    /// The partitions that a group has fetched from and that are in memory.
    pub(crate) fn loaded(&self, group: &str) -> Vec<TopicIdPartition> {
        let partitions = self.by_group.get(group).into_iter().flatten();
        partitions.filter(|(_, entry)| entry.is_loaded).map(|(partition, _)| *partition).collect()
    }

    /// The partition's leader drops it from memory, and with it who holds what.
    pub(crate) fn unload(&mut self, partition: TopicIdPartition) {
        for partitions in self.by_group.values_mut() {
            if let Some(entry) = partitions.get_mut(&partition) {
                entry.unload();
            }
        }
    }

    /// As [`unload`](Self::unload), for all partitions of one group that `is_led` picks.
    pub(crate) fn unload_group(&mut self, group: &str, is_led: impl Fn(TopicIdPartition) -> bool) {
        let partitions = self.by_group.get_mut(group).into_iter().flatten();
        partitions.filter(|(partition, _)| is_led(**partition)).for_each(|(_, entry)| entry.unload());
    }

    /// The log of a partition begins at `offset` from now on.
    pub(crate) fn log_starts_at(&mut self, partition: TopicIdPartition, offset: i64) {
        for partitions in self.by_group.values_mut() {
            if let Some(entry) = partitions.get_mut(&partition) {
                entry.partition.log_starts_at(offset);
            }
        }
    }

    /// Lets a group go on at `start`, whatever it had done; below 0, as if it had never fetched from there.
    pub(crate) fn set_start(&mut self, group: &str, partition: TopicIdPartition, start: i64) {
        let partitions = self.by_group.entry(group.into()).or_default();
        if start < 0 {
            partitions.remove(&partition);
        } else {
            let entry = Entry { partition: SharePartition::set_to(start), is_loaded: false, armed: None };
            partitions.insert(partition, entry);
        }
    }

    /// Forgets a group's partitions of a topic.
    pub(crate) fn forget_topic(&mut self, group: &str, topic: Uuid) {
        if let Some(partitions) = self.by_group.get_mut(group) {
            partitions.retain(|partition, _| partition.topic_id != topic);
        }
    }

    /// Forgets a group's partitions.
    pub(crate) fn remove_group(&mut self, group: &str) {
        self.by_group.remove(group);
    }

    /// Forgets the partition in every group.
    pub(crate) fn remove(&mut self, partition: TopicIdPartition) {
        for partitions in self.by_group.values_mut() {
            partitions.remove(&partition);
        }
    }
}
