//! What an application hears of rebalances, and what it may do about them.

use std::collections::BTreeMap;
use std::fmt;

use ackflow_protocol::machine::consumer::{OffsetAndMetadata, Offsets, Position, SeekTo, TopicPartition};

/// Hears which partitions come and go, as Kafka's `ConsumerRebalanceListener` does: out of `poll`, `unsubscribe` and `close`, in the task that
/// calls them. The member stays one while a call takes its time, though not for longer than `max.poll.interval.ms`.
pub trait RebalanceListener: Send {
    /// These partitions have come. Nothing of them was fetched yet: [`Rebalance::seek`] says where to begin.
    fn assigned(&mut self, partitions: &[TopicPartition], rebalance: &mut Rebalance<'_>) {
        let _ = (partitions, rebalance);
    }

    /// These partitions go to others, once this returns. What polls have handed out of them had better be done with: it is the last moment to
    /// [commit](Rebalance::commit) it, and with `enable.auto.commit` it is committed then.
    fn revoked(&mut self, partitions: &[TopicPartition], rebalance: &mut Rebalance<'_>) {
        let _ = (partitions, rebalance);
    }

    /// These partitions are gone, and others may have them already: nothing can be committed. Unless it is said otherwise, that is
    /// [`revoked`](Self::revoked), whose commits go nowhere then.
    fn lost(&mut self, partitions: &[TopicPartition], rebalance: &mut Rebalance<'_>) {
        self.revoked(partitions, rebalance);
    }
}

/// The consumer, while partitions come or go.
pub struct Rebalance<'a> {
    positions: &'a BTreeMap<TopicPartition, Position>,
    pub(super) offsets: Offsets,
    pub(super) seeks: Vec<(TopicPartition, SeekTo)>,
}

impl<'a> Rebalance<'a> {
    pub(super) fn new(positions: &'a BTreeMap<TopicPartition, Position>) -> Self {
        Self { positions, offsets: Offsets::new(), seeks: Vec::new() }
    }

    /// Behind the last record that was handed out of a partition, if any was.
    pub fn position(&self, partition: &TopicPartition) -> Option<i64> {
        self.positions.get(partition).map(|position| position.offset)
    }

    /// Commits this for a partition that goes, before others get it.
    pub fn commit(&mut self, partition: TopicPartition, offset: OffsetAndMetadata) {
        self.offsets.insert(partition, offset);
    }

    /// Commits all that was handed out of the partitions that go.
    pub fn commit_all(&mut self, partitions: &[TopicPartition]) {
        let known = partitions.iter().filter_map(|name| Some((name.clone(), (*self.positions.get(name)?).into())));
        self.offsets.extend(known);
    }

    /// Begins with this offset of a partition that has come.
    pub fn seek(&mut self, partition: TopicPartition, offset: i64) {
        self.seeks.push((partition, SeekTo::Position(Position { offset, leader_epoch: None })));
    }

    /// Begins with the first offset of a partition that has come.
    pub fn seek_to_beginning(&mut self, partition: TopicPartition) {
        self.seeks.push((partition, SeekTo::Beginning));
    }

    /// Begins behind the last record of a partition that has come.
    pub fn seek_to_end(&mut self, partition: TopicPartition) {
        self.seeks.push((partition, SeekTo::End));
    }
}

impl fmt::Debug for Rebalance<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rebalance").field("offsets", &self.offsets).field("seeks", &self.seeks).finish_non_exhaustive()
    }
}
