//! From a request's bytes to its handler and back.

use std::ops::RangeInclusive;
use std::time::Instant;

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
use ackflow_protocol::messages::sasl_authenticate::SaslAuthenticateRequest;
use ackflow_protocol::messages::sasl_handshake::SaslHandshakeRequest;
use ackflow_protocol::messages::share_acknowledge::ShareAcknowledgeRequest;
use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::messages::share_group_describe::ShareGroupDescribeRequest;
use ackflow_protocol::messages::share_group_heartbeat::ShareGroupHeartbeatRequest;
use ackflow_protocol::messages::sync_group::SyncGroupRequest;
use ackflow_protocol::messages::txn_offset_commit::TxnOffsetCommitRequest;
#[cfg(feature = "unstable-kip-1289")]
use ackflow_protocol::messages::txn_share_acknowledge::TxnShareAcknowledgeRequest;
use ackflow_protocol::messages::write_txn_markers::WriteTxnMarkersRequest;
use ackflow_protocol::wire::{ApiKey, Message, Request, RequestHeader, encode_response};
use bytes::Bytes;

use super::faults::{self, Refused};
use super::{Cluster, ConnectionId, handlers};

/// The levels of the feature `share.version` that are served.
#[cfg(not(feature = "unstable-kip-1289"))]
pub(super) const SHARE_VERSIONS: &[i16] = &[0, 1, 2];
/// The levels of the feature `share.version` that are served.
#[cfg(feature = "unstable-kip-1289")]
pub(super) const SHARE_VERSIONS: &[i16] = &[0, 1, 2, handlers::txn_share_acknowledge::SHARE_VERSION];

/// The highest level of the feature `transaction.version`.
pub(super) const MAX_TRANSACTION_VERSION: i16 = 2;

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The response as one frame, size included.
    Reply(Bytes),
    /// The response comes from [`Cluster::poll`] later. Until then the connection's next request has to wait: requests
    /// of a connection are answered in order.
    Parked,
    /// The request wants no response (`acks=0`).
    Silent,
    /// These bytes of the response, and then the end of the connection: a fault, or a client that does not come in.
    Cut(Bytes),
    /// The connection has to be closed; the text says why.
    Close(String),
}

impl Answer {
    /// This answer, and then the end of the connection.
    pub(super) fn and_close(self) -> Self {
        match self {
            Self::Reply(frame) => Self::Cut(frame),
            other => other,
        }
    }
}

/// What a handler knows of a request besides its body.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestContext<'a> {
    /// When it came.
    pub(super) now: Instant,
    /// Where it came from.
    pub(super) connection: ConnectionId,
    /// The node that it came to.
    pub(super) node: i32,
    /// The version of the body.
    pub(super) version: i16,
    /// Repeated in the response.
    pub(super) correlation_id: i32,
    /// `client.id`, or empty.
    pub(super) client_id: &'a str,
    /// The address, as descriptions show it.
    pub(super) client_host: &'a str,
    /// What of it a fault rule refuses.
    pub(super) refused: Refused,
}

impl RequestContext<'_> {
    /// The response as an answer.
    pub(super) fn reply<M: Message>(&self, response: &M) -> Answer {
        match encode_response(response, self.version, self.correlation_id) {
            Ok(reply) => Answer::Reply(reply),
            Err(error) => Answer::Close(error.to_string()),
        }
    }
}

/// The APIs that are served, with their versions: those of Kafka 4.4.0.
pub(super) fn served() -> impl Iterator<Item = (ApiKey, RangeInclusive<i16>)> {
    fn range<R: Request>() -> (ApiKey, RangeInclusive<i16>) {
        (R::KEY, *R::VERSIONS.start()..=R::NEWEST_STABLE)
    }
    [
        range::<ProduceRequest>(),
        range::<FetchRequest>(),
        range::<ListOffsetsRequest>(),
        range::<MetadataRequest>(),
        range::<FindCoordinatorRequest>(),
        range::<ListGroupsRequest>(),
        // Tokens without requests around them, as with version 0, are for clients of before 2018.
        (ApiKey::SASL_HANDSHAKE, 1..=SaslHandshakeRequest::NEWEST_STABLE),
        range::<ApiVersionsRequest>(),
        range::<CreateTopicsRequest>(),
        range::<DeleteTopicsRequest>(),
        range::<DeleteRecordsRequest>(),
        range::<InitProducerIdRequest>(),
        range::<OffsetForLeaderEpochRequest>(),
        range::<DescribeConfigsRequest>(),
        range::<CreatePartitionsRequest>(),
        range::<IncrementalAlterConfigsRequest>(),
        range::<DescribeClusterRequest>(),
        range::<SaslAuthenticateRequest>(),
        range::<ShareGroupHeartbeatRequest>(),
        range::<ShareGroupDescribeRequest>(),
        range::<ShareFetchRequest>(),
        range::<ShareAcknowledgeRequest>(),
        range::<DescribeShareGroupOffsetsRequest>(),
        range::<AlterShareGroupOffsetsRequest>(),
        range::<DeleteShareGroupOffsetsRequest>(),
        range::<DescribeTopicPartitionsRequest>(),
        range::<ListConfigResourcesRequest>(),
        range::<DescribeProducersRequest>(),
        range::<WriteTxnMarkersRequest>(),
        range::<ConsumerGroupHeartbeatRequest>(),
        range::<ConsumerGroupDescribeRequest>(),
        range::<OffsetCommitRequest>(),
        range::<OffsetFetchRequest>(),
        range::<OffsetDeleteRequest>(),
        range::<DeleteGroupsRequest>(),
        range::<AddPartitionsToTxnRequest>(),
        range::<AddOffsetsToTxnRequest>(),
        range::<EndTxnRequest>(),
        range::<TxnOffsetCommitRequest>(),
        range::<DescribeTransactionsRequest>(),
        range::<ListTransactionsRequest>(),
        range::<JoinGroupRequest>(),
        range::<SyncGroupRequest>(),
        range::<HeartbeatRequest>(),
        range::<LeaveGroupRequest>(),
        range::<DescribeGroupsRequest>(),
    ]
    .into_iter()
}

impl Cluster {
    /// The APIs that no Kafka has yet and that the levels of features ask for.
    fn unstable(&self) -> Option<(ApiKey, RangeInclusive<i16>)> {
        #[cfg(feature = "unstable-kip-1289")]
        if self.share_version >= handlers::txn_share_acknowledge::SHARE_VERSION {
            return Some((TxnShareAcknowledgeRequest::KEY, TxnShareAcknowledgeRequest::VERSIONS));
        }
        None
    }

    /// What a node serves of it.
    pub(super) fn served_by(&self, node: i32) -> impl Iterator<Item = (ApiKey, RangeInclusive<i16>)> {
        served().chain(self.unstable()).filter_map(move |(key, versions)| {
            let newest = self.nodes.get(node).and_then(|node| node.newest.get(&key)).unwrap_or(versions.end());
            let versions = *versions.start()..=*newest.min(versions.end());
            (!versions.is_empty()).then_some((key, versions))
        })
    }

    /// Has a node, or each of them, serve no newer version of an API than `newest`, as an older Kafka does; below the oldest one, it does not
    /// serve the API. Connections that are open have to be cut for their clients to notice, as when a broker is replaced.
    pub fn limit_version(&mut self, node: Option<i32>, api: ApiKey, newest: i16) {
        for node in self.nodes.iter_mut().filter(|each| node.is_none_or(|id| each.id == id)) {
            node.newest.insert(api, newest);
        }
    }

    /// Handles one request. The next one of the same connection may come once this one is answered.
    ///
    /// After [`Answer::Close`] and [`Answer::Cut`] the cluster has forgotten the connection.
    ///
    /// A body that cannot be read, and an API or version that is not served, close the connection as Kafka does; only
    /// ApiVersions is answered in any version. So does a request on a connection that [`connected`](Self::connected) was not
    /// told of.
    pub fn handle(&mut self, now: Instant, connection: ConnectionId, header: &RequestHeader, body: Bytes) -> Answer {
        self.keep_request(now, connection, header, &body);
        let answer = self.handle_with_faults(now, connection, header, body);
        if matches!(answer, Answer::Close(_) | Answer::Cut(_)) {
            self.disconnected(now, connection);
        }
        answer
    }

    /// Handles one request, of which a part may be refused.
    pub(super) fn handle_now(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        header: &RequestHeader,
        body: Bytes,
        refused: Refused,
    ) -> Answer {
        let Some(peer) = self.connections.get(&connection) else {
            return Answer::Close("the connection was not announced, or has ended".to_owned());
        };
        let (node, client_host) = (peer.node, peer.host.clone());
        if let Err(reason) = self.may_send(now, connection, header.request_api_key) {
            return Answer::Close(reason);
        }
        let cx = RequestContext {
            now,
            connection,
            node,
            version: header.request_api_version,
            correlation_id: header.correlation_id,
            client_id: header.client_id.as_deref().unwrap_or_default(),
            client_host: &client_host,
            refused,
        };
        if let Refused::Everything(code) = refused
            && header.request_api_key != ApiKey::PRODUCE
        {
            return faults::whole(&cx, header.request_api_key, body, code);
        }
        let answer = self.dispatch(&cx, header.request_api_key, body);
        self.complete_woken(now);
        answer
    }

    fn dispatch(&mut self, cx: &RequestContext<'_>, key: ApiKey, body: Bytes) -> Answer {
        let Some((_, versions)) = self.served_by(cx.node).find(|(served, _)| *served == key) else {
            return Answer::Close(format!("{key} is not served"));
        };
        if !versions.contains(&cx.version) {
            return match key {
                ApiKey::API_VERSIONS => handlers::api_versions::unsupported(self, cx),
                _ => Answer::Close(format!("{key} version {} is not served", cx.version)),
            };
        }
        match key {
            ApiKey::PRODUCE => self.read_body(cx, body, handlers::produce::handle),
            ApiKey::FETCH => self.read_body(cx, body, handlers::fetch::handle),
            ApiKey::LIST_OFFSETS => self.serve(cx, body, handlers::list_offsets::handle),
            ApiKey::METADATA => self.serve(cx, body, handlers::metadata::handle),
            ApiKey::FIND_COORDINATOR => self.serve(cx, body, handlers::find_coordinator::handle),
            ApiKey::LIST_GROUPS => self.serve(cx, body, handlers::list_groups::handle),
            ApiKey::SASL_HANDSHAKE => self.read_body(cx, body, handlers::sasl_handshake::handle),
            ApiKey::SASL_AUTHENTICATE => self.read_body(cx, body, handlers::sasl_authenticate::handle),
            ApiKey::API_VERSIONS => self.serve(cx, body, handlers::api_versions::handle),
            ApiKey::CREATE_TOPICS => self.serve(cx, body, handlers::create_topics::handle),
            ApiKey::DELETE_TOPICS => self.serve(cx, body, handlers::delete_topics::handle),
            ApiKey::DELETE_RECORDS => self.serve(cx, body, handlers::delete_records::handle),
            ApiKey::OFFSET_FOR_LEADER_EPOCH => self.serve(cx, body, handlers::offset_for_leader_epoch::handle),
            ApiKey::INIT_PRODUCER_ID => self.serve(cx, body, handlers::init_producer_id::handle),
            ApiKey::DESCRIBE_CONFIGS => self.serve(cx, body, handlers::describe_configs::handle),
            ApiKey::CREATE_PARTITIONS => self.serve(cx, body, handlers::create_partitions::handle),
            ApiKey::INCREMENTAL_ALTER_CONFIGS => self.serve(cx, body, handlers::incremental_alter_configs::handle),
            ApiKey::DESCRIBE_CLUSTER => self.serve(cx, body, handlers::describe_cluster::handle),
            ApiKey::SHARE_GROUP_HEARTBEAT => self.serve(cx, body, handlers::share_group_heartbeat::handle),
            ApiKey::SHARE_GROUP_DESCRIBE => self.serve(cx, body, handlers::share_group_describe::handle),
            ApiKey::SHARE_FETCH => self.read_body(cx, body, handlers::share_fetch::handle),
            ApiKey::SHARE_ACKNOWLEDGE => self.serve(cx, body, handlers::share_acknowledge::handle),
            ApiKey::DESCRIBE_SHARE_GROUP_OFFSETS => {
                self.serve(cx, body, handlers::describe_share_group_offsets::handle)
            }
            ApiKey::ALTER_SHARE_GROUP_OFFSETS => self.serve(cx, body, handlers::alter_share_group_offsets::handle),
            ApiKey::DELETE_SHARE_GROUP_OFFSETS => self.serve(cx, body, handlers::delete_share_group_offsets::handle),
            ApiKey::DESCRIBE_TOPIC_PARTITIONS => self.serve(cx, body, handlers::describe_topic_partitions::handle),
            ApiKey::LIST_CONFIG_RESOURCES => self.serve(cx, body, handlers::list_config_resources::handle),
            ApiKey::DESCRIBE_PRODUCERS => self.serve(cx, body, handlers::describe_producers::handle),
            ApiKey::WRITE_TXN_MARKERS => self.serve(cx, body, handlers::write_txn_markers::handle),
            ApiKey::CONSUMER_GROUP_HEARTBEAT => self.serve(cx, body, handlers::consumer_group_heartbeat::handle),
            ApiKey::CONSUMER_GROUP_DESCRIBE => self.serve(cx, body, handlers::consumer_group_describe::handle),
            ApiKey::OFFSET_COMMIT => self.serve(cx, body, handlers::offset_commit::handle),
            ApiKey::OFFSET_FETCH => self.serve(cx, body, handlers::offset_fetch::handle),
            ApiKey::OFFSET_DELETE => self.serve(cx, body, handlers::offset_delete::handle),
            ApiKey::DELETE_GROUPS => self.serve(cx, body, handlers::delete_groups::handle),
            ApiKey::ADD_PARTITIONS_TO_TXN => self.serve(cx, body, handlers::add_partitions_to_txn::handle),
            ApiKey::ADD_OFFSETS_TO_TXN => self.serve(cx, body, handlers::add_offsets_to_txn::handle),
            ApiKey::END_TXN => self.serve(cx, body, handlers::end_txn::handle),
            ApiKey::TXN_OFFSET_COMMIT => self.serve(cx, body, handlers::txn_offset_commit::handle),
            ApiKey::DESCRIBE_TRANSACTIONS => self.serve(cx, body, handlers::describe_transactions::handle),
            ApiKey::LIST_TRANSACTIONS => self.serve(cx, body, handlers::list_transactions::handle),
            ApiKey::JOIN_GROUP => self.read_body(cx, body, handlers::join_group::handle),
            ApiKey::SYNC_GROUP => self.read_body(cx, body, handlers::sync_group::handle),
            ApiKey::HEARTBEAT => self.serve(cx, body, handlers::heartbeat::handle),
            ApiKey::LEAVE_GROUP => self.serve(cx, body, handlers::leave_group::handle),
            #[cfg(feature = "unstable-kip-1289")]
            ApiKey::TXN_SHARE_ACKNOWLEDGE => self.serve(cx, body, handlers::txn_share_acknowledge::handle),
            ApiKey::DESCRIBE_GROUPS => self.serve(cx, body, handlers::describe_groups::handle),
            _ => Answer::Close(format!("{key} is not served")),
        }
    }

    /// Reads a body and hands it to a handler that answers at once.
    fn serve<R: Request>(
        &mut self,
        cx: &RequestContext<'_>,
        body: Bytes,
        handler: fn(&mut Self, &RequestContext<'_>, R) -> R::Response,
    ) -> Answer {
        self.read_body(cx, body, |cluster, cx, request| cx.reply(&handler(cluster, cx, request)))
    }

    fn read_body<R: Request>(
        &mut self,
        cx: &RequestContext<'_>,
        body: Bytes,
        handler: impl FnOnce(&mut Self, &RequestContext<'_>, R) -> Answer,
    ) -> Answer {
        match R::from_bytes(body, cx.version) {
            Ok(request) => handler(self, cx, request),
            Err(error) => Answer::Close(error.to_string()),
        }
    }
}
