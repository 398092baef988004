//! Faults of answers.

use std::time::{Duration, Instant};

use ackflow_protocol::messages::add_offsets_to_txn::AddOffsetsToTxnRequest;
use ackflow_protocol::messages::add_partitions_to_txn::AddPartitionsToTxnRequest;
use ackflow_protocol::messages::alter_share_group_offsets::AlterShareGroupOffsetsRequest;
use ackflow_protocol::messages::api_versions::ApiVersionsRequest;
use ackflow_protocol::messages::consumer_group_describe::ConsumerGroupDescribeRequest;
use ackflow_protocol::messages::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;
use ackflow_protocol::messages::create_partitions::CreatePartitionsRequest;
use ackflow_protocol::messages::create_topics::CreateTopicsRequest;
use ackflow_protocol::messages::delete_groups::DeleteGroupsRequest;
use ackflow_protocol::messages::delete_records::DeleteRecordsRequest;
use ackflow_protocol::messages::delete_share_group_offsets::DeleteShareGroupOffsetsRequest;
use ackflow_protocol::messages::delete_topics::DeleteTopicsRequest;
use ackflow_protocol::messages::describe_cluster::DescribeClusterRequest;
use ackflow_protocol::messages::describe_configs::DescribeConfigsRequest;
use ackflow_protocol::messages::describe_groups::DescribeGroupsRequest;
use ackflow_protocol::messages::describe_producers::DescribeProducersRequest;
use ackflow_protocol::messages::describe_share_group_offsets::DescribeShareGroupOffsetsRequest;
use ackflow_protocol::messages::describe_topic_partitions::DescribeTopicPartitionsRequest;
use ackflow_protocol::messages::describe_transactions::DescribeTransactionsRequest;
use ackflow_protocol::messages::end_txn::EndTxnRequest;
use ackflow_protocol::messages::fetch::FetchRequest;
use ackflow_protocol::messages::find_coordinator::FindCoordinatorRequest;
use ackflow_protocol::messages::heartbeat::HeartbeatRequest;
use ackflow_protocol::messages::incremental_alter_configs::IncrementalAlterConfigsRequest;
use ackflow_protocol::messages::init_producer_id::InitProducerIdRequest;
use ackflow_protocol::messages::join_group::JoinGroupRequest;
use ackflow_protocol::messages::leave_group::LeaveGroupRequest;
use ackflow_protocol::messages::list_config_resources::ListConfigResourcesRequest;
use ackflow_protocol::messages::list_groups::ListGroupsRequest;
use ackflow_protocol::messages::list_offsets::ListOffsetsRequest;
use ackflow_protocol::messages::list_transactions::ListTransactionsRequest;
use ackflow_protocol::messages::metadata::MetadataRequest;
use ackflow_protocol::messages::offset_commit::OffsetCommitRequest;
use ackflow_protocol::messages::offset_delete::OffsetDeleteRequest;
use ackflow_protocol::messages::offset_fetch::OffsetFetchRequest;
use ackflow_protocol::messages::offset_for_leader_epoch::OffsetForLeaderEpochRequest;
use ackflow_protocol::messages::produce::ProduceRequest;
use ackflow_protocol::messages::share_acknowledge::ShareAcknowledgeRequest;
use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::messages::share_group_describe::ShareGroupDescribeRequest;
use ackflow_protocol::messages::share_group_heartbeat::ShareGroupHeartbeatRequest;
use ackflow_protocol::messages::sync_group::SyncGroupRequest;
use ackflow_protocol::messages::txn_offset_commit::TxnOffsetCommitRequest;
#[cfg(feature = "unstable-kip-1289")]
use ackflow_protocol::messages::txn_share_acknowledge::TxnShareAcknowledgeRequest;
use ackflow_protocol::wire::frame::SIZE_LENGTH;
use ackflow_protocol::wire::{ApiKey, Message, Request, RequestHeader, decode_response, encode_response};
use bytes::Bytes;

use super::FaultAction;
use crate::core::{Answer, Cluster, ConnectionId, Due};

/// What happens to an answer when it is there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Later {
    action: FaultAction,
    api: ApiKey,
    version: i16,
}

impl Later {
    pub(super) fn new(action: FaultAction, header: &RequestHeader) -> Self {
        Self { action, api: header.request_api_key, version: header.request_api_version }
    }
}

impl Cluster {
    /// Does to an answer what its rule says.
    pub(super) fn spoil(&mut self, now: Instant, connection: ConnectionId, later: Later, frame: Bytes) -> Answer {
        match later.action {
            FaultAction::CutAfter => Answer::Close("a fault rule cuts the connection".to_owned()),
            FaultAction::CutHalfway => Answer::Cut(frame.slice(..frame.len() / 2)),
            FaultAction::DelayAnswer(by) => {
                self.timers.schedule(now + by, Due::Reply(connection, frame));
                Answer::Parked
            }
            FaultAction::Throttle(time) => {
                self.faults.muted.insert(connection, now + time);
                Answer::Reply(throttled(later.api, later.version, frame, time))
            }
            FaultAction::Spoil(spoil) => Answer::Reply(spoil.apply(later.api, later.version, frame)),
            _ => Answer::Reply(frame),
        }
    }
}

/// A response that says how long the client is throttled. Of a response that has no place for it, the response as it is.
fn throttled(api: ApiKey, version: i16, frame: Bytes, time: Duration) -> Bytes {
    macro_rules! throttled {
        ($($(#[$when:meta])* $request:ty),* $(,)?) => {
            match api {
                $($(#[$when])* key if key == <$request>::KEY => {
                    let decoded = decode_response::<<$request as Request>::Response>(frame.slice(SIZE_LENGTH..), version);
                    decoded.ok().and_then(|(header, mut response)| {
                        response.throttle_time_ms = i32::try_from(time.as_millis()).unwrap_or(i32::MAX);
                        encode_response(&response, version, header.correlation_id).ok()
                    })
                })*
                _ => None,
            }
        };
    }
    let throttled = throttled!(
        ProduceRequest,
        MetadataRequest,
        OffsetForLeaderEpochRequest,
        ListOffsetsRequest,
        FetchRequest,
        DeleteRecordsRequest,
        FindCoordinatorRequest,
        ListGroupsRequest,
        ApiVersionsRequest,
        CreateTopicsRequest,
        DeleteTopicsRequest,
        InitProducerIdRequest,
        DescribeConfigsRequest,
        CreatePartitionsRequest,
        IncrementalAlterConfigsRequest,
        DescribeClusterRequest,
        ShareGroupHeartbeatRequest,
        ShareGroupDescribeRequest,
        ShareFetchRequest,
        ShareAcknowledgeRequest,
        DescribeShareGroupOffsetsRequest,
        AlterShareGroupOffsetsRequest,
        DeleteShareGroupOffsetsRequest,
        DescribeTopicPartitionsRequest,
        ListConfigResourcesRequest,
        DescribeProducersRequest,
        ConsumerGroupHeartbeatRequest,
        ConsumerGroupDescribeRequest,
        OffsetCommitRequest,
        OffsetFetchRequest,
        OffsetDeleteRequest,
        DeleteGroupsRequest,
        AddPartitionsToTxnRequest,
        AddOffsetsToTxnRequest,
        EndTxnRequest,
        TxnOffsetCommitRequest,
        DescribeTransactionsRequest,
        ListTransactionsRequest,
        JoinGroupRequest,
        SyncGroupRequest,
        HeartbeatRequest,
        LeaveGroupRequest,
        DescribeGroupsRequest,
        #[cfg(feature = "unstable-kip-1289")]
        TxnShareAcknowledgeRequest,
    );
    throttled.unwrap_or(frame)
}
