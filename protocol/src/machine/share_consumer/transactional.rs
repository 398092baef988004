//! What a share consumer has to do with a producer's transactions (draft KIP-1289).

use std::time::Instant;

use super::ShareConsumerMachine;
use crate::machine::types::{AcquiredRange, AcquisitionId, BrokerAddress, SessionId, TopicIdPartition};

impl ShareConsumerMachine {
    /// These offsets of an acquisition are the business of a transaction from now on: nothing is said of them here any more, and their locks are not renewed.
    /// Those that were decided about before stay so.
    pub fn handed_over(
        &mut self,
        _now: Instant,
        acquisition: AcquisitionId,
        topic_partition: TopicIdPartition,
        ranges: &[AcquiredRange],
    ) {
        let AcquisitionId { session, number } = acquisition;
        if let Some(node) = self.nodes.get_mut(&session.node).filter(|node| node.is_live(session)) {
            node.ledger.let_go(topic_partition, number, ranges);
        }
    }

    /// Where the broker of a session is, while it is known.
    pub fn address_of(&self, session: SessionId) -> Option<&BrokerAddress> {
        self.nodes.get(&session.node).map(|node| &node.address)
    }

    /// The member's epoch, while it is in the group.
    pub fn member_epoch(&self) -> Option<i32> {
        self.membership.epoch()
    }
}
