//! What brokers answer to a consumer of partitions.

use bytes::Bytes;

use crate::fuzzing::{Input, broker, broker::TOPIC, messages::version};
use crate::machine::RequestFailure;
use crate::machine::consumer::{ConsumerRequest, ConsumerResponse};
use crate::messages::consumer_group_heartbeat::{
    Assignment, ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, TopicPartitions,
};
use crate::messages::fetch::{
    self, AbortedTransaction, FetchRequest, FetchResponse, FetchableTopicResponse, NodeEndpoint, PartitionData,
};
use crate::messages::list_offsets::{
    ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopicResponse,
};
use crate::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitResponse, OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use crate::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
};
use crate::messages::offset_for_leader_epoch::{
    EpochEndOffset, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderTopicResult,
};
use crate::records::{BatchBuilder, BatchOptions, assign_offsets};
use crate::wire::{ErrorCode, Message};

/// The answer to a request: a good one, as far as the input does not say otherwise.
pub(super) fn response(request: &ConsumerRequest, input: &mut Input<'_>) -> Result<ConsumerResponse, RequestFailure> {
    use ConsumerResponse as Response;
    Ok(match request {
        ConsumerRequest::Metadata(request) => Response::Metadata(broker::metadata(request, input)),
        ConsumerRequest::FindCoordinator(_) => Response::FindCoordinator(broker::coordinator(input)),
        ConsumerRequest::Heartbeat(request) => Response::Heartbeat(heartbeat(request, input)),
        ConsumerRequest::OffsetFetch(request) => Response::OffsetFetch(kept(request, input)),
        ConsumerRequest::OffsetCommit(request) => Response::OffsetCommit(committed(request, input)),
        ConsumerRequest::ListOffsets(request) => Response::ListOffsets(listed(request, input)),
        ConsumerRequest::OffsetForLeaderEpoch(request) => Response::OffsetForLeaderEpoch(ended(request, input)),
        ConsumerRequest::Fetch(request) => Response::Fetch(fetched(request, input)),
    })
}

/// Any message that can be read as an answer to this kind of request.
pub(super) fn any(request: &ConsumerRequest, input: &mut Input<'_>) -> Result<ConsumerResponse, RequestFailure> {
    use ConsumerResponse as Response;
    match request {
        ConsumerRequest::Metadata(_) => read(input).map(Response::Metadata),
        ConsumerRequest::FindCoordinator(_) => read(input).map(Response::FindCoordinator),
        ConsumerRequest::Heartbeat(_) => read(input).map(Response::Heartbeat),
        ConsumerRequest::OffsetFetch(_) => read(input).map(Response::OffsetFetch),
        ConsumerRequest::OffsetCommit(_) => read(input).map(Response::OffsetCommit),
        ConsumerRequest::ListOffsets(_) => read(input).map(Response::ListOffsets),
        ConsumerRequest::OffsetForLeaderEpoch(_) => read(input).map(Response::OffsetForLeaderEpoch),
        ConsumerRequest::Fetch(_) => read(input).map(Response::Fetch),
    }
}

fn read<M: Message>(input: &mut Input<'_>) -> Result<M, RequestFailure> {
    let version = version::<M>(input.byte());
    let length = usize::from(input.byte());
    M::from_bytes(Bytes::copy_from_slice(input.bytes(length)), version).map_err(|_| RequestFailure::Malformed)
}

/// No error most of the time; else one that matters to a consumer, or any.
fn code(input: &mut Input<'_>) -> ErrorCode {
    if !input.once_in(16) {
        return ErrorCode::NONE;
    }
    let any = ErrorCode(i16::from(input.byte()) - 1);
    input.pick(&[
        ErrorCode::OFFSET_OUT_OF_RANGE,
        ErrorCode::NOT_LEADER_OR_FOLLOWER,
        ErrorCode::FENCED_LEADER_EPOCH,
        ErrorCode::UNKNOWN_LEADER_EPOCH,
        ErrorCode::UNKNOWN_TOPIC_ID,
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode::TOPIC_AUTHORIZATION_FAILED,
        ErrorCode::COORDINATOR_NOT_AVAILABLE,
        ErrorCode::NOT_COORDINATOR,
        ErrorCode::UNKNOWN_MEMBER_ID,
        ErrorCode::FENCED_MEMBER_EPOCH,
        ErrorCode::STALE_MEMBER_EPOCH,
        ErrorCode::GROUP_AUTHORIZATION_FAILED,
        ErrorCode::FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode::INVALID_FETCH_SESSION_EPOCH,
        ErrorCode::CORRUPT_MESSAGE,
        any,
    ])
}

/// A low offset most of the time, else none, or one that makes no sense.
fn offset(input: &mut Input<'_>) -> i64 {
    match input.once_in(16) {
        true => input.pick(&[-1, -2, i64::MAX, i64::MAX - 3, i64::MIN]),
        false => input.byte().into(),
    }
}

fn leader_epoch(input: &mut Input<'_>) -> i32 {
    input.pick(&[-1, 0, 1, 3, 7, i32::MAX, i32::MIN])
}

/// One of the partitions that were asked for, or another one.
fn other(asked: i32, input: &mut Input<'_>) -> i32 {
    if input.once_in(16) { input.pick(&[0, 1, 4, -1, i32::MAX]) } else { asked }
}

fn heartbeat(request: &ConsumerGroupHeartbeatRequest, input: &mut Input<'_>) -> ConsumerGroupHeartbeatResponse {
    // A leave is answered with its own epoch.
    let epoch = if request.member_epoch < 0 { request.member_epoch } else { request.member_epoch.saturating_add(1) };
    let assigned = input.pick(&[0b1111, 0b1111, 0b0110, 0b0001, 0]);
    let mut partitions: Vec<i32> = (0..4).filter(|index| assigned >> index & 1 == 1).collect();
    if input.once_in(16) {
        partitions.push(other(0, input));
    }
    let topic_id = if input.once_in(8) { broker::OTHER_TOPIC } else { TOPIC };
    let assignment = Assignment { topic_partitions: vec![TopicPartitions { topic_id, partitions }] };
    ConsumerGroupHeartbeatResponse {
        error_code: code(input),
        member_id: Some("member".to_owned()),
        member_epoch: if input.once_in(16) { input.pick(&[0, -1, 1, i32::MAX, i32::MIN]) } else { epoch },
        heartbeat_interval_ms: if input.once_in(16) { input.pick(&[0, -1, 1, i32::MAX, i32::MIN]) } else { 5_000 },
        assignment: (!input.once_in(4)).then_some(assignment),
        ..Default::default()
    }
}

fn kept(request: &OffsetFetchRequest, input: &mut Input<'_>) -> OffsetFetchResponse {
    let mut groups = Vec::new();
    for group in &request.groups {
        let mut topics = Vec::new();
        for topic in group.topics.iter().flatten() {
            let partitions = topic.partition_indexes.iter().map(|index| OffsetFetchResponsePartitions {
                partition_index: other(*index, input),
                committed_offset: offset(input),
                committed_leader_epoch: leader_epoch(input),
                metadata: None,
                error_code: code(input),
            });
            let partitions = partitions.collect();
            topics.push(OffsetFetchResponseTopics { name: topic.name.clone(), topic_id: topic.topic_id, partitions });
        }
        groups.push(OffsetFetchResponseGroup { group_id: group.group_id.clone(), topics, error_code: code(input) });
    }
    if input.once_in(16) {
        groups.pop();
    }
    OffsetFetchResponse { groups, ..Default::default() }
}

fn committed(request: &OffsetCommitRequest, input: &mut Input<'_>) -> OffsetCommitResponse {
    let mut topics = Vec::new();
    for topic in &request.topics {
        let partitions = topic.partitions.iter().map(|said| OffsetCommitResponsePartition {
            partition_index: other(said.partition_index, input),
            error_code: code(input),
        });
        let partitions = partitions.collect();
        topics.push(OffsetCommitResponseTopic { name: topic.name.clone(), topic_id: topic.topic_id, partitions });
    }
    OffsetCommitResponse { topics, ..Default::default() }
}

fn listed(request: &ListOffsetsRequest, input: &mut Input<'_>) -> ListOffsetsResponse {
    let mut topics = Vec::new();
    for topic in &request.topics {
        let partitions = topic.partitions.iter().map(|asked| ListOffsetsPartitionResponse {
            partition_index: other(asked.partition_index, input),
            error_code: code(input),
            timestamp: asked.timestamp,
            offset: offset(input),
            leader_epoch: leader_epoch(input),
        });
        topics.push(ListOffsetsTopicResponse { name: topic.name.clone(), partitions: partitions.collect() });
    }
    ListOffsetsResponse { topics, ..Default::default() }
}

fn ended(request: &OffsetForLeaderEpochRequest, input: &mut Input<'_>) -> OffsetForLeaderEpochResponse {
    let mut topics = Vec::new();
    for topic in &request.topics {
        let partitions = topic.partitions.iter().map(|asked| EpochEndOffset {
            error_code: code(input),
            partition: other(asked.partition, input),
            leader_epoch: leader_epoch(input),
            end_offset: if input.once_in(4) { offset(input) } else { 1 << 40 },
        });
        topics.push(OffsetForLeaderTopicResult { topic: topic.topic.clone(), partitions: partitions.collect() });
    }
    OffsetForLeaderEpochResponse { topics, ..Default::default() }
}

fn fetched(request: &FetchRequest, input: &mut Input<'_>) -> FetchResponse {
    let mut responses = Vec::new();
    for topic in &request.topics {
        let partitions = topic.partitions.iter().map(|asked| filled(asked.partition, asked.fetch_offset, input));
        let partitions = partitions.collect();
        responses.push(FetchableTopicResponse { topic: String::new(), topic_id: topic.topic_id, partitions });
    }
    // What the session has and was not said again.
    for _ in 0..input.pick(&[0, 0, 1, 2]) {
        let from = i64::from(input.byte());
        let partitions = vec![filled(input.below(4) as i32, from, input)];
        responses.push(FetchableTopicResponse { topic: String::new(), topic_id: TOPIC, partitions });
    }
    let node_endpoints = if input.once_in(16) {
        vec![NodeEndpoint { node_id: 1 + input.below(4) as i32, host: "h".to_owned(), port: 9_093, rack: None }]
    } else {
        Vec::new()
    };
    FetchResponse {
        throttle_time_ms: if input.once_in(16) { input.pick(&[1, 1_000, -1, i32::MAX]) } else { 0 },
        error_code: code(input),
        session_id: input.pick(&[7, 7, 7, 0, 8, -1]),
        responses,
        node_endpoints,
    }
}

/// A partition with batches from about this offset on, or none, or bytes that are none.
fn filled(partition_index: i32, from: i64, input: &mut Input<'_>) -> PartitionData {
    let mut records = Vec::new();
    let mut first = from;
    for _ in 0..input.pick(&[1, 1, 2, 3, 0]) {
        if input.once_in(8) {
            let away = i64::from(input.byte()) - 128;
            first = input.pick(&[first.saturating_add(away), first.saturating_add(away), i64::MAX - 3, -1]);
        }
        let count = 1 + input.below(8) as i64;
        records.extend(batch(first, count, input).unwrap_or_default());
        first = first.saturating_add(count);
    }
    damage(&mut records, input);
    let aborted = AbortedTransaction { producer_id: 1, first_offset: from.saturating_sub(input.below(4) as i64) };
    PartitionData {
        partition_index,
        error_code: code(input),
        high_watermark: first,
        current_leader: fetch::LeaderIdAndEpoch {
            leader_id: input.pick(&[-1, 1, 2, 3]),
            leader_epoch: input.below(8) as i32,
        },
        aborted_transactions: input.once_in(4).then(|| vec![aborted]),
        preferred_read_replica: if input.once_in(16) { input.pick(&[1, 2, 3, i32::MAX]) } else { -1 },
        records: (!input.once_in(16)).then(|| records.into()),
        ..Default::default()
    }
}

/// `count` records from offset `first` on, 1 at least.
fn batch(first: i64, count: i64, input: &mut Input<'_>) -> Option<Vec<u8>> {
    let transactional = input.once_in(8);
    let producer_id = if transactional { 1 } else { -1 };
    let producer_epoch = if transactional { 0 } else { -1 };
    let options = BatchOptions { transactional, producer_id, producer_epoch, ..BatchOptions::default() };
    let mut builder = BatchBuilder::new(options);
    for _ in 0..count {
        builder.try_append(1_000, None, Some(b"value"), []).ok()?;
    }
    let mut batch = builder.build().ok()?.to_vec();
    assign_offsets(&mut batch, first, input.below(8) as i32).ok()?;
    Some(batch)
}

/// Cuts the records off, or changes some of their bytes, with a checksum that fits or does not.
fn damage(records: &mut Vec<u8>, input: &mut Input<'_>) {
    const CRC: std::ops::Range<usize> = 17..21;
    if !input.once_in(8) || records.is_empty() {
        return;
    }
    let at = (usize::from(input.byte()) << 2 | input.below(4)) % records.len();
    match input.below(4) {
        0 => records.truncate(at),
        1 => records[at] = input.byte(),
        _ => {
            records[at] = input.byte();
            let length =
                records.get(8..12).and_then(<[u8]>::first_chunk).map_or(0, |length| u32::from_be_bytes(*length));
            let end = (length as usize).saturating_add(12).min(records.len());
            if let Some(checked) = records.get(CRC.end..end) {
                let crc = crate::records::crc32c(checked);
                records[CRC].copy_from_slice(&crc.to_be_bytes());
            }
        }
    }
}
