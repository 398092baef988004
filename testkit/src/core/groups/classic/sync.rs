//! SyncGroup and Heartbeat: members hear what they are to do, and say that they live.

use std::time::Instant;

use ackflow_protocol::messages::sync_group::{SyncGroupRequest, SyncGroupResponse};
use ackflow_protocol::wire::ErrorCode;

use super::{ClassicGroup, ClassicState, Waiting};
use crate::core::Cluster;

impl Cluster {
    /// Takes the leader's assignment, or lets a member wait for it. The answer comes by [`deliver`](Cluster::deliver).
    ///
    /// # Errors
    /// UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION, INCONSISTENT_GROUP_PROTOCOL or REBALANCE_IN_PROGRESS.
    pub(crate) fn sync_classic(
        &mut self,
        now: Instant,
        request: &SyncGroupRequest,
        waiting: Waiting,
    ) -> Result<(), ErrorCode> {
        let (group_id, id) = (&request.group_id, &request.member_id);
        let group = self.consumers.classic.get_mut(group_id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        group.check_member(id, request.group_instance_id.as_deref())?;
        if request.generation_id != group.generation {
            return Err(ErrorCode::ILLEGAL_GENERATION);
        }
        let differs = |said: &Option<String>, known: &Option<String>| said.is_some() && said != known;
        if differs(&request.protocol_type, &group.protocol_type) || differs(&request.protocol_name, &group.protocol) {
            return Err(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
        }
        match group.state {
            ClassicState::Empty => return Err(ErrorCode::UNKNOWN_MEMBER_ID),
            ClassicState::PreparingRebalance => return Err(ErrorCode::REBALANCE_IN_PROGRESS),
            ClassicState::CompletingRebalance | ClassicState::Stable => {}
        }
        let former = group.members.get_mut(id).and_then(|member| {
            member.has_synced = true;
            member.syncs.replace(waiting)
        });
        if group.state == ClassicState::CompletingRebalance && group.leader.as_ref() == Some(id) {
            for assigned in &request.assignments {
                if let Some(member) = group.members.get_mut(&assigned.member_id) {
                    member.assignment = assigned.assignment.clone();
                }
            }
            group.state = ClassicState::Stable;
        }
        if group.members.values().all(|member| member.has_synced)
            && let Some(timer) = group.timer.take()
        {
            self.timers.cancel(timer);
        }
        self.arm_classic(now, group_id, id);
        if let Some(former) = former {
            self.refuse_sync(now, former, ErrorCode::REBALANCE_IN_PROGRESS);
        }
        self.answer_syncs(now, group_id);
        Ok(())
    }

    /// Tells those that wait what they are to do, where that is known.
    fn answer_syncs(&mut self, now: Instant, group_id: &str) {
        let Some(group) = self.consumers.classic.get_mut(group_id) else { return };
        if group.state != ClassicState::Stable {
            return;
        }
        let ClassicGroup { members, protocol_type, protocol, .. } = group;
        let told = members.values_mut().filter_map(|member| {
            let response = SyncGroupResponse {
                protocol_type: protocol_type.clone(),
                protocol_name: protocol.clone(),
                assignment: member.assignment.clone(),
                ..SyncGroupResponse::default()
            };
            member.syncs.take().map(|waiting| (waiting, response))
        });
        let told: Vec<(Waiting, SyncGroupResponse)> = told.collect();
        for (waiting, response) in told {
            self.answer(now, waiting, &response);
        }
    }

    pub(super) fn refuse_sync(&mut self, now: Instant, waiting: Waiting, error_code: ErrorCode) {
        self.answer(now, waiting, &SyncGroupResponse { error_code, ..SyncGroupResponse::default() });
    }

    /// A member lives.
    ///
    /// # Errors
    /// UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION, or REBALANCE_IN_PROGRESS where it has to join.
    pub(crate) fn heartbeat_classic(
        &mut self,
        now: Instant,
        group_id: &str,
        id: &str,
        instance: Option<&str>,
        generation: i32,
    ) -> Result<(), ErrorCode> {
        let group = self.consumers.classic.get(group_id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        group.check_member(id, instance)?;
        if generation != group.generation {
            return Err(ErrorCode::ILLEGAL_GENERATION);
        }
        let state = group.state;
        self.arm_classic(now, group_id, id);
        if state == ClassicState::PreparingRebalance { Err(ErrorCode::REBALANCE_IN_PROGRESS) } else { Ok(()) }
    }
}
