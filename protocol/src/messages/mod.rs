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
#[cfg(feature = "json")]
pub mod dynamic;
pub mod find_coordinator;
pub mod init_producer_id;
pub mod metadata;
pub mod produce;
pub mod share_acknowledge;
pub mod share_fetch;
pub mod share_group_heartbeat;

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
            FindCoordinator(
                $crate::messages::find_coordinator::FindCoordinatorRequest,
                $crate::messages::find_coordinator::FindCoordinatorResponse
            ),
            InitProducerId(
                $crate::messages::init_producer_id::InitProducerIdRequest,
                $crate::messages::init_producer_id::InitProducerIdResponse
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
            ShareGroupHeartbeat(
                $crate::messages::share_group_heartbeat::ShareGroupHeartbeatRequest,
                $crate::messages::share_group_heartbeat::ShareGroupHeartbeatResponse
            ),
        }
    };
}
