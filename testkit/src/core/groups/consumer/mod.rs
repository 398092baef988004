//! Groups of the consumer protocol (KIP-848): members, their epochs, and who gets which partitions.
//!
//! ```text
//!   heartbeat(0) --> member, group epoch + 1 --(at most once an assignment interval)--> target assignment
//!        ^                                                                                  |
//!        '-- fenced (wrong epoch) <-- heartbeat(epoch) <-- assignment, member epoch <--------'
//!   heartbeat(-1), session or rebalance timeout --> member removed, group epoch + 1
//!   heartbeat(-2) --> a static member whose place is kept until its session ends
//! ```

pub(crate) mod assignors;
pub(crate) mod member;
pub(crate) mod pattern;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use ackflow_protocol::wire::{ErrorCode, Uuid};

use super::GroupError;
use crate::core::topics::{TopicIdPartition, Topics};
use assignors::{ASSIGNORS, MemberSpec};
use member::{Assigned, Assignment, Member, MemberState, Next};
use pattern::TopicPattern;

/// The member epoch of a join.
pub(crate) const JOIN_EPOCH: i32 = 0;
/// The member epoch of a leave.
pub(crate) const LEAVE_EPOCH: i32 = -1;
/// The member epoch of a static member that leaves for a while.
pub(crate) const LEAVE_STATIC_EPOCH: i32 = -2;

/// The settings of a group's membership.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConsumerSettings {
    /// `consumer.session.timeout.ms`.
    pub(crate) session_timeout: Duration,
    /// `consumer.assignment.interval.ms`: the least time between two assignments.
    pub(crate) assignment_interval: Duration,
    /// `group.consumer.max.size`.
    pub(crate) max_size: usize,
}

/// What a member says in a heartbeat that is not a leave.
#[derive(Debug)]
pub(crate) struct Heartbeat<'a> {
    /// The member.
    pub(crate) member_id: &'a str,
    /// 0 to join, else the epoch of the last answer.
    pub(crate) member_epoch: i32,
    /// The name of a static member.
    pub(crate) instance_id: Option<&'a str>,
    /// Where it runs; `None` is unchanged.
    pub(crate) rack_id: Option<&'a str>,
    /// How long it may take to give up partitions; `None` is unchanged.
    pub(crate) rebalance_timeout: Option<Duration>,
    /// What it subscribes to by name; `None` is unchanged.
    pub(crate) topics: Option<&'a [String]>,
    /// What it subscribes to by regular expression; `None` is unchanged, empty is none.
    pub(crate) regex: Option<&'a str>,
    /// The assignor that it wants; `None` is unchanged.
    pub(crate) assignor: Option<&'a str>,
    /// What it holds; `None` where it does not say.
    pub(crate) owned: Option<&'a Assignment>,
    /// Its `client.id`.
    pub(crate) client_id: &'a str,
    /// Its address.
    pub(crate) client_host: &'a str,
}

impl Heartbeat<'_> {
    /// Whether the member says all about itself, as after an error: then it is told all as well.
    fn is_full(&self) -> bool {
        self.rebalance_timeout.is_some() && (self.topics.is_some() || self.regex.is_some()) && self.owned.is_some()
    }
}

/// What the member is told.
#[derive(Debug)]
pub(crate) struct Heartbeated {
    /// The epoch for the next heartbeat.
    pub(crate) member_epoch: i32,
    /// The partitions, where the member has to be told.
    pub(crate) assignment: Option<Assignment>,
    /// The member whose place it took.
    pub(crate) replaced: Option<Member>,
}

/// One group.
#[derive(Debug, Default)]
pub(crate) struct ConsumerGroup {
    /// Rises with each change of members, subscriptions or topics.
    pub(crate) epoch: i32,
    /// The group epoch of the target assignment.
    pub(crate) assignment_epoch: i32,
    /// By member id.
    pub(crate) members: BTreeMap<String, Member>,
    /// Static members: member ids by name.
    instances: BTreeMap<String, String>,
    target: BTreeMap<String, Assignment>,
    last_assigned: Option<Instant>,
    /// The subscribed topics as the last change of the epoch saw them: partitions by id.
    seen: BTreeMap<Uuid, i32>,
}

impl ConsumerGroup {
    /// `Empty`, `Assigning`, `Reconciling` or `Stable`.
    pub(crate) fn state(&self) -> &'static str {
        if self.members.is_empty() {
            "Empty"
        } else if self.epoch > self.assignment_epoch {
            "Assigning"
        } else if self.members.values().all(|member| member.is_reconciled_to(self.assignment_epoch)) {
            "Stable"
        } else {
            "Reconciling"
        }
    }

    /// What a member is to have in the end.
    pub(crate) fn target(&self, member_id: &str) -> Option<&Assignment> {
        self.target.get(member_id)
    }

    /// The assignor that most members want.
    pub(crate) fn assignor(&self) -> &'static str {
        let votes = |assignor: &str| {
            self.members.values().filter(|member| member.assignor.as_deref() == Some(assignor)).count()
        };
        // Of equally many votes, the default wins.
        ASSIGNORS.iter().copied().rev().max_by_key(|assignor| votes(assignor)).unwrap_or("uniform")
    }

    /// Whether any member subscribes to the topic.
    pub(crate) fn is_subscribed_to(&self, topic: &str) -> bool {
        self.members.values().any(|member| member.is_subscribed_to(topic))
    }

    /// Takes a member's heartbeat; a join makes the member where it does not exist.
    ///
    /// # Errors
    /// GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, UNRELEASED_INSTANCE_ID, FENCED_INSTANCE_ID or
    /// INVALID_REGULAR_EXPRESSION, in Kafka's words.
    pub(crate) fn heartbeat(
        &mut self,
        now: Instant,
        group_id: &str,
        settings: ConsumerSettings,
        topics: &Topics,
        heartbeat: &Heartbeat<'_>,
    ) -> Result<Heartbeated, GroupError> {
        let pattern = heartbeat.regex.filter(|regex| !regex.is_empty()).map(TopicPattern::new).transpose()?;
        let replaced = self.enter(group_id, settings, heartbeat)?;
        let Some(member) = self.members.get_mut(heartbeat.member_id) else {
            return Err(unknown_member(group_id, heartbeat.member_id));
        };
        let before: BTreeSet<TopicIdPartition> = member.assigned.keys().copied().collect();
        let has_new_topics = update(member, heartbeat, pattern);
        let seen = self.subscribed(topics);
        if has_new_topics || seen != self.seen || self.epoch == 0 {
            self.seen = seen;
            self.epoch += 1;
        }
        self.assign(now, settings, topics);
        self.reconcile(heartbeat.member_id, topics, heartbeat.owned, has_new_topics);
        let Some(member) = self.members.get(heartbeat.member_id) else {
            return Err(unknown_member(group_id, heartbeat.member_id));
        };
        let assignment: Assignment = member.assigned.keys().copied().collect();
        let told = assignment != before || heartbeat.member_epoch == JOIN_EPOCH || heartbeat.is_full();
        Ok(Heartbeated { member_epoch: member.epoch, assignment: told.then_some(assignment), replaced })
    }

    /// Finds or makes the member. Gives the static member whose place it takes.
    fn enter(
        &mut self,
        group_id: &str,
        settings: ConsumerSettings,
        heartbeat: &Heartbeat<'_>,
    ) -> Result<Option<Member>, GroupError> {
        let id = heartbeat.member_id;
        if heartbeat.member_epoch == JOIN_EPOCH
            && !self.members.contains_key(id)
            && self.members.len() >= settings.max_size
        {
            let message =
                format!("The consumer group has reached its maximum capacity of {} members.", settings.max_size);
            return Err((ErrorCode::GROUP_MAX_SIZE_REACHED, message));
        }
        if let Some(instance) = heartbeat.instance_id {
            match self.instances.get(instance).cloned() {
                None if heartbeat.member_epoch != JOIN_EPOCH => return Err(unknown_instance(instance)),
                None => {
                    if let Some(former) = self.members.get(id).and_then(|member| member.instance_id.as_ref()) {
                        self.instances.remove(former);
                    }
                    self.instances.insert(instance.to_owned(), id.to_owned());
                }
                Some(owner) if heartbeat.member_epoch == JOIN_EPOCH => return self.rejoin(instance, &owner, id),
                Some(owner) if owner != id => return Err(fenced_instance(instance, &owner, id)),
                Some(_) => {}
            }
        }
        match self.members.get(id) {
            Some(member) => check_epoch(member, heartbeat.member_epoch, heartbeat.owned)?,
            None if heartbeat.member_epoch == JOIN_EPOCH => _ = self.members.insert(id.to_owned(), Member::new()),
            None => return Err(unknown_member(group_id, id)),
        }
        Ok(None)
    }

    /// A static member comes back, under another id.
    fn rejoin(&mut self, instance: &str, owner: &str, id: &str) -> Result<Option<Member>, GroupError> {
        let has_left = self.members.get(owner).is_some_and(|member| member.epoch == LEAVE_STATIC_EPOCH);
        if !has_left || (id != owner && self.members.contains_key(id)) {
            let message = format!(
                "Static member {id} with instance id {instance} cannot join the group because the instance id is owned by \
                 member {owner}."
            );
            return Err((ErrorCode::UNRELEASED_INSTANCE_ID, message));
        }
        let Some(before) = self.members.remove(owner) else { return Ok(None) };
        let mut member =
            Member { epoch: 0, previous_epoch: 0, session_timer: None, rebalance_timer: None, ..before.clone() };
        member.revoked.clear();
        member.state = MemberState::Stable;
        self.members.insert(id.to_owned(), member);
        if let Some(target) = self.target.remove(owner) {
            self.target.insert(id.to_owned(), target);
        }
        self.instances.insert(instance.to_owned(), id.to_owned());
        Ok(Some(before))
    }

    /// The subscribed topics that exist, with the number of their partitions.
    fn subscribed(&self, topics: &Topics) -> BTreeMap<Uuid, i32> {
        let patterns: BTreeMap<&str, &TopicPattern> =
            self.members.values().filter_map(|member| member.pattern.as_ref()).map(|p| (p.text.as_str(), p)).collect();
        let names: BTreeSet<&str> =
            self.members.values().flat_map(|member| &member.topics).map(String::as_str).collect();
        let wanted = |name: &str| names.contains(name) || patterns.values().any(|pattern| pattern.matches(name));
        let count = |partitions: usize| i32::try_from(partitions).unwrap_or(i32::MAX);
        let found = topics.iter().filter(|topic| wanted(&topic.name));
        found.map(|topic| (topic.id, count(topic.partitions.len()))).collect()
    }

    /// Makes a new target assignment where something changed and the last one is old enough.
    fn assign(&mut self, now: Instant, settings: ConsumerSettings, topics: &Topics) {
        let due = self.last_assigned.is_none_or(|last| now >= last + settings.assignment_interval);
        if self.epoch == self.assignment_epoch || !due {
            return;
        }
        let specs = self
            .members
            .iter()
            .map(|(id, member)| {
                let current = self.target.get(id).cloned().unwrap_or_default();
                let instance_id = member.instance_id.clone();
                (id.clone(), MemberSpec { instance_id, topics: existing(topics, member), current })
            })
            .collect();
        self.target = assignors::assign(self.assignor(), &specs, &self.seen);
        self.assignment_epoch = self.epoch;
        self.last_assigned = Some(now);
    }

    fn reconcile(&mut self, member_id: &str, topics: &Topics, owned: Option<&Assignment>, has_new_topics: bool) {
        let held: Assignment = self.members.values().flat_map(Member::held).collect();
        let none = Assignment::new();
        let Some(member) = self.members.get_mut(member_id) else { return };
        let subscribed = existing(topics, member);
        member.reconcile(&Next {
            epoch: self.assignment_epoch,
            target: self.target.get(member_id).unwrap_or(&none),
            topics: &subscribed,
            held: &held,
            owned,
            has_new_topics,
        });
    }

    /// A member leaves, for good or for a while. Gives the member as it was.
    ///
    /// # Errors
    /// UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID.
    pub(crate) fn leave(
        &mut self,
        topics: &Topics,
        group_id: &str,
        member_id: &str,
        instance_id: Option<&str>,
        epoch: i32,
    ) -> Result<Option<Member>, GroupError> {
        if let Some(instance) = instance_id {
            match self.instances.get(instance) {
                None => return Err(unknown_instance(instance)),
                Some(owner) if owner != member_id => return Err(fenced_instance(instance, owner, member_id)),
                Some(_) => {}
            }
        }
        if epoch != LEAVE_STATIC_EPOCH {
            return self.remove(topics, member_id).map(Some).ok_or_else(|| unknown_member(group_id, member_id));
        }
        let member = self.members.get_mut(member_id).ok_or_else(|| unknown_member(group_id, member_id))?;
        member.epoch = LEAVE_STATIC_EPOCH;
        member.revoked = Assigned::new();
        member.state = MemberState::Stable;
        Ok(None)
    }

    /// Removes a member.
    pub(crate) fn remove(&mut self, topics: &Topics, member_id: &str) -> Option<Member> {
        let member = self.members.remove(member_id)?;
        self.target.remove(member_id);
        if let Some(instance) = &member.instance_id {
            self.instances.remove(instance);
        }
        self.seen = self.subscribed(topics);
        self.epoch += 1;
        Some(member)
    }

    /// Checks who commits an offset of a partition, or reads offsets: `partition` is `None` for those who read.
    ///
    /// # Errors
    /// UNKNOWN_MEMBER_ID or STALE_MEMBER_EPOCH.
    pub(crate) fn check_member(
        &self,
        member_id: &str,
        epoch: i32,
        partition: Option<TopicIdPartition>,
    ) -> Result<(), ErrorCode> {
        let member = self.members.get(member_id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        if epoch == member.epoch {
            return Ok(());
        }
        // One that has not yet heard of its new epoch may commit what it has had since before (KIP-1251).
        let since = partition.and_then(|partition| member.epoch_of(partition));
        let is_in_time = epoch < member.epoch && since.is_some_and(|since| epoch >= since);
        if is_in_time { Ok(()) } else { Err(ErrorCode::STALE_MEMBER_EPOCH) }
    }
}

/// The topics that a member subscribes to and that exist.
fn existing(topics: &Topics, member: &Member) -> BTreeSet<Uuid> {
    topics.iter().filter(|topic| member.is_subscribed_to(&topic.name)).map(|topic| topic.id).collect()
}

/// Takes over what a member says of itself. Says whether its subscription is new.
fn update(member: &mut Member, heartbeat: &Heartbeat<'_>, pattern: Option<TopicPattern>) -> bool {
    heartbeat.client_id.clone_into(&mut member.client_id);
    heartbeat.client_host.clone_into(&mut member.client_host);
    let text = |text: &str| Some(text.to_owned());
    if let Some(instance) = heartbeat.instance_id {
        member.instance_id = text(instance);
    }
    if let Some(rack) = heartbeat.rack_id {
        member.rack_id = text(rack);
    }
    if let Some(timeout) = heartbeat.rebalance_timeout {
        member.rebalance_timeout = timeout;
    }
    if let Some(assignor) = heartbeat.assignor {
        member.assignor = text(assignor);
    }
    let mut is_new = false;
    if let Some(names) = heartbeat.topics {
        let names: BTreeSet<String> = names.iter().cloned().collect();
        is_new |= names != member.topics;
        member.topics = names;
    }
    if heartbeat.regex.is_some() {
        let text = |pattern: &Option<TopicPattern>| pattern.as_ref().map(|pattern| pattern.text.clone());
        is_new |= text(&pattern) != text(&member.pattern);
        member.pattern = pattern;
    }
    is_new
}

fn check_epoch(member: &Member, received: i32, owned: Option<&Assignment>) -> Result<(), GroupError> {
    let known = member.epoch;
    if received == JOIN_EPOCH || received == known {
        return Ok(());
    }
    let holds_no_more =
        owned.is_some_and(|owned| owned.iter().all(|partition| member.assigned.contains_key(partition)));
    let message = if received > known {
        format!(
            "The consumer group member has a greater member epoch ({received}) than the one known by the group \
             coordinator ({known}). The member must abandon all its partitions and rejoin."
        )
    } else if received == member.previous_epoch && holds_no_more {
        return Ok(());
    } else {
        format!(
            "The consumer group member has a smaller member epoch ({received}) than the one known by the group \
             coordinator ({known}). The member must abandon all its partitions and rejoin."
        )
    };
    Err((ErrorCode::FENCED_MEMBER_EPOCH, message))
}

/// UNKNOWN_MEMBER_ID, in Kafka's words.
pub(crate) fn unknown_member(group_id: &str, member_id: &str) -> GroupError {
    (ErrorCode::UNKNOWN_MEMBER_ID, format!("Member {member_id} is not a member of group {group_id}."))
}

fn unknown_instance(instance: &str) -> GroupError {
    (ErrorCode::UNKNOWN_MEMBER_ID, format!("Instance id {instance} is unknown."))
}

fn fenced_instance(instance: &str, owner: &str, id: &str) -> GroupError {
    let message = format!("Static member {id} with instance id {instance} was fenced by member {owner}.");
    (ErrorCode::FENCED_INSTANCE_ID, message)
}
