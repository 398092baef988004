//! Of APIs about logs.

use ackflow_protocol::messages::delete_records::{
    DeleteRecordsPartitionResult, DeleteRecordsRequest, DeleteRecordsResponse, DeleteRecordsTopicResult,
};
use ackflow_protocol::messages::describe_producers::{
    DescribeProducersRequest, DescribeProducersResponse, PartitionResponse, TopicResponse,
};
use ackflow_protocol::messages::fetch::{FetchRequest, FetchResponse, FetchableTopicResponse, PartitionData};
use ackflow_protocol::messages::list_offsets::{
    ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopicResponse,
};
use ackflow_protocol::messages::offset_for_leader_epoch::{
    EpochEndOffset, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderTopicResult,
};
use ackflow_protocol::messages::write_txn_markers::{
    WritableTxnMarkerPartitionResult, WritableTxnMarkerResult, WritableTxnMarkerTopic, WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest, WriteTxnMarkersResponse,
};
use ackflow_protocol::wire::ErrorCode;
use bytes::Bytes;

/// Since this version Fetch has an error of its own.
const FETCH_ERROR_SINCE: i16 = 7;

pub(super) fn fetch(request: FetchRequest, error_code: ErrorCode, version: i16) -> FetchResponse {
    if version >= FETCH_ERROR_SINCE {
        return FetchResponse { error_code, ..Default::default() };
    }
    let partition = |partition_index| PartitionData {
        partition_index,
        error_code,
        high_watermark: -1,
        records: Some(Bytes::new()),
        ..Default::default()
    };
    let responses = request.topics.into_iter().map(|topic| FetchableTopicResponse {
        partitions: topic.partitions.iter().map(|asked| partition(asked.partition)).collect(),
        topic: topic.topic,
        topic_id: topic.topic_id,
    });
    FetchResponse { responses: responses.collect(), ..Default::default() }
}

pub(super) fn list_offsets(request: ListOffsetsRequest, error_code: ErrorCode, _: i16) -> ListOffsetsResponse {
    let partition =
        |partition_index| ListOffsetsPartitionResponse { partition_index, error_code, ..Default::default() };
    let topics = request.topics.into_iter().map(|topic| ListOffsetsTopicResponse {
        partitions: topic.partitions.iter().map(|asked| partition(asked.partition_index)).collect(),
        name: topic.name,
    });
    ListOffsetsResponse { topics: topics.collect(), ..Default::default() }
}

pub(super) fn delete_records(request: DeleteRecordsRequest, error_code: ErrorCode, _: i16) -> DeleteRecordsResponse {
    let partition = |partition_index| DeleteRecordsPartitionResult { partition_index, low_watermark: -1, error_code };
    let topics = request.topics.into_iter().map(|topic| DeleteRecordsTopicResult {
        partitions: topic.partitions.iter().map(|asked| partition(asked.partition_index)).collect(),
        name: topic.name,
    });
    DeleteRecordsResponse { topics: topics.collect(), ..Default::default() }
}

pub(super) fn offset_for_leader_epoch(
    request: OffsetForLeaderEpochRequest,
    error_code: ErrorCode,
    _: i16,
) -> OffsetForLeaderEpochResponse {
    let partition = |partition| EpochEndOffset { error_code, partition, leader_epoch: -1, end_offset: -1 };
    let topics = request.topics.into_iter().map(|topic| OffsetForLeaderTopicResult {
        partitions: topic.partitions.iter().map(|asked| partition(asked.partition)).collect(),
        topic: topic.topic,
    });
    OffsetForLeaderEpochResponse { topics: topics.collect(), ..Default::default() }
}

pub(super) fn describe_producers(
    request: DescribeProducersRequest,
    error_code: ErrorCode,
    _: i16,
) -> DescribeProducersResponse {
    let partition = |partition_index| PartitionResponse { partition_index, error_code, ..Default::default() };
    let topics = request.topics.into_iter().map(|topic| TopicResponse {
        partitions: topic.partition_indexes.into_iter().map(partition).collect(),
        name: topic.name,
    });
    DescribeProducersResponse { topics: topics.collect(), ..Default::default() }
}

pub(super) fn write_txn_markers(
    request: WriteTxnMarkersRequest,
    error_code: ErrorCode,
    _: i16,
) -> WriteTxnMarkersResponse {
    let partition = |partition_index| WritableTxnMarkerPartitionResult { partition_index, error_code };
    let topic = |topic: WritableTxnMarkerTopic| WritableTxnMarkerTopicResult {
        partitions: topic.partition_indexes.into_iter().map(partition).collect(),
        name: topic.name,
    };
    let markers = request.markers.into_iter().map(|marker| WritableTxnMarkerResult {
        producer_id: marker.producer_id,
        topics: marker.topics.into_iter().map(topic).collect(),
    });
    WriteTxnMarkersResponse { markers: markers.collect() }
}
