//! kafka-protocol's side.

use ::kafka_protocol::messages::metadata_response::*;
use ::kafka_protocol::messages::produce_request::*;
use ::kafka_protocol::messages::{
    BrokerId, GroupId, MetadataResponse, ProduceRequest, ShareAcknowledgeRequest, ShareFetchResponse, TopicName,
    share_acknowledge_request as acknowledge, share_fetch_response as fetch,
};
use ::kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use ::kafka_protocol::records::{
    Compression, NO_PARTITION_LEADER_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, Record as TheirRecord,
    RecordBatchDecoder, RecordBatchEncoder, RecordEncodeOptions, TimestampType,
};
use bytes::{Bytes, BytesMut};
use uuid::Uuid;

use crate::shapes::*;

pub struct KafkaProtocol {
    records: Vec<Vec<Record>>,
    made: Vec<Vec<TheirRecord>>,
    acknowledge: ShareAcknowledgeRequest,
    metadata: MetadataResponse,
}

fn body(message: &impl Encodable, version: i16) -> BytesMut {
    let mut body = BytesMut::with_capacity(message.compute_size(version).expect("it can be said"));
    message.encode(&mut body, version).expect("it can be said");
    body
}

/// Keys and values as the caller has them, in the crate's own structs.
fn records_of(records: &[Record]) -> Vec<TheirRecord> {
    let record = |(i, record): (usize, &Record)| TheirRecord {
        transactional: false,
        control: false,
        delete_horizon: false,
        partition_leader_epoch: NO_PARTITION_LEADER_EPOCH,
        producer_id: NO_PRODUCER_ID,
        producer_epoch: NO_PRODUCER_EPOCH,
        timestamp_type: TimestampType::Creation,
        offset: i as i64,
        // -1 for the batch; each record has the next, or each would become a batch of its own.
        sequence: i as i32 - 1,
        timestamp: record.timestamp,
        key: Some(record.key.clone()),
        value: Some(record.value.clone()),
        headers: Default::default(),
    };
    records.iter().enumerate().map(record).collect()
}

fn batch_of(records: &[TheirRecord]) -> Bytes {
    let mut batch = BytesMut::with_capacity(BATCH);
    let options = RecordEncodeOptions { version: 2, compression: Compression::None };
    RecordBatchEncoder::encode(&mut batch, records, &options).expect("a good batch");
    batch.freeze()
}

impl KafkaProtocol {
    pub fn new() -> Self {
        let records = records();
        let made = records.iter().map(|records| records_of(records)).collect();
        Self { records, made, acknowledge: acknowledge_request(), metadata: metadata_response() }
    }

    /// Of keys and values as the caller has them.
    pub fn encode_share_fetch(&self) -> BytesMut {
        self.share_fetch(|i| batch_of(&records_of(&self.records[i])))
    }

    /// Of records that are in the crate's own structs already.
    pub fn encode_share_fetch_of_made(&self) -> BytesMut {
        self.share_fetch(|i| batch_of(&self.made[i]))
    }

    /// Of keys and values as the caller has them.
    pub fn encode_produce(&self) -> BytesMut {
        self.produce(|i| batch_of(&records_of(&self.records[i])))
    }

    /// Of records that are in the crate's own structs already.
    pub fn encode_produce_of_made(&self) -> BytesMut {
        self.produce(|i| batch_of(&self.made[i]))
    }

    fn share_fetch(&self, batch: impl Fn(usize) -> Bytes) -> BytesMut {
        let partition = |i: usize| {
            let acquired = acquired(self.records[i].len()).map(|(first, last, count)| {
                fetch::AcquiredRecords::default()
                    .with_first_offset(first)
                    .with_last_offset(last)
                    .with_delivery_count(count.into())
            });
            let leader = fetch::LeaderIdAndEpoch::default().with_leader_id(-1).with_leader_epoch(-1);
            fetch::PartitionData::default()
                .with_partition_index(i as i32)
                .with_current_leader(leader)
                .with_records(Some(batch(i)))
                .with_acquired_records(acquired.to_vec())
        };
        let topic = fetch::ShareFetchableTopicResponse::default()
            .with_topic_id(Uuid::from_bytes(TOPIC_ID))
            .with_partitions((0..PARTITIONS).map(partition).collect());
        let response =
            ShareFetchResponse::default().with_acquisition_lock_timeout_ms(TIMEOUT_MS).with_responses(vec![topic]);
        body(&response, SHARE_VERSION)
    }

    fn produce(&self, batch: impl Fn(usize) -> Bytes) -> BytesMut {
        let partition = |i: usize| PartitionProduceData::default().with_index(i as i32).with_records(Some(batch(i)));
        let topic = TopicProduceData::default()
            .with_topic_id(Uuid::from_bytes(TOPIC_ID))
            .with_partition_data((0..PARTITIONS).map(partition).collect());
        let request = ProduceRequest::default().with_acks(-1).with_timeout_ms(TIMEOUT_MS).with_topic_data(vec![topic]);
        body(&request, PRODUCE_VERSION)
    }

    pub fn encode_share_acknowledge(&self) -> BytesMut {
        body(&self.acknowledge, SHARE_VERSION)
    }

    pub fn encode_metadata(&self) -> BytesMut {
        body(&self.metadata, METADATA_VERSION)
    }
}

pub fn decode_share_fetch(body: &Bytes) -> u64 {
    let response = ShareFetchResponse::decode(&mut body.clone(), SHARE_VERSION).expect("a good response");
    let mut sum = 0;
    for partition in response.responses.into_iter().flat_map(|topic| topic.partitions) {
        sum += partition.acquired_records.iter().map(|range| range.last_offset as u64).sum::<u64>();
        sum += partition.records.map_or(0, decode_records);
    }
    sum
}

pub fn decode_produce(body: &Bytes) -> u64 {
    let request = ProduceRequest::decode(&mut body.clone(), PRODUCE_VERSION).expect("a good request");
    let partitions = request.topic_data.into_iter().flat_map(|topic| topic.partition_data);
    partitions.map(|partition| partition.records.map_or(0, decode_records)).sum()
}

/// A `records` field: checksums, and every key and value.
pub fn decode_records(mut field: Bytes) -> u64 {
    let sets = RecordBatchDecoder::decode_all(&mut field).expect("good batches");
    let mut sum = 0;
    for record in sets.iter().flat_map(|set| &set.records) {
        sum +=
            record.timestamp as u64 + record.key.as_deref().map_or(0, touch) + record.value.as_deref().map_or(0, touch);
    }
    sum
}

pub fn decode_share_acknowledge(body: &Bytes) -> u64 {
    let request = ShareAcknowledgeRequest::decode(&mut body.clone(), SHARE_VERSION).expect("a good request");
    let partitions = request.topics.iter().flat_map(|topic| &topic.partitions);
    let ranges = partitions.flat_map(|partition| &partition.acknowledgement_batches);
    ranges.map(|range| range.last_offset as u64 + range.acknowledge_types[0] as u64).sum()
}

pub fn decode_metadata(body: &Bytes) -> u64 {
    let response = MetadataResponse::decode(&mut body.clone(), METADATA_VERSION).expect("a good response");
    let topic = |topic: &MetadataResponseTopic| {
        let partitions =
            topic.partitions.iter().map(|partition| partition.leader_id.0 as u64 + partition.isr_nodes.len() as u64);
        touch(topic.name.as_ref().map_or(&[][..], |name| name.0.as_bytes())) + partitions.sum::<u64>()
    };
    response.topics.iter().map(topic).sum()
}

fn acknowledge_request() -> ShareAcknowledgeRequest {
    let batch = |(first, last, kind): Range| {
        acknowledge::AcknowledgementBatch::default()
            .with_first_offset(first)
            .with_last_offset(last)
            .with_acknowledge_types(vec![kind])
    };
    let partition = |i: usize| {
        acknowledge::AcknowledgePartition::default()
            .with_partition_index(i as i32)
            .with_acknowledgement_batches(acknowledged().into_iter().map(batch).collect())
    };
    let topic = acknowledge::AcknowledgeTopic::default()
        .with_topic_id(Uuid::from_bytes(TOPIC_ID))
        .with_partitions((0..PARTITIONS).map(partition).collect());
    ShareAcknowledgeRequest::default()
        .with_group_id(Some(GroupId(StrBytes::from(GROUP))))
        .with_member_id(Some(StrBytes::from(MEMBER)))
        .with_share_session_epoch(7)
        .with_topics(vec![topic])
}

fn metadata_response() -> MetadataResponse {
    let brokers = || (0..BROKERS).map(BrokerId).collect::<Vec<_>>();
    let broker = |node_id| {
        MetadataResponseBroker::default()
            .with_node_id(BrokerId(node_id))
            .with_host(StrBytes::from(HOST))
            .with_port(9092)
            .with_rack(Some(StrBytes::from("a")))
    };
    let partition = |i: i32| {
        MetadataResponsePartition::default()
            .with_partition_index(i)
            .with_leader_id(BrokerId(i % BROKERS))
            .with_leader_epoch(3)
            .with_replica_nodes(brokers())
            .with_isr_nodes(brokers())
    };
    let topic = |i| {
        MetadataResponseTopic::default()
            .with_name(Some(TopicName(StrBytes::from(topic_name(i)))))
            .with_topic_id(Uuid::from_bytes(topic_id(i)))
            .with_partitions((0..TOPIC_PARTITIONS).map(partition).collect())
    };
    MetadataResponse::default()
        .with_brokers((0..BROKERS).map(broker).collect())
        .with_cluster_id(Some(StrBytes::from(MEMBER)))
        .with_controller_id(BrokerId(1))
        .with_topics((0..TOPICS).map(topic).collect())
}
