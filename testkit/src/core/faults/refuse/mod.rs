//! Requests that are refused as a whole: the response with an error, of each API.

mod groups;
mod logs;
mod transactions;

use ackflow_protocol::messages::add_offsets_to_txn::AddOffsetsToTxnRequest;
use ackflow_protocol::messages::add_partitions_to_txn::AddPartitionsToTxnRequest;
use ackflow_protocol::messages::alter_share_group_offsets::{
    AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsResponse,
};
use ackflow_protocol::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use ackflow_protocol::messages::consumer_group_describe::ConsumerGroupDescribeRequest;
use ackflow_protocol::messages::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;
use ackflow_protocol::messages::create_partitions::{
    CreatePartitionsRequest, CreatePartitionsResponse, CreatePartitionsTopicResult,
};
use ackflow_protocol::messages::create_topics::{CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse};
use ackflow_protocol::messages::delete_groups::DeleteGroupsRequest;
use ackflow_protocol::messages::delete_records::DeleteRecordsRequest;
use ackflow_protocol::messages::delete_share_group_offsets::{
    DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsResponse,
};
use ackflow_protocol::messages::delete_topics::{DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse};
use ackflow_protocol::messages::describe_cluster::{DescribeClusterRequest, DescribeClusterResponse};
use ackflow_protocol::messages::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResponse, DescribeConfigsResult,
};
use ackflow_protocol::messages::describe_groups::DescribeGroupsRequest;
use ackflow_protocol::messages::describe_producers::DescribeProducersRequest;
use ackflow_protocol::messages::describe_share_group_offsets::{
    DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsResponse, DescribeShareGroupOffsetsResponseGroup,
};
use ackflow_protocol::messages::describe_topic_partitions::{
    DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, DescribeTopicPartitionsResponseTopic,
};
use ackflow_protocol::messages::describe_transactions::DescribeTransactionsRequest;
use ackflow_protocol::messages::end_txn::EndTxnRequest;
use ackflow_protocol::messages::fetch::FetchRequest;
use ackflow_protocol::messages::find_coordinator::{Coordinator, FindCoordinatorRequest, FindCoordinatorResponse};
use ackflow_protocol::messages::heartbeat::HeartbeatRequest;
use ackflow_protocol::messages::incremental_alter_configs::{
    AlterConfigsResourceResponse, IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse,
};
use ackflow_protocol::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use ackflow_protocol::messages::join_group::JoinGroupRequest;
use ackflow_protocol::messages::leave_group::LeaveGroupRequest;
use ackflow_protocol::messages::list_config_resources::{ListConfigResourcesRequest, ListConfigResourcesResponse};
use ackflow_protocol::messages::list_groups::{ListGroupsRequest, ListGroupsResponse};
use ackflow_protocol::messages::list_offsets::ListOffsetsRequest;
use ackflow_protocol::messages::list_transactions::ListTransactionsRequest;
use ackflow_protocol::messages::metadata::{MetadataRequest, MetadataResponse, MetadataResponseTopic};
use ackflow_protocol::messages::offset_commit::OffsetCommitRequest;
use ackflow_protocol::messages::offset_delete::OffsetDeleteRequest;
use ackflow_protocol::messages::offset_fetch::OffsetFetchRequest;
use ackflow_protocol::messages::offset_for_leader_epoch::OffsetForLeaderEpochRequest;
use ackflow_protocol::messages::sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
use ackflow_protocol::messages::sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};
use ackflow_protocol::messages::share_acknowledge::{ShareAcknowledgeRequest, ShareAcknowledgeResponse};
use ackflow_protocol::messages::share_fetch::{ShareFetchRequest, ShareFetchResponse};
use ackflow_protocol::messages::share_group_describe::{
    DescribedGroup, ShareGroupDescribeRequest, ShareGroupDescribeResponse,
};
use ackflow_protocol::messages::share_group_heartbeat::{ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse};
use ackflow_protocol::messages::sync_group::SyncGroupRequest;
use ackflow_protocol::messages::txn_offset_commit::TxnOffsetCommitRequest;
#[cfg(feature = "unstable-kip-1289")]
use ackflow_protocol::messages::txn_share_acknowledge::TxnShareAcknowledgeRequest;
use ackflow_protocol::messages::write_txn_markers::WriteTxnMarkersRequest;
use ackflow_protocol::wire::{ApiKey, ErrorCode, Message, Request};
use bytes::Bytes;

use crate::core::dispatch::{Answer, RequestContext};

/// Answers a request with nothing but an error. One that cannot be read or that nobody serves closes the connection. Produce has
/// no error but those of its partitions, and is not answered here.
pub(crate) fn whole(cx: &RequestContext<'_>, key: ApiKey, body: Bytes, error_code: ErrorCode) -> Answer {
    macro_rules! refusals {
        ($($(#[$when:meta])* $request:ty => $refusal:expr,)*) => {
            match key {
                $($(#[$when])* key if key == <$request>::KEY => {
                    let refusal: fn($request, ErrorCode, i16) -> <$request as Request>::Response = $refusal;
                    match <$request>::from_bytes(body, cx.version) {
                        Ok(request) => cx.reply(&refusal(request, error_code, cx.version)),
                        Err(error) => Answer::Close(error.to_string()),
                    }
                })*
                _ => Answer::Close(format!("{key} is not served")),
            }
        };
    }
    refusals! {
        FetchRequest => logs::fetch,
        ListOffsetsRequest => logs::list_offsets,
        DeleteRecordsRequest => logs::delete_records,
        OffsetForLeaderEpochRequest => logs::offset_for_leader_epoch,
        MetadataRequest => metadata,
        FindCoordinatorRequest => find_coordinator,
        ListGroupsRequest => |_, error_code, _| ListGroupsResponse { error_code, ..Default::default() },
        ApiVersionsRequest => |_, error_code, _| ApiVersionsResponse { error_code, ..Default::default() },
        SaslHandshakeRequest => |_, error_code, _| SaslHandshakeResponse { error_code, ..Default::default() },
        SaslAuthenticateRequest => |_, error_code, _| SaslAuthenticateResponse { error_code, ..Default::default() },
        CreateTopicsRequest => create_topics,
        DeleteTopicsRequest => delete_topics,
        InitProducerIdRequest => |_, error_code, _| InitProducerIdResponse { error_code, ..Default::default() },
        DescribeConfigsRequest => describe_configs,
        CreatePartitionsRequest => create_partitions,
        IncrementalAlterConfigsRequest => alter_configs,
        DescribeClusterRequest => |_, error_code, _| DescribeClusterResponse { error_code, ..Default::default() },
        ShareGroupHeartbeatRequest => |_, error_code, _| {
            ShareGroupHeartbeatResponse { error_code, ..Default::default() }
        },
        ShareGroupDescribeRequest => share_group_describe,
        ShareFetchRequest => |_, error_code, _| ShareFetchResponse { error_code, ..Default::default() },
        ShareAcknowledgeRequest => |_, error_code, _| ShareAcknowledgeResponse { error_code, ..Default::default() },
        DescribeShareGroupOffsetsRequest => describe_share_group_offsets,
        AlterShareGroupOffsetsRequest => |_, error_code, _| {
            AlterShareGroupOffsetsResponse { error_code, ..Default::default() }
        },
        DeleteShareGroupOffsetsRequest => |_, error_code, _| {
            DeleteShareGroupOffsetsResponse { error_code, ..Default::default() }
        },
        DescribeTopicPartitionsRequest => describe_topic_partitions,
        ListConfigResourcesRequest => |_, error_code, _| {
            ListConfigResourcesResponse { error_code, ..Default::default() }
        },
        DescribeGroupsRequest => groups::describe_groups,
        LeaveGroupRequest => groups::leave_group,
        HeartbeatRequest => groups::heartbeat,
        SyncGroupRequest => groups::sync_group,
        JoinGroupRequest => groups::join_group,
        ListTransactionsRequest => transactions::list_transactions,
        DescribeTransactionsRequest => transactions::describe_transactions,
        TxnOffsetCommitRequest => transactions::txn_offset_commit,
        EndTxnRequest => transactions::end_txn,
        AddOffsetsToTxnRequest => transactions::add_offsets_to_txn,
        AddPartitionsToTxnRequest => transactions::add_partitions_to_txn,
        DeleteGroupsRequest => groups::delete_groups,
        OffsetDeleteRequest => groups::offset_delete,
        OffsetFetchRequest => groups::offset_fetch,
        OffsetCommitRequest => groups::offset_commit,
        ConsumerGroupDescribeRequest => groups::consumer_group_describe,
        ConsumerGroupHeartbeatRequest => groups::consumer_group_heartbeat,
        WriteTxnMarkersRequest => logs::write_txn_markers,
        DescribeProducersRequest => logs::describe_producers,
        #[cfg(feature = "unstable-kip-1289")]
        TxnShareAcknowledgeRequest => transactions::txn_share_acknowledge,
    }
}

/// Since this version Metadata has an error of its own.
const METADATA_ERROR_SINCE: i16 = 13;

/// Since this version several coordinators are found at once, and each has an error.
const COORDINATORS_SINCE: i16 = 4;

/// Since this version topics to delete may be named by id.
const DELETE_BY_ID_SINCE: i16 = 6;

fn metadata(request: MetadataRequest, error_code: ErrorCode, version: i16) -> MetadataResponse {
    if version >= METADATA_ERROR_SINCE {
        return MetadataResponse { error_code, ..Default::default() };
    }
    let topics = request.topics.unwrap_or_default().into_iter().map(|topic| MetadataResponseTopic {
        error_code,
        name: topic.name.or_else(|| Some(String::new())),
        topic_id: topic.topic_id,
        ..Default::default()
    });
    MetadataResponse { topics: topics.collect(), ..Default::default() }
}

fn find_coordinator(request: FindCoordinatorRequest, error_code: ErrorCode, version: i16) -> FindCoordinatorResponse {
    if version < COORDINATORS_SINCE {
        return FindCoordinatorResponse { error_code, node_id: -1, port: -1, ..Default::default() };
    }
    let coordinators = request.coordinator_keys.into_iter().map(|key| Coordinator {
        key,
        node_id: -1,
        port: -1,
        error_code,
        ..Default::default()
    });
    FindCoordinatorResponse { coordinators: coordinators.collect(), ..Default::default() }
}

fn create_topics(request: CreateTopicsRequest, error_code: ErrorCode, _: i16) -> CreateTopicsResponse {
    let topic = |name| CreatableTopicResult { name, error_code, configs: Some(Vec::new()), ..Default::default() };
    let topics = request.topics.into_iter().map(|asked| topic(asked.name)).collect();
    CreateTopicsResponse { topics, ..Default::default() }
}

fn delete_topics(request: DeleteTopicsRequest, error_code: ErrorCode, version: i16) -> DeleteTopicsResponse {
    let result = |name, topic_id| DeletableTopicResult { name, topic_id, error_code, ..Default::default() };
    let responses = if version >= DELETE_BY_ID_SINCE {
        request.topics.into_iter().map(|topic| result(topic.name, topic.topic_id)).collect()
    } else {
        request.topic_names.into_iter().map(|name| result(Some(name), Default::default())).collect()
    };
    DeleteTopicsResponse { responses, ..Default::default() }
}

fn describe_configs(request: DescribeConfigsRequest, error_code: ErrorCode, _: i16) -> DescribeConfigsResponse {
    let results = request.resources.into_iter().map(|resource| DescribeConfigsResult {
        error_code,
        resource_type: resource.resource_type,
        resource_name: resource.resource_name,
        ..Default::default()
    });
    DescribeConfigsResponse { results: results.collect(), ..Default::default() }
}

fn describe_topic_partitions(
    request: DescribeTopicPartitionsRequest,
    error_code: ErrorCode,
    _: i16,
) -> DescribeTopicPartitionsResponse {
    let topic = |name| DescribeTopicPartitionsResponseTopic { error_code, name: Some(name), ..Default::default() };
    let topics = request.topics.into_iter().map(|asked| topic(asked.name)).collect();
    DescribeTopicPartitionsResponse { topics, ..Default::default() }
}

fn create_partitions(request: CreatePartitionsRequest, error_code: ErrorCode, _: i16) -> CreatePartitionsResponse {
    let result = |name| CreatePartitionsTopicResult { name, error_code, ..Default::default() };
    let results = request.topics.into_iter().map(|topic| result(topic.name)).collect();
    CreatePartitionsResponse { results, ..Default::default() }
}

fn alter_configs(
    request: IncrementalAlterConfigsRequest,
    error_code: ErrorCode,
    _: i16,
) -> IncrementalAlterConfigsResponse {
    let responses = request.resources.into_iter().map(|resource| AlterConfigsResourceResponse {
        error_code,
        resource_type: resource.resource_type,
        resource_name: resource.resource_name,
        ..Default::default()
    });
    IncrementalAlterConfigsResponse { responses: responses.collect(), ..Default::default() }
}

fn share_group_describe(
    request: ShareGroupDescribeRequest,
    error_code: ErrorCode,
    _: i16,
) -> ShareGroupDescribeResponse {
    let group = |group_id| DescribedGroup { error_code, group_id, ..Default::default() };
    ShareGroupDescribeResponse { groups: request.group_ids.into_iter().map(group).collect(), ..Default::default() }
}

fn describe_share_group_offsets(
    request: DescribeShareGroupOffsetsRequest,
    error_code: ErrorCode,
    _: i16,
) -> DescribeShareGroupOffsetsResponse {
    let group = |group_id| DescribeShareGroupOffsetsResponseGroup { group_id, error_code, ..Default::default() };
    let groups = request.groups.into_iter().map(|asked| group(asked.group_id)).collect();
    DescribeShareGroupOffsetsResponse { groups, ..Default::default() }
}
