//! Brokers that answer as the input says, and look at what they are sent.

use bytes::Bytes;

use crate::fuzzing::Input;
use crate::machine::{ClientRequest, ClientResponse, RequestFailure};
use crate::messages::find_coordinator::{Coordinator, FindCoordinatorResponse};
use crate::messages::metadata::{
    MetadataRequest, MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use crate::messages::share_acknowledge::{
    self, ShareAcknowledgeRequest, ShareAcknowledgeResponse, ShareAcknowledgeTopicResponse,
};
use crate::messages::share_fetch::{
    self, AcquiredRecords, PartitionData, ShareFetchRequest, ShareFetchResponse, ShareFetchableTopicResponse,
};
use crate::messages::share_group_heartbeat::{
    Assignment, ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse, TopicPartitions,
};
use crate::records::{BatchBuilder, BatchOptions, assign_offsets};
use crate::wire::{ErrorCode, Uuid};

/// The topic that there is.
pub(super) const TOPIC: Uuid = Uuid([1; 16]);

/// The topic `other`, which an answer may name.
pub(super) const OTHER_TOPIC: Uuid = Uuid([2; 16]);

/// The answer to a request: a good one of the broker that it went to, as far as the input does not say otherwise.
pub(super) fn response(request: &ClientRequest, input: &mut Input<'_>) -> Result<ClientResponse, RequestFailure> {
    Ok(match request {
        ClientRequest::Metadata(request) => ClientResponse::Metadata(metadata(request, input)),
        ClientRequest::FindCoordinator(_) => ClientResponse::FindCoordinator(coordinator(input)),
        ClientRequest::Heartbeat(request) => ClientResponse::Heartbeat(heartbeat(request, input)),
        ClientRequest::ShareFetch(request) => ClientResponse::ShareFetch(fetched(request, input)),
        ClientRequest::ShareAcknowledge(request) => ClientResponse::ShareAcknowledge(acknowledged(request, input)),
    })
}

/// No error most of the time; else one that matters to a share consumer, or any.
pub(super) fn code(input: &mut Input<'_>) -> ErrorCode {
    if !input.once_in(16) {
        return ErrorCode::NONE;
    }
    let any = ErrorCode(i16::from(input.byte()) - 1);
    input.pick(&[
        ErrorCode::NOT_LEADER_OR_FOLLOWER,
        ErrorCode::FENCED_LEADER_EPOCH,
        ErrorCode::UNKNOWN_TOPIC_ID,
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode::KAFKA_STORAGE_ERROR,
        ErrorCode::TOPIC_AUTHORIZATION_FAILED,
        ErrorCode::INVALID_RECORD_STATE,
        ErrorCode::COORDINATOR_NOT_AVAILABLE,
        ErrorCode::NOT_COORDINATOR,
        ErrorCode::FENCED_MEMBER_EPOCH,
        ErrorCode::SHARE_SESSION_NOT_FOUND,
        ErrorCode::INVALID_SHARE_SESSION_EPOCH,
        ErrorCode::SHARE_SESSION_LIMIT_REACHED,
        ErrorCode::UNKNOWN_SERVER_ERROR,
        any,
    ])
}

/// `usual` most of the time, else a time that makes no sense.
fn milliseconds(usual: i32, input: &mut Input<'_>) -> i32 {
    if input.once_in(16) { input.pick(&[0, -1, 1, i32::MAX, i32::MIN]) } else { usual }
}

fn topic(input: &mut Input<'_>) -> Uuid {
    if input.once_in(16) { input.pick(&[OTHER_TOPIC, Uuid::default()]) } else { TOPIC }
}

/// One of the partitions that there are, or one that makes no sense.
fn partition(input: &mut Input<'_>) -> i32 {
    if input.once_in(16) { input.pick(&[4, -1, i32::MAX, i32::MIN]) } else { input.below(4) as i32 }
}

fn node(input: &mut Input<'_>) -> i32 {
    if input.once_in(16) { input.pick(&[-1, 0, 4, i32::MAX]) } else { 1 + input.below(3) as i32 }
}

pub(super) fn coordinator(input: &mut Input<'_>) -> FindCoordinatorResponse {
    let coordinator = Coordinator {
        key: "group".to_owned(),
        node_id: node(input),
        host: "host".to_owned(),
        port: if input.once_in(16) { input.pick(&[0, -1, i32::MAX]) } else { 9_092 },
        error_code: code(input),
        error_message: None,
    };
    let coordinators = if input.once_in(16) { Vec::new() } else { vec![coordinator] };
    FindCoordinatorResponse { error_code: code(input), coordinators, ..Default::default() }
}

pub(super) fn heartbeat(request: &ShareGroupHeartbeatRequest, input: &mut Input<'_>) -> ShareGroupHeartbeatResponse {
    // A leave is answered with its own epoch.
    let epoch = if request.member_epoch < 0 { request.member_epoch } else { request.member_epoch.saturating_add(1) };
    let assigned = input.pick(&[0b1111, 0b1111, 0b0110, 0b0001, 0]);
    let mut partitions: Vec<i32> = (0..4).filter(|index| assigned >> index & 1 == 1).collect();
    if input.once_in(16) {
        partitions.push(partition(input));
    }
    let assignment = Assignment { topic_partitions: vec![TopicPartitions { topic_id: topic(input), partitions }] };
    ShareGroupHeartbeatResponse {
        error_code: code(input),
        member_id: Some("member".to_owned()),
        member_epoch: if input.once_in(16) { input.pick(&[0, -1, 1, i32::MAX, i32::MIN]) } else { epoch },
        heartbeat_interval_ms: milliseconds(5_000, input),
        assignment: (!input.once_in(4)).then_some(assignment),
        ..Default::default()
    }
}

pub(super) fn metadata(request: &MetadataRequest, input: &mut Input<'_>) -> MetadataResponse {
    let moved = input.below(3) as i32;
    let epoch = input.below(8) as i32;
    let brokers = (1..=3).map(|node_id| MetadataResponseBroker {
        node_id,
        host: "host".to_owned(),
        port: 9_092 + node_id,
        rack: None,
    });
    let partitions: Vec<_> = (0..4)
        .map(|partition_index| MetadataResponsePartition {
            error_code: code(input),
            partition_index,
            leader_id: if input.once_in(16) { node(input) } else { 1 + (partition_index + moved) % 3 },
            leader_epoch: if input.once_in(16) { input.pick(&[-1, i32::MAX, i32::MIN]) } else { epoch },
            ..Default::default()
        })
        .collect();
    let topics = request.topics.iter().flatten().map(|asked| MetadataResponseTopic {
        error_code: code(input),
        name: if input.once_in(16) { None } else { Some(asked.name.clone().unwrap_or_else(|| "topic".to_owned())) },
        topic_id: if asked.name.as_deref() == Some("other") { OTHER_TOPIC } else { topic(input) },
        partitions: partitions.clone(),
        ..Default::default()
    });
    let topics = topics.collect();
    let brokers = if input.once_in(16) { Vec::new() } else { brokers.collect() };
    MetadataResponse { error_code: code(input), brokers, topics, ..Default::default() }
}

fn fetched(request: &ShareFetchRequest, input: &mut Input<'_>) -> ShareFetchResponse {
    let listed = request.topics.iter().flat_map(|topic| &topic.partitions);
    let acknowledged = listed.filter(|partition| !partition.acknowledgement_batches.is_empty());
    let mut partitions: Vec<PartitionData> =
        acknowledged.map(|partition| filled(partition.partition_index, input)).collect();
    for _ in 0..input.pick(&[1, 1, 2, 0]) {
        partitions.push(filled(partition(input), input));
    }
    ShareFetchResponse {
        error_code: code(input),
        acquisition_lock_timeout_ms: milliseconds(30_000, input),
        responses: vec![ShareFetchableTopicResponse { topic_id: topic(input), partitions }],
        ..Default::default()
    }
}

/// A partition with records, or none, or bytes that are none, and with acquired ranges that fit them or do not.
fn filled(partition_index: i32, input: &mut Input<'_>) -> PartitionData {
    let first = if input.once_in(16) { input.pick(&[i64::MAX - 3, i64::MAX, -1]) } else { i64::from(input.byte()) };
    let count = input.below(8) as i64;
    let records = match input.below(8) {
        6 => None,
        7 => {
            let length = input.byte().into();
            Some(Bytes::copy_from_slice(input.bytes(length)))
        }
        _ => batch(first, count + 1),
    };
    let mut acquired_records = vec![AcquiredRecords {
        first_offset: first,
        last_offset: first.saturating_add(count),
        delivery_count: input.pick(&[1, 2, 5]),
    }];
    match input.below(16) {
        12 => acquired_records.clear(),
        13 => acquired_records[0].last_offset = i64::MAX,
        14 => acquired_records[0].first_offset = input.i64(),
        15 => acquired_records.push(AcquiredRecords {
            first_offset: first.saturating_add(i64::from(input.byte())),
            last_offset: input.i64(),
            delivery_count: -1,
        }),
        _ => {}
    }
    PartitionData {
        partition_index,
        error_code: code(input),
        acknowledge_error_code: code(input),
        current_leader: share_fetch::LeaderIdAndEpoch { leader_id: node(input), leader_epoch: input.below(8) as i32 },
        records,
        acquired_records,
        ..Default::default()
    }
}

/// `count` records from offset `first` on, 1 at least.
fn batch(first: i64, count: i64) -> Option<Bytes> {
    let mut builder = BatchBuilder::new(BatchOptions::default());
    for _ in 0..count {
        builder.try_append(1_000, None, Some(b"value"), []).ok()?;
    }
    let mut batch = builder.build().ok()?.to_vec();
    assign_offsets(&mut batch, first, 0).ok()?;
    Some(batch.into())
}

fn acknowledged(request: &ShareAcknowledgeRequest, input: &mut Input<'_>) -> ShareAcknowledgeResponse {
    let mut responses = Vec::new();
    for topic in &request.topics {
        let partitions = topic.partitions.iter().map(|partition| share_acknowledge::PartitionData {
            partition_index: partition.partition_index,
            error_code: code(input),
            ..Default::default()
        });
        responses.push(ShareAcknowledgeTopicResponse { topic_id: topic.topic_id, partitions: partitions.collect() });
    }
    if input.once_in(16) {
        responses.pop();
    }
    ShareAcknowledgeResponse {
        error_code: code(input),
        acquisition_lock_timeout_ms: milliseconds(30_000, input),
        responses,
        ..Default::default()
    }
}

/// What any broker checks: acknowledgements of a partition ascend without overlap, with one type for all offsets or one
/// for each.
pub(super) fn check(request: &ClientRequest) {
    match request {
        ClientRequest::ShareFetch(request) => {
            for partition in request.topics.iter().flat_map(|topic| &topic.partitions) {
                let batches = partition.acknowledgement_batches.iter();
                check_batches(
                    batches.map(|batch| (batch.first_offset, batch.last_offset, batch.acknowledge_types.len())),
                );
            }
        }
        ClientRequest::ShareAcknowledge(request) => {
            for partition in request.topics.iter().flat_map(|topic| &topic.partitions) {
                let batches = partition.acknowledgement_batches.iter();
                check_batches(
                    batches.map(|batch| (batch.first_offset, batch.last_offset, batch.acknowledge_types.len())),
                );
            }
        }
        _ => {}
    }
}

fn check_batches(batches: impl Iterator<Item = (i64, i64, usize)>) {
    let mut before = -1;
    for (first, last, types) in batches {
        assert!(before < first && first <= last, "{first}..={last} after {before}");
        assert!(types == 1 || types as u64 == last.abs_diff(first) + 1, "{types} types for {first}..={last}");
        before = last;
    }
}
