//! The messages: one file an API, request and response together.
//!
//! A struct has the schema's name and its fields in the schema's order and types, so that Apache Kafka's
//! documentation of a message is the documentation of its struct; the nested structs of one API are scoped in its
//! module. Versions follow three rules:
//!
//! - A field that a version lacks reads as the schema's default, which is not always zero (a leader epoch is -1).
//! - Writing to a version that lacks a field drops the value where the schema calls the field ignorable; elsewhere a
//!   value other than the default is an [`EncodeError`](crate::wire::EncodeError).
//! - `Option` means null on the wire, never "absent by version". A nullable field for which the schema names no default
//!   is `None` by default.

pub mod api_versions;
pub mod create_topics;
pub mod delete_topics;
pub mod describe_cluster;
pub mod describe_configs;
pub mod describe_share_group_offsets;
#[cfg(feature = "json")]
pub mod dynamic;
pub mod find_coordinator;
pub mod incremental_alter_configs;
pub mod init_producer_id;
pub mod list_groups;
pub mod metadata;
pub mod produce;
pub mod share_acknowledge;
pub mod share_fetch;
pub mod share_group_describe;
pub mod share_group_heartbeat;
#[cfg(test)]
mod tests;

/// The value of authorized operations that were not asked for.
pub const OPERATIONS_NOT_REQUESTED: i32 = i32::MIN;

/// Calls a macro with every API: its name, its request and its response.
///
/// `for_each_api!(callback)` expands to `callback! { ApiVersions(Request, Response), .. }`, and
/// `for_each_api!(callback, args)` to `callback! { args; ApiVersions(Request, Response), .. }`.
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
        $callback! {
            $($($args)*;)?
            ApiVersions(
                $crate::messages::api_versions::ApiVersionsRequest,
                $crate::messages::api_versions::ApiVersionsResponse
            ),
            CreateTopics(
                $crate::messages::create_topics::CreateTopicsRequest,
                $crate::messages::create_topics::CreateTopicsResponse
            ),
            DeleteTopics(
                $crate::messages::delete_topics::DeleteTopicsRequest,
                $crate::messages::delete_topics::DeleteTopicsResponse
            ),
            DescribeCluster(
                $crate::messages::describe_cluster::DescribeClusterRequest,
                $crate::messages::describe_cluster::DescribeClusterResponse
            ),
            DescribeConfigs(
                $crate::messages::describe_configs::DescribeConfigsRequest,
                $crate::messages::describe_configs::DescribeConfigsResponse
            ),
            DescribeShareGroupOffsets(
                $crate::messages::describe_share_group_offsets::DescribeShareGroupOffsetsRequest,
                $crate::messages::describe_share_group_offsets::DescribeShareGroupOffsetsResponse
            ),
            FindCoordinator(
                $crate::messages::find_coordinator::FindCoordinatorRequest,
                $crate::messages::find_coordinator::FindCoordinatorResponse
            ),
            IncrementalAlterConfigs(
                $crate::messages::incremental_alter_configs::IncrementalAlterConfigsRequest,
                $crate::messages::incremental_alter_configs::IncrementalAlterConfigsResponse
            ),
            InitProducerId(
                $crate::messages::init_producer_id::InitProducerIdRequest,
                $crate::messages::init_producer_id::InitProducerIdResponse
            ),
            ListGroups(
                $crate::messages::list_groups::ListGroupsRequest,
                $crate::messages::list_groups::ListGroupsResponse
            ),
            Metadata($crate::messages::metadata::MetadataRequest, $crate::messages::metadata::MetadataResponse),
            Produce($crate::messages::produce::ProduceRequest, $crate::messages::produce::ProduceResponse),
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
        }
    };
}
