//! LeaveGroup, and sessions that end.

use std::time::Instant;

use ackflow_protocol::messages::join_group::JoinGroupResponse;
use ackflow_protocol::wire::ErrorCode;

use super::{ClassicMember, ClassicState};
use crate::core::Cluster;

impl Cluster {
    /// A member leaves; a static one may be named by its name alone. The others have to join again.
    ///
    /// # Errors
    /// UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID.
    pub(crate) fn leave_classic(
        &mut self,
        now: Instant,
        group_id: &str,
        id: &str,
        instance: Option<&str>,
    ) -> Result<(), ErrorCode> {
        let group = self.consumers.classic.get_mut(group_id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        if let Some(timer) = group.pending.remove(id) {
            self.timers.cancel(timer);
            self.rebalance_on(now, group_id);
            return Ok(());
        }
        let owner = instance.and_then(|instance| group.instances.get(instance)).cloned();
        let id = match owner {
            Some(owner) if id.is_empty() => owner,
            _ => {
                group.check_member(id, instance)?;
                id.to_owned()
            }
        };
        self.lose_member(now, group_id, &id);
        Ok(())
    }

    /// Nothing was heard of a member for too long.
    pub(crate) fn expire_classic(&mut self, now: Instant, group_id: &str, id: &str) {
        let Some(group) = self.consumers.classic.get_mut(group_id) else { return };
        if group.pending.remove(id).is_some() {
            return self.rebalance_on(now, group_id);
        }
        let Some(member) = group.members.get_mut(id) else { return };
        member.session_timer = None;
        // Who waits for others is there.
        if member.joins.is_some() || member.syncs.is_some() {
            self.arm_classic(now, group_id, id);
        } else {
            self.lose_member(now, group_id, id);
        }
    }

    /// Another node coordinates a group: who waits has to ask there, and each member has a whole session.
    pub(crate) fn hand_over_classic(&mut self, now: Instant, group_id: &str) {
        let Some(group) = self.consumers.classic.get_mut(group_id) else { return };
        let waits = |member: &mut ClassicMember| (member.joins.take(), member.syncs.take());
        let waiting: Vec<_> = group.members.values_mut().map(waits).collect();
        let ids: Vec<String> = group.members.keys().cloned().collect();
        for (joins, syncs) in waiting {
            let error_code = ErrorCode::NOT_COORDINATOR;
            if let Some(joins) = joins {
                self.answer(now, joins, &JoinGroupResponse { error_code, ..JoinGroupResponse::default() });
            }
            if let Some(syncs) = syncs {
                self.refuse_sync(now, syncs, error_code);
            }
        }
        for id in ids {
            self.arm_classic(now, group_id, &id);
        }
    }

    fn lose_member(&mut self, now: Instant, group_id: &str, id: &str) {
        let group = self.consumers.classic.get_mut(group_id);
        let waiting =
            group.and_then(|group| group.members.get_mut(id)).map(|member| (member.joins.take(), member.syncs.take()));
        self.drop_member(group_id, id);
        let (joins, syncs) = waiting.unwrap_or_default();
        if let Some(joins) = joins {
            let error_code = ErrorCode::UNKNOWN_MEMBER_ID;
            self.answer(now, joins, &JoinGroupResponse { error_code, ..JoinGroupResponse::default() });
        }
        if let Some(syncs) = syncs {
            self.refuse_sync(now, syncs, ErrorCode::UNKNOWN_MEMBER_ID);
        }
        self.rebalance_on(now, group_id);
    }

    /// Somebody who was there, or was to come, is not any more.
    fn rebalance_on(&mut self, now: Instant, group_id: &str) {
        let state = self.consumers.classic.get(group_id).map(|group| group.state);
        if state.is_some_and(|state| state != ClassicState::Empty) {
            self.rebalance_classic(now, group_id);
        }
    }
}
