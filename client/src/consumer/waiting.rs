//! What waits to be handed out, and how far it was.

use std::collections::{BTreeMap, VecDeque};

use ackflow_protocol::machine::consumer::{Fetched, Position, Run, TopicPartition};

use super::failures;
use super::link::Taken;
use super::part::{Part, Piece};
use crate::error::ClientError;

/// The partitions that the application has, with what was fetched of them.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    partitions: BTreeMap<TopicPartition, Assigned>,
    /// Behind the last record that was handed out of each.
    positions: BTreeMap<TopicPartition, Position>,
    /// Whose part comes next: one entry for each part that waits.
    order: VecDeque<TopicPartition>,
    /// What was handed out and the driver has not heard of.
    taken: BTreeMap<TopicPartition, (Run, Position)>,
}

/// A partition that is read.
#[derive(Debug)]
struct Assigned {
    run: Run,
    is_paused: bool,
    parts: VecDeque<Part>,
    /// The end of what is replicated, as last heard.
    high_watermark: Option<i64>,
    /// Why nothing is read on, once all parts are handed out.
    stuck: Option<ClientError>,
}

impl Assigned {
    fn new(run: Run) -> Self {
        Self { run, is_paused: false, parts: VecDeque::new(), high_watermark: None, stuck: None }
    }
}

impl Waiting {
    pub(super) fn has(&self, name: &TopicPartition) -> bool {
        self.partitions.contains_key(name)
    }

    pub(super) fn names(&self) -> Vec<TopicPartition> {
        self.partitions.keys().cloned().collect()
    }

    /// Behind the last record that was handed out of each partition, where any was since the last seek.
    pub(super) fn positions(&self) -> &BTreeMap<TopicPartition, Position> {
        &self.positions
    }

    /// These partitions have come.
    pub(super) fn add(&mut self, partitions: Vec<(TopicPartition, Run)>) {
        self.partitions.extend(partitions.into_iter().map(|(name, run)| (name, Assigned::new(run))));
    }

    /// These partitions are read from now on, and no others; new ones begin with this stretch.
    pub(super) fn keep(&mut self, wanted: &[TopicPartition], run: Run) {
        self.partitions.retain(|name, _| wanted.contains(name));
        self.positions.retain(|name, _| wanted.contains(name));
        for name in wanted {
            self.partitions.entry(name.clone()).or_insert_with(|| Assigned::new(run));
        }
    }

    pub(super) fn forget(&mut self, partitions: &[TopicPartition]) {
        for name in partitions {
            self.partitions.remove(name);
            self.positions.remove(name);
        }
    }

    /// Another stretch of a partition begins: what waits of the one before is gone. `None` where the application does not have it.
    pub(super) fn begin_run(&mut self, name: &TopicPartition) -> Option<Run> {
        let assigned = self.partitions.get_mut(name)?;
        assigned.run = assigned.run.after_seek();
        assigned.parts.clear();
        assigned.stuck = None;
        self.positions.remove(name);
        self.taken.remove(name);
        self.order.retain(|waiting| waiting != name);
        Some(assigned.run)
    }

    /// Takes in what was fetched, unless a seek or a rebalance came first.
    pub(super) fn fetched(&mut self, mut fetched: Fetched) {
        let assigned = self.partitions.get_mut(&fetched.partition);
        let Some(assigned) = assigned.filter(|assigned| assigned.run == fetched.run) else { return };
        assigned.high_watermark = Some(fetched.high_watermark);
        let name = fetched.partition.clone();
        if let Some(bad) = fetched.error.take() {
            assigned.stuck = Some(failures::bad_batch(&name, &bad));
        }
        assigned.parts.push_back(Part::new(fetched));
        self.order.push_back(name);
    }

    /// Takes up to `max` records of what waits. Gives whether there is room for more, so that the driver had better hear of it.
    pub(super) fn take(&mut self, max: u32) -> (Vec<Piece>, bool) {
        let mut left = max;
        let mut pieces = Vec::new();
        let mut has_room = false;
        while left > 0 {
            let is_read = |name: &TopicPartition| self.partitions.get(name).is_none_or(|assigned| !assigned.is_paused);
            let Some(at) = self.order.iter().position(is_read) else { break };
            let Some(name) = self.order.remove(at) else { break };
            // Of a partition that is gone, nothing waits any more.
            let Some(assigned) = self.partitions.get_mut(&name) else { continue };
            let Some(part) = assigned.parts.front_mut() else { continue };
            let (piece, position, all) = part.take(left);
            self.taken.insert(name.clone(), (assigned.run, position));
            self.positions.insert(name.clone(), position);
            if all {
                assigned.parts.pop_front();
                has_room = true;
            } else {
                self.order.push_front(name);
            }
            left = left.saturating_sub(piece.records);
            if piece.records > 0 {
                pieces.push(piece);
            }
        }
        (pieces, has_room)
    }

    /// What was handed out and is to be told to the driver, once.
    pub(super) fn taken(&mut self) -> Vec<Taken> {
        let taken = std::mem::take(&mut self.taken).into_iter();
        taken.map(|(name, (run, position))| (name, run, position)).collect()
    }

    pub(super) fn pause(&mut self, partitions: &[TopicPartition], is_paused: bool) {
        for name in partitions {
            if let Some(assigned) = self.partitions.get_mut(name) {
                assigned.is_paused = is_paused;
            }
        }
    }

    pub(super) fn paused(&self) -> Vec<TopicPartition> {
        self.partitions.iter().filter(|(_, assigned)| assigned.is_paused).map(|(name, _)| name.clone()).collect()
    }

    /// How many records lie between what was handed out and the end of what is replicated.
    pub(super) fn lag(&self, name: &TopicPartition) -> Option<i64> {
        let end = self.partitions.get(name)?.high_watermark?;
        Some((end - self.positions.get(name)?.offset).max(0))
    }

    /// Why a partition is not read on of which all before is handed out.
    pub(super) fn stuck(&self) -> Option<&ClientError> {
        let is_over = |assigned: &&Assigned| assigned.parts.is_empty() && !assigned.is_paused;
        self.partitions.values().filter(is_over).find_map(|assigned| assigned.stuck.as_ref())
    }
}
