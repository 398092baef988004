//! The `simple` assignor: every partition goes to enough members, every member gets its share, and what a member has
//! it keeps where that is fair.
//!
//! With more partitions than members each partition goes to one member; with fewer, partitions are shared so that no
//! member is idle.

use std::collections::{BTreeMap, BTreeSet};

use ackflow_protocol::wire::Uuid;

use crate::core::topics::TopicIdPartition;

/// The partitions of one member.
pub(crate) type Assignment = BTreeSet<TopicIdPartition>;

/// What the assignor knows of a member.
#[derive(Debug, Clone)]
pub(crate) struct MemberSpec {
    /// The topics that it subscribes to and that exist.
    pub(crate) topics: BTreeSet<Uuid>,
    /// What it has.
    pub(crate) current: Assignment,
}

/// Assigns `partitions` to the members, by member id.
pub(crate) fn assign(
    members: &BTreeMap<String, MemberSpec>,
    partitions: &BTreeSet<TopicIdPartition>,
) -> BTreeMap<String, Assignment> {
    let mut assignment: BTreeMap<String, Assignment> =
        members.keys().map(|member| (member.clone(), Assignment::new())).collect();
    let mut add = |names: &[&String], pool: Pool| {
        for (name, assigned) in names.iter().zip(pool.by_member) {
            assignment.entry((*name).clone()).or_default().extend(assigned);
        }
    };
    let subscriptions: BTreeSet<&BTreeSet<Uuid>> = members.values().map(|member| &member.topics).collect();
    let topics: Vec<BTreeSet<Uuid>> = match subscriptions.len() {
        // Everybody wants the same: one pool of all partitions shares them out most evenly.
        1 => subscriptions.into_iter().cloned().collect(),
        _ => partitions
            .iter()
            .map(|partition| BTreeSet::from([partition.topic_id]))
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect(),
    };
    for topics in topics {
        let targets: Vec<TopicIdPartition> =
            partitions.iter().filter(|partition| topics.contains(&partition.topic_id)).copied().collect();
        let (names, subscribers): (Vec<&String>, Vec<&MemberSpec>) =
            members.iter().filter(|(_, member)| member.topics.is_superset(&topics)).unzip();
        if !targets.is_empty() && !names.is_empty() {
            add(&names, Pool::new(&subscribers, &targets).share_out(&targets));
        }
    }
    assignment
}

/// Partitions and members to share them among.
struct Pool {
    by_member: Vec<Assignment>,
    by_partition: BTreeMap<TopicIdPartition, BTreeSet<usize>>,
    /// How many partitions each member should have.
    wanted: Vec<usize>,
    /// How many members each partition should have.
    sharing: usize,
}

impl Pool {
    /// What of the members' current partitions is still to be assigned.
    fn new(members: &[&MemberSpec], targets: &[TopicIdPartition]) -> Self {
        let sharing = members.len().div_ceil(targets.len());
        // The total is spread so that neighbours differ by one at most.
        let up_to = |member: usize| (sharing * targets.len() * member).div_ceil(members.len());
        let wanted = (0..members.len()).map(|member| up_to(member + 1) - up_to(member)).collect();
        let mut by_partition: BTreeMap<TopicIdPartition, BTreeSet<usize>> =
            targets.iter().map(|&partition| (partition, BTreeSet::new())).collect();
        let mut by_member = vec![Assignment::new(); members.len()];
        for (index, member) in members.iter().enumerate() {
            for partition in &member.current {
                if let Some(holders) = by_partition.get_mut(partition) {
                    holders.insert(index);
                    by_member[index].insert(*partition);
                }
            }
        }
        Self { by_member, by_partition, wanted, sharing }
    }

    fn share_out(mut self, targets: &[TopicIdPartition]) -> Self {
        self.take_from_overfilled_members();
        self.take_from_overshared_partitions();
        self.fill(targets);
        self
    }

    fn take_from_overfilled_members(&mut self) {
        for member in 0..self.by_member.len() {
            while self.by_member[member].len() > self.wanted[member] {
                let Some(&partition) = self.by_member[member].first() else { break };
                self.revoke(member, partition);
            }
        }
    }

    fn take_from_overshared_partitions(&mut self) {
        let sharing = self.sharing;
        let revoked: Vec<(usize, TopicIdPartition)> = self
            .by_partition
            .iter()
            .flat_map(|(&partition, holders)| holders.iter().skip(sharing).map(move |&member| (member, partition)))
            .collect();
        for (member, partition) in revoked {
            self.revoke(member, partition);
        }
    }

    /// Gives each partition as many members as it lacks, members that lack partitions taking turns.
    fn fill(&mut self, targets: &[TopicIdPartition]) {
        let mut turn = 0;
        for &partition in targets {
            let lacking = self.sharing.saturating_sub(self.by_partition[&partition].len());
            for _ in 0..lacking {
                let members = self.by_member.len();
                let next = (0..members).map(|step| (turn + step) % members).find(|&member| {
                    self.by_member[member].len() < self.wanted[member] && !self.by_member[member].contains(&partition)
                });
                let Some(member) = next else { break };
                self.by_member[member].insert(partition);
                self.by_partition.entry(partition).or_default().insert(member);
                turn = member + 1;
            }
        }
    }

    fn revoke(&mut self, member: usize, partition: TopicIdPartition) {
        self.by_member[member].remove(&partition);
        if let Some(holders) = self.by_partition.get_mut(&partition) {
            holders.remove(&member);
        }
    }
}
