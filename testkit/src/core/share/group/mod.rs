//! Share groups: members, their epochs, and who gets which partitions.
//!
//! ```text
//!   heartbeat(0) --> member, group epoch + 1 --(at most once an assignment interval)--> target assignment
//!        ^                                                                                  |
//!        '-- fenced (wrong epoch) <-- heartbeat(epoch) <-- assignment, member epoch <--------'
//!   heartbeat(-1), session timeout --> member removed, group epoch + 1
//! ```

pub(crate) mod assignor;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ackflow_protocol::wire::{ErrorCode, Uuid};

use crate::core::timers::TimerId;
use crate::core::topics::{TopicIdPartition, Topics};
use assignor::{Assignment, MemberSpec};

/// The member epoch of a join.
pub(crate) const JOIN_EPOCH: i32 = 0;
/// The member epoch of a leave.
pub(crate) const LEAVE_EPOCH: i32 = -1;

/// The settings of a group's membership.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GroupSettings {
    /// `share.session.timeout.ms`.
    pub(crate) session_timeout: Duration,
    /// `share.assignment.interval.ms`: the least time between two assignments.
    pub(crate) assignment_interval: Duration,
    /// `group.share.max.size`.
    pub(crate) max_size: usize,
}

/// What a member says in a heartbeat that is not a leave.
#[derive(Debug)]
pub(crate) struct Heartbeat<'a> {
    /// The member.
    pub(crate) member_id: &'a str,
    /// 0 to join, else the epoch of the last answer.
    pub(crate) member_epoch: i32,
    /// Where it runs; `None` is unchanged.
    pub(crate) rack_id: Option<&'a str>,
    /// What it subscribes to; `None` is unchanged.
    pub(crate) topics: Option<&'a [String]>,
    /// Its `client.id`.
    pub(crate) client_id: &'a str,
    /// Its address.
    pub(crate) client_host: &'a str,
}

/// What the member is told.
#[derive(Debug)]
pub(crate) struct Heartbeated {
    /// The epoch for the next heartbeat.
    pub(crate) member_epoch: i32,
    /// The partitions, where the member has to be told.
    pub(crate) assignment: Option<Assignment>,
}

/// Why a heartbeat is refused: code and message.
pub(crate) type GroupError = (ErrorCode, String);

/// One member.
#[derive(Debug)]
pub(crate) struct Member {
    /// Its epoch.
    pub(crate) epoch: i32,
    previous_epoch: i32,
    /// Where it runs.
    pub(crate) rack_id: Option<String>,
    /// Its `client.id`.
    pub(crate) client_id: String,
    /// Its address.
    pub(crate) client_host: String,
    /// The topics that it asked for, existing or not.
    pub(crate) topics: BTreeSet<String>,
    /// What it was told to consume.
    pub(crate) assignment: Assignment,
    /// Ends the session unless a heartbeat comes before.
    pub(crate) session_timer: Option<TimerId>,
}

/// One group.
#[derive(Debug)]
pub(crate) struct ShareGroup {
    /// Rises with each change of members, subscriptions or topics.
    pub(crate) epoch: i32,
    /// The group epoch of the target assignment.
    pub(crate) assignment_epoch: i32,
    /// By member id.
    pub(crate) members: BTreeMap<String, Member>,
    target: BTreeMap<String, Assignment>,
    last_assigned: Option<Instant>,
    /// The partitions whose state is set up: only those are assigned.
    initialized: BTreeSet<TopicIdPartition>,
}

impl ShareGroup {
    fn new() -> Self {
        Self {
            epoch: 1,
            assignment_epoch: 0,
            members: BTreeMap::new(),
            target: BTreeMap::new(),
            last_assigned: None,
            initialized: BTreeSet::new(),
        }
    }

    /// `Stable` or `Empty`.
    pub(crate) fn state(&self) -> &'static str {
        if self.members.is_empty() { "Empty" } else { "Stable" }
    }

    /// The partitions that the group has or had to do with.
    pub(crate) fn partitions(&self) -> &BTreeSet<TopicIdPartition> {
        &self.initialized
    }

    fn heartbeat(
        &mut self,
        now: Instant,
        settings: GroupSettings,
        topics: &Topics,
        heartbeat: &Heartbeat<'_>,
    ) -> Result<Heartbeated, String> {
        self.upsert(heartbeat)?;
        let immediate = settings.assignment_interval.is_zero();
        if immediate {
            self.initialize(topics);
        }
        self.assign(now, settings, topics);
        if !immediate {
            // A new topic's partitions are set up only now, so that they come with the next assignment.
            self.initialize(topics);
        }
        let target = self.target.get(heartbeat.member_id).cloned().unwrap_or_default();
        let assignment_epoch = self.assignment_epoch;
        let Some(member) = self.members.get_mut(heartbeat.member_id) else {
            return Err(heartbeat.member_id.to_owned());
        };
        let changed = member.assignment != target;
        member.assignment = target;
        if member.epoch != assignment_epoch {
            member.previous_epoch = member.epoch;
            member.epoch = assignment_epoch;
        }
        let told = changed || heartbeat.member_epoch == JOIN_EPOCH || heartbeat.topics.is_some();
        Ok(Heartbeated { member_epoch: member.epoch, assignment: told.then(|| member.assignment.clone()) })
    }

    /// Takes over what the member says of itself.
    fn upsert(&mut self, heartbeat: &Heartbeat<'_>) -> Result<(), String> {
        let joins = heartbeat.member_epoch == JOIN_EPOCH;
        let assignment_epoch = self.assignment_epoch;
        let mut changed = false;
        let member = match self.members.get_mut(heartbeat.member_id) {
            Some(member) => member,
            None if !joins => return Err(heartbeat.member_id.to_owned()),
            None => {
                changed = true;
                self.members.entry(heartbeat.member_id.to_owned()).or_insert_with(|| Member {
                    epoch: assignment_epoch,
                    previous_epoch: JOIN_EPOCH,
                    rack_id: None,
                    client_id: String::new(),
                    client_host: String::new(),
                    topics: BTreeSet::new(),
                    assignment: Assignment::new(),
                    session_timer: None,
                })
            }
        };
        heartbeat.client_id.clone_into(&mut member.client_id);
        heartbeat.client_host.clone_into(&mut member.client_host);
        if let Some(rack) = heartbeat.rack_id {
            member.rack_id = Some(rack.to_owned());
        }
        if let Some(names) = heartbeat.topics {
            let names: BTreeSet<String> = names.iter().cloned().collect();
            changed |= names != member.topics;
            member.topics = names;
        }
        if changed {
            self.epoch += 1;
        }
        Ok(())
    }

    /// Makes a new target assignment where something changed and the last one is old enough.
    fn assign(&mut self, now: Instant, settings: GroupSettings, topics: &Topics) {
        let due = self.last_assigned.is_none_or(|last| now >= last + settings.assignment_interval);
        if self.epoch == self.assignment_epoch || !due {
            return;
        }
        let members: BTreeMap<String, MemberSpec> = self
            .members
            .iter()
            .map(|(id, member)| {
                let current = self.target.get(id).cloned().unwrap_or_default();
                (id.clone(), MemberSpec { topics: existing(topics, &member.topics).collect(), current })
            })
            .collect();
        self.target = assignor::assign(&members, &self.initialized);
        self.assignment_epoch = self.epoch;
        self.last_assigned = Some(now);
    }

    /// Sets up the partitions of subscribed topics that are new, and forgets those of deleted ones.
    fn initialize(&mut self, topics: &Topics) {
        let names: BTreeSet<&String> = self.members.values().flat_map(|member| &member.topics).collect();
        let before = self.initialized.len();
        self.initialized.retain(|partition| topics.log(*partition).is_ok());
        let removed = self.initialized.len() != before;
        let kept = self.initialized.len();
        for topic in names.into_iter().filter_map(|name| topics.by_name(name)) {
            self.initialized.extend(
                (0..).zip(&topic.partitions).map(|(partition, _)| TopicIdPartition { topic_id: topic.id, partition }),
            );
        }
        if removed || self.initialized.len() != kept {
            self.epoch += 1;
        }
    }

    fn remove(&mut self, member_id: &str) -> Option<Member> {
        let member = self.members.remove(member_id)?;
        self.target.remove(member_id);
        self.epoch += 1;
        Some(member)
    }
}

fn existing<'a>(topics: &'a Topics, names: &'a BTreeSet<String>) -> impl Iterator<Item = Uuid> + 'a {
    names.iter().filter_map(|name| topics.by_name(name)).map(|topic| topic.id)
}

/// All groups.
#[derive(Debug, Default)]
pub(crate) struct ShareGroups {
    by_id: BTreeMap<Arc<str>, ShareGroup>,
}

impl ShareGroups {
    /// All groups, by id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &ShareGroup)> {
        self.by_id.iter()
    }

    /// The group of this id.
    pub(crate) fn get(&self, group_id: &str) -> Option<&ShareGroup> {
        self.by_id.get(group_id)
    }

    /// Takes a member's heartbeat; a join makes group and member where they do not exist.
    ///
    /// # Errors
    /// GROUP_ID_NOT_FOUND, GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID or FENCED_MEMBER_EPOCH, in Kafka's words.
    pub(crate) fn heartbeat(
        &mut self,
        now: Instant,
        settings: GroupSettings,
        topics: &Topics,
        group_id: &str,
        heartbeat: &Heartbeat<'_>,
    ) -> Result<Heartbeated, GroupError> {
        if heartbeat.member_epoch == JOIN_EPOCH && !self.by_id.contains_key(group_id) {
            self.by_id.insert(group_id.into(), ShareGroup::new());
        }
        let group = self.get_mut(group_id)?;
        match group.members.get(heartbeat.member_id) {
            Some(member) => check_epoch(member, heartbeat.member_epoch)?,
            None if group.members.len() >= settings.max_size => {
                let message =
                    format!("The share group has reached its maximum capacity of {} members.", settings.max_size);
                return Err((ErrorCode::GROUP_MAX_SIZE_REACHED, message));
            }
            None => {}
        }
        group.heartbeat(now, settings, topics, heartbeat).map_err(|member| unknown_member(group_id, &member))
    }

    /// Removes a member that leaves or whose session has run out; gives it back.
    ///
    /// # Errors
    /// GROUP_ID_NOT_FOUND or UNKNOWN_MEMBER_ID.
    pub(crate) fn remove(&mut self, group_id: &str, member_id: &str) -> Result<Member, GroupError> {
        self.get_mut(group_id)?.remove(member_id).ok_or_else(|| unknown_member(group_id, member_id))
    }

    /// Makes the group where it does not exist, with an assignment of nothing.
    pub(crate) fn ensure(&mut self, group_id: &str) {
        if !self.by_id.contains_key(group_id) {
            let group = ShareGroup { assignment_epoch: 1, ..ShareGroup::new() };
            self.by_id.insert(group_id.into(), group);
        }
    }

    /// Notes that the state of a partition is set up.
    pub(crate) fn initialized(&mut self, group_id: &str, partition: TopicIdPartition) {
        if let Some(group) = self.by_id.get_mut(group_id) {
            group.initialized.insert(partition);
        }
    }

    /// Forgets the partitions of a topic. Says whether there were any.
    pub(crate) fn forget_topic(&mut self, group_id: &str, topic: Uuid) -> bool {
        let Some(group) = self.by_id.get_mut(group_id) else { return false };
        let before = group.initialized.len();
        group.initialized.retain(|partition| partition.topic_id != topic);
        group.initialized.len() < before
    }

    /// Forgets a group.
    pub(crate) fn delete(&mut self, group_id: &str) {
        self.by_id.remove(group_id);
    }

    /// The members of a group, by id.
    pub(crate) fn members_mut(&mut self, group_id: &str) -> impl Iterator<Item = (&String, &mut Member)> {
        self.by_id.get_mut(group_id).into_iter().flat_map(|group| &mut group.members)
    }

    /// A member.
    pub(crate) fn member_mut(&mut self, group_id: &str, member_id: &str) -> Option<&mut Member> {
        self.by_id.get_mut(group_id)?.members.get_mut(member_id)
    }

    fn get_mut(&mut self, group_id: &str) -> Result<&mut ShareGroup, GroupError> {
        self.by_id
            .get_mut(group_id)
            .ok_or_else(|| (ErrorCode::GROUP_ID_NOT_FOUND, format!("Share group {group_id} not found.")))
    }
}

fn unknown_member(group_id: &str, member_id: &str) -> GroupError {
    (ErrorCode::UNKNOWN_MEMBER_ID, format!("Member {member_id} is not a member of group {group_id}."))
}

fn check_epoch(member: &Member, received: i32) -> Result<(), GroupError> {
    if received == JOIN_EPOCH || received == member.epoch || received == member.previous_epoch {
        return Ok(());
    }
    let known = member.epoch;
    let message = if received > known {
        format!(
            "The share group member has a greater member epoch ({received}) than the one known by the group \
             coordinator ({known}). The member must abandon all its partitions and rejoin."
        )
    } else {
        format!(
            "The share group member has a smaller member epoch ({received}) than the one known by the group \
             coordinator ({known}), and it does not match the previous member epoch ({}). The member must abandon all \
             its partitions and rejoin.",
            member.previous_epoch
        )
    };
    Err((ErrorCode::FENCED_MEMBER_EPOCH, message))
}
