//! From what the coordinator wants the member to have to what it has: partitions are given up first, then others are taken.
//!
//! ```text
//!   idle --to be given up--> Revoking --application--> Committing --answer--> idle, and the coordinator hears of it
//!     +----to be taken-----> Assigning --application--> idle
//! ```
//!
//! Heartbeats go on all the while. A member that the group does not count any more loses everything at once.

use std::{collections::BTreeSet, time::Instant};

use super::{
    CallId, ConsumerEvent, ConsumerMachine, Mode, Offsets, RebalanceId, Run, SeekTo, State, TopicPartition,
    partition::Partition,
};
use crate::machine::types::TopicIdPartition;

/// A step that is not over yet.
#[derive(Debug)]
pub(super) enum Rebalance {
    /// The application has to give them up.
    Revoking(RebalanceId, Vec<TopicPartition>),
    /// Their offsets are being committed.
    Committing(CallId, Vec<TopicPartition>),
    /// The application has to take them.
    Assigning(RebalanceId),
}

impl ConsumerMachine {
    /// Begins the next step, if there is one and the last is over.
    pub(super) fn advance_rebalance(&mut self, now: Instant) {
        let Some(group) = self.group.as_ref().filter(|group| group.membership.epoch().is_some()) else { return };
        if self.rebalance.is_some() || self.state != State::Active || !matches!(self.mode, Mode::Member(_)) {
            return;
        }
        let target = group.membership.target();
        let is_revoked = |partition: &Partition| partition.id.is_none_or(|id| !target.contains(&id));
        let revoked: Vec<TopicPartition> = self
            .partitions
            .iter_mut()
            .filter(|(_, partition)| is_revoked(partition))
            .map(|(name, partition)| {
                partition.is_leaving = true;
                name.clone()
            })
            .collect();
        if !revoked.is_empty() {
            let id = self.rebalance_id();
            self.rebalance = Some(Rebalance::Revoking(id, revoked.clone()));
            return self.tell(ConsumerEvent::Revoking { id, partitions: revoked });
        }
        let held = self.held();
        let is_wanted = |topic: &str| match &self.mode {
            // Under another subscription a moment ago the target may be that of the one before.
            Mode::Member(topics) => !topics.pattern.is_empty() || topics.names.iter().any(|name| name == topic),
            _ => false,
        };
        // What metadata does not know yet waits for it.
        let known = target.difference(&held).filter(|id| self.metadata.has_partition(**id)).filter_map(|id| {
            let topic = self.metadata.topic_name(id.topic_id).filter(|topic| is_wanted(topic))?.clone();
            Some((TopicPartition { topic, partition: id.partition }, *id))
        });
        let added: Vec<(TopicPartition, TopicIdPartition)> = known.collect();
        if !added.is_empty() {
            self.add(now, added);
        }
    }

    fn add(&mut self, now: Instant, added: Vec<(TopicPartition, TopicIdPartition)>) {
        self.last_assignment += 1;
        let run = Run { assignment: self.last_assignment, seeks: 0 };
        let mut partitions = Vec::with_capacity(added.len());
        for (name, id) in added {
            let mut partition = Partition::new(Some(id), run, &self.options, self.seed ^ id.partition as u64);
            partition.is_new = true;
            self.partitions.insert(name.clone(), partition);
            partitions.push((name, run));
        }
        let id = self.rebalance_id();
        self.rebalance = Some(Rebalance::Assigning(id));
        self.tell(ConsumerEvent::Assigning { id, partitions });
        self.want(now);
        self.tell_held();
    }

    /// The application has given up the partitions of this step; these offsets of its own are to be committed before others get them, beside
    /// what was handed out, where that goes by itself.
    pub fn revoked(&mut self, now: Instant, id: RebalanceId, offsets: Offsets) {
        let revoked =
            self.rebalance.take_if(|step| matches!(step, Rebalance::Revoking(revoking, _) if *revoking == id));
        let Some(Rebalance::Revoking(_, partitions)) = revoked else { return };
        let commit = self.commit_of(now, &partitions, offsets, self.options.max_poll_interval);
        match commit {
            Some(commit) => self.rebalance = Some(Rebalance::Committing(commit, partitions)),
            None => self.give_up(now, &partitions),
        }
    }

    /// A commit has ended, well or not.
    pub(super) fn commit_ended(&mut self, now: Instant, commit: CallId) {
        let ended = self.rebalance.take_if(|step| matches!(step, Rebalance::Committing(id, _) if *id == commit));
        if let Some(Rebalance::Committing(_, partitions)) = ended {
            self.give_up(now, &partitions);
        }
    }

    fn give_up(&mut self, now: Instant, partitions: &[TopicPartition]) {
        for partition in partitions {
            self.partitions.remove(partition);
        }
        self.want(now);
        self.tell_held();
    }

    /// The application has the partitions of this step, and reads some of them from elsewhere than the group would have it.
    pub fn assigned(&mut self, now: Instant, id: RebalanceId, seeks: Vec<(TopicPartition, Run, SeekTo)>) {
        if !matches!(self.rebalance, Some(Rebalance::Assigning(assigning)) if assigning == id) {
            return;
        }
        self.rebalance = None;
        for partition in self.partitions.values_mut() {
            partition.is_new = false;
        }
        for (partition, run, to) in seeks {
            self.seek(now, &partition, run, to);
        }
    }

    /// The group does not count this member any more, or it left.
    pub(super) fn lose_all(&mut self, now: Instant) {
        // What the application has given up, though its commit was not answered yet, is no loss.
        let given_up = match self.rebalance.take() {
            Some(Rebalance::Committing(_, partitions)) => partitions,
            _ => Vec::new(),
        };
        if !matches!(self.mode, Mode::Member(_)) {
            return;
        }
        // Others may have gone on from what the group has.
        self.fail_commits(now);
        let mut lost: Vec<TopicPartition> = std::mem::take(&mut self.partitions).into_keys().collect();
        lost.retain(|name| !given_up.contains(name));
        self.want(now);
        self.metadata.want_partitions(now, BTreeSet::new());
        if !lost.is_empty() {
            self.tell(ConsumerEvent::Lost(lost));
        }
    }

    fn held(&self) -> BTreeSet<TopicIdPartition> {
        self.partitions.values().filter_map(|partition| partition.id).collect()
    }

    fn tell_held(&mut self) {
        let held = self.held();
        if let Some(group) = &mut self.group {
            group.membership.hold(held);
        }
    }

    fn rebalance_id(&mut self) -> RebalanceId {
        self.last_rebalance += 1;
        RebalanceId(self.last_rebalance)
    }
}
