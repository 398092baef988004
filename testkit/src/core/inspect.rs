//! What a test can see of share groups that no client can, and what it can do to them.

use std::sync::Arc;
use std::time::Instant;

use ackflow_protocol::wire::{ErrorCode, Uuid};

use super::Cluster;
use super::handlers::{create_partitions, delete_topics};
use super::share::partition::RecordState;
pub use super::share::partition::{FailedAttempt, RecordChange, RecordEvent};

/// Neighbouring records of a share partition that are in the same state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareRecords {
    /// First offset.
    pub first: i64,
    /// Last offset, inclusive.
    pub last: i64,
    /// The state of each.
    pub state: ShareRecordState,
    /// How often each was acquired.
    pub delivery_count: i16,
}

/// What a record of a share partition is up to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShareRecordState {
    /// May be acquired by any member.
    Available,
    /// Held by a member.
    Acquired {
        /// The member.
        member: Arc<str>,
        /// When its lock runs out.
        deadline: Instant,
    },
    /// Acknowledged by a member in a transaction that has not ended (KIP-1289, state TX_PENDING).
    #[cfg(feature = "unstable-kip-1289")]
    Pending {
        /// The member.
        member: Arc<str>,
        /// The producer whose transaction it is.
        producer_id: i64,
        /// Its epoch.
        producer_epoch: i16,
    },
    /// Accepted.
    Acknowledged,
    /// Rejected, a gap, or delivered too often.
    Archived,
}

/// What happened to records of one group and partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupChange {
    /// The group.
    pub group: Arc<str>,
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partition.
    pub partition: i32,
    /// What happened.
    pub change: RecordChange,
}

impl Cluster {
    /// The records of a partition that are in flight for a group: from its start offset, below which all are done, to the last one that was
    /// ever acquired. None where the group has never fetched from there.
    pub fn share_records(&self, group: &str, topic: &str, partition: i32) -> Vec<ShareRecords> {
        let found = self.partition_of(topic, partition).ok().and_then(|id| self.share_partitions.get(group, id));
        let records = found.into_iter().flat_map(|found| found.records());
        records
            .map(|(first, last, state, delivery_count)| ShareRecords {
                first,
                last,
                state: match state {
                    RecordState::Available => ShareRecordState::Available,
                    RecordState::Acquired { member, deadline } => {
                        ShareRecordState::Acquired { member: member.clone(), deadline: *deadline }
                    }
                    #[cfg(feature = "unstable-kip-1289")]
                    RecordState::Pending(staged) => ShareRecordState::Pending {
                        member: staged.member.clone(),
                        producer_id: staged.producer.id,
                        producer_epoch: staged.producer.epoch,
                    },
                    RecordState::Acknowledged => ShareRecordState::Acknowledged,
                    RecordState::Archived => ShareRecordState::Archived,
                },
                delivery_count,
            })
            .collect()
    }

    /// Notes from now on what happens to the records of all groups, for [`take_history`](Self::take_history). It costs memory until
    /// that is called.
    pub fn keep_history(&mut self) {
        self.share_partitions.keep_history();
    }

    /// What happened to records since this was called last: by group and partition, and in each in the order of time. Of a topic that was
    /// deleted, what was not asked for before is lost.
    pub fn take_history(&mut self) -> Vec<GroupChange> {
        let history = self.share_partitions.take_history().into_iter();
        let change = |(group, id, change): (_, super::topics::TopicIdPartition, _)| GroupChange {
            group,
            topic_id: id.topic_id,
            partition: id.partition,
            change,
        };
        history.map(change).collect()
    }

    /// The offset that the next record of a partition gets.
    ///
    /// # Errors
    /// UNKNOWN_TOPIC_OR_PARTITION.
    pub fn end_offset(&self, topic: &str, partition: i32) -> Result<i64, (ErrorCode, String)> {
        let id = self.partition_of(topic, partition)?;
        Ok(self.topics.log(id).map_or(0, |log| log.end_offset()))
    }

    /// The id of a topic, where there is such a topic.
    pub fn topic_id(&self, topic: &str) -> Option<Uuid> {
        self.topics.by_name(topic).map(|topic| topic.id)
    }

    /// The ids of a group's members.
    pub fn group_members(&self, group: &str) -> Vec<String> {
        if let Some(group) = self.consumers.consumer.get(group) {
            return group.members.keys().cloned().collect();
        }
        self.groups.get(group).map(|group| group.members.keys().cloned().collect()).unwrap_or_default()
    }

    /// Ends the locks of all records that members of a group hold, as if their time was over: each has used up a delivery attempt.
    pub fn expire_group_locks(&mut self, now: Instant, group: &str) {
        let limits = self.group_config(group).limits();
        for partition in self.share_partitions.loaded(group) {
            if let Some(entry) = self.share_partitions.get_mut(group, partition)
                && entry.partition.expire_all(&limits)
            {
                self.woken.insert(partition);
            }
        }
        self.complete_woken(now);
    }

    /// Deletes a topic with all its records. One that is created under its name later is another topic.
    ///
    /// # Errors
    /// UNKNOWN_TOPIC_OR_PARTITION.
    pub fn delete_topic(&mut self, now: Instant, topic: &str) -> Result<(), (ErrorCode, String)> {
        let unknown = || (ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, format!("there is no topic {topic:?}"));
        let id = self.topic_id(topic).ok_or_else(unknown)?;
        delete_topics::delete_id(self, id).ok_or_else(unknown)?;
        self.complete_woken(now);
        Ok(())
    }

    /// Adds partitions to a topic until it has so many.
    ///
    /// # Errors
    /// What a request would be answered: the code, and the message in Kafka's words.
    pub fn create_partitions(&mut self, topic: &str, count: i32) -> Result<(), (ErrorCode, String)> {
        create_partitions::create(self, topic, count, None, false)
    }
}
