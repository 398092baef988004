//! A rebalance: all members have to join, and then to fetch their assignments.

use std::time::{Duration, Instant};

use ackflow_protocol::wire::ErrorCode;
use bytes::Bytes;

use super::{ClassicGroup, ClassicState};
use crate::core::{Cluster, Due};

impl ClassicGroup {
    /// How long the slowest member may take.
    fn rebalance_timeout(&self) -> Duration {
        self.members.values().map(|member| member.rebalance_timeout).max().unwrap_or_default()
    }
}

impl Cluster {
    /// Has all members of a group join, where they do not already; goes on where all have.
    pub(super) fn rebalance_classic(&mut self, now: Instant, group_id: &str) {
        let initial = Duration::from_millis(self.config.int("group.initial.rebalance.delay.ms").unsigned_abs());
        let Some(group) = self.consumers.classic.get_mut(group_id) else { return };
        if group.state != ClassicState::PreparingRebalance {
            let refused: Vec<_> = group.members.values_mut().filter_map(|member| member.syncs.take()).collect();
            let timeout = group.rebalance_timeout();
            // A new group waits for more members to come.
            let wait = if group.state == ClassicState::Empty {
                group.first_until = Some(now + timeout);
                initial.min(timeout)
            } else {
                timeout
            };
            group.has_grown = false;
            group.state = ClassicState::PreparingRebalance;
            self.arm_group(now + wait, group_id);
            for waiting in refused {
                self.refuse_sync(now, waiting, ErrorCode::REBALANCE_IN_PROGRESS);
            }
        }
        self.try_complete(now, group_id, initial);
    }

    fn try_complete(&mut self, now: Instant, group_id: &str, initial: Duration) {
        let Some(group) = self.consumers.classic.get(group_id) else { return };
        let waits_for_more = group.first_until.is_some() && !initial.is_zero() && !group.members.is_empty();
        if group.state == ClassicState::PreparingRebalance && !waits_for_more && group.all_joined() {
            self.complete_join(now, group_id);
        }
    }

    fn arm_group(&mut self, at: Instant, group_id: &str) {
        let timer = self.timers.schedule(at, Due::ClassicRebalance(group_id.to_owned()));
        if let Some(group) = self.consumers.classic.get_mut(group_id)
            && let Some(former) = group.timer.replace(timer)
        {
            self.timers.cancel(former);
        }
    }

    /// The time to join, or to fetch assignments, is over.
    pub(crate) fn time_out_classic(&mut self, now: Instant, group_id: &str) {
        let initial = Duration::from_millis(self.config.int("group.initial.rebalance.delay.ms").unsigned_abs());
        let Some(group) = self.consumers.classic.get_mut(group_id) else { return };
        group.timer = None;
        match group.state {
            ClassicState::PreparingRebalance => {
                let left = group.first_until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now));
                if group.has_grown && !left.is_zero() {
                    group.has_grown = false;
                    self.arm_group(now + initial.min(left), group_id);
                } else {
                    self.complete_join(now, group_id);
                }
            }
            ClassicState::CompletingRebalance | ClassicState::Stable => {
                // Who did not ask for its assignment is not there.
                let lost = group.members.iter().filter(|(_, member)| !member.has_synced);
                let lost: Vec<String> = lost.map(|(id, _)| id.clone()).collect();
                if !lost.is_empty() {
                    lost.iter().for_each(|id| self.drop_member(group_id, id));
                    self.rebalance_classic(now, group_id);
                }
            }
            ClassicState::Empty => {}
        }
    }

    /// Begins the next generation with those that have joined, and with static members.
    fn complete_join(&mut self, now: Instant, group_id: &str) {
        let Some(group) = self.consumers.classic.get_mut(group_id) else { return };
        let lost = group.members.iter().filter(|(_, member)| member.joins.is_none() && member.instance_id.is_none());
        let lost: Vec<String> = lost.map(|(id, _)| id.clone()).collect();
        lost.iter().for_each(|id| self.drop_member(group_id, id));
        let Some(group) = self.consumers.classic.get_mut(group_id) else { return };
        group.first_until = None;
        if let Some(timer) = group.timer.take() {
            self.timers.cancel(timer);
        }
        let joined = |group: &ClassicGroup, id: &str| group.members.get(id).is_some_and(|m| m.joins.is_some());
        if !group.leader.as_deref().is_some_and(|leader| joined(group, leader)) {
            group.leader = group.members.iter().find(|(_, member)| member.joins.is_some()).map(|(id, _)| id.clone());
        }
        if !group.members.is_empty() && group.leader.is_none() {
            // Only static members, of which none has joined: they are waited for.
            let wait = group.rebalance_timeout().max(Duration::from_millis(1));
            return self.arm_group(now + wait, group_id);
        }
        group.generation = group.generation.wrapping_add(1).max(0);
        group.protocol = group.choose_protocol();
        if group.members.is_empty() {
            group.state = ClassicState::Empty;
            return;
        }
        group.state = ClassicState::CompletingRebalance;
        let mut answers = Vec::new();
        let ids: Vec<String> = group.members.keys().cloned().collect();
        for id in &ids {
            let response = group.joined(id);
            if let Some(member) = group.members.get_mut(id) {
                (member.assignment, member.has_synced) = (Bytes::new(), false);
                answers.extend(member.joins.take().map(|waiting| (waiting, response)));
            }
        }
        let timeout = group.rebalance_timeout();
        self.arm_group(now + timeout, group_id);
        for (waiting, response) in answers {
            self.answer(now, waiting, &response);
        }
        for id in ids {
            self.arm_classic(now, group_id, &id);
        }
    }

    /// Takes a member out, and nothing else.
    pub(super) fn drop_member(&mut self, group_id: &str, id: &str) {
        let Some(group) = self.consumers.classic.get_mut(group_id) else { return };
        let Some(member) = group.members.remove(id) else { return };
        if let Some(timer) = member.session_timer {
            self.timers.cancel(timer);
        }
        if let Some(instance) = &member.instance_id {
            group.instances.remove(instance);
        }
        if group.leader.as_deref() == Some(id) {
            group.leader = group.members.keys().next().cloned();
        }
    }
}
