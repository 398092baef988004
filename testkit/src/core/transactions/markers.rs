//! The markers of transactions that are decided.

use std::collections::BTreeSet;
use std::time::Instant;

use super::State;
use crate::core::Cluster;
use crate::core::log::Marker;
use crate::core::topics::TopicIdPartition;

/// The epoch of the coordinator: replicas of its log never differ, so that it is the first one always.
const COORDINATOR_EPOCH: i32 = 0;

impl Cluster {
    /// Writes the markers that can be written. A transaction of which all are written has ended.
    pub(crate) fn finish_transactions(&mut self, now: Instant) {
        for id in self.transactions.unfinished.clone() {
            let Some(transaction) = self.transactions.by_id.get_mut(&id) else { continue };
            let State::Prepare { commit } = transaction.state else { continue };
            let marker = Marker {
                producer_id: transaction.producer.id,
                epoch: transaction.producer.epoch,
                raises_epoch: transaction.raises_epoch,
                committed: commit,
                coordinator_epoch: COORDINATOR_EPOCH,
                timestamp: self.clock.millis(now),
            };
            let (partitions, groups) =
                (std::mem::take(&mut transaction.partitions), std::mem::take(&mut transaction.groups));
            for group in groups {
                if let Some(offsets) = self.consumers.offsets.get_mut(&group) {
                    offsets.end_transaction(marker.producer_id, commit);
                }
            }
            #[cfg(feature = "unstable-kip-1289")]
            self.settle_shares(&id, marker);
            let (reachable, waiting): (BTreeSet<TopicIdPartition>, BTreeSet<TopicIdPartition>) =
                partitions.into_iter().partition(|partition| self.can_be_written(*partition));
            for partition in reachable {
                // A partition that is gone, or has heard of a newer producer, needs no marker.
                let _ = self.end_transaction_in(partition, marker);
            }
            let Some(transaction) = self.transactions.by_id.get_mut(&id) else { continue };
            transaction.partitions = waiting;
            if transaction.partitions.is_empty() {
                transaction.complete();
                self.transactions.unfinished.remove(&id);
            }
        }
    }

    /// Whether there are markers to be written, as soon as partitions have leaders.
    pub(crate) fn has_unfinished_transactions(&self) -> bool {
        !self.transactions.unfinished.is_empty()
    }

    /// Whether a partition has a leader that runs, or is no more.
    fn can_be_written(&self, partition: TopicIdPartition) -> bool {
        match self.topics.partition(partition) {
            Ok(found) => found.leader.is_some_and(|leader| self.nodes.is_running(leader)),
            Err(_) => true,
        }
    }
}
