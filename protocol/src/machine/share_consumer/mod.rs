//! The machine of one share consumer: what a driver runs.
//!
//! ```text
//!   coordinator --address--> membership --assignment--> nodes: one session and one ledger a broker
//!                                                         ^  |
//!   metadata --leaders, addresses-------------------------+  +--> acquisitions, outcomes
//! ```
//!
//! This file has the commands and inputs; `schedule.rs` decides what to do next, `responses.rs` takes in what brokers
//! answer, `ends.rs` how sessions and acknowledgements end.

mod commits;
mod demand;
mod ends;
mod node;
mod options;
mod responses;
mod schedule;
#[cfg(test)]
mod tests;
#[cfg(feature = "unstable-kip-1289")]
mod transactional;
mod unreadable;
mod wire;

pub use options::{AcquireMode, ShareConsumerOptions};

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use self::{commits::Commits, demand::Demand, node::Node};
use crate::{
    machine::{
        ack_ledger::Outcome,
        backoff::Backoff,
        coordinator::{CoordinatorMachine, KeyType},
        error::{MachineError, MachineErrorKind},
        matching::TopicFilter,
        membership::Membership,
        metadata::{Metadata, Urgency},
        types::{
            AckId, AckRange, AcquiredRange, Acquisition, AcquisitionId, AutoRenew, ClientResponse, CommitId, Event,
            KeepId, Output, RequestFailure, RequestId, TopicIdPartition,
        },
    },
    wire::ErrorCode,
};

/// Kafka's default of `group.share.record.lock.duration.ms`, until a broker has said the group's.
const DEFAULT_LOCK: Duration = Duration::from_secs(30);

/// The machine of one share consumer.
///
/// # Contract
/// - After each command and each input, call [`poll`](Self::poll) until it gives [`Output::Wait`]; then again at that
///   instant.
/// - Each [`Output::Send`] is answered by one [`handle_response`](Self::handle_response), in whatever order the answers
///   come.
/// - `now` never goes back.
#[derive(Debug)]
pub struct ShareConsumerMachine {
    options: ShareConsumerOptions,
    seed: u64,
    phase: Phase,
    topics: Vec<String>,
    coordinator: CoordinatorMachine,
    membership: Membership,
    metadata: Metadata,
    nodes: BTreeMap<i32, Node>,
    /// Partitions that cannot be fetched for now.
    paused: BTreeMap<TopicIdPartition, Pause>,
    demand: Demand,
    commits: Commits,
    /// The group's lock duration, where a broker has said it.
    lock_timeout: Option<Duration>,
    last_polled: Option<Instant>,
    /// The broker that was asked for records last, where one is asked at a time.
    last_asked: Option<i32>,
    /// What the application was told to be assigned.
    assigned: Vec<(Arc<str>, TopicIdPartition)>,
    /// Whether leaders, assignment or pauses have changed since partitions were given to nodes.
    reassign: bool,
    pending: PendingRequests,
    last_request: u64,
    last_acquisition: u64,
    last_keep: u64,
    outputs: VecDeque<Output>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Active,
    /// The application did not poll in time.
    Away,
    /// Sessions end, then the member leaves.
    Closing,
    Closed,
    /// An error that only a new consumer can get over.
    Failed,
}

/// Requests in flight that belong to no session.
#[derive(Debug, Default)]
struct PendingRequests {
    coordinator: Option<RequestId>,
    heartbeat: Option<RequestId>,
    metadata: Option<RequestId>,
}

/// Why a partition is not fetched for now.
#[derive(Debug)]
struct Pause {
    /// `None` once it is over; the rest stays until a fetch goes well.
    until: Option<Instant>,
    backoff: Backoff,
    /// The leader that had the error. Another one may be asked at once.
    node: i32,
    /// The error that the application was told.
    reported: Option<ErrorCode>,
    /// Of a partition whose records may be such that an answer with them cannot be read: how long it is left alone after the next one.
    /// Once the pause is over, it is asked alone.
    unreadable: Option<Backoff>,
}

impl ShareConsumerMachine {
    /// A machine that does nothing until it is told to subscribe. `seed` decides the jitter of backoffs.
    pub fn new(_now: Instant, seed: u64, options: ShareConsumerOptions) -> Self {
        let ShareConsumerOptions { retry_backoff, retry_backoff_max, .. } = options;
        let group_id = options.group_id.clone();
        Self {
            seed,
            phase: Phase::Active,
            topics: Vec::new(),
            coordinator: CoordinatorMachine::new(
                KeyType::Group,
                group_id.clone(),
                retry_backoff,
                retry_backoff_max,
                seed ^ 1,
            ),
            membership: Membership::new(
                group_id,
                options.member_id.clone(),
                options.client_rack.clone(),
                retry_backoff,
                retry_backoff_max,
                seed ^ 2,
            ),
            metadata: Metadata::new(options.metadata_max_age, retry_backoff, retry_backoff_max, seed ^ 3)
                .may_create(options.allow_auto_create_topics),
            nodes: BTreeMap::new(),
            paused: BTreeMap::new(),
            demand: Demand::default(),
            commits: Commits::default(),
            lock_timeout: None,
            last_polled: None,
            last_asked: None,
            assigned: Vec::new(),
            reassign: false,
            pending: PendingRequests::default(),
            last_request: 0,
            last_acquisition: 0,
            last_keep: 0,
            outputs: VecDeque::new(),
            options,
        }
    }

    /// Its settings.
    pub fn options(&self) -> &ShareConsumerOptions {
        &self.options
    }

    /// Sets the topics to consume, all of them. An empty list unsubscribes: what is decided is sent, the sessions end,
    /// the member leaves.
    pub fn subscribe(&mut self, now: Instant, mut topics: Vec<String>) {
        if matches!(self.phase, Phase::Closing | Phase::Closed | Phase::Failed) {
            return;
        }
        topics.sort();
        topics.dedup();
        self.metadata.want_topics(now, &topics);
        self.topics = topics;
        if self.topics.is_empty() {
            self.phase = Phase::Active;
            self.end_sessions();
            self.membership.leave();
        } else if self.phase == Phase::Active {
            self.last_polled = Some(now);
            self.membership.subscribe(self.topics.clone());
        }
    }

    /// Sets the topics to consume: those that match, now and later. Until all topics are known, those before are consumed. Where none matches,
    /// the member is out of the group.
    pub fn subscribe_matching(&mut self, now: Instant, filter: TopicFilter) {
        if matches!(self.phase, Phase::Closing | Phase::Closed | Phase::Failed) {
            return;
        }
        self.metadata.want_matching(now, filter, self.options.exclude_internal_topics);
        self.last_polled = Some(now);
    }

    /// Other topics match than before.
    fn matched(&mut self, topics: &[Arc<str>]) {
        self.topics = topics.iter().map(|topic| topic.to_string()).collect();
        match self.phase {
            Phase::Closing | Phase::Closed | Phase::Failed => {}
            Phase::Active | Phase::Away if self.topics.is_empty() => {
                self.end_sessions();
                self.membership.leave();
            }
            Phase::Active => self.membership.subscribe(self.topics.clone()),
            // It joins with the next poll.
            Phase::Away => {}
        }
    }

    /// The application asks for records. Call it at the start of each poll, also of one that finds records in the
    /// buffer, and again while a poll waits, well within `max.poll.interval.ms`: without it for so long, the member
    /// leaves, and joins again at the next. Nothing is acquired before the first.
    pub fn polled(&mut self, now: Instant) {
        self.demand.polled(now);
        self.last_polled = Some(now);
        if self.phase == Phase::Away {
            self.phase = Phase::Active;
            if !self.topics.is_empty() {
                self.membership.subscribe(self.topics.clone());
            }
        }
    }

    /// The application is at work on what it took over, and wants nothing more yet: that is no absence. Nothing is acquired for it.
    pub fn working(&mut self, now: Instant) {
        self.last_polled = Some(now);
    }

    /// Whether the application wants records, which it does unless it says otherwise: if not, nothing more is acquired,
    /// though it polls. It stays a member, and what it holds is acknowledged and renewed as before.
    pub fn want_records(&mut self, _now: Instant, wanted: bool) {
        self.demand.pause(!wanted);
    }

    /// The application took this many records over from the acquisitions it was told of.
    pub fn taken(&mut self, now: Instant, records: u32) {
        self.demand.taken(now, records);
    }

    /// So many records of acquisitions will not be handed out, since they are not wanted; they are released by their own.
    pub fn given_back(&mut self, _now: Instant, records: u32) {
        self.demand.dropped(records);
    }

    /// An acquisition, or the part of it that is left (with its `ranges` and `records`), will not be handed out: its
    /// lock or its session is gone, or nearly so.
    pub fn dropped(&mut self, _now: Instant, acquisition: &Acquisition) {
        self.demand.dropped(acquisition.records);
        if let Some(node) = self.nodes.get_mut(&acquisition.session.node)
            && node.is_live(acquisition.session)
        {
            node.ledger.let_go(acquisition.topic_partition, acquisition.number, &acquisition.ranges);
        }
    }

    /// Acknowledges offsets of an acquisition. The answer is one [`Event::Acknowledged`] with the id. A renewed
    /// offset has to be acknowledged again; one whose acknowledgement has not been sent yet may be, and then the last
    /// word counts. Where any offset is not held any more (answered, or its lock lost, though it may have been acquired
    /// again since), nothing is sent and the answer is an error.
    pub fn acknowledge(
        &mut self,
        now: Instant,
        acquisition: AcquisitionId,
        topic_partition: TopicIdPartition,
        ranges: Vec<AckRange>,
    ) -> AckId {
        let AcquisitionId { session, number } = acquisition;
        let id = self.commits.acknowledge();
        let refused = match self.nodes.get_mut(&session.node) {
            Some(node) if node.is_live(session) => {
                node.ledger.acknowledge(now, id, topic_partition, number, ranges).err()
            }
            Some(node) if node.session.id() == session => {
                Some((node.ledger.lost(topic_partition).unwrap_or(node.lost), ranges))
            }
            _ => Some((ErrorCode::SHARE_SESSION_NOT_FOUND, ranges)),
        };
        if let Some((code, ranges)) = refused {
            let known = self.nodes.get(&session.node).and_then(|node| node.ledger.topic(topic_partition)).cloned();
            let topic = known.unwrap_or_else(|| self.topic_name(topic_partition));
            let failed = ranges.clone();
            let outcome =
                Outcome { id, topic, topic_partition, ranges, result: Err(code), failed, lock_deadline: None };
            self.end_acknowledgement(outcome);
        }
        id
    }

    /// Renews the locks of what is undecided of these offsets of an acquisition by itself from now on, until they are decided about, lost, or a
    /// limit of `renew` is reached: [`Event::Renewed`] and [`Event::KeepEnded`] tell. `None` where nothing of them is held.
    pub fn keep(
        &mut self,
        now: Instant,
        acquisition: AcquisitionId,
        topic_partition: TopicIdPartition,
        ranges: &[AcquiredRange],
        renew: AutoRenew,
    ) -> Option<KeepId> {
        let AcquisitionId { session, number } = acquisition;
        let node = self.nodes.get_mut(&session.node).filter(|node| node.is_live(session))?;
        let id = KeepId(self.last_keep + 1);
        let is_kept = node.ledger.keep(now, id, topic_partition, (number, ranges), renew);
        self.last_keep += u64::from(is_kept);
        is_kept.then_some(id)
    }

    /// Sends everything acknowledged so far without waiting for a fetch to carry it. [`Event::Committed`] tells when
    /// all of it has ended.
    pub fn commit(&mut self, _now: Instant) -> CommitId {
        let (id, event) = self.commits.commit();
        self.outputs.extend(event.map(Output::Event));
        for node in self.nodes.values_mut() {
            node.flush = true;
        }
        id
    }

    /// Ends: acknowledgements that were decided go out with the end of each session, the member leaves, then
    /// [`Event::Closed`]. What is undecided is released by the broker. The driver bounds the time; when it gives up it
    /// drops the machine.
    pub fn close(&mut self, now: Instant) {
        if !matches!(self.phase, Phase::Closing | Phase::Closed) {
            self.phase = Phase::Closing;
            self.end_sessions();
            self.abandon_idle_sessions(now);
        }
    }

    /// The answer to a request, exactly once for each. One that comes too late to matter is ignored.
    pub fn handle_response(&mut self, now: Instant, id: RequestId, response: Result<ClientResponse, RequestFailure>) {
        if self.pending.coordinator == Some(id) {
            self.pending.coordinator = None;
            match response {
                Ok(ClientResponse::FindCoordinator(response)) => self.coordinator.handle_response(now, response),
                response => self.coordinator.handle_failure(now, failure(response)),
            }
        } else if self.pending.heartbeat == Some(id) {
            self.pending.heartbeat = None;
            match response {
                Ok(ClientResponse::Heartbeat(response)) => self.membership.handle_response(now, response),
                response => self.membership.handle_failure(now, failure(response)),
            }
        } else if self.pending.metadata == Some(id) {
            self.pending.metadata = None;
            match response {
                Ok(ClientResponse::Metadata(response)) => self.metadata.handle_response(now, response),
                response => self.metadata.handle_failure(now, failure(response)),
            }
        } else {
            self.handle_session_response(now, id, response);
        }
    }

    /// The session connection to a broker ended, with or without a request on it. The session ends with it.
    pub fn handle_disconnect(&mut self, now: Instant, node: i32) {
        if self.nodes.get(&node).is_some_and(|node| node.in_flight.is_some() || !node.session.is_closed()) {
            let unanswered = self.nodes.get_mut(&node).filter(|node| node.in_flight.is_some());
            unanswered.into_iter().for_each(|node| node.session.unanswered());
            self.lose_session(node, ErrorCode::NETWORK_EXCEPTION);
            self.metadata.refresh(now, Urgency::Now);
            if let Some(node) = self.nodes.get_mut(&node) {
                node.lost_connection(now);
            }
        }
    }

    /// The finalized feature `share.version` of the cluster, as ApiVersions tells on connecting; `None` where it is not
    /// there. Zero and `None` are fatal: such a broker may list the APIs all the same.
    pub fn handle_share_version(&mut self, _now: Instant, finalized: Option<i16>) {
        if finalized.is_none_or(|version| version < 1) {
            self.fail(MachineErrorKind::ShareGroupsDisabled);
        }
    }

    /// What to do next.
    pub fn poll(&mut self, now: Instant) -> Output {
        if let Some(output) = self.outputs.pop_front() {
            return output;
        }
        let wait = self.advance(now);
        self.outputs.pop_front().unwrap_or(Output::Wait(wait))
    }

    fn topic_name(&self, topic_partition: TopicIdPartition) -> Arc<str> {
        let known = self.metadata.topic_name(topic_partition.topic_id).cloned();
        known.unwrap_or_else(|| topic_partition.topic_id.to_string().into())
    }

    /// The member is out of the group for good. What it holds can still be acknowledged.
    fn fail(&mut self, kind: MachineErrorKind) {
        if self.phase != Phase::Failed {
            self.membership.give_up();
            self.fail_with(MachineError::fatal(kind));
        }
    }

    fn fail_with(&mut self, error: MachineError) {
        if error.fatal && matches!(self.phase, Phase::Active | Phase::Away) {
            self.phase = Phase::Failed;
            self.reassign = true;
        }
        self.outputs.push_back(Output::Event(Event::Failed(error)));
    }

    fn request_id(&mut self) -> RequestId {
        self.last_request += 1;
        RequestId(self.last_request)
    }
}

/// The failure of a response that is none, or that belongs to another request.
fn failure(response: Result<ClientResponse, RequestFailure>) -> RequestFailure {
    response.err().unwrap_or(RequestFailure::Malformed)
}
