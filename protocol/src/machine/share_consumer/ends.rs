//! How sessions and acknowledgements end, and what the application hears of it.

use std::time::Instant;

use super::{
    ShareConsumerMachine,
    node::{self, Node},
};
use crate::{
    machine::{
        ack_ledger::{Kept, Outcome},
        error::MachineErrorKind,
        types::{Event, Output},
    },
    wire::ErrorCode,
};

impl ShareConsumerMachine {
    /// Each session sends what is decided and ends, as soon as its request in flight is answered.
    pub(super) fn end_sessions(&mut self) {
        for node in self.nodes.values_mut() {
            node.ending = true;
        }
        self.paused.clear();
        self.reassign = true;
    }

    /// A fetch that the broker may hold for long has nothing to do with anything decided: closing need not wait for it,
    /// since the broker ends the session with the connection. Nor does it wait for the end of a throttle where there is nothing to say.
    pub(super) fn abandon_idle_sessions(&mut self, now: Instant) {
        let is_idle = |node: &Node| match node.in_flight {
            Some(request) => request.max_wait > node::BUSY_WAIT,
            None => node.throttled_until.is_some_and(|until| now < until) && !node.ledger.has_decisions(),
        };
        let idle: Vec<i32> = self.nodes.iter().filter(|(_, node)| is_idle(node)).map(|(id, _)| *id).collect();
        for node in idle {
            self.lose_session(node, ErrorCode::SHARE_SESSION_NOT_FOUND);
        }
    }

    /// The session is gone with everything held of it.
    pub(super) fn lose_session(&mut self, id: i32, code: ErrorCode) {
        let Some(node) = self.nodes.get_mut(&id) else { return };
        node.in_flight = None;
        node.lost = code;
        node.flush = false;
        node.ledger.fail_all(code);
        if node.session.reset() {
            self.outputs.push_back(Output::Event(Event::SessionLost { session: node.session.id(), error: code }));
        }
        self.report_outcomes(id);
    }

    /// Tells the application what has ended at a node.
    pub(super) fn report_outcomes(&mut self, node: i32) {
        let outcomes = self.nodes.get_mut(&node).map(|node| node.ledger.outcomes()).unwrap_or_default();
        outcomes.ended.into_iter().for_each(|outcome| self.end_acknowledgement(outcome));
        self.outputs.extend(outcomes.kept.into_iter().map(|kept| {
            Output::Event(match kept {
                Kept::Renewed(id, lock_deadline) => Event::Renewed { id, lock_deadline },
                Kept::Ended(id, end) => Event::KeepEnded { id, end },
            })
        }));
    }

    pub(super) fn end_acknowledgement(&mut self, outcome: Outcome) {
        let committed = self.commits.ended(&outcome);
        let Outcome { id, topic, topic_partition, ranges, result, failed, lock_deadline } = outcome;
        let acknowledged = Event::Acknowledged { id, topic, topic_partition, ranges, result, failed, lock_deadline };
        self.outputs.extend([acknowledged].into_iter().chain(committed).map(Output::Event));
    }

    /// Another process is this member now. It must not notice that this one stops: neither the group nor a session is left, for both are the
    /// other's.
    pub(super) fn lose_place(&mut self, node: i32) {
        let Some(broker) = self.nodes.get(&node).map(|node| node.address.clone()) else { return };
        let nodes: Vec<i32> = self.nodes.keys().copied().collect();
        for node in nodes {
            self.lose_session(node, ErrorCode::INVALID_SHARE_SESSION_EPOCH);
        }
        let (member, group) = (self.options.member_id.clone(), self.options.group_id.clone());
        self.fail(MachineErrorKind::MemberTaken { member, group, broker });
    }
}
