//! A broker in virtual time, and members that talk to it.

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use ackflow_protocol::messages::share_acknowledge::{
    self, AcknowledgePartition, AcknowledgeTopic, ShareAcknowledgeRequest, ShareAcknowledgeResponse,
};
use ackflow_protocol::messages::share_fetch::{
    self, FetchPartition, FetchTopic, ForgottenTopic, ShareFetchRequest, ShareFetchResponse,
};
use ackflow_protocol::records::{BatchBuilder, BatchOptions, Batches};
use ackflow_protocol::wire::{
    ApiKey, ErrorCode, Request, Uuid, decode_request_header, decode_response, encode_request, frame::SIZE_LENGTH,
};
use bytes::Bytes;

use crate::core::{Answer, Cluster, ClusterOptions, ConnectionId, NodeOptions, Output, Users};

/// The wall clock at the start, in ms.
pub(super) const STARTED_MS: i64 = 1_700_000_000_000;

/// The topic that every rig has, with three partitions.
pub(super) const TOPIC: &str = "orders";
/// The group whose members most tests are about; it starts at the earliest record.
pub(super) const GROUP: &str = "billing";

/// A broker and its clock.
pub(super) struct Rig {
    pub(super) cluster: Cluster,
    pub(super) now: Instant,
}

impl Rig {
    pub(super) fn new() -> Self {
        Self::with(&[], &[])
    }

    /// A rig with broker settings, and with settings of [`GROUP`].
    pub(super) fn with(configs: &[(&str, &str)], group: &[(&str, &str)]) -> Self {
        Self::with_nodes(1, configs, group)
    }

    /// A rig of several nodes, from 1 on, on ports from 9092 on. Partition 0 is led by node 1.
    pub(super) fn with_nodes(nodes: u16, configs: &[(&str, &str)], group: &[(&str, &str)]) -> Self {
        Self::of(nodes, configs, group, None)
    }

    /// A rig whose clients have to prove who they are, and its settings.
    pub(super) fn with_users(users: &[(&str, &str)], configs: &[(&str, &str)]) -> Self {
        let mut known = Users::default();
        users.iter().for_each(|(user, password)| known.add(*user, *password));
        Self::of(1, configs, &[], Some(known))
    }

    fn of(nodes: u16, configs: &[(&str, &str)], group: &[(&str, &str)], sasl: Option<Users>) -> Self {
        let pairs = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let now = Instant::now();
        let mut options = ClusterOptions::new(now, STARTED_MS);
        options.nodes = (1..=nodes).map(|node| NodeOptions::local(9091 + node)).collect();
        options.topics = vec![(TOPIC.to_owned(), 3)];
        options.configs = pairs(configs);
        options.sasl = sasl;
        let mut values: std::collections::BTreeMap<String, String> = pairs(group);
        values.entry("share.auto.offset.reset".to_owned()).or_insert_with(|| "earliest".to_owned());
        options.group_configs.insert(GROUP.to_owned(), values);
        Self { cluster: Cluster::new(options).unwrap(), now }
    }

    /// A rig of several nodes at another level of `share.version`.
    #[cfg(feature = "unstable-kip-1289")]
    pub(super) fn at_share_version(level: i16, nodes: u16, group: &[(&str, &str)]) -> Self {
        let mut rig = Self::with_nodes(nodes, &[], group);
        rig.cluster.share_version = level;
        rig
    }

    pub(super) fn topic_id(&self, name: &str) -> Uuid {
        self.cluster.topics.by_name(name).unwrap().id
    }

    pub(super) fn advance(&mut self, by: Duration) {
        self.now += by;
    }

    /// Sends a request and gives what becomes of it.
    pub(super) fn send<R: Request>(&mut self, connection: u64, version: i16, request: &R) -> Answer {
        let connection = self.connect(connection);
        self.send_on(connection, version, request)
    }

    /// The connection of this number, made where it is not there.
    pub(super) fn connect(&mut self, connection: u64) -> ConnectionId {
        let connection = ConnectionId(connection);
        if !self.cluster.connections.contains_key(&connection) {
            self.cluster.connected(connection, node_of(connection), IpAddr::V4(Ipv4Addr::LOCALHOST));
        }
        connection
    }

    /// As [`send`](Self::send), on a connection that may have ended.
    pub(super) fn send_on<R: Request>(&mut self, connection: ConnectionId, version: i16, request: &R) -> Answer {
        let frame = encode_request(request, version, 7, Some("rig")).unwrap();
        let (header, body) = decode_request_header(frame.slice(SIZE_LENGTH..), ApiKey::request_is_flexible).unwrap();
        self.cluster.handle(self.now, connection, &header, body)
    }

    /// Sends a request that is answered at once.
    pub(super) fn call<R: Request>(&mut self, connection: u64, request: &R) -> R::Response {
        self.call_version(connection, R::NEWEST_STABLE, request)
    }

    pub(super) fn call_version<R: Request>(&mut self, connection: u64, version: i16, request: &R) -> R::Response {
        match self.send(connection, version, request) {
            Answer::Reply(frame) => decode::<R>(frame, version),
            other => panic!("{} was not answered: {other:?}", R::NAME),
        }
    }

    /// What was fetched by a parked fetch that has become ready: connection and summary.
    pub(super) fn ready(&mut self) -> Option<(u64, String)> {
        match self.cluster.poll(self.now)? {
            Output::Reply(connection, frame) => Some((connection.0, summary(&decode::<ShareFetchRequest>(frame, 2)))),
            closed => panic!("{closed:?}"),
        }
    }

    /// Goes on to the next thing that is due, and gives how long that took.
    pub(super) fn next(&mut self) -> Duration {
        let deadline = self.cluster.next_deadline().expect("something is due");
        let waited = deadline - self.now;
        self.now = deadline;
        waited
    }

    /// Appends a batch of `records` records.
    pub(super) fn produce(&mut self, partition: i32, records: usize) -> i64 {
        self.cluster.produce(self.now, TOPIC, partition, &batch(records, STARTED_MS)).unwrap()
    }

    pub(super) fn lag(&self, partition: i32) -> Option<i64> {
        self.cluster.group_lag(GROUP, TOPIC, partition)
    }

    /// Ends a connection.
    pub(super) fn disconnect(&mut self, connection: u64) {
        self.cluster.disconnected(self.now, ConnectionId(connection));
    }
}

/// The node that a connection leads to: 1 below 200, then the hundreds.
fn node_of(connection: ConnectionId) -> i32 {
    i32::try_from(connection.0 / 100).unwrap().max(1)
}

/// A producer's batch.
pub(super) fn batch(records: usize, timestamp: i64) -> Bytes {
    let mut builder = BatchBuilder::new(BatchOptions { max_size: usize::MAX, ..BatchOptions::default() });
    for record in 0..records {
        builder.try_append(timestamp, None, Some(format!("value {record}").as_bytes()), []).unwrap();
    }
    builder.build().unwrap()
}

pub(super) fn decode<R: Request>(frame: Bytes, version: i16) -> R::Response {
    decode_response::<R::Response>(frame.slice(SIZE_LENGTH..), version).unwrap().1
}

/// A member with a share session of its own.
pub(super) struct Member {
    pub(super) connection: u64,
    pub(super) group: String,
    pub(super) id: String,
    pub(super) epoch: i32,
    topic: Uuid,
    added: Vec<i32>,
}

impl Member {
    /// A member of [`GROUP`] that will fetch `partitions` of [`TOPIC`].
    pub(super) fn new(rig: &Rig, id: &str, connection: u64, partitions: &[i32]) -> Self {
        Self::new_for(rig.topic_id(TOPIC), id, connection, partitions)
    }

    /// A member of [`GROUP`] that will fetch `partitions` of `topic`.
    pub(super) fn new_for(topic: Uuid, id: &str, connection: u64, partitions: &[i32]) -> Self {
        let (group, id) = (GROUP.to_owned(), id.to_owned());
        Self { connection, group, id, epoch: 0, topic, added: partitions.to_vec() }
    }

    /// The next fetch of the session: up to `records` records, without waiting.
    pub(super) fn request(&mut self, records: i32) -> ShareFetchRequest {
        let partitions: Vec<FetchPartition> = std::mem::take(&mut self.added)
            .into_iter()
            .map(|partition_index| FetchPartition { partition_index, ..FetchPartition::default() })
            .collect();
        let epoch = self.epoch;
        self.epoch += 1;
        ShareFetchRequest {
            group_id: Some(self.group.clone()),
            member_id: Some(self.id.clone()),
            share_session_epoch: epoch,
            max_wait_ms: 0,
            min_bytes: 1,
            max_bytes: 50 << 20,
            max_records: records,
            batch_size: records,
            topics: if partitions.is_empty() {
                Vec::new()
            } else {
                vec![FetchTopic { topic_id: self.topic, partitions }]
            },
            ..ShareFetchRequest::default()
        }
    }

    /// Fetches up to `records` records that are there.
    pub(super) fn fetch(&mut self, rig: &mut Rig, records: i32) -> String {
        let request = self.request(records);
        self.send(rig, &request)
    }

    /// Fetches exactly `records` records at most.
    pub(super) fn fetch_limited(&mut self, rig: &mut Rig, records: i32) -> String {
        let request = ShareFetchRequest { share_acquire_mode: 1, ..self.request(records) };
        self.send(rig, &request)
    }

    pub(super) fn send(&mut self, rig: &mut Rig, request: &ShareFetchRequest) -> String {
        summary(&rig.call(self.connection, request))
    }

    /// Fetches and waits up to `wait` for records; `None` where it has to wait.
    pub(super) fn fetch_waiting(&mut self, rig: &mut Rig, wait: Duration) -> Option<String> {
        let max_wait_ms = i32::try_from(wait.as_millis()).unwrap();
        let request = ShareFetchRequest { max_wait_ms, ..self.request(500) };
        match rig.send(self.connection, 2, &request) {
            Answer::Reply(frame) => Some(summary(&decode::<ShareFetchRequest>(frame, 2))),
            Answer::Parked => None,
            other => panic!("not answered: {other:?}"),
        }
    }

    /// The next fetch, with acknowledgements of partition 0: first, last, type.
    pub(super) fn request_with(&mut self, records: i32, acks: &[(i64, i64, i8)]) -> ShareFetchRequest {
        let mut request = self.request(records);
        let acknowledgement_batches = acks
            .iter()
            .map(|&(first_offset, last_offset, kind)| share_fetch::AcknowledgementBatch {
                first_offset,
                last_offset,
                acknowledge_types: vec![kind],
            })
            .collect();
        request.topics = vec![FetchTopic {
            topic_id: self.topic,
            partitions: vec![FetchPartition { partition_index: 0, acknowledgement_batches }],
        }];
        request
    }

    /// Takes a partition out of the session.
    pub(super) fn forget(&mut self, rig: &mut Rig, partition: i32) {
        let topic_id = self.topic;
        let forgotten_topics_data = vec![ForgottenTopic { topic_id, partitions: vec![partition] }];
        let request = ShareFetchRequest { forgotten_topics_data, ..self.request(0) };
        self.send(rig, &request);
    }

    /// The next acknowledgement of a partition: first, last, types.
    pub(super) fn acknowledgement(&mut self, partition: i32, acks: &[(i64, i64, &[i8])]) -> ShareAcknowledgeRequest {
        let epoch = self.epoch;
        self.epoch += 1;
        let acknowledgement_batches = acks
            .iter()
            .map(|&(first_offset, last_offset, types)| share_acknowledge::AcknowledgementBatch {
                first_offset,
                last_offset,
                acknowledge_types: types.to_vec(),
            })
            .collect();
        ShareAcknowledgeRequest {
            group_id: Some(self.group.clone()),
            member_id: Some(self.id.clone()),
            share_session_epoch: epoch,
            is_renew_ack: acks.iter().any(|(_, _, types)| types.contains(&4)),
            topics: vec![AcknowledgeTopic {
                topic_id: self.topic,
                partitions: vec![AcknowledgePartition { partition_index: partition, acknowledgement_batches }],
            }],
        }
    }

    /// Acknowledges one range of partition 0 with one type.
    pub(super) fn ack(&mut self, rig: &mut Rig, first: i64, last: i64, kind: i8) -> ErrorCode {
        self.ack_all(rig, &[(first, last, &[kind])])
    }

    /// Acknowledges ranges of partition 0; gives the partition's error.
    pub(super) fn ack_all(&mut self, rig: &mut Rig, acks: &[(i64, i64, &[i8])]) -> ErrorCode {
        let request = self.acknowledgement(0, acks);
        partition_error(&rig.call(self.connection, &request))
    }

    /// Closes the session.
    pub(super) fn close(&mut self, rig: &mut Rig) -> String {
        let request = ShareFetchRequest { share_session_epoch: -1, topics: Vec::new(), ..self.request(0) };
        self.send(rig, &request)
    }
}

/// The error of the only partition of an answer without an error of its own.
pub(super) fn partition_error(response: &ShareAcknowledgeResponse) -> ErrorCode {
    assert_eq!(response.error_code, ErrorCode::NONE);
    response.responses[0].partitions[0].error_code
}

/// A fetch response in short: `0[5-9x2]` is partition 0, offsets 5 to 9 acquired for the second time; `!` a fetch error,
/// `?` an error of acknowledgements, a bare code the error of the whole request.
pub(super) fn summary(response: &ShareFetchResponse) -> String {
    if !response.error_code.is_none() {
        return response.error_code.name().unwrap().to_owned();
    }
    let mut text = String::new();
    for partition in response.responses.iter().flat_map(|topic| &topic.partitions) {
        let acquired: Vec<String> = partition
            .acquired_records
            .iter()
            .map(|range| format!("{}-{}x{}", range.first_offset, range.last_offset, range.delivery_count))
            .collect();
        if !text.is_empty() {
            text.push(' ');
        }
        write!(text, "{}[{}]", partition.partition_index, acquired.join(" ")).unwrap();
        for (mark, code) in [('!', partition.error_code), ('?', partition.acknowledge_error_code)] {
            if !code.is_none() {
                write!(text, "{mark}{}", code.name().unwrap()).unwrap();
            }
        }
    }
    text
}

/// The offsets of the batches that a fetch gave for its first partition.
pub(super) fn batches(response: &ShareFetchResponse) -> Vec<(i64, i64)> {
    let records = response.responses[0].partitions[0].records.clone().unwrap();
    Batches::new(records).map(|batch| batch.map(|batch| (batch.base_offset(), batch.last_offset())).unwrap()).collect()
}
