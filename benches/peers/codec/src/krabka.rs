//! krabka-protocol's side, with the fastest of its ways: borrowed views where records are read, batches that are
//! encoded by themselves and set into the message as bytes where they are written.

use bytes::{Bytes, BytesMut};
use krabka_protocol::owned::{
    metadata_response::*, produce_request::*, share_acknowledge_request as acknowledge, share_fetch_response as fetch,
};
use krabka_protocol::primitives::uuid::Uuid;
use krabka_protocol::records::{self, RecordBatch, RecordsPayload, RecordsPayloadBorrowed, produce_framing};
use krabka_protocol::{DecodeBorrow, Encode, borrowed};

use crate::shapes::*;

pub struct Krabka {
    records: Vec<Vec<Record>>,
    made: Vec<RecordBatch>,
    acknowledge: acknowledge::ShareAcknowledgeRequest,
    metadata: MetadataResponse,
}

/// Keys and values as the caller has them, in the crate's own structs.
fn batch_of(records: &[Record]) -> RecordBatch {
    let base_timestamp = records[0].timestamp;
    let record = |(i, record): (usize, &Record)| records::Record {
        timestamp_delta: record.timestamp - base_timestamp,
        offset_delta: i as i32,
        key: Some(record.key.clone()),
        value: Some(record.value.clone()),
        ..records::Record::default()
    };
    RecordBatch {
        partition_leader_epoch: -1,
        last_offset_delta: records.len() as i32 - 1,
        base_timestamp,
        max_timestamp: records[records.len() - 1].timestamp,
        records: records.iter().enumerate().map(record).collect(),
        ..RecordBatch::default()
    }
}

fn bytes_of(batch: &RecordBatch) -> RecordsPayload {
    RecordsPayload::Raw(batch.encode_to_bytes().expect("a good batch"))
}

fn body(message: &impl Encode, version: i16) -> BytesMut {
    let mut body = BytesMut::with_capacity(message.encoded_len(version));
    message.encode(&mut body, version).expect("it can be said");
    body
}

impl Krabka {
    pub fn new() -> Self {
        let records = records();
        let made = records.iter().map(|records| batch_of(records)).collect();
        Self { records, made, acknowledge: acknowledge_request(), metadata: metadata_response() }
    }

    fn share_fetch(&self, records: impl Fn(usize) -> RecordsPayload) -> BytesMut {
        let partition = |i: usize| {
            let acquired = acquired(self.records[i].len()).map(|(first_offset, last_offset, count)| {
                fetch::AcquiredRecords { first_offset, last_offset, delivery_count: count.into(), ..Default::default() }
            });
            fetch::PartitionData {
                partition_index: i as i32,
                current_leader: fetch::LeaderIdAndEpoch { leader_id: -1, leader_epoch: -1, ..Default::default() },
                records: Some(records(i)),
                acquired_records: acquired.to_vec(),
                ..fetch::PartitionData::default()
            }
        };
        let topic = fetch::ShareFetchableTopicResponse {
            topic_id: Uuid(TOPIC_ID),
            partitions: (0..PARTITIONS).map(partition).collect(),
            ..Default::default()
        };
        let response = fetch::ShareFetchResponse {
            acquisition_lock_timeout_ms: TIMEOUT_MS,
            responses: vec![topic],
            ..Default::default()
        };
        body(&response, SHARE_VERSION)
    }

    fn produce(&self, records: impl Fn(usize) -> RecordsPayload) -> BytesMut {
        let partition =
            |i: usize| PartitionProduceData { index: i as i32, records: Some(records(i)), ..Default::default() };
        let topic = TopicProduceData {
            topic_id: Uuid(TOPIC_ID),
            partition_data: (0..PARTITIONS).map(partition).collect(),
            ..Default::default()
        };
        let request =
            ProduceRequest { acks: -1, timeout_ms: TIMEOUT_MS, topic_data: vec![topic], ..Default::default() };
        body(&request, PRODUCE_VERSION)
    }

    /// Of keys and values as the caller has them.
    pub fn encode_share_fetch(&self) -> BytesMut {
        self.share_fetch(|i| bytes_of(&batch_of(&self.records[i])))
    }

    /// Of records that are in the crate's own structs already.
    pub fn encode_share_fetch_of_made(&self) -> BytesMut {
        self.share_fetch(|i| bytes_of(&self.made[i]))
    }

    /// Of keys and values as the caller has them.
    pub fn encode_produce(&self) -> BytesMut {
        self.produce(|i| bytes_of(&batch_of(&self.records[i])))
    }

    /// Of records that are in the crate's own structs already.
    pub fn encode_produce_of_made(&self) -> BytesMut {
        self.produce(|i| bytes_of(&self.made[i]))
    }

    pub fn encode_share_acknowledge(&self) -> BytesMut {
        body(&self.acknowledge, SHARE_VERSION)
    }

    pub fn encode_metadata(&self) -> BytesMut {
        body(&self.metadata, METADATA_VERSION)
    }
}

pub fn decode_share_fetch(body: &Bytes) -> u64 {
    let response = borrowed::share_fetch_response::ShareFetchResponse::decode_borrow(&mut &body[..], SHARE_VERSION)
        .expect("a good response");
    let mut sum = 0;
    for partition in response.responses.iter().flat_map(|topic| &topic.partitions) {
        sum += partition.acquired_records.iter().map(|range| range.last_offset as u64).sum::<u64>();
        if let Some(RecordsPayloadBorrowed::V2(batches)) = &partition.records {
            sum += batches.iter().map(walk_borrowed).sum::<u64>();
        }
    }
    sum
}

fn walk_borrowed(batch: &records::RecordBatchBorrowed<'_>) -> u64 {
    let base = batch.header().base_timestamp.get();
    let mut offsets = Offsets::new(batch.header().last_offset_delta.get());
    let mut sum = 0;
    for record in batch {
        let record = record.expect("a good record");
        offsets.see(record.offset_delta);
        sum += (base + record.timestamp_delta) as u64 + record.key.map_or(0, touch) + record.value.map_or(0, touch);
    }
    sum
}

pub fn decode_produce(body: &Bytes) -> u64 {
    let request = produce_framing(body.clone(), PRODUCE_VERSION).expect("a good request");
    let partitions = request.topics.into_iter().flat_map(|topic| topic.partitions);
    partitions.filter_map(|partition| partition.records).map(|records| decode_records(&records)).sum()
}

/// What ackflow checks by itself: that offsets rise, and none is behind the batch's last.
struct Offsets {
    last: i32,
    end: i32,
}

impl Offsets {
    fn new(end: i32) -> Self {
        Self { last: -1, end }
    }

    fn see(&mut self, delta: i32) {
        assert!(delta > self.last && delta <= self.end, "an offset is out of order");
        self.last = delta;
    }
}

/// A `records` field: checksums, and every key and value.
pub fn decode_records(mut field: &[u8]) -> u64 {
    let mut sum = 0;
    while !field.is_empty() {
        let batch = records::validate_one_v2_batch(field).expect("a good batch");
        let base = batch.header.base_timestamp.get();
        let mut offsets = Offsets::new(batch.header.last_offset_delta.get());
        let visit = |record: &records::RecordSummary<'_>| {
            offsets.see(record.offset_delta);
            sum += (base + record.timestamp_delta) as u64 + record.key.map_or(0, touch) + record.value.map_or(0, touch);
        };
        batch.validate_record_summaries_with(Default::default(), visit).expect("good records");
        field = &field[batch.total_len..];
    }
    sum
}

pub fn decode_share_acknowledge(body: &Bytes) -> u64 {
    let request =
        borrowed::share_acknowledge_request::ShareAcknowledgeRequest::decode_borrow(&mut &body[..], SHARE_VERSION)
            .expect("a good request");
    let partitions = request.topics.iter().flat_map(|topic| &topic.partitions);
    let ranges = partitions.flat_map(|partition| &partition.acknowledgement_batches);
    ranges.map(|range| range.last_offset as u64 + range.acknowledge_types[0] as u64).sum()
}

pub fn decode_metadata(body: &Bytes) -> u64 {
    let response = borrowed::metadata_response::MetadataResponse::decode_borrow(&mut &body[..], METADATA_VERSION)
        .expect("a good response");
    let topic = |topic: &borrowed::metadata_response::MetadataResponseTopic<'_>| {
        let partitions =
            topic.partitions.iter().map(|partition| partition.leader_id as u64 + partition.isr_nodes.len() as u64);
        touch(topic.name.unwrap_or_default().as_bytes()) + partitions.sum::<u64>()
    };
    response.topics.iter().map(topic).sum()
}

fn acknowledge_request() -> acknowledge::ShareAcknowledgeRequest {
    let batch = |(first_offset, last_offset, kind): Range| acknowledge::AcknowledgementBatch {
        first_offset,
        last_offset,
        acknowledge_types: vec![kind],
        ..Default::default()
    };
    let partition = |i: usize| acknowledge::AcknowledgePartition {
        partition_index: i as i32,
        acknowledgement_batches: acknowledged().into_iter().map(batch).collect(),
        ..Default::default()
    };
    let topic = acknowledge::AcknowledgeTopic {
        topic_id: Uuid(TOPIC_ID),
        partitions: (0..PARTITIONS).map(partition).collect(),
        ..Default::default()
    };
    acknowledge::ShareAcknowledgeRequest {
        group_id: Some(GROUP.to_owned()),
        member_id: Some(MEMBER.to_owned()),
        share_session_epoch: 7,
        topics: vec![topic],
        ..Default::default()
    }
}

fn metadata_response() -> MetadataResponse {
    let broker = |node_id| MetadataResponseBroker {
        node_id,
        host: HOST.to_owned(),
        port: 9092,
        rack: Some("a".to_owned()),
        ..Default::default()
    };
    let partition = |partition_index| MetadataResponsePartition {
        partition_index,
        leader_id: partition_index % BROKERS,
        leader_epoch: 3,
        replica_nodes: (0..BROKERS).collect(),
        isr_nodes: (0..BROKERS).collect(),
        ..Default::default()
    };
    let topic = |i| MetadataResponseTopic {
        name: Some(topic_name(i)),
        topic_id: Uuid(topic_id(i)),
        partitions: (0..TOPIC_PARTITIONS).map(partition).collect(),
        ..Default::default()
    };
    MetadataResponse {
        brokers: (0..BROKERS).map(broker).collect(),
        cluster_id: Some(MEMBER.to_owned()),
        controller_id: 1,
        topics: (0..TOPICS).map(topic).collect(),
        ..Default::default()
    }
}
