//! Fetches: which broker is asked for what. One is under way a broker, brokers side by side.
//!
//! A partition is fetched while little of it waits to be handed out, so that the next fetch is under way while the application works. What
//! is fetched ahead is bounded by partition and in all.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use super::{
    Asked, ConsumerMachine, ConsumerRequest, Position, Run, State, TopicPartition,
    fetch_session::{Ask, FetchSession},
    millis,
    partition::{Partition, Phase},
};
use crate::{
    machine::{
        backoff::Backoff,
        error::{MachineError, MachineErrorKind},
        metadata::Urgency,
        types::{BrokerAddress, Destination, RequestFailure, TopicIdPartition, earlier},
    },
    messages::fetch::FetchRequest,
    wire::ErrorCode,
};

/// Since this version Fetch names topics by id.
const IDS_SINCE: i16 = 13;

/// How long a broker may hold a fetch while partitions of its are left out that may be asked for a moment later: they would wait behind it.
const BUSY_WAIT: Duration = Duration::from_millis(20);

/// One broker: the session with it, and what is under way.
#[derive(Debug)]
pub(super) struct Node {
    address: BrokerAddress,
    pub(super) session: FetchSession,
    pub(super) in_flight: Option<InFlight>,
    backoff: Backoff,
    not_before: Option<Instant>,
    /// The error of the whole broker that the application was told last, until one goes well.
    pub(super) reported: Option<ErrorCode>,
}

#[derive(Debug)]
pub(super) struct InFlight {
    /// What the session has, by which the answer is understood.
    pub(super) asked: BTreeMap<TopicIdPartition, (TopicPartition, Run, Position)>,
}

impl Node {
    fn new(address: BrokerAddress, backoff: Backoff) -> Self {
        let session = FetchSession::default();
        Self { address, session, in_flight: None, backoff, not_before: None, reported: None }
    }

    /// No fetch for a while, longer with each failure in a row.
    pub(super) fn back_off(&mut self, now: Instant) {
        self.not_before = Some(now + self.backoff.next_delay());
    }

    pub(super) fn went_well(&mut self) {
        self.backoff.reset();
        self.not_before = None;
        self.reported = None;
    }

    /// The broker wants nothing more for a while (KIP-219).
    pub(super) fn throttle(&mut self, now: Instant, milliseconds: i32) {
        if let Ok(milliseconds @ 1..) = u64::try_from(milliseconds) {
            self.not_before = Some(now + Duration::from_millis(milliseconds));
        }
    }
}

/// What is to be asked of a broker.
#[derive(Debug, Default)]
struct Wanted {
    asks: BTreeMap<TopicIdPartition, Ask>,
    asked: BTreeMap<TopicIdPartition, (TopicPartition, Run, Position)>,
    /// Whether a partition of it is left out for what waits to be handed out.
    is_busy: bool,
}

impl ConsumerMachine {
    /// Fetches what can be. Returns when there is more to do.
    pub(super) fn advance_fetches(&mut self, now: Instant) -> Option<Instant> {
        let fetches = self.state == State::Active && self.last_polled.is_some();
        let buffered: usize = self.partitions.values().map(|partition| partition.buffered_bytes).sum();
        let most = self.options.fetch_max_bytes.unsigned_abs() as usize;
        let mut wait = None;
        let mut wanted: BTreeMap<i32, Wanted> = BTreeMap::new();
        let mut is_unknown = false;
        if fetches && buffered < most {
            for (name, partition) in &self.partitions {
                let Phase::Ready(position) = partition.phase else { continue };
                if partition.is_new || partition.is_leaving || partition.is_paused || partition.out_of_range {
                    continue;
                }
                if let Some(at) = partition.retry_at.filter(|at| now < *at) {
                    wait = earlier(wait, Some(at));
                    continue;
                }
                let Some(id) = partition.id.or_else(|| self.id_of(name)) else { continue };
                let Some((leader, leader_epoch)) = self.metadata.leader_and_epoch(id) else { continue };
                let replica = self.replica(now, partition).unwrap_or(leader);
                if self.nodes.get(&replica).is_some_and(|node| node.in_flight.is_some()) {
                    continue;
                }
                let wanted = wanted.entry(replica).or_default();
                if partition.buffered_bytes >= self.options.partition_fetch_bytes.unsigned_abs() as usize {
                    wanted.is_busy = true;
                    continue;
                }
                is_unknown |= self.metadata.address(replica).is_none();
                let max_bytes = self.options.partition_fetch_bytes;
                wanted.asks.insert(id, Ask { offset: position.offset, leader_epoch, max_bytes });
                wanted.asked.insert(id, (name.clone(), partition.run, position));
            }
        }
        if is_unknown {
            self.metadata.refresh(now, Urgency::Now);
        }
        for (node, wanted) in wanted.into_iter().filter(|(_, wanted)| !wanted.asks.is_empty()) {
            wait = earlier(wait, self.fetch(now, node, wanted, most - buffered));
        }
        wait
    }

    /// The replica that is nearer than the leader, where one was named and is there.
    fn replica(&self, now: Instant, partition: &Partition) -> Option<i32> {
        let (node, _) = partition.replica.filter(|(_, until)| now < *until)?;
        self.metadata.address(node).is_some().then_some(node)
    }

    /// Sends a fetch, unless the broker is to be left alone until the instant that is returned.
    fn fetch(&mut self, now: Instant, node_id: i32, wanted: Wanted, room: usize) -> Option<Instant> {
        let address = self.metadata.address(node_id)?.clone();
        let backoff =
            Backoff::new(self.options.retry_backoff, self.options.retry_backoff_max, self.seed ^ node_id as u64);
        let node = self.nodes.entry(node_id).or_insert_with(|| Node::new(address.clone(), backoff));
        if let Some(at) = node.not_before.filter(|at| now < *at) {
            return Some(at);
        }
        node.address = address.clone();
        let name = |id| wanted.asked.get(&id).map_or(String::new(), |(name, ..)| name.topic.to_string());
        let step = node.session.step(&wanted.asks, name);
        let max_wait = match wanted.is_busy {
            true => self.options.fetch_max_wait.min(BUSY_WAIT),
            false => self.options.fetch_max_wait,
        };
        let request = FetchRequest {
            max_wait_ms: millis(max_wait),
            min_bytes: self.options.fetch_min_bytes,
            max_bytes: i32::try_from(room).unwrap_or(i32::MAX),
            isolation_level: self.options.isolation.wire(),
            session_id: step.id,
            session_epoch: step.epoch,
            topics: step.topics,
            forgotten_topics_data: step.forgotten,
            rack_id: self.options.client_rack.clone().unwrap_or_default(),
            ..FetchRequest::default()
        };
        let to = Destination::Session(address);
        self.ask(to, ConsumerRequest::Fetch(request), IDS_SINCE, Asked::Fetch(node_id));
        if let Some(node) = self.nodes.get_mut(&node_id) {
            node.in_flight = Some(InFlight { asked: wanted.asked });
        }
        None
    }

    /// No answer came.
    pub(super) fn fetch_failed(&mut self, now: Instant, node_id: i32, failure: RequestFailure) {
        let Some(node) = self.nodes.get_mut(&node_id) else { return };
        node.in_flight = None;
        node.session.failed();
        node.back_off(now);
        let (code, kind) = match failure {
            RequestFailure::UnsupportedVersion(offered) => {
                let offered = offered.map_or("none".to_owned(), |offered| format!("no more than version {offered}"));
                let message = format!("it offers {offered}, and version {IDS_SINCE} is needed, of Kafka 3.1 or later");
                let (code, message) = (ErrorCode::UNSUPPORTED_VERSION, Some(message));
                (code, Some(MachineErrorKind::Refused { api: "Fetch", node: Some(node_id), code, message }))
            }
            RequestFailure::Malformed => {
                (ErrorCode::CORRUPT_MESSAGE, Some(MachineErrorKind::Unreadable { node: node_id, api: "Fetch" }))
            }
            _ => (ErrorCode::NETWORK_EXCEPTION, None),
        };
        if let Some(kind) = kind
            && node.reported.replace(code) != Some(code)
        {
            self.fail_with(MachineError::passing(kind));
        }
        for partition in self.partitions.values_mut() {
            partition.replica.take_if(|(replica, _)| *replica == node_id);
        }
        self.metadata.refresh(now, Urgency::Now);
    }
}
