//! A member of a consumer group, and how it gets from what it has to what it is to have.
//!
//! ```text
//!              a new target needs partitions of it back
//!   Stable ------------------------------------------------> Unrevoked
//!     ^  \                                                      |
//!     |   \ others still have what it is to get                 | it has given them up
//!     |    v                                                    v
//!   Unreleased <-------------------------------------- the next assignment
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ackflow_protocol::wire::Uuid;

use super::pattern::TopicPattern;
use crate::core::timers::TimerId;
use crate::core::topics::TopicIdPartition;

/// The partitions of one member.
pub(crate) type Assignment = BTreeSet<TopicIdPartition>;

/// Partitions, each with the member epoch at which the member got it.
pub(crate) type Assigned = BTreeMap<TopicIdPartition, i32>;

/// How far a member is on its way to its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemberState {
    /// It has what it is to have.
    Stable,
    /// It has to give up partitions first.
    Unrevoked,
    /// It waits for partitions that others have to give up.
    Unreleased,
}

/// One member.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    /// Its epoch; -2 for a static member that has left for a while.
    pub(crate) epoch: i32,
    pub(super) previous_epoch: i32,
    pub(super) state: MemberState,
    /// The name of a static member.
    pub(crate) instance_id: Option<String>,
    /// Where it runs.
    pub(crate) rack_id: Option<String>,
    /// Its `client.id`.
    pub(crate) client_id: String,
    /// Its address.
    pub(crate) client_host: String,
    /// How long it may take to give up partitions.
    pub(crate) rebalance_timeout: Duration,
    /// The topics that it asked for by name, existing or not.
    pub(crate) topics: BTreeSet<String>,
    /// The regular expression of those that it wants besides.
    pub(crate) pattern: Option<TopicPattern>,
    /// The assignor that it wants.
    pub(crate) assignor: Option<String>,
    /// What it reads.
    pub(crate) assigned: Assigned,
    /// What it has to give up.
    pub(super) revoked: Assigned,
    /// Ends the session unless a heartbeat comes before.
    pub(crate) session_timer: Option<TimerId>,
    /// Ends the membership unless what is revoked is given up before.
    pub(crate) rebalance_timer: Option<TimerId>,
}

/// What a member may go on to.
#[derive(Debug)]
pub(super) struct Next<'a> {
    /// The epoch of the target.
    pub(super) epoch: i32,
    /// What it is to have.
    pub(super) target: &'a Assignment,
    /// The topics that it subscribes to.
    pub(super) topics: &'a BTreeSet<Uuid>,
    /// What anybody has, or has to give up.
    pub(super) held: &'a Assignment,
    /// What it says it holds; `None` where it does not say.
    pub(super) owned: Option<&'a Assignment>,
    /// Whether its subscription is new.
    pub(super) has_new_topics: bool,
}

impl Member {
    /// One that has only just joined.
    pub(super) fn new() -> Self {
        Self {
            epoch: 0,
            previous_epoch: -1,
            state: MemberState::Stable,
            instance_id: None,
            rack_id: None,
            client_id: String::new(),
            client_host: String::new(),
            rebalance_timeout: Duration::ZERO,
            topics: BTreeSet::new(),
            pattern: None,
            assignor: None,
            assigned: Assigned::new(),
            revoked: Assigned::new(),
            session_timer: None,
            rebalance_timer: None,
        }
    }

    /// Whether it subscribes to the topic.
    pub(super) fn is_subscribed_to(&self, topic: &str) -> bool {
        self.topics.contains(topic) || self.pattern.as_ref().is_some_and(|pattern| pattern.matches(topic))
    }

    /// What nobody else may get yet.
    pub(crate) fn held(&self) -> impl Iterator<Item = TopicIdPartition> {
        self.assigned.keys().chain(self.revoked.keys()).copied()
    }

    /// The epoch since which it has a partition, or has to give it up.
    pub(super) fn epoch_of(&self, partition: TopicIdPartition) -> Option<i32> {
        self.assigned.get(&partition).or_else(|| self.revoked.get(&partition)).copied()
    }

    /// Whether it still has to give up partitions.
    pub(crate) fn has_to_revoke(&self) -> bool {
        self.state == MemberState::Unrevoked
    }

    /// Whether it has what the target of this epoch says.
    pub(super) fn is_reconciled_to(&self, epoch: i32) -> bool {
        self.state == MemberState::Stable && self.epoch == epoch
    }

    /// Goes as far towards its target as it can.
    pub(super) fn reconcile(&mut self, next: &Next<'_>) {
        match self.state {
            MemberState::Stable if self.epoch == next.epoch => self.follow_topics(next),
            MemberState::Unrevoked if owns_any(next.owned, &self.revoked) => self.follow_topics(next),
            _ => self.advance(next),
        }
    }

    /// Partitions of topics that it subscribes to no more are given up without waiting for another target.
    fn follow_topics(&mut self, next: &Next<'_>) {
        if !next.has_new_topics {
            return;
        }
        let (kept, gone): (Assigned, Assigned) =
            self.assigned.iter().partition(|(partition, _)| next.topics.contains(&partition.topic_id));
        if gone.is_empty() {
            return;
        }
        self.assigned = kept;
        self.revoked.extend(gone);
        if owns_any(next.owned, &self.revoked) {
            self.state = MemberState::Unrevoked;
        } else {
            self.revoked.clear();
        }
    }

    fn advance(&mut self, next: &Next<'_>) {
        let wanted =
            |partition: &TopicIdPartition| next.target.contains(partition) && next.topics.contains(&partition.topic_id);
        let (kept, gone): (Assigned, Assigned) = self.assigned.iter().partition(|(partition, _)| wanted(partition));
        if owns_any(next.owned, &gone) {
            (self.assigned, self.revoked, self.state) = (kept, gone, MemberState::Unrevoked);
            self.previous_epoch = self.epoch;
            return;
        }
        let missing = next.target.iter().filter(|partition| wanted(partition) && !kept.contains_key(partition));
        let (held, free): (Vec<TopicIdPartition>, Vec<TopicIdPartition>) =
            missing.partition(|partition| next.held.contains(partition));
        self.assigned = kept;
        self.assigned.extend(free.into_iter().map(|partition| (partition, next.epoch)));
        self.revoked.clear();
        self.state = if held.is_empty() { MemberState::Stable } else { MemberState::Unreleased };
        (self.previous_epoch, self.epoch) = (self.epoch, next.epoch);
    }
}

/// Whether a member holds any of these partitions, as far as it says.
fn owns_any(owned: Option<&Assignment>, partitions: &Assigned) -> bool {
    let holds = |partition| owned.is_none_or(|owned| owned.contains(partition));
    partitions.keys().any(holds)
}
