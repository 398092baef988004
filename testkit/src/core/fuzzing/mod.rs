//! Sequences of what clients of any kind, and whoever runs the cluster, do to it.

mod consumers;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use ackflow_protocol::for_each_api;
use ackflow_protocol::fuzzing::{Input, LONGEST_INPUT, OPERATIONS, OUTPUTS};
use ackflow_protocol::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use ackflow_protocol::messages::share_acknowledge::{
    self, AcknowledgePartition, AcknowledgeTopic, ShareAcknowledgeRequest,
};
use ackflow_protocol::messages::share_fetch::{self, FetchPartition, FetchTopic, ForgottenTopic, ShareFetchRequest};
use ackflow_protocol::messages::share_group_heartbeat::{ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse};
use ackflow_protocol::valid::{ValidRecords, ValidRequest};
use ackflow_protocol::wire::{ApiKey, ErrorCode, Message, Request, RequestHeader, Uuid, decode_response};
use bytes::Bytes;

use super::dispatch::served;
use super::{
    Answer, Cluster, ClusterOptions, ConnectionId, FaultAction, FaultRule, NodeOptions, Output, RecordEvent,
    ShareRecordState,
};
use consumers::Reader;

const TOPIC: &str = "topic";
const GROUP: &str = "group";

/// APIs whose requests come damaged.
const DAMAGED: &[ApiKey] = &[ApiKey::SHARE_FETCH, ApiKey::SHARE_ACKNOWLEDGE, ApiKey::PRODUCE, ApiKey::FETCH];

/// Members and connections, one each.
const MEMBERS: usize = 3;

/// Target `cluster`: each byte chooses an operation: a client sends bytes that are no request, a valid request of any API,
/// or one that a member of a share group sends; connections end, time passes, nodes die, leaders move, faults come.
/// `start` is any instant.
///
/// # Panics
/// Where an answer is no response to the request, or comes for a connection that waits for none; where the cluster never
/// has nothing to do, or a deadline has passed and was not acted on; where states of records overlap, or a lock that has
/// ended is held; or where a record that is finished with for a group is acquired or finished with again.
pub fn cluster(start: Instant, data: &[u8]) {
    let mut input = Input::new(&data[..data.len().min(LONGEST_INPUT)]);
    let mut world = World::new(start, &mut input);
    for _ in 0..OPERATIONS {
        if input.is_empty() {
            break;
        }
        world.operate(&mut input);
        world.drain();
    }
}

/// A client's side of a connection.
struct Client {
    connection: ConnectionId,
    node: i32,
    /// The request that waits for its answer.
    waits: Option<RequestHeader>,
    /// The epoch of the next request of the share session.
    epoch: i32,
    member_epoch: i32,
    /// What it is besides a member of a share group.
    reader: Reader,
}

struct World {
    cluster: Cluster,
    now: Instant,
    clients: Vec<Client>,
    next_connection: u64,
    /// Records that are finished with, by topic and partition.
    finished: BTreeSet<(Uuid, i32, i64)>,
}

fn member(client: usize) -> String {
    format!("member-{client}")
}

impl World {
    fn new(now: Instant, input: &mut Input<'_>) -> Self {
        let mut options = ClusterOptions::new(now, 1_000_000);
        options.nodes = (0..1 + input.below(3) as u16).map(|node| NodeOptions::local(9_092 + node)).collect();
        options.topics = vec![(TOPIC.to_owned(), 3)];
        let earliest = ("share.auto.offset.reset".to_owned(), "earliest".to_owned());
        options.group_configs.insert(GROUP.to_owned(), BTreeMap::from([earliest]));
        let mut cluster = Cluster::new(options).expect("options that are allowed");
        cluster.keep_history();
        let client = |index| Client {
            connection: ConnectionId(index),
            node: 0,
            waits: None,
            epoch: 0,
            member_epoch: 0,
            reader: Reader::default(),
        };
        let clients = (0..MEMBERS as u64).map(client).collect();
        let mut world = Self { cluster, now, clients, next_connection: MEMBERS as u64, finished: BTreeSet::new() };
        for client in 0..MEMBERS {
            world.connect(client, 1);
        }
        world
    }

    fn connect(&mut self, client: usize, node: i32) {
        let connection = ConnectionId(self.next_connection);
        self.next_connection += 1;
        let is_running = self.cluster.connected(connection, node, IpAddr::V4(Ipv4Addr::LOCALHOST));
        assert_eq!(is_running, self.cluster.is_running(node));
        let client = &mut self.clients[client];
        (client.connection, client.node, client.waits, client.epoch) = (connection, node, None, 0);
        client.reader.disconnected();
    }

    fn operate(&mut self, input: &mut Input<'_>) {
        let client = input.below(MEMBERS);
        match input.below(24) {
            0 | 1 => self.heartbeat(client, input),
            2..=4 => self.fetch(client, input),
            5 | 6 => self.acknowledge(client, input),
            7 | 8 => self.produce(client, input),
            9 => {
                let time = input.pick(&[1, 20, 500, 5_000, 31_000, 100_000]);
                self.sleep(Duration::from_millis(time));
            }
            10 => {
                self.cluster.disconnected(self.now, self.clients[client].connection);
                self.connect(client, 1 + input.below(4) as i32);
            }
            11 => self.send_bytes(client, input),
            12 | 13 => {
                let apis: Vec<ApiKey> = served().map(|(key, _)| key).collect();
                let request = ValidRequest::choose(&apis, input);
                self.handle(client, request.header, request.body);
            }
            14 => self.run_cluster(input),
            16.. => self.consume(client, input),
            _ => self.send_damaged(client, input),
        }
    }

    /// What is no request, or one of any API.
    fn send_bytes(&mut self, client: usize, input: &mut Input<'_>) {
        let key = if input.once_in(8) { input.number() as i16 } else { input.byte().into() };
        let header = RequestHeader {
            request_api_key: ApiKey(key),
            request_api_version: input.number() as i16,
            correlation_id: input.number() as i32,
            client_id: None,
        };
        let length = usize::from(input.byte());
        let body = Bytes::copy_from_slice(input.bytes(length));
        self.handle(client, header, body);
    }

    /// A valid request with a few bytes changed.
    fn send_damaged(&mut self, client: usize, input: &mut Input<'_>) {
        let request = ValidRequest::choose(DAMAGED, input);
        let mut body = request.body.to_vec();
        for _ in 0..=input.below(4) {
            let at = usize::from(input.byte()) % body.len().max(1);
            if let Some(byte) = body.get_mut(at) {
                *byte = input.byte();
            }
        }
        self.handle(client, request.header, body.into());
    }

    fn heartbeat(&mut self, client: usize, input: &mut Input<'_>) {
        let epoch = self.clients[client].member_epoch;
        let epoch = input.pick(&[epoch, epoch, epoch, epoch, 0, -1, epoch.wrapping_add(1)]);
        let request = ShareGroupHeartbeatRequest {
            group_id: GROUP.to_owned(),
            member_id: member(client),
            member_epoch: epoch,
            rack_id: None,
            subscribed_topic_names: (epoch == 0).then(|| vec![TOPIC.to_owned()]),
        };
        self.request(client, &request);
    }

    fn topic_id(&self, input: &mut Input<'_>) -> Uuid {
        if input.once_in(16) { Uuid([1; 16]) } else { self.cluster.topic_id(TOPIC).unwrap_or_default() }
    }

    /// The session's epoch, or one that is wrong.
    fn session_epoch(&self, client: usize, input: &mut Input<'_>) -> i32 {
        let epoch = self.clients[client].epoch;
        if input.once_in(16) { input.pick(&[0, -1, epoch.wrapping_add(1), i32::MAX]) } else { epoch }
    }

    fn fetch(&mut self, client: usize, input: &mut Input<'_>) {
        let topic_id = self.topic_id(input);
        let epoch = self.session_epoch(client, input);
        let mut partitions = Vec::new();
        for partition_index in 0..input.pick(&[3, 1, 2, 0, 4]) {
            let mut acknowledgement_batches = Vec::new();
            if epoch > 0 && input.once_in(2) {
                for (first_offset, last_offset, acknowledge_types) in acknowledgements(input) {
                    let batch = share_fetch::AcknowledgementBatch { first_offset, last_offset, acknowledge_types };
                    acknowledgement_batches.push(batch);
                }
            }
            partitions.push(FetchPartition { partition_index, acknowledgement_batches });
        }
        let forgotten = ForgottenTopic { topic_id, partitions: vec![input.below(4) as i32] };
        let request = ShareFetchRequest {
            group_id: Some(GROUP.to_owned()),
            member_id: Some(member(client)),
            share_session_epoch: epoch,
            max_wait_ms: input.pick(&[0, 0, 500, -1, i32::MAX]),
            min_bytes: input.pick(&[1, 0, -1, 10_000]),
            max_bytes: input.pick(&[i32::MAX, 1, 0, -1, 100]),
            max_records: input.pick(&[500, 1, 10, 0, -1, i32::MAX]),
            batch_size: input.pick(&[500, 1, 0, -1, i32::MAX]),
            share_acquire_mode: input.pick(&[0, 1, 0, 1, 2]),
            is_renew_ack: input.once_in(4),
            topics: vec![FetchTopic { topic_id, partitions }],
            forgotten_topics_data: if input.once_in(8) { vec![forgotten] } else { Vec::new() },
        };
        self.request(client, &request);
        self.clients[client].epoch = epoch.wrapping_add(1).max(0);
    }

    fn acknowledge(&mut self, client: usize, input: &mut Input<'_>) {
        let topic_id = self.topic_id(input);
        let epoch = self.session_epoch(client, input);
        let mut partitions = Vec::new();
        for _ in 0..=input.below(2) {
            let partition_index = input.below(4) as i32;
            let batches = acknowledgements(input).into_iter();
            let batch = |(first_offset, last_offset, acknowledge_types)| share_acknowledge::AcknowledgementBatch {
                first_offset,
                last_offset,
                acknowledge_types,
            };
            partitions
                .push(AcknowledgePartition { partition_index, acknowledgement_batches: batches.map(batch).collect() });
        }
        let request = ShareAcknowledgeRequest {
            group_id: Some(GROUP.to_owned()),
            member_id: Some(member(client)),
            share_session_epoch: epoch,
            is_renew_ack: input.once_in(4),
            topics: vec![AcknowledgeTopic { topic_id, partitions }],
        };
        self.request(client, &request);
        self.clients[client].epoch = epoch.wrapping_add(1).max(0);
    }

    fn produce(&mut self, client: usize, input: &mut Input<'_>) {
        let index = input.below(4) as i32;
        let ValidRecords(records) = ValidRecords::choose(input);
        if input.once_in(4) {
            // What cannot be appended is an error, and no harm.
            let _ = self.cluster.append_raw(self.now, TOPIC, index, records);
            return;
        }
        let topic = TopicProduceData {
            name: TOPIC.to_owned(),
            topic_id: self.topic_id(input),
            partition_data: vec![PartitionProduceData { index, records: Some(records) }],
        };
        let acks = input.pick(&[-1, 1, 0, 2]);
        let request = ProduceRequest { transactional_id: None, acks, timeout_ms: 1_000, topic_data: vec![topic] };
        self.request(client, &request);
    }

    /// What whoever runs the cluster does.
    fn run_cluster(&mut self, input: &mut Input<'_>) {
        let (now, node, partition) = (self.now, 1 + input.below(3) as i32, input.below(4) as i32);
        // What cannot be done is an error, and no harm.
        match input.below(10) {
            0 => _ = self.cluster.move_leader(now, TOPIC, partition, node),
            1 => _ = self.cluster.move_coordinator(now, GROUP, node),
            2 => {
                let noticed_after = Duration::from_millis(input.pick(&[0, 1_000]));
                _ = self.cluster.kill_node(now, node, noticed_after);
            }
            3 => _ = self.cluster.start_node(now, node),
            4 => self.cluster.elect_preferred_leaders(now),
            5 => self.cluster.expire_group_locks(now, GROUP),
            6 if input.once_in(4) => _ = self.cluster.delete_topic(now, TOPIC),
            7 => _ = self.cluster.create_topic(TOPIC, input.pick(&[3, 1, 0, -1, i32::MAX])),
            8 => _ = self.cluster.create_partitions(TOPIC, input.pick(&[4, 1, 0, i32::MAX])),
            9 => {
                let time = Duration::from_millis(input.pick(&[10, 1_000]));
                let action = input.pick(&[
                    FaultAction::Refuse(ErrorCode::UNKNOWN_SERVER_ERROR),
                    FaultAction::RefusePartitions(ErrorCode::KAFKA_STORAGE_ERROR),
                    FaultAction::RefuseAcknowledgements(ErrorCode::INVALID_RECORD_STATE),
                    FaultAction::DelayRequest(time),
                    FaultAction::DelayAnswer(time),
                    FaultAction::Ignore,
                    FaultAction::CutBefore,
                    FaultAction::CutAfter,
                    FaultAction::CutHalfway,
                    FaultAction::Throttle(time),
                ]);
                self.cluster.clear_faults();
                self.cluster.add_fault(FaultRule::new(action).times(2));
            }
            _ => {}
        }
    }

    fn request<R: Request>(&mut self, client: usize, request: &R) {
        self.request_version(client, R::NEWEST_STABLE, request);
    }

    fn request_version<R: Request>(&mut self, client: usize, version: i16, request: &R) {
        let Ok(body) = request.to_bytes(version) else { return };
        let header = RequestHeader {
            request_api_key: R::KEY,
            request_api_version: version,
            correlation_id: 7,
            client_id: Some("client".to_owned()),
        };
        self.handle(client, header, body);
    }

    fn handle(&mut self, index: usize, header: RequestHeader, body: Bytes) {
        let client = &mut self.clients[index];
        if client.waits.is_some() {
            return;
        }
        match self.cluster.handle(self.now, client.connection, &header, body) {
            Answer::Reply(frame) => self.hear(index, &header, frame),
            Answer::Parked => client.waits = Some(header),
            Answer::Silent => assert_eq!(header.request_api_key, ApiKey::PRODUCE),
            Answer::Cut(_) | Answer::Close(_) => {
                let node = client.node.max(1);
                self.connect(index, node);
            }
        }
    }

    /// A whole answer, which must be a response to the request.
    fn hear(&mut self, client: usize, header: &RequestHeader, frame: Bytes) {
        let (size, rest) = frame.split_first_chunk().expect("a frame has a size");
        assert_eq!(u32::from_be_bytes(*size) as usize, rest.len(), "not the size of the frame");
        let rest = frame.slice(4..);
        if header.request_api_key == ApiKey::SHARE_GROUP_HEARTBEAT {
            let heartbeat: ShareGroupHeartbeatResponse = response(header, rest);
            self.clients[client].member_epoch = heartbeat.member_epoch.max(0);
            return;
        }
        let reader = &mut self.clients[client].reader;
        match header.request_api_key {
            ApiKey::CONSUMER_GROUP_HEARTBEAT => return reader.hear_heartbeat(response(header, rest)),
            ApiKey::JOIN_GROUP => return reader.hear_join(response(header, rest)),
            ApiKey::FETCH => return reader.hear_fetch(&response(header, rest)),
            ApiKey::INIT_PRODUCER_ID => return reader.hear_init(&response(header, rest)),
            ApiKey::END_TXN => return reader.hear_end(&response(header, rest)),
            _ => {}
        }
        macro_rules! of_api {
            ($($name:ident($request:ty, $response:ty)),* $(,)?) => {
                match header.request_api_key {
                    $(<$request>::KEY => drop(response::<$response>(header, rest)),)*
                    key => panic!("an answer to {key}"),
                }
            };
        }
        for_each_api!(of_api);
    }

    /// Lets time pass, waking the cluster as it wants.
    fn sleep(&mut self, time: Duration) {
        let end = self.now + time;
        for _ in 0..OUTPUTS {
            let Some(deadline) = self.cluster.next_deadline().filter(|deadline| *deadline <= end) else { break };
            self.now = self.now.max(deadline);
            self.drain();
        }
        self.now = end;
    }

    fn drain(&mut self) {
        for _ in 0..OUTPUTS {
            let Some(output) = self.cluster.poll(self.now) else {
                let deadline = self.cluster.next_deadline();
                assert!(deadline.is_none_or(|at| at > self.now), "a deadline has passed and was not acted on");
                return self.check();
            };
            let (Output::Reply(connection, _)
            | Output::Silent(connection)
            | Output::Cut(connection, _)
            | Output::Close(connection, _)) = output;
            let client = self.clients.iter().position(|client| client.connection == connection);
            let client = client.expect("an answer on a connection that there is");
            let waits = self.clients[client].waits.take();
            match output {
                Output::Reply(_, frame) => self.hear(client, &waits.expect("an answer to a request"), frame),
                Output::Silent(_) => assert!(waits.is_some_and(|header| header.request_api_key == ApiKey::PRODUCE)),
                Output::Cut(..) | Output::Close(..) => self.connect(client, 1),
            }
        }
        panic!("the cluster always has something to do");
    }

    fn check(&mut self) {
        self.check_consumers();
        for change in self.cluster.take_history() {
            if &*change.group != GROUP {
                continue;
            }
            let ends = match change.change.what {
                RecordEvent::Accepted | RecordEvent::Gap | RecordEvent::Rejected => true,
                RecordEvent::Failed { archived, .. } => archived,
                RecordEvent::Acquired | RecordEvent::Renewed | RecordEvent::Forgotten => false,
                #[cfg(feature = "unstable-kip-1289")]
                RecordEvent::Staged => false,
            };
            for offset in change.change.first..=change.change.last {
                let record = (change.topic_id, change.partition, offset);
                assert!(!self.finished.contains(&record), "{change:?}, and {offset} is finished with");
                if ends {
                    self.finished.insert(record);
                }
            }
        }
        for partition in 0..4 {
            let mut next = 0;
            for records in self.cluster.share_records(GROUP, TOPIC, partition) {
                assert!(next <= records.first && records.first <= records.last, "{records:?} at {next}");
                next = records.last + 1;
                if let ShareRecordState::Acquired { deadline, .. } = records.state {
                    assert!(deadline > self.now, "the lock of {records:?} has ended");
                }
            }
            assert!(self.cluster.group_lag(GROUP, TOPIC, partition).is_none_or(|lag| lag >= 0));
        }
    }
}

/// Reads an answer.
fn response<M: Message>(header: &RequestHeader, frame: Bytes) -> M {
    // ApiVersions is answered in version 0 where it was asked in one that is not known.
    let version = header.request_api_version;
    let version = if M::VERSIONS.contains(&version) { version } else { 0 };
    let (answered, response) = decode_response(frame, version).expect("an answer that can be read");
    assert_eq!(answered.correlation_id, header.correlation_id);
    response
}

/// Ranges with types, which may make no sense.
fn acknowledgements(input: &mut Input<'_>) -> Vec<(i64, i64, Vec<i8>)> {
    let mut batches = Vec::new();
    for _ in 0..=input.below(3) {
        let first = if input.once_in(16) { input.number() } else { i64::from(input.byte() % 32) };
        let length = if input.once_in(16) { input.number() } else { i64::from(input.byte() % 8) };
        let types = input.pick(&[1, 1, 1, length.clamp(0, 16) as usize + 1, 0, 2]);
        let types = (0..types).map(|_| input.pick(&[1, 2, 3, 4, 0, 1, 2, 5, -1])).collect();
        batches.push((first, first.saturating_add(length), types));
    }
    batches
}
