//! What to do next: timers, and the parts of the machine in turn.

use std::time::Instant;

use super::{
    Asked, ConsumerEvent, ConsumerMachine, ConsumerRequest, ConsumerResponse, Mode, State, failure,
    membership::MembershipEvent, partition::Phase,
};
use crate::{
    machine::{
        error::{MachineError, MachineErrorKind},
        metadata::MetadataEvent,
        types::{Destination, RequestFailure, Step, earlier},
    },
    wire::ErrorCode,
};

/// Since this version ConsumerGroupHeartbeat has patterns, and members make their ids.
const HEARTBEAT_SINCE: i16 = 1;

impl ConsumerMachine {
    /// Does everything that can be done now. Returns when there is more to do, if nothing comes in before.
    pub(super) fn advance(&mut self, now: Instant) -> Option<Instant> {
        if self.state == State::Closed {
            return None;
        }
        let mut wait = self.check_poll_interval(now);
        self.advance_group(now);
        self.advance_metadata(now);
        self.advance_rebalance(now);
        wait = earlier(wait, self.advance_commits(now));
        wait = earlier(wait, self.advance_calls(now));
        wait = earlier(wait, self.advance_positions(now));
        wait = earlier(wait, self.advance_fetches(now));
        self.advance_leave();
        // The last steps may have something to tell the group, or need metadata.
        wait = earlier(wait, self.advance_group(now));
        wait = earlier(wait, self.advance_metadata(now));
        self.advance_close();
        // What came of the last steps is told first; then there is more to do.
        wait
    }

    /// The member leaves when the application does not poll. Returns when.
    fn check_poll_interval(&mut self, now: Instant) -> Option<Instant> {
        let is_member = self.group.as_ref().is_some_and(|group| group.membership.is_member());
        if self.state != State::Active || !is_member || !matches!(self.mode, Mode::Member(_)) {
            return None;
        }
        let interval = self.options.max_poll_interval;
        let deadline = self.last_polled? + interval;
        if now < deadline {
            return Some(deadline);
        }
        self.state = State::Away;
        self.lose_all(now);
        if let Some(group) = &mut self.group {
            group.membership.leave();
        }
        self.fail_with(MachineError::passing(MachineErrorKind::PollInterval { interval }));
        None
    }

    /// The member leaves once what was to be committed is.
    fn advance_leave(&mut self) {
        let Some(group) = &mut self.group else { return };
        if !matches!(self.mode, Mode::Member(_)) && self.commits.is_empty() && group.membership.is_member() {
            group.membership.leave();
        }
    }

    fn advance_close(&mut self) {
        let is_out = self.group.as_ref().is_none_or(|group| !group.membership.needs_coordinator());
        if self.state == State::Closing && is_out && self.commits.is_empty() {
            self.state = State::Closed;
            self.tell(ConsumerEvent::Closed);
        }
    }

    fn advance_group(&mut self, now: Instant) -> Option<Instant> {
        loop {
            let needs_coordinator = !self.commits.is_empty()
                || self.asks_coordinator()
                || self.partitions.values().any(|partition| partition.phase == Phase::Unknown);
            let group = self.group.as_mut()?;
            let address = group.coordinator.address().cloned();
            match group.membership.poll(now, address.is_some()) {
                Step::Event(event) => self.membership_said(now, event),
                Step::Send(request) => {
                    if let Some(address) = address {
                        let to = Destination::Coordinator(address);
                        self.ask(to, ConsumerRequest::Heartbeat(request), HEARTBEAT_SINCE, Asked::Heartbeat);
                    }
                }
                Step::Wait(heartbeat) => {
                    if !needs_coordinator && !group.membership.needs_coordinator() {
                        return heartbeat;
                    }
                    match group.coordinator.poll(now) {
                        Step::Event(error) => {
                            group.membership.give_up();
                            self.fail_with(error);
                            self.fail_commits(now);
                        }
                        Step::Send(request) => {
                            let request = ConsumerRequest::FindCoordinator(request);
                            self.ask(Destination::Any, request, 0, Asked::Coordinator);
                        }
                        Step::Wait(coordinator) => return earlier(heartbeat, coordinator),
                    }
                }
            }
        }
    }

    fn membership_said(&mut self, now: Instant, event: MembershipEvent) {
        match event {
            MembershipEvent::Assigned => {
                if let Some(group) = &self.group {
                    let target = group.membership.target().clone();
                    self.metadata.want_partitions(now, target);
                }
            }
            MembershipEvent::Lost => self.lose_all(now),
            MembershipEvent::CoordinatorLost => self.lose_coordinator(now),
            MembershipEvent::CoordinatorConfirmed => {
                if let Some(group) = &mut self.group {
                    group.coordinator.confirmed();
                }
            }
            MembershipEvent::Left => {}
            MembershipEvent::Failed(error) => self.fail_with(error),
        }
    }

    pub(super) fn coordinator_found(&mut self, now: Instant, response: Result<ConsumerResponse, RequestFailure>) {
        let Some(group) = &mut self.group else { return };
        match response {
            Ok(ConsumerResponse::FindCoordinator(response)) => group.coordinator.handle_response(now, response),
            response => group.coordinator.handle_failure(now, failure(response)),
        }
    }

    pub(super) fn heartbeat_answered(&mut self, now: Instant, response: Result<ConsumerResponse, RequestFailure>) {
        let Some(group) = &mut self.group else { return };
        match response {
            Ok(ConsumerResponse::Heartbeat(response)) => group.membership.handle_response(now, response),
            response => group.membership.handle_failure(now, failure(response)),
        }
    }

    pub(super) fn lose_coordinator(&mut self, now: Instant) {
        if let Some(group) = &mut self.group {
            group.coordinator.lost(now);
        }
    }

    /// The coordinator did not answer.
    pub(super) fn coordinator_failed(&mut self, now: Instant, failure: RequestFailure) {
        if !matches!(failure, RequestFailure::UnsupportedVersion(_)) {
            self.lose_coordinator(now);
        }
    }

    /// The coordinator has an error about a group.
    pub(super) fn coordinator_said(&mut self, now: Instant, code: ErrorCode) {
        if matches!(code, ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE) {
            self.lose_coordinator(now);
        }
    }

    fn advance_metadata(&mut self, now: Instant) -> Option<Instant> {
        loop {
            match self.metadata.poll(now) {
                // The group says what becomes of a topic that is gone.
                Step::Event(MetadataEvent::Changed | MetadataEvent::Gone(_) | MetadataEvent::Matched(_)) => {}
                Step::Event(MetadataEvent::Failed(error)) => self.fail_with(error),
                Step::Send(request) => {
                    self.ask(Destination::Any, ConsumerRequest::Metadata(request), 0, Asked::Metadata);
                }
                Step::Wait(wait) => return wait,
            }
        }
    }
}
