//! What consumers of their own and transactional producers do.

use std::collections::BTreeSet;

use ackflow_protocol::fuzzing::Input;
use ackflow_protocol::messages::add_partitions_to_txn::{AddPartitionsToTxnRequest, AddPartitionsToTxnTopic};
use ackflow_protocol::messages::consumer_group_heartbeat::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, TopicPartitions,
};
use ackflow_protocol::messages::delete_records::{DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic};
use ackflow_protocol::messages::end_txn::{EndTxnRequest, EndTxnResponse};
use ackflow_protocol::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic, ForgottenTopic};
use ackflow_protocol::messages::heartbeat::HeartbeatRequest;
use ackflow_protocol::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use ackflow_protocol::messages::join_group::{JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse};
use ackflow_protocol::messages::leave_group::{LeaveGroupRequest, MemberIdentity};
use ackflow_protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use ackflow_protocol::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use ackflow_protocol::messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment};
use ackflow_protocol::messages::txn_offset_commit::{
    TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use ackflow_protocol::records::{BatchBuilder, BatchOptions};
use ackflow_protocol::wire::{Request, Uuid};
use bytes::Bytes;

use super::{TOPIC, World, member};
use crate::core::topics::TopicIdPartition;

const READERS: &str = "readers";
const CLASSIC: &str = "classic";

/// What a client knows of itself as a consumer and as a producer.
#[derive(Debug, Default)]
pub(super) struct Reader {
    epoch: i32,
    held: BTreeSet<(Uuid, i32)>,
    session: (i32, i32),
    producer: (i64, i16),
    sequence: i32,
    /// The id in the group of the classic protocol, and its generation.
    member: String,
    generation: i32,
}

impl Reader {
    /// The sessions of a connection that has ended are gone.
    pub(super) fn disconnected(&mut self) {
        self.session = (0, 0);
    }

    pub(super) fn hear_heartbeat(&mut self, response: ConsumerGroupHeartbeatResponse) {
        self.epoch = response.member_epoch.max(0);
        if let Some(assignment) = response.assignment {
            let topics = assignment.topic_partitions.into_iter();
            self.held = topics.flat_map(|t| t.partitions.into_iter().map(move |p| (t.topic_id, p))).collect();
        }
        if !response.error_code.is_none() {
            self.held.clear();
        }
    }

    pub(super) fn hear_fetch(&mut self, response: &FetchResponse) {
        self.session = (response.session_id, if response.session_id == 0 { 0 } else { self.session.1 + 1 });
    }

    pub(super) fn hear_join(&mut self, response: JoinGroupResponse) {
        (self.member, self.generation) = (response.member_id, response.generation_id);
    }

    pub(super) fn hear_init(&mut self, response: &InitProducerIdResponse) {
        if response.error_code.is_none() {
            (self.producer, self.sequence) = ((response.producer_id, response.producer_epoch), 0);
        }
    }

    pub(super) fn hear_end(&mut self, response: &EndTxnResponse) {
        if response.error_code.is_none() && response.producer_epoch >= 0 {
            (self.producer, self.sequence) = ((response.producer_id, response.producer_epoch), 0);
        }
    }
}

/// A transactional id, of which there are fewer than clients.
fn transactional_id(input: &mut Input<'_>) -> String {
    format!("tx-{}", input.below(2))
}

impl World {
    /// One of the operations of this file.
    pub(super) fn consume(&mut self, client: usize, input: &mut Input<'_>) {
        match input.below(10) {
            0 | 1 => self.beat(client, input),
            2 => self.commit(client, input),
            3 => self.read(client, input),
            4 => self.init(client, input),
            5 => self.write(client, input),
            6 => self.end(client, input),
            7 | 8 => self.take_part(client, input),
            _ => self.delete_records(client, input),
        }
    }

    fn beat(&mut self, client: usize, input: &mut Input<'_>) {
        let reader = &self.clients[client].reader;
        let epoch = input.pick(&[reader.epoch, reader.epoch, reader.epoch, 0, -1, -2, reader.epoch.wrapping_add(1)]);
        let says_all = epoch == 0 || input.once_in(4);
        let held = reader.held.iter().filter(|_| epoch != 0);
        let owned =
            held.map(|&(topic_id, partition)| TopicPartitions { topic_id, partitions: vec![partition] }).collect();
        let patterns = ["to.*", "", "(", "t[opic]+"];
        let request = ConsumerGroupHeartbeatRequest {
            group_id: READERS.to_owned(),
            member_id: member(client),
            member_epoch: epoch,
            instance_id: input.once_in(4).then(|| format!("instance-{}", input.below(2))),
            rack_id: None,
            rebalance_timeout_ms: if says_all { input.pick(&[500, 0, 60_000, i32::MAX]) } else { -1 },
            subscribed_topic_names: says_all.then(|| vec![TOPIC.to_owned()]),
            subscribed_topic_regex: input.once_in(4).then(|| input.pick(&patterns).to_owned()),
            server_assignor: input.once_in(4).then(|| input.pick(&["uniform", "range", "odd"]).to_owned()),
            topic_partitions: (says_all || input.once_in(2)).then_some(owned),
        };
        self.request(client, &request);
    }

    fn commit(&mut self, client: usize, input: &mut Input<'_>) {
        let topic_id = self.topic_id(input);
        let epoch = self.clients[client].reader.epoch;
        let partition = OffsetCommitRequestPartition {
            partition_index: input.below(4) as i32,
            committed_offset: input.number(),
            ..Default::default()
        };
        let topics = vec![OffsetCommitRequestTopic { topic_id, partitions: vec![partition], ..Default::default() }];
        let request = OffsetCommitRequest {
            group_id: READERS.to_owned(),
            member_id: member(client),
            generation_id_or_member_epoch: input.pick(&[epoch, epoch, epoch.wrapping_sub(1), -1]),
            topics,
            ..Default::default()
        };
        self.request(client, &request);
    }

    fn read(&mut self, client: usize, input: &mut Input<'_>) {
        let topic_id = self.topic_id(input);
        let (session_id, session_epoch) = self.clients[client].reader.session;
        let partition = |input: &mut Input<'_>| FetchPartition {
            partition: input.below(4) as i32,
            fetch_offset: if input.once_in(8) { input.number() } else { i64::from(input.byte() % 16) },
            current_leader_epoch: input.pick(&[-1, -1, 0, 1]),
            last_fetched_epoch: input.pick(&[-1, -1, 0, 1, i32::MAX]),
            partition_max_bytes: input.pick(&[1 << 20, 1, 0, -1, 100]),
            ..Default::default()
        };
        let partitions = (0..input.below(4)).map(|_| partition(input)).collect();
        let forgotten = ForgottenTopic { topic_id, partitions: vec![input.below(4) as i32], ..Default::default() };
        let request = FetchRequest {
            max_wait_ms: input.pick(&[0, 0, 500, -1, i32::MAX]),
            min_bytes: input.pick(&[1, 0, -1, 10_000]),
            max_bytes: input.pick(&[i32::MAX, 1, 0, -1, 100]),
            isolation_level: input.pick(&[0, 1, 1, 7]),
            session_id: if input.once_in(8) { input.number() as i32 } else { session_id },
            session_epoch: input.pick(&[session_epoch, session_epoch, session_epoch, 0, -1, i32::MAX]),
            topics: vec![FetchTopic { topic_id, partitions, ..Default::default() }],
            forgotten_topics_data: if input.once_in(4) { vec![forgotten] } else { Vec::new() },
            ..Default::default()
        };
        self.request(client, &request);
    }

    fn init(&mut self, client: usize, input: &mut Input<'_>) {
        let (producer_id, producer_epoch) = self.clients[client].reader.producer;
        let (producer_id, producer_epoch) = if input.once_in(2) { (producer_id, producer_epoch) } else { (-1, -1) };
        let request = InitProducerIdRequest {
            transactional_id: Some(transactional_id(input)),
            transaction_timeout_ms: input.pick(&[500, 60_000, 0, i32::MAX]),
            producer_id,
            producer_epoch,
            ..Default::default()
        };
        self.request(client, &request);
    }

    fn write(&mut self, client: usize, input: &mut Input<'_>) {
        let (producer_id, producer_epoch) = self.clients[client].reader.producer;
        let base_sequence = if input.once_in(8) { input.number() as i32 } else { self.clients[client].reader.sequence };
        let options =
            BatchOptions { transactional: true, producer_id, producer_epoch, base_sequence, ..Default::default() };
        let mut builder = BatchBuilder::new(options);
        builder.try_append(1_000_000, None, Some(b"value"), []).expect("a small record");
        let records = Some(builder.build().expect("a small batch"));
        let partition_data = vec![PartitionProduceData { index: input.below(4) as i32, records }];
        let topic_id = self.topic_id(input);
        let request = ProduceRequest {
            transactional_id: Some(transactional_id(input)),
            acks: -1,
            timeout_ms: 1_000,
            topic_data: vec![TopicProduceData { name: TOPIC.to_owned(), topic_id, partition_data }],
        };
        self.clients[client].reader.sequence = base_sequence.wrapping_add(1).max(0);
        self.request_version(client, input.pick(&[13, 13, 12, 11, 10]).min(ProduceRequest::NEWEST_STABLE), &request);
    }

    fn end(&mut self, client: usize, input: &mut Input<'_>) {
        let (producer_id, producer_epoch) = self.clients[client].reader.producer;
        let transactional_id = transactional_id(input);
        match input.below(4) {
            0 => {
                let topic = AddPartitionsToTxnTopic { name: TOPIC.to_owned(), partitions: vec![0, 1] };
                let request = AddPartitionsToTxnRequest {
                    v3_and_below_transactional_id: transactional_id,
                    v3_and_below_producer_id: producer_id,
                    v3_and_below_producer_epoch: producer_epoch,
                    v3_and_below_topics: vec![topic],
                    ..Default::default()
                };
                self.request_version(client, 3, &request);
            }
            1 => {
                let partition = TxnOffsetCommitRequestPartition { committed_offset: 5, ..Default::default() };
                let topic_id = self.topic_id(input);
                let topic = TxnOffsetCommitRequestTopic { topic_id, partitions: vec![partition], ..Default::default() };
                let request = TxnOffsetCommitRequest {
                    transactional_id,
                    group_id: READERS.to_owned(),
                    producer_id,
                    producer_epoch,
                    topics: vec![topic],
                    ..Default::default()
                };
                self.request(client, &request);
            }
            _ => {
                let committed = input.once_in(2);
                let request = EndTxnRequest { transactional_id, producer_id, producer_epoch, committed };
                self.request_version(client, input.pick(&[5, 5, 4]), &request);
            }
        }
    }

    /// What a member of the classic protocol does.
    fn take_part(&mut self, client: usize, input: &mut Input<'_>) {
        let reader = &self.clients[client].reader;
        let (group_id, generation_id) = (CLASSIC.to_owned(), reader.generation);
        let member_id = if input.once_in(8) { String::new() } else { reader.member.clone() };
        let group_instance_id = input.once_in(4).then(|| format!("instance-{}", input.below(2)));
        match input.below(5) {
            0 | 1 => {
                let name = input.pick(&["range", "range", "other"]).to_owned();
                let request = JoinGroupRequest {
                    group_id,
                    session_timeout_ms: input.pick(&[6_000, 10_000, 1]),
                    rebalance_timeout_ms: input.pick(&[500, 5_000, -1, i32::MAX]),
                    member_id,
                    group_instance_id,
                    protocol_type: "consumer".to_owned(),
                    protocols: vec![JoinGroupRequestProtocol { name, metadata: Bytes::new() }],
                    ..Default::default()
                };
                self.request_version(client, input.pick(&[9, 9, 3]), &request);
            }
            2 => {
                let assignment = Bytes::from_static(b"assignment");
                let assignments = vec![SyncGroupRequestAssignment { member_id: member_id.clone(), assignment }];
                let request = SyncGroupRequest {
                    group_id,
                    generation_id,
                    member_id,
                    group_instance_id,
                    assignments,
                    ..Default::default()
                };
                self.request(client, &request);
            }
            3 => self.request(client, &HeartbeatRequest { group_id, generation_id, member_id, group_instance_id }),
            _ => {
                let members = vec![MemberIdentity { member_id, group_instance_id, reason: None }];
                self.request(client, &LeaveGroupRequest { group_id, members, ..Default::default() });
            }
        }
    }

    fn delete_records(&mut self, client: usize, input: &mut Input<'_>) {
        let some = i64::from(input.byte());
        let offset = input.pick(&[-1, 0, 3, i64::MAX, some]);
        let partitions = vec![DeleteRecordsPartition { partition_index: input.below(4) as i32, offset }];
        let topics = vec![DeleteRecordsTopic { name: TOPIC.to_owned(), partitions }];
        self.request(client, &DeleteRecordsRequest { topics, timeout_ms: 1_000 });
    }

    /// Checks what holds whatever was done.
    pub(super) fn check_consumers(&self) {
        for group in self.cluster.consumers.consumer.values() {
            let mut held: BTreeSet<TopicIdPartition> = BTreeSet::new();
            for partition in group.members.values().flat_map(|member| member.held()) {
                assert!(held.insert(partition), "{partition:?} belongs to two members of {group:?}");
            }
        }
        for id in self.cluster.topics.partition_ids() {
            let Ok(log) = self.cluster.topics.log(id) else { continue };
            let (start, stable, end) = (log.start_offset(), log.last_stable_offset(), log.end_offset());
            assert!(start <= stable && stable <= end, "{start}, {stable}, {end}");
        }
    }
}
