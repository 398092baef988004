//! ackflow's side.

use ackflow_protocol::messages::{metadata::*, produce::*, share_acknowledge as acknowledge, share_fetch as fetch};
use ackflow_protocol::records::{
    self, BatchBuilder, BatchError, BatchOptions, Batches, Compression, DEFAULT_DECOMPRESSION_LIMIT, RecordBatch,
};
use ackflow_protocol::wire::{Message, Uuid};
use bytes::Bytes;

use crate::shapes::*;

pub struct Ackflow {
    records: Vec<Vec<Record>>,
    acknowledge: acknowledge::ShareAcknowledgeRequest,
    metadata: MetadataResponse,
}

impl Ackflow {
    pub fn new() -> Self {
        Self { records: records(), acknowledge: acknowledge_request(), metadata: metadata_response() }
    }

    /// The batch of a partition.
    pub fn batch(&self, partition: usize, compression: Compression) -> Bytes {
        let records = &self.records[partition];
        let options = BatchOptions { compression, max_size: 1 << 20, ..BatchOptions::default() };
        let mut builder = BatchBuilder::with_capacity(options, BATCH);
        for record in records {
            let place = builder.try_append(record.timestamp, Some(&record.key), Some(&record.value), []);
            assert!(matches!(place, Ok(Some(_))));
        }
        builder.build().expect("there are records")
    }

    pub fn encode_share_fetch(&self) -> Vec<Bytes> {
        let partition = |i: usize| {
            let acquired = acquired(self.records[i].len()).map(|(first_offset, last_offset, count)| {
                fetch::AcquiredRecords { first_offset, last_offset, delivery_count: count.into() }
            });
            fetch::PartitionData {
                partition_index: i as i32,
                records: Some(self.batch(i, Compression::None)),
                acquired_records: acquired.to_vec(),
                ..fetch::PartitionData::default()
            }
        };
        let partitions = (0..PARTITIONS).map(partition).collect();
        let response = fetch::ShareFetchResponse {
            acquisition_lock_timeout_ms: TIMEOUT_MS,
            responses: vec![fetch::ShareFetchableTopicResponse { topic_id: Uuid(TOPIC_ID), partitions }],
            ..fetch::ShareFetchResponse::default()
        };
        response.to_pieces(SHARE_VERSION).expect("it can be said")
    }

    pub fn encode_produce(&self) -> Vec<Bytes> {
        let partition =
            |i: usize| PartitionProduceData { index: i as i32, records: Some(self.batch(i, Compression::None)) };
        let request = ProduceRequest {
            acks: -1,
            timeout_ms: TIMEOUT_MS,
            topic_data: vec![TopicProduceData {
                topic_id: Uuid(TOPIC_ID),
                partition_data: (0..PARTITIONS).map(partition).collect(),
                ..TopicProduceData::default()
            }],
            ..ProduceRequest::default()
        };
        request.to_pieces(PRODUCE_VERSION).expect("it can be said")
    }

    pub fn encode_share_acknowledge(&self) -> Vec<Bytes> {
        vec![self.acknowledge.to_bytes(SHARE_VERSION).expect("it can be said")]
    }

    pub fn encode_metadata(&self) -> Vec<Bytes> {
        vec![self.metadata.to_bytes(METADATA_VERSION).expect("it can be said")]
    }
}

pub fn decode_share_fetch(body: &Bytes) -> u64 {
    let response = fetch::ShareFetchResponse::from_bytes(body.clone(), SHARE_VERSION).expect("a good response");
    let partitions = response.responses.into_iter().flat_map(|topic| topic.partitions);
    partitions
        .map(|partition| {
            let acquired = partition.acquired_records.iter().map(|range| range.last_offset as u64).sum::<u64>();
            acquired + partition.records.map_or(0, decode_records)
        })
        .sum()
}

pub fn decode_produce(body: &Bytes) -> u64 {
    let request = ProduceRequest::from_bytes(body.clone(), PRODUCE_VERSION).expect("a good request");
    let partitions = request.topic_data.into_iter().flat_map(|topic| topic.partition_data);
    partitions.map(|partition| partition.records.map_or(0, decode_records)).sum()
}

/// A `records` field: checksums, and every key and value.
pub fn decode_records(field: Bytes) -> u64 {
    Batches::new(field).map(|batch| walk(batch.expect("a good header"))).sum()
}

fn walk(batch: RecordBatch) -> u64 {
    batch.verify_crc().expect("a good checksum");
    let batch = batch.decompress(DEFAULT_DECOMPRESSION_LIMIT).expect("what can be inflated");
    let record = |record: Result<records::Record<'_>, BatchError>| {
        let record = record.expect("a good record");
        record.timestamp as u64 + record.key.map_or(0, touch) + record.value.map_or(0, touch)
    };
    batch.records().map(record).sum()
}

pub fn decode_share_acknowledge(body: &Bytes) -> u64 {
    let request =
        acknowledge::ShareAcknowledgeRequest::from_bytes(body.clone(), SHARE_VERSION).expect("a good request");
    let partitions = request.topics.iter().flat_map(|topic| &topic.partitions);
    let ranges = partitions.flat_map(|partition| &partition.acknowledgement_batches);
    ranges.map(|range| range.last_offset as u64 + range.acknowledge_types[0] as u64).sum()
}

pub fn decode_metadata(body: &Bytes) -> u64 {
    let response = MetadataResponse::from_bytes(body.clone(), METADATA_VERSION).expect("a good response");
    let topic = |topic: &MetadataResponseTopic| {
        let partitions =
            topic.partitions.iter().map(|partition| partition.leader_id as u64 + partition.isr_nodes.len() as u64);
        touch(topic.name.as_deref().unwrap_or_default().as_bytes()) + partitions.sum::<u64>()
    };
    response.topics.iter().map(topic).sum()
}

fn acknowledge_request() -> acknowledge::ShareAcknowledgeRequest {
    let batch = |(first_offset, last_offset, kind): Range| acknowledge::AcknowledgementBatch {
        first_offset,
        last_offset,
        acknowledge_types: vec![kind],
    };
    let partition = |i: usize| acknowledge::AcknowledgePartition {
        partition_index: i as i32,
        acknowledgement_batches: acknowledged().into_iter().map(batch).collect(),
    };
    let topic = acknowledge::AcknowledgeTopic {
        topic_id: Uuid(TOPIC_ID),
        partitions: (0..PARTITIONS).map(partition).collect(),
    };
    acknowledge::ShareAcknowledgeRequest {
        group_id: Some(GROUP.to_owned()),
        member_id: Some(MEMBER.to_owned()),
        share_session_epoch: 7,
        topics: vec![topic],
        ..acknowledge::ShareAcknowledgeRequest::default()
    }
}

fn metadata_response() -> MetadataResponse {
    let broker =
        |node_id| MetadataResponseBroker { node_id, host: HOST.to_owned(), port: 9092, rack: Some("a".to_owned()) };
    let partition = |partition_index| MetadataResponsePartition {
        partition_index,
        leader_id: partition_index % BROKERS,
        leader_epoch: 3,
        replica_nodes: (0..BROKERS).collect(),
        isr_nodes: (0..BROKERS).collect(),
        ..MetadataResponsePartition::default()
    };
    let topic = |i| MetadataResponseTopic {
        name: Some(topic_name(i)),
        topic_id: Uuid(topic_id(i)),
        partitions: (0..TOPIC_PARTITIONS).map(partition).collect(),
        ..MetadataResponseTopic::default()
    };
    MetadataResponse {
        brokers: (0..BROKERS).map(broker).collect(),
        cluster_id: Some(MEMBER.to_owned()),
        controller_id: 1,
        topics: (0..TOPICS).map(topic).collect(),
        ..MetadataResponse::default()
    }
}
