//! What members of share groups acknowledge in transactions (draft of KIP-1289).

use std::sync::Arc;
use std::time::Instant;

use ackflow_protocol::wire::ErrorCode;

use super::Producer;
use crate::core::Cluster;
use crate::core::log::Marker;
use crate::core::topics::TopicIdPartition;

impl Cluster {
    /// Makes what a share group acknowledges in these partitions part of a producer's transaction, which begins where there is none.
    ///
    /// # Errors
    /// As [`add_to_transaction`](Self::add_to_transaction).
    pub(crate) fn add_shares_to_transaction(
        &mut self,
        now: Instant,
        id: &str,
        producer: Producer,
        group: &Arc<str>,
        partitions: impl IntoIterator<Item = TopicIdPartition>,
    ) -> Result<(), ErrorCode> {
        self.add_to_transaction(now, id, producer, &[])?;
        let shares = self.transactions.shares.entry(id.to_owned()).or_default();
        shares.extend(partitions.into_iter().map(|partition| (group.clone(), partition)));
        Ok(())
    }

    /// Ends what share groups have acknowledged in a transaction that is decided. The state of share groups has a leader of its own, so that none of
    /// the partitions that it is about need have one.
    pub(super) fn settle_shares(&mut self, id: &str, marker: Marker) {
        // The markers of such transactions have the epoch of the next one already (KIP-890).
        let epoch = marker.epoch - i16::from(marker.raises_epoch);
        let producer = Producer { id: marker.producer_id, epoch };
        for (group, partition) in self.transactions.shares.remove(id).unwrap_or_default() {
            let limits = self.group_config(&group).limits();
            // A group or topic that is gone has nothing to settle.
            if let Some(share) = self.share_partitions.stored_mut(&group, partition)
                && share.settle(&limits, producer, marker.committed)
            {
                self.woken.insert(partition);
            }
        }
    }
}
