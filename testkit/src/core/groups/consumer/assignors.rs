//! The assignors `uniform` and `range`.

use std::collections::{BTreeMap, BTreeSet};

use ackflow_protocol::wire::Uuid;

use super::member::Assignment;
use crate::core::topics::TopicIdPartition;

/// The assignors, the default first.
pub(crate) const ASSIGNORS: &[&str] = &["uniform", "range"];

/// What an assignor knows of a member.
#[derive(Debug, Clone)]
pub(crate) struct MemberSpec {
    /// The name of a static member.
    pub(crate) instance_id: Option<String>,
    /// The topics that it subscribes to and that exist.
    pub(crate) topics: BTreeSet<Uuid>,
    /// What it was to have so far.
    pub(crate) current: Assignment,
}

/// The members by id, and the partitions of each topic that any of them subscribes to.
pub(crate) type Members = BTreeMap<String, MemberSpec>;

/// Assigns partitions to members, by member id.
pub(crate) fn assign(assignor: &str, members: &Members, topics: &BTreeMap<Uuid, i32>) -> BTreeMap<String, Assignment> {
    if assignor == "range" { range(members, topics) } else { uniform(members, topics) }
}

/// Each topic's partitions in ranges, the first members having one more.
fn range(members: &Members, topics: &BTreeMap<Uuid, i32>) -> BTreeMap<String, Assignment> {
    let mut assignment: BTreeMap<String, Assignment> = empty(members);
    // Static members stand first, by their names, so that they keep their places when their ids change.
    let mut order: Vec<(&String, &MemberSpec)> = members.iter().collect();
    order.sort_by_key(|(id, member)| (member.instance_id.is_none(), member.instance_id.as_ref().unwrap_or(id)));
    for (&topic_id, &count) in topics {
        let subscribers: Vec<&String> =
            order.iter().filter(|(_, member)| member.topics.contains(&topic_id)).map(|(id, _)| *id).collect();
        let total = usize::try_from(count).unwrap_or_default();
        let mut next = 0;
        for (place, id) in subscribers.iter().enumerate() {
            let share = total / subscribers.len() + usize::from(place < total % subscribers.len());
            let partitions = (next..next + share).filter_map(|index| i32::try_from(index).ok());
            let partitions = partitions.map(|partition| TopicIdPartition { topic_id, partition });
            assignment.entry((*id).clone()).or_default().extend(partitions);
            next += share;
        }
    }
    assignment
}

/// As even as subscriptions let it be, and who has a partition keeps it where that is fair.
fn uniform(members: &Members, topics: &BTreeMap<Uuid, i32>) -> BTreeMap<String, Assignment> {
    let mut assignment = empty(members);
    let mut holders: BTreeMap<TopicIdPartition, &String> = BTreeMap::new();
    let exists = |partition: &TopicIdPartition| {
        topics.get(&partition.topic_id).is_some_and(|count| (0..*count).contains(&partition.partition))
    };
    for (id, member) in members {
        for partition in &member.current {
            if member.topics.contains(&partition.topic_id) && exists(partition) && !holders.contains_key(partition) {
                holders.insert(*partition, id);
                assignment.entry(id.clone()).or_default().insert(*partition);
            }
        }
    }
    for (&topic_id, &count) in topics {
        let subscribers: Vec<&String> =
            members.iter().filter(|(_, member)| member.topics.contains(&topic_id)).map(|(id, _)| id).collect();
        for partition in (0..count).map(|partition| TopicIdPartition { topic_id, partition }) {
            if !holders.contains_key(&partition)
                && let Some(idlest) = idlest(&subscribers, &assignment)
            {
                holders.insert(partition, idlest);
                assignment.entry(idlest.clone()).or_default().insert(partition);
            }
        }
    }
    even_out(members, &mut holders, &mut assignment);
    assignment
}

/// Moves partitions from members that have more than one that could take them, until none has two more than such another. Each move
/// makes the assignment more even, so that it ends.
fn even_out<'a>(
    members: &'a Members,
    holders: &mut BTreeMap<TopicIdPartition, &'a String>,
    assignment: &mut BTreeMap<String, Assignment>,
) {
    loop {
        let mut moved = false;
        let mut by_topic: BTreeMap<Uuid, Vec<&String>> = BTreeMap::new();
        for (partition, holder) in holders.iter_mut() {
            let subscribers = by_topic.entry(partition.topic_id).or_insert_with(|| {
                let subscribes = |member: &MemberSpec| member.topics.contains(&partition.topic_id);
                members.iter().filter(|(_, member)| subscribes(member)).map(|(id, _)| id).collect()
            });
            let Some(idlest) = idlest(subscribers, assignment) else { continue };
            if load(assignment, holder) > load(assignment, idlest) + 1 {
                assignment.entry((*holder).clone()).or_default().remove(partition);
                assignment.entry(idlest.clone()).or_default().insert(*partition);
                (*holder, moved) = (idlest, true);
            }
        }
        if !moved {
            return;
        }
    }
}

fn idlest<'a>(subscribers: &[&'a String], assignment: &BTreeMap<String, Assignment>) -> Option<&'a String> {
    subscribers.iter().copied().min_by_key(|id| load(assignment, id))
}

fn load(assignment: &BTreeMap<String, Assignment>, member: &String) -> usize {
    assignment.get(member).map_or(0, Assignment::len)
}

fn empty(members: &Members) -> BTreeMap<String, Assignment> {
    members.keys().map(|id| (id.clone(), Assignment::new())).collect()
}
