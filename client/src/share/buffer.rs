//! Records that are acquired and wait for the application to poll.

use std::collections::VecDeque;
use std::time::Instant;

use super::part::Part;
use super::subscription::Subscription;

/// The records, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    parts: VecDeque<Part>,
}

impl Buffer {
    pub(super) fn push(&mut self, part: Part) {
        self.parts.push_back(part);
    }

    /// Takes up to `max` records of one acquisition; the rest of it waits its turn.
    pub(super) fn take(&mut self, max: u32) -> Option<Part> {
        let front = self.parts.front_mut()?;
        if front.records() <= max { self.parts.pop_front() } else { Some(front.take_front(max)) }
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

    fn remove(&mut self, mut gone: impl FnMut(&Part) -> bool) -> Vec<Part> {
        if !self.parts.iter().any(&mut gone) {
            return Vec::new();
        }
        let (gone, kept) = self.parts.drain(..).partition(gone);
        self.parts = kept;
        Vec::from(gone)
    }
}
