//! The requests of a worker and their connections: one a session, one a coordinator of the group, one a node for the producer, one for the rest.

use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;

use ackflow_protocol::machine::transaction::{TransactionRequest, TransactionResponse};
use ackflow_protocol::machine::{ClientRequest, ClientResponse, Destination, RequestFailure, RequestId};
use ackflow_protocol::messages::add_offsets_to_txn::AddOffsetsToTxnRequest;
use ackflow_protocol::messages::add_partitions_to_txn::AddPartitionsToTxnRequest;
use ackflow_protocol::messages::end_txn::EndTxnRequest;
use ackflow_protocol::messages::find_coordinator::FindCoordinatorRequest;
use ackflow_protocol::messages::init_producer_id::InitProducerIdRequest;
use ackflow_protocol::messages::metadata::MetadataRequest;
use ackflow_protocol::messages::produce::ProduceRequest;
use ackflow_protocol::messages::share_acknowledge::ShareAcknowledgeRequest;
use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::messages::share_group_heartbeat::ShareGroupHeartbeatRequest;
use ackflow_protocol::messages::txn_offset_commit::TxnOffsetCommitRequest;
use ackflow_protocol::messages::txn_share_acknowledge::TxnShareAcknowledgeRequest;
use ackflow_protocol::wire::frame::SIZE_LENGTH;
use ackflow_protocol::wire::{Request, decode_response, encode_request};
use bytes::Bytes;

use crate::network::Packet;
use crate::trace;
use crate::worker::{Step, Worker};
use crate::world::{What, World};

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Any(i32),
    Coordinator(i32),
    Session(i32),
    Producer(i32),
}

/// Reads an answer and hands it on.
type Read<R> = fn(Bytes, i16) -> R;

/// Who waits for an answer, and how it is read.
#[derive(Debug, Clone, Copy)]
enum Whose {
    Consumer(RequestId, Read<ClientResponse>),
    Transaction(RequestId, Read<TransactionResponse>),
    Batch(i32),
}

#[derive(Debug, Clone, Copy)]
struct Call {
    id: u64,
    whose: Whose,
    version: i16,
    /// Counts the producers of the worker.
    producer: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Calls {
    links: BTreeMap<Role, u64>,
    under_way: BTreeMap<u64, VecDeque<Call>>,
    /// Those that could not be sent, until they have failed.
    unsent: BTreeMap<u64, Call>,
    last: u64,
    producer: u32,
}

impl Calls {
    pub(crate) fn links(&self) -> Vec<u64> {
        self.links.values().copied().collect()
    }

    /// Answers to the producer that was are nobody's from now on.
    pub(crate) fn forget_producer(&mut self) {
        self.producer += 1;
    }
}

fn decode<R: Request>(frame: Bytes, version: i16) -> R::Response {
    decode_response::<R::Response>(frame.slice(SIZE_LENGTH..), version).expect("the cluster answers as asked").1
}

fn encode<R: Request>(request: &R, version: i16) -> Bytes {
    encode_request(request, version, 0, Some("sim")).expect("machines make valid requests")
}

/// A frame, its version, and how its answer is read.
macro_rules! call {
    ($kind:ident, $response:ident, $request:ident, $type:ty, $versions:expr) => {{
        let version = <$type>::NEWEST_STABLE.min(*$versions.end()).max(*$versions.start());
        (
            encode($request, version),
            version,
            (|frame, version| $response::$kind(decode::<$type>(frame, version))) as Read<$response>,
        )
    }};
}

impl Worker {
    /// Sends a request of the consumer.
    pub(crate) fn ask(&mut self, world: &mut World, id: RequestId, to: &Destination, request: &ClientRequest) {
        let any = 0..=i16::MAX;
        let (frame, version, read) = match request {
            ClientRequest::Metadata(request) => call!(Metadata, ClientResponse, request, MetadataRequest, any),
            ClientRequest::FindCoordinator(request) => {
                call!(FindCoordinator, ClientResponse, request, FindCoordinatorRequest, any)
            }
            ClientRequest::Heartbeat(request) => {
                call!(Heartbeat, ClientResponse, request, ShareGroupHeartbeatRequest, any)
            }
            ClientRequest::ShareFetch(request) => call!(ShareFetch, ClientResponse, request, ShareFetchRequest, any),
            ClientRequest::ShareAcknowledge(request) => {
                call!(ShareAcknowledge, ClientResponse, request, ShareAcknowledgeRequest, any)
            }
        };
        let role = match to {
            Destination::Any => Role::Any(self.any_node(world)),
            Destination::Coordinator(address) => Role::Coordinator(address.node),
            Destination::Session(address) | Destination::Leader(address) => Role::Session(address.node),
        };
        self.call(world, role, frame, version, Whose::Consumer(id, read));
    }

    /// Sends a request of the producer's transactions. Some workers crash at the end of one.
    pub(crate) fn ask_for_producer(
        &mut self,
        world: &mut World,
        id: RequestId,
        to: &Destination,
        request: &TransactionRequest,
        versions: &RangeInclusive<i16>,
    ) {
        use TransactionRequest as Of;
        let (frame, version, read) = match request {
            Of::FindCoordinator(request) => {
                call!(FindCoordinator, TransactionResponse, request, FindCoordinatorRequest, versions)
            }
            Of::InitProducerId(request) => {
                call!(InitProducerId, TransactionResponse, request, InitProducerIdRequest, versions)
            }
            Of::AddPartitionsToTxn(request) => {
                call!(AddPartitionsToTxn, TransactionResponse, request, AddPartitionsToTxnRequest, versions)
            }
            Of::AddOffsetsToTxn(request) => {
                call!(AddOffsetsToTxn, TransactionResponse, request, AddOffsetsToTxnRequest, versions)
            }
            Of::TxnOffsetCommit(request) => {
                call!(TxnOffsetCommit, TransactionResponse, request, TxnOffsetCommitRequest, versions)
            }
            Of::EndTxn(request) => call!(EndTxn, TransactionResponse, request, EndTxnRequest, versions),
            Of::TxnShareAcknowledge(request) => {
                call!(TxnShareAcknowledge, TransactionResponse, request, TxnShareAcknowledgeRequest, versions)
            }
        };
        let ends = matches!(request, Of::EndTxn(_)) && world.is_active() && world.random.percent(world.plan.crashes);
        if ends && world.random.percent(50) {
            world.count("crashes_before_end");
            self.has_crashed = true;
            return;
        }
        let role = match to {
            Destination::Any => Role::Producer(self.any_node(world)),
            Destination::Coordinator(address) | Destination::Session(address) | Destination::Leader(address) => {
                Role::Producer(address.node)
            }
        };
        self.call(world, role, frame, version, Whose::Transaction(id, read));
        if ends {
            world.count("crashes_behind_end");
            self.has_crashed = true;
        }
    }

    pub(crate) fn produce(&mut self, world: &mut World, leader: Option<i32>, partition: i32, request: &ProduceRequest) {
        let version = ProduceRequest::NEWEST_STABLE;
        let frame = encode(request, version);
        // Nobody listens there.
        let node = leader.unwrap_or(0);
        self.call(world, Role::Producer(node), frame, version, Whose::Batch(partition));
    }

    fn any_node(&self, world: &mut World) -> i32 {
        let nodes = world.cluster.node_ids();
        world.random.pick(&nodes)
    }

    fn call(&mut self, world: &mut World, role: Role, frame: Bytes, version: i16, whose: Whose) {
        self.calls.last += 1;
        let call = Call { id: self.calls.last, whose, version, producer: self.calls.producer };
        let (Role::Any(node) | Role::Coordinator(node) | Role::Session(node) | Role::Producer(node)) = role;
        let link = match self.calls.links.get(&role) {
            Some(link) => Some(*link),
            None => world.connect(self.index, self.life, node),
        };
        let Some(link) = link else {
            self.calls.unsent.insert(call.id, call);
            let delay = world.random.micros(100, 20_000);
            return world
                .after(delay, What::Worker { worker: self.index, life: self.life, step: Step::Failed(call.id) });
        };
        self.calls.links.insert(role, link);
        self.calls.under_way.entry(link).or_default().push_back(call);
        if let Whose::Batch(partition) = whose {
            self.writer.was_sent(partition);
        }
        world.send(link, Packet::Request(frame));
        world.after(world.plan.request_timeout, What::TimedOut(link, call.id));
    }

    pub(crate) fn answered(&mut self, world: &mut World, link: u64, frame: Bytes) {
        let Some(call) = self.calls.under_way.get_mut(&link).and_then(VecDeque::pop_front) else { return };
        let is_current = call.producer == self.calls.producer;
        match call.whose {
            Whose::Consumer(id, read) => {
                self.consumer.handle_response(world.now, id, Ok(read(frame, call.version)));
            }
            Whose::Transaction(id, read) if is_current => {
                self.producer.handle_response(world.now, id, Ok(read(frame, call.version)));
            }
            Whose::Batch(partition) if is_current => {
                self.produced(world, partition, Some(decode::<ProduceRequest>(frame, call.version)));
            }
            Whose::Transaction(..) | Whose::Batch(_) => {}
        }
    }

    fn fail(&mut self, world: &mut World, call: Call, failure: RequestFailure) {
        let is_current = call.producer == self.calls.producer;
        match call.whose {
            Whose::Consumer(id, _) => self.consumer.handle_response(world.now, id, Err(failure)),
            Whose::Transaction(id, _) if is_current => self.producer.handle_response(world.now, id, Err(failure)),
            Whose::Batch(partition) if is_current => self.produced(world, partition, None),
            Whose::Transaction(..) | Whose::Batch(_) => {}
        }
    }

    /// A call that could not be sent.
    pub(crate) fn call_failed(&mut self, world: &mut World, call: u64) {
        if let Some(call) = self.calls.unsent.remove(&call) {
            self.fail(world, call, RequestFailure::Unreachable);
        }
    }

    /// A connection has ended, and with it what was asked over it.
    pub(crate) fn disconnected(&mut self, world: &mut World, link: u64) {
        self.link_ended(world, link, None);
    }

    fn link_ended(&mut self, world: &mut World, link: u64, timed_out: Option<u64>) {
        let Some(role) = self.calls.links.iter().find(|(_, open)| **open == link).map(|(role, _)| *role) else {
            return;
        };
        trace!(world, "w{} loses c{link}: {role:?}", self.index);
        self.calls.links.remove(&role);
        if let Role::Session(node) = role {
            self.consumer.handle_disconnect(world.now, node);
        }
        for call in self.calls.under_way.remove(&link).unwrap_or_default() {
            let failure =
                if timed_out == Some(call.id) { RequestFailure::TimedOut } else { RequestFailure::Disconnected };
            self.fail(world, call, failure);
        }
    }

    /// A call has had its time: the connection is closed.
    pub(crate) fn timed_out(&mut self, world: &mut World, link: u64, call: u64) {
        if self.calls.under_way.get(&link).is_some_and(|calls| calls.iter().any(|waits| waits.id == call)) {
            world.closed_by_worker(link);
            self.link_ended(world, link, Some(call));
        }
    }
}

impl World {
    pub(crate) fn timed_out(&mut self, link: u64, call: u64) {
        if let Some((worker, life)) = self.net.owner(link) {
            self.with_worker(worker, life, |worker, world| worker.timed_out(world, link, call));
        }
    }
}
