//! The connections of one member, as the client's own driver makes them: one a session, one a coordinator, one for the rest.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use ackflow_protocol::machine::{ClientRequest, ClientResponse, Destination, RequestFailure, RequestId};
use ackflow_protocol::messages::find_coordinator::FindCoordinatorRequest;
use ackflow_protocol::messages::metadata::MetadataRequest;
use ackflow_protocol::messages::share_acknowledge::ShareAcknowledgeRequest;
use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::messages::share_group_heartbeat::ShareGroupHeartbeatRequest;
use ackflow_protocol::wire::frame::SIZE_LENGTH;
use ackflow_protocol::wire::{Request, decode_response, encode_request};
use bytes::Bytes;

use crate::sim::{Sim, What};
use crate::words::Words;

/// The port of node 1; each other node has the next.
pub(crate) const FIRST_PORT: u16 = 9092;

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Any,
    Coordinator(i32),
    Session(i32),
}

/// Something that the driver waits for.
#[derive(Debug)]
pub(crate) enum DriverEvent {
    Connected { role: Role, attempt: u64, node: i32 },
    TimedOut { connection: u64, id: RequestId },
    Failed { id: RequestId, failure: RequestFailure },
}

/// What the machine has to be told.
#[derive(Debug)]
pub(crate) enum Told {
    /// With the node, where it came over the connection of a session.
    Response(RequestId, Option<i32>, Box<ClientResponse>),
    Failure(RequestId, RequestFailure),
    Disconnected(i32),
    ShareVersion,
}

#[derive(Debug)]
enum Slot {
    Connecting { attempt: u64, waiting: Vec<(RequestId, ClientRequest)>, candidates: VecDeque<i32> },
    Open(u64),
}

/// A request that waits for its answer.
#[derive(Debug, Clone, Copy)]
struct Call {
    id: RequestId,
    kind: Kind,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Metadata,
    FindCoordinator,
    Heartbeat,
    ShareFetch,
    ShareAcknowledge,
}

#[derive(Debug)]
pub(crate) struct Driver {
    member: usize,
    life: u32,
    slots: BTreeMap<Role, Slot>,
    calls: BTreeMap<u64, VecDeque<Call>>,
    brokers: Vec<i32>,
    next_broker: usize,
    attempts: u64,
}

impl Driver {
    pub(crate) fn new(member: usize, life: u32) -> Self {
        Self {
            member,
            life,
            slots: BTreeMap::new(),
            calls: BTreeMap::new(),
            brokers: Vec::new(),
            next_broker: 0,
            attempts: 0,
        }
    }

    pub(crate) fn send(&mut self, sim: &mut Sim, id: RequestId, to: Destination, request: ClientRequest) {
        let node_of = |port: u16| i32::from(port - FIRST_PORT) + 1;
        let (role, node) = match to {
            Destination::Any => (Role::Any, None),
            Destination::Coordinator(address) => (Role::Coordinator(address.node), Some(node_of(address.port))),
            Destination::Session(address) => (Role::Session(address.node), Some(node_of(address.port))),
            Destination::Leader(_) => unreachable!("a share consumer asks leaders in sessions alone"),
        };
        match self.slots.get_mut(&role) {
            Some(Slot::Connecting { waiting, .. }) => waiting.push((id, request)),
            Some(Slot::Open(connection)) => {
                let connection = *connection;
                self.call(sim, connection, id, request);
            }
            None => {
                let mut candidates = match node {
                    Some(node) => VecDeque::from([node]),
                    None => self.candidates(sim),
                };
                let first = candidates.pop_front().expect("there is at least one broker");
                self.attempts += 1;
                let attempt = self.attempts;
                self.slots.insert(role, Slot::Connecting { attempt, waiting: vec![(id, request)], candidates });
                self.connect(sim, role, attempt, first);
            }
        }
    }

    /// Every broker that metadata named, beginning with another one each time, and then those of the bootstrap list.
    fn candidates(&mut self, sim: &Sim) -> VecDeque<i32> {
        let mut candidates = self.brokers.clone();
        if !candidates.is_empty() {
            let begin = self.next_broker % candidates.len();
            candidates.rotate_left(begin);
        }
        self.next_broker += 1;
        for node in sim.cluster.node_ids() {
            if !candidates.contains(&node) {
                candidates.push(node);
            }
        }
        candidates.into()
    }

    fn connect(&self, sim: &mut Sim, role: Role, attempt: u64, node: i32) {
        // Shaking hands, and asking for the versions.
        let mut takes = 4 * sim.latency();
        if sim.net.stalled.get(&node).is_some_and(|until| *until > sim.now) {
            takes += Duration::from_secs(1);
        }
        let event = DriverEvent::Connected { role, attempt, node };
        sim.after(takes, What::Driver { member: self.member, life: self.life, event });
    }

    fn call(&mut self, sim: &mut Sim, connection: u64, id: RequestId, request: ClientRequest) {
        let (kind, frame) = match &request {
            ClientRequest::Metadata(request) => (Kind::Metadata, encode(request)),
            ClientRequest::FindCoordinator(request) => (Kind::FindCoordinator, encode(request)),
            ClientRequest::Heartbeat(request) => (Kind::Heartbeat, encode(request)),
            ClientRequest::ShareFetch(request) => (Kind::ShareFetch, encode(request)),
            ClientRequest::ShareAcknowledge(request) => (Kind::ShareAcknowledge, encode(request)),
        };
        self.calls.entry(connection).or_default().push_back(Call { id, kind });
        let event = DriverEvent::TimedOut { connection, id };
        sim.after(sim.plan.request_timeout, What::Driver { member: self.member, life: self.life, event });
        let words = Words::of(&request, sim.now);
        sim.send_request(connection, frame, words);
    }

    pub(crate) fn handle(&mut self, sim: &mut Sim, event: DriverEvent) -> Vec<Told> {
        match event {
            DriverEvent::Connected { role, attempt, node } => self.connected(sim, role, attempt, node),
            DriverEvent::Failed { id, failure } => vec![Told::Failure(id, failure)],
            DriverEvent::TimedOut { connection, id } => {
                let Some(calls) = self.calls.get_mut(&connection) else { return Vec::new() };
                let Some(at) = calls.iter().position(|call| call.id == id) else { return Vec::new() };
                calls.remove(at);
                sim.close_by_member(connection);
                let mut told = self.end(sim, connection);
                told.push(Told::Failure(id, RequestFailure::TimedOut));
                told
            }
        }
    }

    fn connected(&mut self, sim: &mut Sim, role: Role, attempt: u64, node: i32) -> Vec<Told> {
        match self.slots.get_mut(&role) {
            Some(Slot::Connecting { attempt: current, candidates, .. }) if *current == attempt => {
                if let Some(connection) = sim.connect(self.member, self.life, role, node) {
                    crate::trace!(sim, "m{} c{connection} is open to node {node}: {role:?}", self.member);
                    let slot = self.slots.insert(role, Slot::Open(connection));
                    let Some(Slot::Connecting { waiting, .. }) = slot else { unreachable!("it was connecting") };
                    for (id, request) in waiting {
                        self.call(sim, connection, id, request);
                    }
                    return vec![Told::ShareVersion];
                }
                if let Some(next) = candidates.pop_front() {
                    self.connect(sim, role, attempt, next);
                    return Vec::new();
                }
            }
            _ => return Vec::new(),
        }
        let Some(Slot::Connecting { waiting, .. }) = self.slots.remove(&role) else { return Vec::new() };
        waiting.into_iter().map(|(id, _)| Told::Failure(id, RequestFailure::Unreachable)).collect()
    }

    /// A response arrived.
    pub(crate) fn answered(&mut self, sim: &Sim, connection: u64, frame: Bytes) -> Vec<Told> {
        let Some(call) = self.calls.get_mut(&connection).and_then(VecDeque::pop_front) else { return Vec::new() };
        let response = match call.kind {
            Kind::Metadata => ClientResponse::Metadata(decode::<MetadataRequest>(frame)),
            Kind::FindCoordinator => ClientResponse::FindCoordinator(decode::<FindCoordinatorRequest>(frame)),
            Kind::Heartbeat => ClientResponse::Heartbeat(decode::<ShareGroupHeartbeatRequest>(frame)),
            Kind::ShareFetch => ClientResponse::ShareFetch(decode::<ShareFetchRequest>(frame)),
            Kind::ShareAcknowledge => ClientResponse::ShareAcknowledge(decode::<ShareAcknowledgeRequest>(frame)),
        };
        if let ClientResponse::Metadata(metadata) = &response
            && !metadata.brokers.is_empty()
        {
            self.brokers = metadata.brokers.iter().map(|broker| broker.node_id).collect();
        }
        let session = match sim.net.links.get(&connection).map(|link| link.role) {
            Some(Role::Session(node)) => Some(node),
            _ => None,
        };
        vec![Told::Response(call.id, session, Box::new(response))]
    }

    /// A connection has ended at the other side, or on its way.
    pub(crate) fn ended(&mut self, sim: &mut Sim, connection: u64) -> Vec<Told> {
        let calls = self.calls.get(&connection).cloned().unwrap_or_default();
        // The client learns of a lost call and of the lost connection in either order; the session's loss is told first.
        let at_once = sim.random.percent(50).then(|| calls.front().copied()).flatten();
        if let (Some(_), Some(calls)) = (at_once, self.calls.get_mut(&connection)) {
            calls.pop_front();
        }
        let mut told = self.end(sim, connection);
        told.extend(at_once.map(|call| Told::Failure(call.id, RequestFailure::Disconnected)));
        told
    }

    /// A connection is of no more use; what is still under way on it fails by itself.
    fn end(&mut self, sim: &mut Sim, connection: u64) -> Vec<Told> {
        for call in self.calls.remove(&connection).unwrap_or_default() {
            let event = DriverEvent::Failed { id: call.id, failure: RequestFailure::Disconnected };
            let delay = sim.random.micros(0, 500);
            sim.after(delay, What::Driver { member: self.member, life: self.life, event });
        }
        let role = self.slots.iter().find(|(_, slot)| matches!(slot, Slot::Open(open) if *open == connection));
        let Some((&role, _)) = role else { return Vec::new() };
        self.slots.remove(&role);
        match role {
            Role::Session(node) => vec![Told::Disconnected(node)],
            _ => Vec::new(),
        }
    }

    /// The connections that are open.
    pub(crate) fn connections(&self) -> Vec<u64> {
        let open = |slot: &Slot| match slot {
            Slot::Open(connection) => Some(*connection),
            Slot::Connecting { .. } => None,
        };
        self.slots.values().filter_map(open).collect()
    }
}

fn encode<R: Request>(request: &R) -> Bytes {
    encode_request(request, R::NEWEST_STABLE, 0, Some("sim")).expect("the machine makes valid requests")
}

fn decode<R: Request>(frame: Bytes) -> R::Response {
    decode_response::<R::Response>(frame.slice(SIZE_LENGTH..), R::NEWEST_STABLE)
        .expect("the cluster answers as asked")
        .1
}
