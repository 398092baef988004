//! Membership of a consumer group by KIP-848: heartbeats, the subscription, what the coordinator assigns, what the member holds.
//!
//! ```text
//!               subscribe                    epoch > 0
//!   Unsubscribed ------> Joining (epoch 0) ------------> Stable <-+
//!        ^                  ^    ^                       |    |   | heartbeat
//!        |                  |    +-- 25, 69, 110: Lost --+    +---+
//!        |                  |    (same member id, everything said again)
//!        |                  | subscribed again meanwhile
//!        +------------------+-- Leaving (epoch -1, or -2 of a static member) <-- leave
//!          reply, or 25
//!   Any but Unsubscribed --- an error that no retry can heal ---> Failed
//! ```
//!
//! One heartbeat is on the wire at a time. After the first, only what has changed is said; what the member holds is said as soon as it
//! is other than before, which is how the coordinator learns that partitions were given up.

use std::{
    collections::{BTreeSet, VecDeque},
    time::{Duration, Instant},
};

use super::{fault::ConsumerFault, options::ConsumerOptions};
use crate::{
    machine::{
        backoff::Backoff,
        error::{MachineError, MachineErrorKind},
        types::{RequestFailure, Step, TopicIdPartition},
    },
    messages::consumer_group_heartbeat::{
        ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, TopicPartitions,
    },
    wire::ErrorCode,
};

/// How often a member asks that has just joined and has no partition yet: the coordinator may have them ready a moment later.
const UNASSIGNED_INTERVAL: Duration = Duration::from_millis(250);

/// For how long it asks so often. There may be none for it.
const SOON: Duration = Duration::from_secs(10);

/// The interval of brokers that do not say one.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(5);

const JOIN_EPOCH: i32 = 0;
const LEAVE_EPOCH: i32 = -1;
const STATIC_LEAVE_EPOCH: i32 = -2;

#[derive(Debug)]
pub(super) struct Membership {
    group_id: String,
    member_id: String,
    instance_id: Option<String>,
    rack: Option<String>,
    assignor: Option<String>,
    rebalance_timeout: Duration,
    topics: Topics,
    /// What the coordinator was told last.
    told_topics: Topics,
    told_held: BTreeSet<TopicIdPartition>,
    state: State,
    /// Whether the next heartbeat says everything, which it does until one has got through.
    tell_all: bool,
    in_flight: bool,
    /// Whether the group may know the member.
    known: bool,
    interval: Duration,
    due: Option<Instant>,
    joined: Option<Instant>,
    backoff: Backoff,
    /// What the coordinator wants the member to have.
    target: BTreeSet<TopicIdPartition>,
    /// What it has.
    held: BTreeSet<TopicIdPartition>,
    events: VecDeque<MembershipEvent>,
    /// The error that the application was told and that is tried again, until a heartbeat goes well.
    reported: Option<ErrorCode>,
}

/// What a member subscribes to: names, or a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Topics {
    pub(super) names: Vec<String>,
    pub(super) pattern: String,
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
pub(super) enum MembershipEvent {
    /// The coordinator wants the member to have other partitions.
    Assigned,
    /// The group does not count this member any more: what it held is lost.
    Lost,
    /// The broker that was asked is not the coordinator, or cannot be reached.
    CoordinatorLost,
    /// The coordinator works.
    CoordinatorConfirmed,
    /// The member is out of the group because it wanted to.
    Left,
    Failed(MachineError),
}

impl Membership {
    pub(super) fn new(group_id: String, options: &ConsumerOptions, seed: u64) -> Self {
        Self {
            group_id,
            member_id: options.member_id.clone(),
            instance_id: options.instance_id.clone(),
            rack: options.client_rack.clone().filter(|rack| !rack.is_empty()),
            assignor: options.server_assignor.clone(),
            rebalance_timeout: options.max_poll_interval,
            topics: Topics::default(),
            told_topics: Topics::default(),
            told_held: BTreeSet::new(),
            state: State::Unsubscribed,
            tell_all: true,
            in_flight: false,
            known: false,
            interval: DEFAULT_INTERVAL,
            due: None,
            joined: None,
            backoff: Backoff::new(options.retry_backoff, options.retry_backoff_max, seed),
            target: BTreeSet::new(),
            held: BTreeSet::new(),
            events: VecDeque::new(),
            reported: None,
        }
    }

    /// The partitions that the coordinator wants the member to have.
    pub(super) fn target(&self) -> &BTreeSet<TopicIdPartition> {
        &self.target
    }

    /// The epoch by which the coordinator knows the member, while it is one.
    pub(super) fn epoch(&self) -> Option<i32> {
        match self.state {
            State::Stable(epoch) => Some(epoch),
            _ => None,
        }
    }

    /// Whether the member is in the group or wants to be.
    pub(super) fn is_member(&self) -> bool {
        matches!(self.state, State::Joining | State::Stable(_) | State::Leaving { rejoin: true })
    }

    /// Whether there is anything to tell the coordinator, now or later.
    pub(super) fn needs_coordinator(&self) -> bool {
        !matches!(self.state, State::Unsubscribed | State::Failed)
    }

    /// Joins with these topics, or tells the group that they are others now.
    pub(super) fn subscribe(&mut self, topics: Topics) {
        if self.topics != topics {
            self.topics = topics;
            self.reported = None;
            self.due = None;
            self.joined = None;
        }
        self.state = match self.state {
            State::Unsubscribed => self.join(),
            // Not sent yet: the join says it all.
            State::Leaving { .. } if !self.in_flight => self.join(),
            State::Leaving { .. } => State::Leaving { rejoin: true },
            state => state,
        };
    }

    /// Leaves. What was assigned is nobody's business any more.
    pub(super) fn leave(&mut self) {
        self.forget();
        self.state = match self.state {
            State::Joining if !self.known => self.left(),
            State::Joining | State::Stable(_) | State::Leaving { .. } => State::Leaving { rejoin: false },
            state => state,
        };
        self.due = None;
    }

    /// The member has these partitions now: the coordinator is told at once.
    pub(super) fn hold(&mut self, held: BTreeSet<TopicIdPartition>) {
        if self.held != held {
            self.held = held;
            self.due = None;
        }
    }

    pub(super) fn handle_response(&mut self, now: Instant, response: ConsumerGroupHeartbeatResponse) {
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
                | ErrorCode::FENCED_INSTANCE_ID
                | ErrorCode::UNRELEASED_INSTANCE_ID
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
    pub(super) fn handle_failure(&mut self, now: Instant, failure: RequestFailure) {
        self.in_flight = false;
        if matches!(failure, RequestFailure::UnsupportedVersion(_)) {
            return self.fail(ConsumerFault::Disabled);
        }
        self.tell_all = true;
        self.events.push_back(MembershipEvent::CoordinatorLost);
        self.retry(now);
    }

    /// What to do next, given that the coordinator is known.
    pub(super) fn poll(
        &mut self,
        now: Instant,
        coordinator_known: bool,
    ) -> Step<ConsumerGroupHeartbeatRequest, MembershipEvent> {
        if let Some(event) = self.events.pop_front() {
            return Step::Event(event);
        }
        let epoch = match self.state {
            State::Unsubscribed | State::Failed => return Step::Wait(None),
            State::Joining => JOIN_EPOCH,
            State::Stable(epoch) => epoch,
            State::Leaving { .. } if self.instance_id.is_some() => STATIC_LEAVE_EPOCH,
            State::Leaving { .. } => LEAVE_EPOCH,
        };
        if self.in_flight || !coordinator_known {
            return Step::Wait(None);
        }
        if let Some(due) = self.due.filter(|due| now < *due) {
            return Step::Wait(Some(due));
        }
        self.in_flight = true;
        self.due = Some(now + self.current_interval(now));
        let mut request = ConsumerGroupHeartbeatRequest {
            group_id: self.group_id.clone(),
            member_id: self.member_id.clone(),
            member_epoch: epoch,
            instance_id: self.instance_id.clone(),
            ..Default::default()
        };
        if epoch >= JOIN_EPOCH {
            self.known = true;
            self.say(&mut request);
        }
        Step::Send(request)
    }

    /// Says all of it, or what is other than before.
    fn say(&mut self, request: &mut ConsumerGroupHeartbeatRequest) {
        let all = std::mem::take(&mut self.tell_all) || request.member_epoch == JOIN_EPOCH;
        let Topics { names, pattern } = &self.topics;
        let told = &self.told_topics;
        if all {
            request.rack_id.clone_from(&self.rack);
            request.rebalance_timeout_ms = i32::try_from(self.rebalance_timeout.as_millis()).unwrap_or(i32::MAX);
            request.server_assignor.clone_from(&self.assignor);
        }
        let has_names = !names.is_empty() || !told.names.is_empty() || pattern.is_empty();
        if has_names && (all || *names != told.names) {
            request.subscribed_topic_names = Some(names.clone());
        }
        // An empty pattern takes back the one before.
        let has_pattern = !pattern.is_empty() || !told.pattern.is_empty();
        if has_pattern && (all || *pattern != told.pattern) {
            request.subscribed_topic_regex = Some(pattern.clone());
        }
        if all || self.held != self.told_held {
            request.topic_partitions = Some(by_topic(&self.held));
        }
        self.told_topics = self.topics.clone();
        self.told_held.clone_from(&self.held);
    }

    fn accept(&mut self, now: Instant, response: ConsumerGroupHeartbeatResponse) {
        self.backoff.reset();
        self.reported = None;
        self.events.push_back(MembershipEvent::CoordinatorConfirmed);
        // It would be taken for a join or a leave when sent back.
        self.state = if response.member_epoch > 0 { State::Stable(response.member_epoch) } else { self.state };
        self.joined.get_or_insert(now);
        if response.heartbeat_interval_ms > 0 {
            self.interval = Duration::from_millis(response.heartbeat_interval_ms as u64);
        }
        if let Some(assignment) = response.assignment {
            let target =
                assignment.topic_partitions.into_iter().flat_map(|TopicPartitions { topic_id, partitions }| {
                    partitions.into_iter().map(move |partition| TopicIdPartition { topic_id, partition })
                });
            let target = target.collect();
            if self.target != target {
                self.target = target;
                self.events.push_back(MembershipEvent::Assigned);
            }
        }
        // What changed while the heartbeat was out is said at once.
        let is_news = self.tell_all || self.held != self.told_held || self.topics != self.told_topics;
        self.due = (!is_news).then(|| now + self.current_interval(now));
    }

    fn handle_error(&mut self, now: Instant, code: ErrorCode, message: Option<String>) {
        self.tell_all = true;
        match code {
            ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::FENCED_MEMBER_EPOCH => self.lose(now),
            ErrorCode::GROUP_ID_NOT_FOUND if matches!(self.state, State::Stable(_)) => self.lose(now),
            ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE => {
                self.events.push_back(MembershipEvent::CoordinatorLost);
                self.due = None;
            }
            ErrorCode::TOPIC_AUTHORIZATION_FAILED => {
                self.report(now, code, MachineErrorKind::TopicAuthorization { topic: None });
            }
            ErrorCode::GROUP_MAX_SIZE_REACHED => {
                let group = self.group_id.clone();
                self.report(now, code, MachineErrorKind::Consumer(ConsumerFault::GroupFull { group }));
            }
            ErrorCode::UNRELEASED_INSTANCE_ID => {
                let (instance, group) = self.names();
                self.report(now, code, MachineErrorKind::Consumer(ConsumerFault::InstanceHeld { instance, group }));
            }
            ErrorCode::FENCED_INSTANCE_ID => {
                let (instance, group) = self.names();
                self.fail(ConsumerFault::InstanceFenced { instance, group });
            }
            ErrorCode::GROUP_AUTHORIZATION_FAILED => {
                self.fail_with(MachineErrorKind::GroupAuthorization { group: self.group_id.clone() });
            }
            ErrorCode::UNSUPPORTED_ASSIGNOR => {
                let assignor = self.assignor.clone().unwrap_or_default();
                self.fail(ConsumerFault::Assignor { assignor, message });
            }
            ErrorCode::INVALID_REGULAR_EXPRESSION => {
                let pattern = self.topics.pattern.clone();
                self.fail(ConsumerFault::Pattern { pattern, message });
            }
            ErrorCode::UNSUPPORTED_VERSION => self.fail(ConsumerFault::Disabled),
            ErrorCode::GROUP_ID_NOT_FOUND | ErrorCode::INCONSISTENT_GROUP_PROTOCOL => {
                let group = self.group_id.clone();
                self.fail_with(MachineErrorKind::OtherGroupType { group, wanted: "consumer", code, message });
            }
            code if code.is_retriable() => self.retry(now),
            code => {
                self.fail_with(MachineErrorKind::Refused { api: "ConsumerGroupHeartbeat", node: None, code, message });
            }
        }
    }

    fn names(&self) -> (String, String) {
        (self.instance_id.clone().unwrap_or_default(), self.group_id.clone())
    }

    /// The group does not count the member: it joins again.
    fn lose(&mut self, now: Instant) {
        self.forget();
        self.events.push_back(MembershipEvent::Lost);
        match self.state {
            State::Stable(_) => self.state = self.join(),
            // Fenced while it joins: at once would be a loop.
            _ => self.retry(now),
        }
    }

    /// Tells the application of an error that is tried again: once, until a heartbeat goes well.
    fn report(&mut self, now: Instant, code: ErrorCode, kind: MachineErrorKind) {
        if self.reported.replace(code) != Some(code) {
            self.events.push_back(MembershipEvent::Failed(MachineError::passing(kind)));
        }
        self.retry(now);
    }

    fn current_interval(&self, now: Instant) -> Duration {
        let is_new = self.joined.is_none_or(|joined| now < joined + SOON);
        if is_new && self.target.is_empty() { self.interval.min(UNASSIGNED_INTERVAL) } else { self.interval }
    }

    fn retry(&mut self, now: Instant) {
        self.due = Some(now + self.backoff.next_delay());
    }

    fn join(&mut self) -> State {
        self.tell_all = true;
        self.due = None;
        self.joined = None;
        self.told_topics = Topics::default();
        State::Joining
    }

    fn left(&mut self) -> State {
        self.due = None;
        self.known = false;
        self.events.push_back(MembershipEvent::Left);
        State::Unsubscribed
    }

    fn forget(&mut self) {
        self.target.clear();
        self.held.clear();
    }

    /// Also for errors that another part of the client met: the member is out for good.
    pub(super) fn give_up(&mut self) {
        self.forget();
        self.state = State::Failed;
        self.events.push_back(MembershipEvent::Lost);
    }

    fn fail(&mut self, fault: ConsumerFault) {
        self.fail_with(MachineErrorKind::Consumer(fault));
    }

    fn fail_with(&mut self, kind: MachineErrorKind) {
        if matches!(self.state, State::Leaving { rejoin: false }) {
            // Nobody is left to tell, and the group forgets the member by itself.
            self.state = self.left();
            return;
        }
        self.give_up();
        self.events.push_back(MembershipEvent::Failed(MachineError::fatal(kind)));
    }
}

fn by_topic(partitions: &BTreeSet<TopicIdPartition>) -> Vec<TopicPartitions> {
    let mut topics: Vec<TopicPartitions> = Vec::new();
    for TopicIdPartition { topic_id, partition } in partitions {
        match topics.last_mut().filter(|topic| topic.topic_id == *topic_id) {
            Some(topic) => topic.partitions.push(*partition),
            None => topics.push(TopicPartitions { topic_id: *topic_id, partitions: vec![*partition] }),
        }
    }
    topics
}
