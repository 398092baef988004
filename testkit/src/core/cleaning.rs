//! Records that are not kept: what is too old or too much goes, and what a later record of its key stands for, every `log.retention.check.interval.ms` while there are records.

use std::time::{Duration, Instant};

use super::configs::topic::{compaction, retention};
use super::topics::TopicIdPartition;
use super::{Cluster, Due};

impl Cluster {
    /// Makes sure that logs are looked at once more, since something was appended.
    pub(crate) fn arm_cleaning(&mut self, now: Instant) {
        if !self.cleaning {
            self.cleaning = true;
            let interval = u64::try_from(self.config.int("log.retention.check.interval.ms")).unwrap_or(u64::MAX);
            self.timers.schedule(now + Duration::from_millis(interval), Due::Cleaning);
        }
    }

    /// A check of all logs is due.
    pub(super) fn cleaning_is_due(&mut self, now: Instant) {
        self.cleaning = false;
        self.clean_logs(now);
        let is_left = |topic: &super::topics::Topic| topic.partitions.iter().any(|found| !found.log.is_empty());
        if self.topics.iter().any(is_left) {
            self.arm_cleaning(now);
        }
    }

    /// Deletes now what `retention.ms` and `retention.bytes` of each topic do not keep, and compacts the topics whose `cleanup.policy` says so, as
    /// the check does that is due every `log.retention.check.interval.ms`.
    ///
    /// Compaction keeps the last record of each key, under its offset; a tombstone goes `delete.retention.ms` after it was seen so for the first
    /// time. The last batch of a log, what lies at or above the last stable offset, and what is younger than `min.compaction.lag.ms` is not looked at.
    pub fn clean_logs(&mut self, now: Instant) {
        let now_ms = self.clock.millis(now);
        for id in self.topics.partition_ids() {
            let Some(topic) = self.topics.by_id(id.topic_id) else { continue };
            let retention = retention(&topic.configs, &self.config, now_ms);
            let compaction = compaction(&topic.configs, &self.config, now_ms);
            let Some(found) = self.topics.partition_mut(id) else { continue };
            if let Some(retention) = retention {
                let start = found.log.start_after(retention);
                self.delete_before(id, start);
            }
            if let (Some(compaction), Some(found)) = (compaction, self.topics.partition_mut(id)) {
                found.log.compact(compaction);
            }
        }
        self.complete_woken(now);
    }

    /// Lets a log, and what share groups have to do in it, begin at an offset that lies within it.
    pub(crate) fn delete_before(&mut self, partition: TopicIdPartition, offset: i64) {
        let Some(found) = self.topics.partition_mut(partition) else { return };
        if offset <= found.log.start_offset() {
            return;
        }
        found.log.delete_before(offset);
        self.share_partitions.log_starts_at(partition, offset);
        self.woken.insert(partition);
    }
}
