//! Membership of the share group: heartbeats, the subscription, the assignment.
//!
//! ```text
//!               subscribe                    epoch > 0
//!   Unsubscribed ------> Joining (epoch 0) ------------> Stable <-+
//!        ^                  ^    ^                       |    |   | heartbeat
//!        |                  |    +---- 25, 110 ----------+    +---+
//!        |                  |    (same member id, everything sent again)
//!        |                  | rejoin, or subscribed again meanwhile
//!        +------------------+-- Leaving (epoch -1) <-- leave
//!          reply, or 25
//!   Any but Unsubscribed --- an error that no retry can heal ---> Failed
//! ```
//!
//! One heartbeat is on the wire at a time, so a reply always belongs to the state that sent it: a leave that is still
//! out when the application subscribes again is answered first, and the join that follows has epoch 0.

use std::{
    collections::{BTreeSet, VecDeque},
    time::{Duration, Instant},
};

use crate::{
    machine::{
        backoff::Backoff,
        error::{MachineError, MachineErrorKind},
        types::{RequestFailure, Step, TopicIdPartition},
    },
    messages::share_group_heartbeat::{Assignment, ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse},
    wire::ErrorCode,
};

/// A new group's first assignment is empty and the real one is ready a second later, but would only come with the next
/// heartbeat.
const UNASSIGNED_INTERVAL: Duration = Duration::from_millis(250);

/// For how long after it has joined, or subscribed to other topics, a member without an assignment asks so often. There may be none for it.
const SOON: Duration = Duration::from_secs(10);

/// The interval of brokers that do not say one.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(5);

const JOIN_EPOCH: i32 = 0;
const LEAVE_EPOCH: i32 = -1;

#[derive(Debug)]
pub(crate) struct Membership {
    group_id: String,
    member_id: String,
    rack: Option<String>,
    topics: Vec<String>,
    state: State,
    /// Whether the next heartbeat says everything, which it does until one has got through.
    tell_all: bool,
    in_flight: bool,
    /// Whether the group may know the member: a join was sent and no leave answered since.
    known: bool,
    interval: Duration,
    due: Option<Instant>,
    /// When the group first took in the subscription as it is; `None` before.
    told: Option<Instant>,
    backoff: Backoff,
    assignment: BTreeSet<TopicIdPartition>,
    events: VecDeque<MembershipEvent>,
    /// The error that the application was told and that is tried again, until a heartbeat goes well.
    reported: Option<ErrorCode>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Unsubscribed,
    Joining,
    Stable(i32),
    /// With `rejoin`, the application has subscribed again.
    Leaving {
        rejoin: bool,
    },
    Failed,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum MembershipEvent {
    /// The assignment may have changed.
    Assigned,
    /// The broker that was asked is not the coordinator, or cannot be reached.
    CoordinatorLost,
    /// The coordinator works.
    CoordinatorConfirmed,
    /// The member is out of the group because it wanted to.
    Left,
    Failed(MachineError),
}

impl Membership {
    pub(crate) fn new(
        group_id: String,
        member_id: String,
        rack: Option<String>,
        retry_backoff: Duration,
        retry_backoff_max: Duration,
        seed: u64,
    ) -> Self {
        Self {
            group_id,
            member_id,
            rack: rack.filter(|rack| !rack.is_empty()),
            topics: Vec::new(),
            state: State::Unsubscribed,
            tell_all: true,
            in_flight: false,
            known: false,
            interval: DEFAULT_INTERVAL,
            due: None,
            told: None,
            backoff: Backoff::new(retry_backoff, retry_backoff_max, seed),
            assignment: BTreeSet::new(),
            events: VecDeque::new(),
            reported: None,
        }
    }

    /// The partitions that this member serves.
    pub(crate) fn assignment(&self) -> &BTreeSet<TopicIdPartition> {
        &self.assignment
    }

    /// The epoch of the member, while it is in the group.
    #[cfg(feature = "unstable-kip-1289")]
    pub(crate) fn epoch(&self) -> Option<i32> {
        match self.state {
            State::Stable(epoch) => Some(epoch),
            _ => None,
        }
    }

    /// Whether the member is in the group or wants to be.
    pub(crate) fn is_member(&self) -> bool {
        matches!(self.state, State::Joining | State::Stable(_) | State::Leaving { rejoin: true })
    }

    /// Whether the group may still know the member.
    pub(crate) fn is_leaving(&self) -> bool {
        matches!(self.state, State::Leaving { .. })
    }

    /// Whether there is anything to tell the coordinator, now or later.
    pub(crate) fn needs_coordinator(&self) -> bool {
        !matches!(self.state, State::Unsubscribed | State::Failed)
    }

    /// Joins with these topics, or tells the group that they are others now. Not empty.
    pub(crate) fn subscribe(&mut self, topics: Vec<String>) {
        if self.topics != topics {
            self.topics = topics;
            self.tell_all = true;
            self.reported = None;
            self.due = None;
            self.told = None;
        }
        self.rejoin();
    }

    /// Joins again after a leave.
    pub(crate) fn rejoin(&mut self) {
        self.state = match self.state {
            State::Unsubscribed => self.join(),
            // Not sent yet: the join says it all.
            State::Leaving { .. } if !self.in_flight => self.join(),
            State::Leaving { .. } => State::Leaving { rejoin: true },
            state => state,
        };
    }

    /// Leaves. The assignment is gone at once.
    pub(crate) fn leave(&mut self) {
        self.drop_assignment();
        self.state = match self.state {
            State::Joining if !self.known => self.left(),
            State::Joining | State::Stable(_) | State::Leaving { .. } => State::Leaving { rejoin: false },
            state => state,
        };
        self.due = None;
    }

    pub(crate) fn handle_response(&mut self, now: Instant, response: ShareGroupHeartbeatResponse) {
        self.in_flight = false;
        match (self.state, response.error_code) {
            (State::Unsubscribed | State::Failed, _) => {}
            // The answer to a heartbeat that was out when the application left; the leave follows.
            (State::Leaving { .. }, ErrorCode::NONE) if response.member_epoch >= 0 => {
                self.events.push_back(MembershipEvent::CoordinatorConfirmed);
            }
            (
                State::Leaving { rejoin },
                ErrorCode::NONE
                | ErrorCode::UNKNOWN_MEMBER_ID
                | ErrorCode::FENCED_MEMBER_EPOCH
                | ErrorCode::GROUP_ID_NOT_FOUND,
            ) => {
                self.backoff.reset();
                self.events.push_back(MembershipEvent::CoordinatorConfirmed);
                self.state = if rejoin { self.join() } else { self.left() };
            }
            (State::Joining | State::Stable(_), ErrorCode::NONE) => self.accept(now, response),
            (_, code) => self.handle_error(now, code, response.error_message),
        }
    }

    /// No answer. What the group knows is unknown then, so the next heartbeat says everything.
    pub(crate) fn handle_failure(&mut self, now: Instant, failure: RequestFailure) {
        self.in_flight = false;
        if matches!(failure, RequestFailure::UnsupportedVersion(_)) {
            return self.fail(MachineErrorKind::ShareGroupsDisabled);
        }
        self.tell_all = true;
        self.events.push_back(MembershipEvent::CoordinatorLost);
        self.retry(now);
    }

    /// What to do next, given that the coordinator is known.
    pub(crate) fn poll(
        &mut self,
        now: Instant,
        coordinator_known: bool,
    ) -> Step<ShareGroupHeartbeatRequest, MembershipEvent> {
        if let Some(event) = self.events.pop_front() {
            return Step::Event(event);
        }
        let epoch = match self.state {
            State::Unsubscribed | State::Failed => return Step::Wait(None),
            State::Joining => JOIN_EPOCH,
            State::Stable(epoch) => epoch,
            State::Leaving { .. } => LEAVE_EPOCH,
        };
        if self.in_flight || !coordinator_known {
            return Step::Wait(None);
        }
        if let Some(due) = self.due.filter(|due| now < *due) {
            return Step::Wait(Some(due));
        }
        self.in_flight = true;
        self.known |= epoch != LEAVE_EPOCH;
        self.due = Some(now + self.current_interval(now));
        // A join says everything even after an answer that gave no epoch.
        let tell_all = std::mem::take(&mut self.tell_all) || epoch == JOIN_EPOCH;
        let tell_all = tell_all && epoch != LEAVE_EPOCH;
        Step::Send(ShareGroupHeartbeatRequest {
            group_id: self.group_id.clone(),
            member_id: self.member_id.clone(),
            member_epoch: epoch,
            rack_id: self.rack.clone().filter(|_| tell_all),
            subscribed_topic_names: tell_all.then(|| self.topics.clone()),
        })
    }

    fn accept(&mut self, now: Instant, response: ShareGroupHeartbeatResponse) {
        self.backoff.reset();
        self.reported = None;
        self.events.push_back(MembershipEvent::CoordinatorConfirmed);
        // A new epoch comes with a new assignment of the group. Where nothing is said of this member's, it is the same, or
        // it was told to a heartbeat that nobody waits for any more, such as one on a connection that was lost.
        let rises = matches!(self.state, State::Stable(epoch) if epoch < response.member_epoch);
        self.tell_all |= rises && response.assignment.is_none();
        // A broker never gives a member an epoch below 1; it would be taken for a join or a leave when sent back.
        self.state = if response.member_epoch > 0 { State::Stable(response.member_epoch) } else { self.state };
        if response.heartbeat_interval_ms > 0 {
            self.interval = Duration::from_millis(response.heartbeat_interval_ms as u64);
        }
        if let Some(assignment) = response.assignment {
            self.assign(assignment);
        }
        if !self.tell_all {
            self.told.get_or_insert(now);
            self.due = Some(now + self.current_interval(now));
        }
    }

    fn assign(&mut self, assignment: Assignment) {
        let assignment = assignment
            .topic_partitions
            .into_iter()
            .flat_map(|topic| {
                topic
                    .partitions
                    .into_iter()
                    .map(move |partition| TopicIdPartition { topic_id: topic.topic_id, partition })
            })
            .collect();
        if self.assignment != assignment {
            self.assignment = assignment;
            self.events.push_back(MembershipEvent::Assigned);
        }
    }

    fn handle_error(&mut self, now: Instant, code: ErrorCode, message: Option<String>) {
        self.tell_all = true;
        match code {
            ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::FENCED_MEMBER_EPOCH => {
                self.drop_assignment();
                match self.state {
                    State::Stable(_) => self.state = self.join(),
                    // Fenced while it joins: at once would be a loop.
                    _ => self.retry(now),
                }
            }
            ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE => {
                self.events.push_back(MembershipEvent::CoordinatorLost);
                self.due = None;
            }
            ErrorCode::TOPIC_AUTHORIZATION_FAILED => {
                self.report(code, MachineErrorKind::TopicAuthorization { topic: None });
                self.retry(now);
            }
            ErrorCode::GROUP_AUTHORIZATION_FAILED => {
                self.fail(MachineErrorKind::GroupAuthorization { group: self.group_id.clone() });
            }
            ErrorCode::GROUP_MAX_SIZE_REACHED => {
                self.report(code, MachineErrorKind::GroupFull { group: self.group_id.clone() });
                self.retry(now);
            }
            ErrorCode::UNSUPPORTED_VERSION => self.fail(MachineErrorKind::ShareGroupsDisabled),
            ErrorCode::GROUP_ID_NOT_FOUND | ErrorCode::INCONSISTENT_GROUP_PROTOCOL => {
                let group = self.group_id.clone();
                self.fail(MachineErrorKind::OtherGroupType { group, wanted: "share", code, message });
            }
            code if code.is_retriable() => self.retry(now),
            code => {
                let kind = MachineErrorKind::Refused { api: "ShareGroupHeartbeat", node: None, code, message };
                self.fail(kind);
            }
        }
    }

    /// Tells the application of an error that is tried again: once, until a heartbeat goes well.
    fn report(&mut self, code: ErrorCode, kind: MachineErrorKind) {
        if self.reported.replace(code) != Some(code) {
            self.events.push_back(MembershipEvent::Failed(MachineError::passing(kind)));
        }
    }

    fn current_interval(&self, now: Instant) -> Duration {
        let is_new = self.told.is_none_or(|told| now < told + SOON);
        if is_new && self.assignment.is_empty() { self.interval.min(UNASSIGNED_INTERVAL) } else { self.interval }
    }

    fn retry(&mut self, now: Instant) {
        self.due = Some(now + self.backoff.next_delay());
    }

    fn join(&mut self) -> State {
        self.tell_all = true;
        self.due = None;
        self.told = None;
        State::Joining
    }

    fn left(&mut self) -> State {
        self.due = None;
        self.known = false;
        self.events.push_back(MembershipEvent::Left);
        State::Unsubscribed
    }

    /// Also for errors that another part of the client met: the member is out for good.
    pub(crate) fn give_up(&mut self) {
        self.drop_assignment();
        self.state = State::Failed;
    }

    fn fail(&mut self, kind: MachineErrorKind) {
        if self.is_leaving() && !self.is_member() {
            // Nobody is left to tell, and the group forgets the member by itself.
            self.state = self.left();
            return;
        }
        self.give_up();
        self.events.push_back(MembershipEvent::Failed(MachineError::fatal(kind)));
    }

    fn drop_assignment(&mut self) {
        if !self.assignment.is_empty() {
            self.assignment.clear();
            self.events.push_back(MembershipEvent::Assigned);
        }
    }
}
