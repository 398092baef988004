//! Records that are acquired and wait for the application to poll.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use ackflow_protocol::machine::TopicIdPartition;

use super::part::Part;
use super::subscription::Subscription;

/// The records of each partition in the order in which they came. Partitions take turns, or one whose leader is new would wait for all that
/// is there of the others, which is up to a second of the application's work.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    /// The partitions of which something is here, the next one first.
    turns: VecDeque<TopicIdPartition>,
    /// What is here of each of them, which is never nothing.
    parts: HashMap<TopicIdPartition, VecDeque<Part>>,
}

impl Buffer {
    pub(super) fn push(&mut self, part: Part) {
        let partition = part.source.topic_partition;
        let parts = self.parts.entry(partition).or_default();
        if parts.is_empty() {
            self.turns.push_back(partition);
        }
        parts.push_back(part);
    }

    /// Takes up to `max` records of one acquisition; the rest of its partition waits until it is its turn again.
    pub(super) fn take(&mut self, max: u32) -> Option<Part> {
        let partition = self.turns.pop_front()?;
        let parts = self.parts.get_mut(&partition)?;
        let front = parts.front_mut()?;
        let taken = if front.records() <= max { parts.pop_front() } else { Some(front.take_front(max)) };
        if parts.is_empty() {
            self.parts.remove(&partition);
        } else {
            self.turns.push_back(partition);
        }
        taken
    }

    /// Takes out what must not be handed out at `now`, because its session has lost it or too little is left of its lock. Locks of later
    /// acquisitions mostly end later, but not where they were acquired on another broker.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<Part> {
        self.remove(|part| !part.lock.is_worth_starting(now))
    }

    /// Takes what is of no topic that `subscription` wants.
    pub(super) fn unwanted(&mut self, subscription: &Subscription) -> Vec<Part> {
        self.remove(|part| !subscription.wants(&part.source.topic))
    }

    fn remove(&mut self, mut is_gone: impl FnMut(&Part) -> bool) -> Vec<Part> {
        let mut gone = Vec::new();
        if !self.parts.values().flatten().any(&mut is_gone) {
            return gone;
        }
        self.parts.retain(|_, parts| {
            let (removed, kept) = parts.drain(..).partition(&mut is_gone);
            gone.extend::<VecDeque<Part>>(removed);
            *parts = kept;
            !parts.is_empty()
        });
        self.turns.retain(|partition| self.parts.contains_key(partition));
        gone
    }
}
