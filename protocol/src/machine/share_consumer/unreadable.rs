//! Answers that cannot be read, such as one with a record that is larger than this client takes: which partition is to blame, and how it is kept
//! from the others.
//!
//! With the connection goes the session, and whatever it had acquired has one delivery less. So what is to blame is left alone for long, and asked
//! alone.

use std::time::{Duration, Instant};

use super::{Pause, ShareConsumerMachine};
use crate::machine::{backoff::Backoff, types::TopicIdPartition};

/// How long a partition is left alone at first whose next records cannot be read, and at most. Each attempt costs them a delivery, of which a group
/// gives five, and whatever else is held of that broker one.
const SET_ASIDE: Duration = Duration::from_secs(60);
const LONGEST_SET_ASIDE: Duration = Duration::from_secs(600);

/// How long a broker is left alone whose answer could not be read: it has to have taken back what that acquired, or the next answer tells nothing.
pub(super) const TAKING_BACK: Duration = Duration::from_secs(1);

impl ShareConsumerMachine {
    /// A fetch brought what cannot be read. Where one partition was asked, that is left alone for long; else one of many is to blame, and they are
    /// asked one at a time until each has had its turn.
    pub(super) fn suspect(&mut self, now: Instant, node: i32) {
        let listed: Vec<_> = self.nodes.get(&node).map(|node| node.session.listed().collect()).unwrap_or_default();
        let is_one = listed.len() == 1;
        for topic_partition in listed {
            let seed = self.seed ^ topic_partition.partition as u64;
            let pause = self.pause(now, node, topic_partition);
            let aside = pause.unreadable.get_or_insert_with(|| Backoff::new(SET_ASIDE, LONGEST_SET_ASIDE, seed));
            pause.until = is_one.then(|| now + aside.next_delay());
        }
    }

    /// The partition that was asked alone can be read.
    pub(super) fn clear_suspect(&mut self, node: i32) {
        let Some(node) = self.nodes.get(&node) else { return };
        if let Some(suspect) = node.suspect.filter(|suspect| node.session.listed().eq([*suspect])) {
            self.paused.remove(&suspect);
            self.reassign = true;
        }
    }

    /// Whether a partition is to be asked alone.
    pub(super) fn is_suspect(&self, partition: TopicIdPartition, leader: i32) -> bool {
        let is_suspect = |pause: &Pause| pause.until.is_none() && pause.unreadable.is_some() && pause.node == leader;
        self.paused.get(&partition).is_some_and(is_suspect)
    }
}
