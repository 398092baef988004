//! The list of the APIs.

/// Calls a macro with every API: its name, its request and its response.
///
/// `for_each_api!(callback)` expands to `callback! { ApiVersions(Request, Response), .. }`, and
/// `for_each_api!(callback, args)` to `callback! { args; ApiVersions(Request, Response), .. }`. What is behind a feature
/// comes last, where the feature is on.
///
/// ```
/// use ackflow_protocol::{for_each_api, wire::Message};
///
/// macro_rules! names {
///     ($($name:ident($request:ty, $response:ty)),* $(,)?) => { [$((stringify!($name), <$request>::KEY)),*] };
/// }
/// assert!(for_each_api!(names).iter().all(|(name, key)| key.name() == Some(name)));
/// ```
#[macro_export]
macro_rules! for_each_api {
    ($callback:ident $(, $($args:tt)*)?) => {
        $crate::with_unstable_apis! {
            $callback;
            $($($args)*;)?
            AddOffsetsToTxn(
                $crate::messages::add_offsets_to_txn::AddOffsetsToTxnRequest,
                $crate::messages::add_offsets_to_txn::AddOffsetsToTxnResponse
            ),
            AddPartitionsToTxn(
                $crate::messages::add_partitions_to_txn::AddPartitionsToTxnRequest,
                $crate::messages::add_partitions_to_txn::AddPartitionsToTxnResponse
            ),
            AlterConfigs(
                $crate::messages::alter_configs::AlterConfigsRequest,
                $crate::messages::alter_configs::AlterConfigsResponse
            ),
            AlterPartitionReassignments(
                $crate::messages::alter_partition_reassignments::AlterPartitionReassignmentsRequest,
                $crate::messages::alter_partition_reassignments::AlterPartitionReassignmentsResponse
            ),
            AlterShareGroupOffsets(
                $crate::messages::alter_share_group_offsets::AlterShareGroupOffsetsRequest,
                $crate::messages::alter_share_group_offsets::AlterShareGroupOffsetsResponse
            ),
            AlterUserScramCredentials(
                $crate::messages::alter_user_scram_credentials::AlterUserScramCredentialsRequest,
                $crate::messages::alter_user_scram_credentials::AlterUserScramCredentialsResponse
            ),
            ApiVersions(
                $crate::messages::api_versions::ApiVersionsRequest,
                $crate::messages::api_versions::ApiVersionsResponse
            ),
            ConsumerGroupDescribe(
                $crate::messages::consumer_group_describe::ConsumerGroupDescribeRequest,
                $crate::messages::consumer_group_describe::ConsumerGroupDescribeResponse
            ),
            ConsumerGroupHeartbeat(
                $crate::messages::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest,
                $crate::messages::consumer_group_heartbeat::ConsumerGroupHeartbeatResponse
            ),
            CreateAcls(
                $crate::messages::create_acls::CreateAclsRequest,
                $crate::messages::create_acls::CreateAclsResponse
            ),
            CreatePartitions(
                $crate::messages::create_partitions::CreatePartitionsRequest,
                $crate::messages::create_partitions::CreatePartitionsResponse
            ),
            CreateTopics(
                $crate::messages::create_topics::CreateTopicsRequest,
                $crate::messages::create_topics::CreateTopicsResponse
            ),
            DeleteAcls(
                $crate::messages::delete_acls::DeleteAclsRequest,
                $crate::messages::delete_acls::DeleteAclsResponse
            ),
            DeleteGroups(
                $crate::messages::delete_groups::DeleteGroupsRequest,
                $crate::messages::delete_groups::DeleteGroupsResponse
            ),
            DeleteRecords(
                $crate::messages::delete_records::DeleteRecordsRequest,
                $crate::messages::delete_records::DeleteRecordsResponse
            ),
            DeleteShareGroupOffsets(
                $crate::messages::delete_share_group_offsets::DeleteShareGroupOffsetsRequest,
                $crate::messages::delete_share_group_offsets::DeleteShareGroupOffsetsResponse
            ),
            DeleteShareGroupState(
                $crate::messages::delete_share_group_state::DeleteShareGroupStateRequest,
                $crate::messages::delete_share_group_state::DeleteShareGroupStateResponse
            ),
            DeleteTopics(
                $crate::messages::delete_topics::DeleteTopicsRequest,
                $crate::messages::delete_topics::DeleteTopicsResponse
            ),
            DescribeAcls(
                $crate::messages::describe_acls::DescribeAclsRequest,
                $crate::messages::describe_acls::DescribeAclsResponse
            ),
            DescribeCluster(
                $crate::messages::describe_cluster::DescribeClusterRequest,
                $crate::messages::describe_cluster::DescribeClusterResponse
            ),
            DescribeConfigs(
                $crate::messages::describe_configs::DescribeConfigsRequest,
                $crate::messages::describe_configs::DescribeConfigsResponse
            ),
            DescribeGroups(
                $crate::messages::describe_groups::DescribeGroupsRequest,
                $crate::messages::describe_groups::DescribeGroupsResponse
            ),
            DescribeProducers(
                $crate::messages::describe_producers::DescribeProducersRequest,
                $crate::messages::describe_producers::DescribeProducersResponse
            ),
            DescribeShareGroupOffsets(
                $crate::messages::describe_share_group_offsets::DescribeShareGroupOffsetsRequest,
                $crate::messages::describe_share_group_offsets::DescribeShareGroupOffsetsResponse
            ),
            DescribeTopicPartitions(
                $crate::messages::describe_topic_partitions::DescribeTopicPartitionsRequest,
                $crate::messages::describe_topic_partitions::DescribeTopicPartitionsResponse
            ),
            DescribeTransactions(
                $crate::messages::describe_transactions::DescribeTransactionsRequest,
                $crate::messages::describe_transactions::DescribeTransactionsResponse
            ),
            DescribeUserScramCredentials(
                $crate::messages::describe_user_scram_credentials::DescribeUserScramCredentialsRequest,
                $crate::messages::describe_user_scram_credentials::DescribeUserScramCredentialsResponse
            ),
            ElectLeaders(
                $crate::messages::elect_leaders::ElectLeadersRequest,
                $crate::messages::elect_leaders::ElectLeadersResponse
            ),
            EndTxn($crate::messages::end_txn::EndTxnRequest, $crate::messages::end_txn::EndTxnResponse),
            Fetch($crate::messages::fetch::FetchRequest, $crate::messages::fetch::FetchResponse),
            FindCoordinator(
                $crate::messages::find_coordinator::FindCoordinatorRequest,
                $crate::messages::find_coordinator::FindCoordinatorResponse
            ),
            GetTelemetrySubscriptions(
                $crate::messages::get_telemetry_subscriptions::GetTelemetrySubscriptionsRequest,
                $crate::messages::get_telemetry_subscriptions::GetTelemetrySubscriptionsResponse
            ),
            Heartbeat($crate::messages::heartbeat::HeartbeatRequest, $crate::messages::heartbeat::HeartbeatResponse),
            IncrementalAlterConfigs(
                $crate::messages::incremental_alter_configs::IncrementalAlterConfigsRequest,
                $crate::messages::incremental_alter_configs::IncrementalAlterConfigsResponse
            ),
            InitProducerId(
                $crate::messages::init_producer_id::InitProducerIdRequest,
                $crate::messages::init_producer_id::InitProducerIdResponse
            ),
            InitializeShareGroupState(
                $crate::messages::initialize_share_group_state::InitializeShareGroupStateRequest,
                $crate::messages::initialize_share_group_state::InitializeShareGroupStateResponse
            ),
            JoinGroup($crate::messages::join_group::JoinGroupRequest, $crate::messages::join_group::JoinGroupResponse),
            LeaveGroup(
                $crate::messages::leave_group::LeaveGroupRequest,
                $crate::messages::leave_group::LeaveGroupResponse
            ),
            ListConfigResources(
                $crate::messages::list_config_resources::ListConfigResourcesRequest,
                $crate::messages::list_config_resources::ListConfigResourcesResponse
            ),
            ListGroups(
                $crate::messages::list_groups::ListGroupsRequest,
                $crate::messages::list_groups::ListGroupsResponse
            ),
            ListOffsets(
                $crate::messages::list_offsets::ListOffsetsRequest,
                $crate::messages::list_offsets::ListOffsetsResponse
            ),
            ListPartitionReassignments(
                $crate::messages::list_partition_reassignments::ListPartitionReassignmentsRequest,
                $crate::messages::list_partition_reassignments::ListPartitionReassignmentsResponse
            ),
            ListTransactions(
                $crate::messages::list_transactions::ListTransactionsRequest,
                $crate::messages::list_transactions::ListTransactionsResponse
            ),
            Metadata($crate::messages::metadata::MetadataRequest, $crate::messages::metadata::MetadataResponse),
            OffsetCommit(
                $crate::messages::offset_commit::OffsetCommitRequest,
                $crate::messages::offset_commit::OffsetCommitResponse
            ),
            OffsetDelete(
                $crate::messages::offset_delete::OffsetDeleteRequest,
                $crate::messages::offset_delete::OffsetDeleteResponse
            ),
            OffsetFetch(
                $crate::messages::offset_fetch::OffsetFetchRequest,
                $crate::messages::offset_fetch::OffsetFetchResponse
            ),
            OffsetForLeaderEpoch(
                $crate::messages::offset_for_leader_epoch::OffsetForLeaderEpochRequest,
                $crate::messages::offset_for_leader_epoch::OffsetForLeaderEpochResponse
            ),
            Produce($crate::messages::produce::ProduceRequest, $crate::messages::produce::ProduceResponse),
            PushTelemetry(
                $crate::messages::push_telemetry::PushTelemetryRequest,
                $crate::messages::push_telemetry::PushTelemetryResponse
            ),
            ReadShareGroupState(
                $crate::messages::read_share_group_state::ReadShareGroupStateRequest,
                $crate::messages::read_share_group_state::ReadShareGroupStateResponse
            ),
            ReadShareGroupStateSummary(
                $crate::messages::read_share_group_state_summary::ReadShareGroupStateSummaryRequest,
                $crate::messages::read_share_group_state_summary::ReadShareGroupStateSummaryResponse
            ),
            SaslAuthenticate(
                $crate::messages::sasl_authenticate::SaslAuthenticateRequest,
                $crate::messages::sasl_authenticate::SaslAuthenticateResponse
            ),
            SaslHandshake(
                $crate::messages::sasl_handshake::SaslHandshakeRequest,
                $crate::messages::sasl_handshake::SaslHandshakeResponse
            ),
            ShareAcknowledge(
                $crate::messages::share_acknowledge::ShareAcknowledgeRequest,
                $crate::messages::share_acknowledge::ShareAcknowledgeResponse
            ),
            ShareFetch(
                $crate::messages::share_fetch::ShareFetchRequest,
                $crate::messages::share_fetch::ShareFetchResponse
            ),
            ShareGroupDescribe(
                $crate::messages::share_group_describe::ShareGroupDescribeRequest,
                $crate::messages::share_group_describe::ShareGroupDescribeResponse
            ),
            ShareGroupHeartbeat(
                $crate::messages::share_group_heartbeat::ShareGroupHeartbeatRequest,
                $crate::messages::share_group_heartbeat::ShareGroupHeartbeatResponse
            ),
            SyncGroup($crate::messages::sync_group::SyncGroupRequest, $crate::messages::sync_group::SyncGroupResponse),
            TxnOffsetCommit(
                $crate::messages::txn_offset_commit::TxnOffsetCommitRequest,
                $crate::messages::txn_offset_commit::TxnOffsetCommitResponse
            ),
            UpdateFeatures(
                $crate::messages::update_features::UpdateFeaturesRequest,
                $crate::messages::update_features::UpdateFeaturesResponse
            ),
            WriteShareGroupState(
                $crate::messages::write_share_group_state::WriteShareGroupStateRequest,
                $crate::messages::write_share_group_state::WriteShareGroupStateResponse
            ),
            WriteTxnMarkers(
                $crate::messages::write_txn_markers::WriteTxnMarkersRequest,
                $crate::messages::write_txn_markers::WriteTxnMarkersResponse
            ),
        }
    };
}

/// Adds the APIs that are behind a feature to the end of the list. A macro of its own, because a `cfg` inside
/// `for_each_api!` would ask for the features of the crate that calls it.
#[doc(hidden)]
#[cfg(not(feature = "unstable-kip-1289"))]
#[macro_export]
macro_rules! with_unstable_apis {
    ($callback:ident; $($list:tt)*) => { $callback! { $($list)* } };
}

#[doc(hidden)]
#[cfg(feature = "unstable-kip-1289")]
#[macro_export]
macro_rules! with_unstable_apis {
    ($callback:ident; $($list:tt)*) => {
        $callback! {
            $($list)*
            TxnShareAcknowledge(
                $crate::messages::txn_share_acknowledge::TxnShareAcknowledgeRequest,
                $crate::messages::txn_share_acknowledge::TxnShareAcknowledgeResponse
            ),
        }
    };
}

/// Calls a macro with every struct that is [embedded](crate::messages::embedded).
#[macro_export]
macro_rules! for_each_embedded {
    ($callback:ident $(, $($args:tt)*)?) => {
        $callback! {
            $($($args)*;)?
            ConsumerProtocolAssignment($crate::messages::consumer_protocol::ConsumerProtocolAssignment),
            ConsumerProtocolSubscription($crate::messages::consumer_protocol::ConsumerProtocolSubscription),
            ControlRecordTypeSchema($crate::messages::control_record::ControlRecordTypeSchema),
            EndTxnMarker($crate::messages::control_record::EndTxnMarker),
        }
    };
}
