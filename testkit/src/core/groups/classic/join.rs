//! JoinGroup: a member comes, or comes again.

use std::time::{Duration, Instant};

use ackflow_protocol::messages::join_group::{JoinGroupResponse, JoinGroupResponseMember};
use ackflow_protocol::wire::ErrorCode;
use bytes::Bytes;

use super::{ClassicGroup, ClassicMember, ClassicState, Waiting};
use crate::core::{Cluster, Due};

/// Since this version a new member joins twice, the second time with the id that it was given (KIP-394).
const TWICE_SINCE: i16 = 4;
/// Since this version the leader may be told not to assign anew (KIP-814).
const SKIP_SINCE: i16 = 9;

/// Who joins.
#[derive(Debug)]
pub(crate) struct Join {
    /// The group.
    pub(crate) group: String,
    /// The member; empty for one that has no id yet.
    pub(crate) member: String,
    /// The name of a static member.
    pub(crate) instance: Option<String>,
    /// The class of group.
    pub(crate) protocol_type: String,
    /// The protocols that it can do, and what it says under each.
    pub(crate) protocols: Vec<(String, Bytes)>,
    /// After how long without a word it is taken for dead.
    pub(crate) session_timeout: Duration,
    /// How long the others wait for it.
    pub(crate) rebalance_timeout: Duration,
    /// Its `client.id`.
    pub(crate) client_id: String,
    /// Its address.
    pub(crate) client_host: String,
    /// Who waits for the answer.
    pub(crate) waiting: Waiting,
}

/// Why a join is refused: the code, and the id that the member has to join with.
pub(crate) type JoinError = (ErrorCode, String);

impl Cluster {
    /// Takes a member in, or goes on with it. The answer comes by [`deliver`](Cluster::deliver).
    ///
    /// # Errors
    /// The code, and the member's id.
    pub(crate) fn join_classic(&mut self, now: Instant, mut join: Join) -> Result<(), JoinError> {
        let refused = |code, member: &str| Err((code, member.to_owned()));
        let most = usize::try_from(self.config.int("group.max.size")).unwrap_or(usize::MAX);
        if join.member.is_empty() {
            self.consumers.classic.entry(join.group.clone()).or_default();
        }
        let Some(group) = self.consumers.classic.get_mut(&join.group) else {
            return refused(ErrorCode::UNKNOWN_MEMBER_ID, &join.member);
        };
        if !group.members.contains_key(&join.member) && group.members.len() >= most {
            return refused(ErrorCode::GROUP_MAX_SIZE_REACHED, "");
        }
        if !group.supports(&join.protocol_type, &join.protocols) {
            return refused(ErrorCode::INCONSISTENT_GROUP_PROTOCOL, &join.member);
        }
        if join.member.is_empty() {
            let uuid = self.random.uuid();
            join.member = format!("{}-{uuid}", join.instance.as_ref().unwrap_or(&join.client_id));
            if let Some(instance) = &join.instance {
                if let Some(former) = group.instances.get(instance).cloned() {
                    return self.replace_classic(now, &former, join);
                }
            } else if join.waiting.version >= TWICE_SINCE {
                let due = Due::ClassicSession { group: join.group.clone(), member: join.member.clone() };
                let timer = self.timers.schedule(now + join.session_timeout, due);
                group.pending.insert(join.member.clone(), timer);
                return refused(ErrorCode::MEMBER_ID_REQUIRED, &join.member);
            }
            self.add_classic(now, join);
            return Ok(());
        }
        if let Some(timer) = group.pending.remove(&join.member) {
            self.timers.cancel(timer);
            self.add_classic(now, join);
            return Ok(());
        }
        group.check_member(&join.member, join.instance.as_deref()).map_err(|code| (code, join.member.clone()))?;
        let Some(member) = group.members.get(&join.member) else {
            return refused(ErrorCode::UNKNOWN_MEMBER_ID, &join.member);
        };
        let is_same = member.protocols == join.protocols;
        let is_leader = group.leader.as_ref() == Some(&join.member);
        match group.state {
            ClassicState::CompletingRebalance if is_same => self.repeat_join(now, &join, false),
            ClassicState::Stable if is_same && !is_leader => self.repeat_join(now, &join, false),
            _ => self.update_classic(now, join),
        }
        Ok(())
    }

    fn add_classic(&mut self, now: Instant, join: Join) {
        let Some(group) = self.consumers.classic.get_mut(&join.group) else { return };
        if let Some(instance) = &join.instance {
            group.instances.insert(instance.clone(), join.member.clone());
        }
        if group.members.is_empty() {
            group.protocol_type = Some(join.protocol_type.clone());
        }
        group.leader.get_or_insert_with(|| join.member.clone());
        group.has_grown = true;
        let member = ClassicMember {
            instance_id: join.instance.clone(),
            client_id: String::new(),
            client_host: String::new(),
            session_timeout: join.session_timeout,
            rebalance_timeout: join.rebalance_timeout,
            protocols: Vec::new(),
            assignment: Bytes::new(),
            session_timer: None,
            joins: None,
            syncs: None,
            has_synced: false,
        };
        group.members.insert(join.member.clone(), member);
        self.update_classic(now, join);
    }

    /// Takes over what a member says, and has all members join.
    fn update_classic(&mut self, now: Instant, join: Join) {
        let Some(group) = self.consumers.classic.get_mut(&join.group) else { return };
        let Some(member) = group.members.get_mut(&join.member) else { return };
        (member.client_id, member.client_host) = (join.client_id, join.client_host);
        (member.session_timeout, member.rebalance_timeout) = (join.session_timeout, join.rebalance_timeout);
        member.protocols = join.protocols;
        member.joins = Some(join.waiting);
        self.arm_classic(now, &join.group, &join.member);
        self.rebalance_classic(now, &join.group);
    }

    /// A static member comes back under another id. Where it says what it said, the group goes on.
    fn replace_classic(&mut self, now: Instant, former: &str, join: Join) -> Result<(), JoinError> {
        let Some(group) = self.consumers.classic.get_mut(&join.group) else {
            return Err((ErrorCode::UNKNOWN_MEMBER_ID, join.member));
        };
        let Some(mut member) = group.members.remove(former) else {
            return Err((ErrorCode::UNKNOWN_MEMBER_ID, join.member));
        };
        if let Some(timer) = member.session_timer.take() {
            self.timers.cancel(timer);
        }
        let waiting = [member.joins.take(), member.syncs.take()];
        let is_leader = group.leader.as_deref() == Some(former);
        if is_leader {
            group.leader = Some(join.member.clone());
        }
        if let Some(instance) = &join.instance {
            group.instances.insert(instance.clone(), join.member.clone());
        }
        let is_same = member.protocols == join.protocols && group.state == ClassicState::Stable;
        group.members.insert(join.member.clone(), member);
        // Another process of the same name that waits is told that it has lost its place.
        let fenced = JoinGroupResponse { error_code: ErrorCode::FENCED_INSTANCE_ID, ..JoinGroupResponse::default() };
        if let Some(joins) = waiting[0] {
            self.answer(now, joins, &fenced);
        }
        if let Some(syncs) = waiting[1] {
            self.refuse_sync(now, syncs, ErrorCode::FENCED_INSTANCE_ID);
        }
        if is_same {
            self.arm_classic(now, &join.group, &join.member);
            self.repeat_join(now, &join, is_leader && join.waiting.version >= SKIP_SINCE);
        } else {
            self.update_classic(now, join);
        }
        Ok(())
    }

    /// Tells a member again what it was told of this generation.
    fn repeat_join(&mut self, now: Instant, join: &Join, skip_assignment: bool) {
        let Some(group) = self.consumers.classic.get(&join.group) else { return };
        let mut response = group.joined(&join.member);
        response.skip_assignment = skip_assignment;
        self.arm_classic(now, &join.group, &join.member);
        self.answer(now, join.waiting, &response);
    }
}

impl ClassicGroup {
    /// What a member is told when all have joined: the leader who they are.
    pub(super) fn joined(&self, id: &str) -> JoinGroupResponse {
        let is_leader = self.leader.as_deref() == Some(id);
        let members = self.members.iter().filter(|_| is_leader).map(|(id, member)| JoinGroupResponseMember {
            member_id: id.clone(),
            group_instance_id: member.instance_id.clone(),
            metadata: member.metadata(self.protocol.as_ref()),
        });
        JoinGroupResponse {
            generation_id: self.generation,
            protocol_type: self.protocol_type.clone(),
            protocol_name: self.protocol.clone(),
            leader: self.leader.clone().unwrap_or_default(),
            member_id: id.to_owned(),
            members: members.collect(),
            ..JoinGroupResponse::default()
        }
    }
}
