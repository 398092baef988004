//! Of APIs about consumer groups.

use ackflow_protocol::messages::consumer_group_describe::{
    ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, DescribedGroup,
};
use ackflow_protocol::messages::consumer_group_heartbeat::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse,
};
use ackflow_protocol::messages::delete_groups::{DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse};
use ackflow_protocol::messages::describe_groups::{self, DescribeGroupsRequest, DescribeGroupsResponse};
use ackflow_protocol::messages::heartbeat::{HeartbeatRequest, HeartbeatResponse};
use ackflow_protocol::messages::join_group::{JoinGroupRequest, JoinGroupResponse};
use ackflow_protocol::messages::leave_group::{LeaveGroupRequest, LeaveGroupResponse};
use ackflow_protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitResponse, OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use ackflow_protocol::messages::offset_delete::{OffsetDeleteRequest, OffsetDeleteResponse};
use ackflow_protocol::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
};
use ackflow_protocol::messages::sync_group::{SyncGroupRequest, SyncGroupResponse};
use ackflow_protocol::wire::ErrorCode;

/// Since this version OffsetFetch has an error of its own.
const FETCH_ERROR_SINCE: i16 = 2;

pub(super) fn consumer_group_heartbeat(
    _: ConsumerGroupHeartbeatRequest,
    error_code: ErrorCode,
    _: i16,
) -> ConsumerGroupHeartbeatResponse {
    ConsumerGroupHeartbeatResponse { error_code, ..Default::default() }
}

pub(super) fn consumer_group_describe(
    request: ConsumerGroupDescribeRequest,
    error_code: ErrorCode,
    _: i16,
) -> ConsumerGroupDescribeResponse {
    let group = |group_id| DescribedGroup { error_code, group_id, ..Default::default() };
    ConsumerGroupDescribeResponse { groups: request.group_ids.into_iter().map(group).collect(), ..Default::default() }
}

pub(super) fn offset_commit(request: OffsetCommitRequest, error_code: ErrorCode, _: i16) -> OffsetCommitResponse {
    let partition = |partition_index| OffsetCommitResponsePartition { partition_index, error_code };
    let topics = request.topics.into_iter().map(|topic| OffsetCommitResponseTopic {
        partitions: topic.partitions.iter().map(|asked| partition(asked.partition_index)).collect(),
        name: topic.name,
        topic_id: topic.topic_id,
    });
    OffsetCommitResponse { topics: topics.collect(), ..Default::default() }
}

pub(super) fn offset_fetch(request: OffsetFetchRequest, error_code: ErrorCode, version: i16) -> OffsetFetchResponse {
    let group = |group_id| OffsetFetchResponseGroup { group_id, error_code, ..Default::default() };
    let groups = request.groups.into_iter().map(|asked| group(asked.group_id)).collect();
    let mut topics = Vec::new();
    if version < FETCH_ERROR_SINCE {
        let partition = |partition_index| OffsetFetchResponsePartition {
            partition_index,
            committed_offset: -1,
            error_code,
            ..Default::default()
        };
        topics.extend(request.topics.unwrap_or_default().into_iter().map(|topic| OffsetFetchResponseTopic {
            partitions: topic.partition_indexes.into_iter().map(partition).collect(),
            name: topic.name,
        }));
    }
    OffsetFetchResponse { topics, error_code, groups, ..Default::default() }
}

pub(super) fn offset_delete(_: OffsetDeleteRequest, error_code: ErrorCode, _: i16) -> OffsetDeleteResponse {
    OffsetDeleteResponse { error_code, ..Default::default() }
}

pub(super) fn delete_groups(request: DeleteGroupsRequest, error_code: ErrorCode, _: i16) -> DeleteGroupsResponse {
    let result = |group_id| DeletableGroupResult { group_id, error_code, ..Default::default() };
    DeleteGroupsResponse { results: request.groups_names.into_iter().map(result).collect(), ..Default::default() }
}

pub(super) fn join_group(request: JoinGroupRequest, error_code: ErrorCode, version: i16) -> JoinGroupResponse {
    // Before version 7 there is always a protocol.
    let protocol_name = (version < 7).then(String::new);
    let (member_id, generation_id) = (request.member_id, -1);
    JoinGroupResponse { error_code, generation_id, protocol_name, member_id, ..Default::default() }
}

pub(super) fn sync_group(_: SyncGroupRequest, error_code: ErrorCode, _: i16) -> SyncGroupResponse {
    SyncGroupResponse { error_code, ..Default::default() }
}

pub(super) fn heartbeat(_: HeartbeatRequest, error_code: ErrorCode, _: i16) -> HeartbeatResponse {
    HeartbeatResponse { error_code, ..Default::default() }
}

pub(super) fn leave_group(_: LeaveGroupRequest, error_code: ErrorCode, _: i16) -> LeaveGroupResponse {
    LeaveGroupResponse { error_code, ..Default::default() }
}

pub(super) fn describe_groups(request: DescribeGroupsRequest, error_code: ErrorCode, _: i16) -> DescribeGroupsResponse {
    let group = |group_id| describe_groups::DescribedGroup { error_code, group_id, ..Default::default() };
    DescribeGroupsResponse { groups: request.groups.into_iter().map(group).collect(), ..Default::default() }
}
