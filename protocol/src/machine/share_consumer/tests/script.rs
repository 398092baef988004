//! What the tests say, and what they look at: offsets, requests, responses.

use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::{
    machine::{AckRange, AckType, ClientRequest, ClientResponse, Destination, RequestId, TopicIdPartition},
    messages::{
        share_acknowledge::{self, ShareAcknowledgeRequest, ShareAcknowledgeResponse, ShareAcknowledgeTopicResponse},
        share_fetch::{
            AcquiredRecords, LeaderIdAndEpoch, NodeEndpoint, PartitionData, ShareFetchRequest, ShareFetchResponse,
            ShareFetchableTopicResponse,
        },
        share_group_heartbeat::{Assignment, ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse, TopicPartitions},
    },
    records::{BatchBuilder, BatchOptions, assign_offsets},
    wire::{ErrorCode, Uuid},
};

pub(super) const TOPIC: Uuid = Uuid([1; 16]);
pub(super) const COORDINATOR: i32 = 1;
pub(super) const LOCK: Duration = Duration::from_secs(30);

pub(super) fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

pub(super) fn partition(partition: i32) -> TopicIdPartition {
    TopicIdPartition { topic_id: TOPIC, partition }
}

pub(super) fn accept(first: i64, last: i64) -> AckRange {
    range(first, last, AckType::Accept)
}

pub(super) fn range(first: i64, last: i64, ack: AckType) -> AckRange {
    AckRange { first, last, ack }
}

/// A request that waits for its answer.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    pub(super) id: RequestId,
    pub(super) to: Destination,
    pub(super) request: ClientRequest,
    pub(super) least_version: i16,
    pub(super) at: Instant,
}

impl Sent {
    pub(super) fn node(&self) -> Option<i32> {
        match &self.to {
            Destination::Session(address) => Some(address.node),
            _ => None,
        }
    }

    pub(super) fn fetch(&self) -> &ShareFetchRequest {
        match &self.request {
            ClientRequest::ShareFetch(request) => request,
            request => panic!("a ShareFetch was expected: {request:?}"),
        }
    }

    pub(super) fn acknowledge(&self) -> &ShareAcknowledgeRequest {
        match &self.request {
            ClientRequest::ShareAcknowledge(request) => request,
            request => panic!("a ShareAcknowledge was expected: {request:?}"),
        }
    }

    pub(super) fn heartbeat(&self) -> &ShareGroupHeartbeatRequest {
        match &self.request {
            ClientRequest::Heartbeat(request) => request,
            request => panic!("a heartbeat was expected: {request:?}"),
        }
    }

    /// What it acknowledges: partition, first, last, types.
    pub(super) fn acks(&self) -> Vec<(i32, i64, i64, Vec<i8>)> {
        match &self.request {
            ClientRequest::ShareFetch(request) => {
                let partitions = request.topics.iter().flat_map(|topic| &topic.partitions);
                let batches = partitions.flat_map(|partition| {
                    partition.acknowledgement_batches.iter().map(|batch| (partition.partition_index, batch.clone()))
                });
                batches.map(|(p, batch)| (p, batch.first_offset, batch.last_offset, batch.acknowledge_types)).collect()
            }
            ClientRequest::ShareAcknowledge(request) => {
                let partitions = request.topics.iter().flat_map(|topic| &topic.partitions);
                let batches = partitions.flat_map(|partition| {
                    partition.acknowledgement_batches.iter().map(|batch| (partition.partition_index, batch.clone()))
                });
                batches.map(|(p, batch)| (p, batch.first_offset, batch.last_offset, batch.acknowledge_types)).collect()
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn epoch(&self) -> i32 {
        match &self.request {
            ClientRequest::ShareFetch(request) => request.share_session_epoch,
            ClientRequest::ShareAcknowledge(request) => request.share_session_epoch,
            request => panic!("a request of a session was expected: {request:?}"),
        }
    }
}

pub(super) fn heartbeat(epoch: i32, assignment: Option<&[(Uuid, &[i32])]>) -> ClientResponse {
    ClientResponse::Heartbeat(ShareGroupHeartbeatResponse {
        member_id: Some("member".into()),
        member_epoch: epoch,
        heartbeat_interval_ms: 5_000,
        assignment: assignment.map(|topics| Assignment {
            topic_partitions: topics
                .iter()
                .map(|(topic_id, partitions)| TopicPartitions { topic_id: *topic_id, partitions: partitions.to_vec() })
                .collect(),
        }),
        ..Default::default()
    })
}

pub(super) fn heartbeat_error(code: ErrorCode) -> ClientResponse {
    ClientResponse::Heartbeat(ShareGroupHeartbeatResponse { error_code: code, ..Default::default() })
}

/// A ShareFetch response of the one topic.
pub(super) fn fetched(partitions: Vec<PartitionData>) -> ClientResponse {
    fetched_of(TOPIC, partitions)
}

pub(super) fn fetched_of(topic_id: Uuid, partitions: Vec<PartitionData>) -> ClientResponse {
    ClientResponse::ShareFetch(ShareFetchResponse {
        acquisition_lock_timeout_ms: LOCK.as_millis() as i32,
        responses: vec![ShareFetchableTopicResponse { topic_id, partitions }],
        ..Default::default()
    })
}

pub(super) fn fetch_error(code: ErrorCode) -> ClientResponse {
    ClientResponse::ShareFetch(ShareFetchResponse { error_code: code, ..Default::default() })
}

pub(super) fn partition_error(index: i32, code: ErrorCode) -> PartitionData {
    PartitionData { partition_index: index, error_code: code, ..Default::default() }
}

/// The answer of a broker that is not the leader and knows who is.
pub(super) fn moved_to(index: i32, leader: i32, epoch: i32) -> ClientResponse {
    let data = PartitionData {
        current_leader: LeaderIdAndEpoch { leader_id: leader, leader_epoch: epoch },
        ..partition_error(index, ErrorCode::NOT_LEADER_OR_FOLLOWER)
    };
    let endpoint = NodeEndpoint { node_id: leader, host: "h".into(), port: 9000 + leader, rack: None };
    ClientResponse::ShareFetch(ShareFetchResponse {
        responses: vec![ShareFetchableTopicResponse { topic_id: TOPIC, partitions: vec![data] }],
        node_endpoints: vec![endpoint],
        ..Default::default()
    })
}

/// An answer that says of these partitions only how their acknowledgements went.
pub(super) fn acked(partitions: &[(i32, ErrorCode)]) -> ClientResponse {
    let partitions = partitions
        .iter()
        .map(|(index, code)| share_acknowledge::PartitionData {
            partition_index: *index,
            error_code: *code,
            ..Default::default()
        })
        .collect();
    ClientResponse::ShareAcknowledge(ShareAcknowledgeResponse {
        responses: vec![ShareAcknowledgeTopicResponse { topic_id: TOPIC, partitions }],
        ..Default::default()
    })
}

/// Records `first..=last` of a partition in one batch, all acquired for the first time.
pub(super) fn acquired(index: i32, first: i64, last: i64) -> PartitionData {
    PartitionData {
        partition_index: index,
        records: Some(batch(first, last)),
        acquired_records: vec![AcquiredRecords { first_offset: first, last_offset: last, delivery_count: 1 }],
        ..Default::default()
    }
}

pub(super) fn batch(first: i64, last: i64) -> Bytes {
    let mut builder = BatchBuilder::new(BatchOptions { max_size: 1 << 20, ..BatchOptions::default() });
    for offset in first..=last {
        assert!(builder.try_append(1_000, None, Some(offset.to_string().as_bytes()), []).unwrap().is_some());
    }
    let mut batch = builder.build().unwrap().to_vec();
    assign_offsets(&mut batch, first, 0).unwrap();
    batch.into()
}

/// A record batch of `testdata/batches.tsv`.
pub(super) fn fixture(name: &str) -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/batches/batches.tsv");
    let cases = std::fs::read_to_string(path).unwrap();
    let line =
        cases.lines().find(|line| line.split('\t').next() == Some(name)).unwrap_or_else(|| panic!("no case {name}"));
    let hex = line.split('\t').nth(1).unwrap();
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}
