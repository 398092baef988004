//! Groups of the classic protocol: all members join, one of them assigns, all of them hear of it.
//!
//! ```text
//!   Empty --a member joins--> PreparingRebalance --all joined, or time is over--> CompletingRebalance
//!     ^                         ^      ^                                              |
//!     '---the last one leaves---'      '--a member joins, leaves or is lost-- Stable <-- the leader's SyncGroup
//! ```

pub(crate) mod join;
pub(crate) mod leave;
pub(crate) mod rebalance;
pub(crate) mod sync;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use ackflow_protocol::messages::consumer_protocol::ConsumerProtocolSubscription;
use ackflow_protocol::messages::embedded::Embedded;
use ackflow_protocol::wire::{ErrorCode, Message, encode_response};
use bytes::Bytes;

use crate::core::timers::TimerId;
use crate::core::{Cluster, ConnectionId, Due, Output};

/// How far a group is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClassicState {
    /// Nobody is there.
    Empty,
    /// Members have to join, those that were there too.
    PreparingRebalance,
    /// All have joined, and the leader's assignment is missing.
    CompletingRebalance,
    /// Everybody has an assignment.
    Stable,
}

impl ClassicState {
    /// As descriptions name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::PreparingRebalance => "PreparingRebalance",
            Self::CompletingRebalance => "CompletingRebalance",
            Self::Stable => "Stable",
        }
    }
}

/// A request that waits for the others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting {
    /// Who waits.
    pub(crate) connection: ConnectionId,
    /// The version of the request.
    pub(crate) version: i16,
    /// Its correlation id.
    pub(crate) correlation_id: i32,
}

/// One member.
#[derive(Debug)]
pub(crate) struct ClassicMember {
    /// The name of a static member.
    pub(crate) instance_id: Option<String>,
    /// Its `client.id`.
    pub(crate) client_id: String,
    /// Its address.
    pub(crate) client_host: String,
    pub(super) session_timeout: Duration,
    pub(super) rebalance_timeout: Duration,
    /// The protocols that it can do, the best first, and what it says under each.
    pub(crate) protocols: Vec<(String, Bytes)>,
    /// What it is to do.
    pub(crate) assignment: Bytes,
    pub(super) session_timer: Option<TimerId>,
    pub(super) joins: Option<Waiting>,
    pub(super) syncs: Option<Waiting>,
    /// Whether it has asked for its assignment in this generation.
    pub(super) has_synced: bool,
}

impl ClassicMember {
    /// What it says under a protocol.
    pub(crate) fn metadata(&self, protocol: Option<&String>) -> Bytes {
        let found = self.protocols.iter().find(|(name, _)| Some(name) == protocol);
        found.map(|(_, metadata)| metadata.clone()).unwrap_or_default()
    }
}

/// One group.
#[derive(Debug)]
pub(crate) struct ClassicGroup {
    /// How far it is.
    pub(crate) state: ClassicState,
    /// Rises with each rebalance.
    pub(crate) generation: i32,
    /// The class of group, as its first member said.
    pub(crate) protocol_type: Option<String>,
    /// The protocol that all members can do.
    pub(crate) protocol: Option<String>,
    pub(super) leader: Option<String>,
    /// By member id.
    pub(crate) members: BTreeMap<String, ClassicMember>,
    /// Static members: member ids by name.
    pub(super) instances: BTreeMap<String, String>,
    /// Members that were given an id and have to join with it, and when that is forgotten.
    pub(super) pending: BTreeMap<String, TimerId>,
    /// Ends the wait for members that join, or for those that fetch their assignment.
    pub(super) timer: Option<TimerId>,
    /// Until when a new group may wait for more members.
    pub(super) first_until: Option<Instant>,
    /// Whether a member has joined since that wait was prolonged.
    pub(super) has_grown: bool,
}

impl Default for ClassicGroup {
    fn default() -> Self {
        Self {
            state: ClassicState::Empty,
            generation: 0,
            protocol_type: None,
            protocol: None,
            leader: None,
            members: BTreeMap::new(),
            instances: BTreeMap::new(),
            pending: BTreeMap::new(),
            timer: None,
            first_until: None,
            has_grown: false,
        }
    }
}

impl ClassicGroup {
    /// Checks who says that it is a member.
    ///
    /// # Errors
    /// UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID.
    pub(crate) fn check_member(&self, member: &str, instance: Option<&str>) -> Result<(), ErrorCode> {
        if let Some(instance) = instance {
            match self.instances.get(instance) {
                None => return Err(ErrorCode::UNKNOWN_MEMBER_ID),
                Some(owner) if owner != member => return Err(ErrorCode::FENCED_INSTANCE_ID),
                Some(_) => {}
            }
        }
        if self.members.contains_key(member) { Ok(()) } else { Err(ErrorCode::UNKNOWN_MEMBER_ID) }
    }

    /// Checks who commits offsets, in a transaction or by itself.
    ///
    /// # Errors
    /// UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION or REBALANCE_IN_PROGRESS.
    pub(crate) fn check_commit(
        &self,
        member: &str,
        instance: Option<&str>,
        generation: i32,
        in_transaction: bool,
    ) -> Result<(), ErrorCode> {
        if generation < 0 && self.state == ClassicState::Empty {
            return Ok(());
        }
        if generation >= 0 || !member.is_empty() || instance.is_some() {
            self.check_member(member, instance)?;
            if generation != self.generation {
                return Err(ErrorCode::ILLEGAL_GENERATION);
            }
        } else if !in_transaction {
            return Err(ErrorCode::UNKNOWN_MEMBER_ID);
        }
        let is_moving = !in_transaction && self.state == ClassicState::CompletingRebalance;
        if is_moving { Err(ErrorCode::REBALANCE_IN_PROGRESS) } else { Ok(()) }
    }

    /// Whether its members are consumers, which say what topics they read.
    pub(crate) fn has_consumers(&self) -> bool {
        self.protocol_type.as_deref() == Some("consumer")
    }

    /// Whether a member reads a topic, as far as the members say.
    pub(crate) fn is_subscribed_to(&self, topic: &str) -> bool {
        let reads = |metadata: Bytes| {
            let subscription = ConsumerProtocolSubscription::from_versioned_bytes(metadata);
            subscription.is_ok_and(|(_, subscription)| subscription.topics.iter().any(|name| name == topic))
        };
        let has_topics = self.has_consumers() && self.state != ClassicState::Empty;
        has_topics && self.members.values().any(|member| reads(member.metadata(self.protocol.as_ref())))
    }

    /// The protocols that all members can do.
    fn common_protocols(&self) -> BTreeSet<&String> {
        let mut members = self.members.values().map(|member| member.protocols.iter().map(|(name, _)| name));
        let first: BTreeSet<&String> = members.next().into_iter().flatten().collect();
        members.fold(first, |common, member| {
            let member: BTreeSet<&String> = member.collect();
            common.intersection(&member).copied().collect()
        })
    }

    /// Whether a member that can do these protocols may come in.
    pub(super) fn supports(&self, protocol_type: &str, protocols: &[(String, Bytes)]) -> bool {
        if protocol_type.is_empty() || protocols.is_empty() {
            return false;
        }
        if self.members.is_empty() {
            return true;
        }
        let common = self.common_protocols();
        self.protocol_type.as_deref() == Some(protocol_type) && protocols.iter().any(|(name, _)| common.contains(name))
    }

    /// The protocol that most members like best of those that all can do.
    pub(super) fn choose_protocol(&self) -> Option<String> {
        let common = self.common_protocols();
        let mut votes: BTreeMap<&String, usize> = common.iter().map(|name| (*name, 0)).collect();
        for member in self.members.values() {
            let vote = member.protocols.iter().find(|(name, _)| common.contains(name));
            if let Some((name, _)) = vote {
                *votes.entry(name).or_default() += 1;
            }
        }
        votes.into_iter().max_by_key(|(_, votes)| *votes).map(|(name, _)| name.clone())
    }

    /// Whether nobody is to come who was given an id.
    pub(crate) fn pending_is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Whether nobody is missing who has to join.
    pub(super) fn all_joined(&self) -> bool {
        self.pending.is_empty() && self.members.values().all(|member| member.joins.is_some())
    }
}

impl Cluster {
    /// Answers a request that waited for others.
    pub(super) fn answer<M: Message>(&mut self, now: Instant, waiting: Waiting, response: &M) {
        match encode_response(response, waiting.version, waiting.correlation_id) {
            Ok(frame) => self.deliver(now, waiting.connection, frame),
            Err(error) => self.ready.push_back(Output::Close(waiting.connection, error.to_string())),
        }
    }

    /// The answer to the request that is being handled, where it did not have to wait.
    pub(crate) fn take_answer(&mut self, connection: ConnectionId) -> Option<Bytes> {
        let is_own = |output: &Output| matches!(output, Output::Reply(to, _) if *to == connection);
        let at = self.ready.iter().position(is_own)?;
        match self.ready.remove(at)? {
            Output::Reply(_, frame) => Some(frame),
            _ => None,
        }
    }

    /// Forgets a group.
    pub(crate) fn forget_classic(&mut self, group_id: &str) {
        let Some(group) = self.consumers.classic.remove(group_id) else { return };
        let sessions = group.members.into_values().filter_map(|member| member.session_timer);
        for timer in sessions.chain(group.pending.into_values()).chain(group.timer) {
            self.timers.cancel(timer);
        }
    }

    /// Begins a member's session anew.
    pub(super) fn arm_classic(&mut self, now: Instant, group_id: &str, id: &str) {
        let group = self.consumers.classic.get_mut(group_id);
        let Some(member) = group.and_then(|group| group.members.get_mut(id)) else { return };
        let due = Due::ClassicSession { group: group_id.to_owned(), member: id.to_owned() };
        let timer = self.timers.schedule(now + member.session_timeout, due);
        if let Some(former) = member.session_timer.replace(timer) {
            self.timers.cancel(former);
        }
    }
}
