//! Members of consumer groups, as bare requests: the client has no consumer that these tests could use.

use std::time::Duration;

use ackflow_client::ClientConfig;
use ackflow_client::net::{Connection, Pool};
use ackflow_protocol::messages::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;
use ackflow_protocol::messages::consumer_protocol::{
    ConsumerProtocolAssignment, ConsumerProtocolSubscription, TopicPartition,
};
use ackflow_protocol::messages::embedded::Embedded;
use ackflow_protocol::messages::find_coordinator::FindCoordinatorRequest;
use ackflow_protocol::messages::join_group::{JoinGroupRequest, JoinGroupRequestProtocol};
use ackflow_protocol::messages::leave_group::{LeaveGroupRequest, MemberIdentity};
use ackflow_protocol::messages::metadata::MetadataRequest;
use ackflow_protocol::messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment};
use ackflow_protocol::wire::ErrorCode;

use crate::{eventually, servers};

const TIMEOUT: Duration = Duration::from_secs(30);

/// The connection to the coordinator of a group (key type 0) or transactional id (1).
pub(crate) async fn coordinator(key: &str, key_type: i8) -> Connection {
    let pool = Pool::new(ClientConfig::new(&servers()).unwrap());
    pool.metadata(&MetadataRequest { topics: Some(Vec::new()), ..Default::default() }).await.unwrap();
    let request = FindCoordinatorRequest { key_type, coordinator_keys: vec![key.to_owned()], ..Default::default() };
    let node = eventually("the coordinator", async || {
        let response = pool.any().await.unwrap().call(&request, TIMEOUT).await.unwrap();
        response.coordinators.into_iter().find(|c| c.error_code.is_none()).map(|c| c.node_id)
    });
    pool.node(node.await).await.unwrap()
}

/// A member of a group.
pub(crate) struct Membership {
    coordinator: Connection,
    group: String,
    member_id: String,
    /// Of KIP-848; none in the classic protocol.
    pub(crate) epoch: i32,
}

impl Membership {
    /// Joins by the protocol of KIP-848, and has reached its first epoch.
    pub(crate) async fn join(group: &str, topic: &str) -> Self {
        let coordinator = coordinator(group, 0).await;
        let joining = ConsumerGroupHeartbeatRequest {
            group_id: group.to_owned(),
            member_id: "member-of-the-test".into(),
            rebalance_timeout_ms: 30_000,
            subscribed_topic_names: Some(vec![topic.to_owned()]),
            topic_partitions: Some(Vec::new()),
            ..Default::default()
        };
        let joined = eventually("the member", async || {
            let response = coordinator.call(&joining, TIMEOUT).await.unwrap();
            response.error_code.is_none().then_some(response)
        });
        let joined = joined.await;
        Self { coordinator, group: group.to_owned(), member_id: joined.member_id.unwrap(), epoch: joined.member_epoch }
    }

    /// Says that a member of KIP-848 is still there, which is when its group looks for topics that it did not know before.
    pub(crate) async fn heartbeat(&self, member_epoch: i32) -> i32 {
        let request = ConsumerGroupHeartbeatRequest {
            group_id: self.group.clone(),
            member_id: self.member_id.clone(),
            member_epoch,
            rebalance_timeout_ms: -1,
            ..Default::default()
        };
        self.coordinator.call(&request, TIMEOUT).await.unwrap().member_epoch
    }

    /// Leaves a group of KIP-848.
    pub(crate) async fn leave(self) {
        let request = ConsumerGroupHeartbeatRequest {
            group_id: self.group,
            member_id: self.member_id,
            member_epoch: -1,
            rebalance_timeout_ms: -1,
            ..Default::default()
        };
        assert_eq!(self.coordinator.call(&request, TIMEOUT).await.unwrap().error_code, ErrorCode::NONE);
    }

    /// Joins by the classic protocol, and assigns partition 0 to itself.
    pub(crate) async fn join_classic(group: &str, topic: &str) -> Self {
        let coordinator = coordinator(group, 0).await;
        let subscription = ConsumerProtocolSubscription { topics: vec![topic.to_owned()], ..Default::default() };
        let protocol =
            JoinGroupRequestProtocol { name: "range".into(), metadata: subscription.to_versioned_bytes(3).unwrap() };
        let mut joining = JoinGroupRequest {
            group_id: group.to_owned(),
            session_timeout_ms: 30_000,
            rebalance_timeout_ms: 30_000,
            protocol_type: "consumer".into(),
            protocols: vec![protocol],
            ..Default::default()
        };
        // The first answer is the member's id alone.
        let joined = eventually("the member", async || {
            let response = coordinator.call(&joining, TIMEOUT).await.unwrap();
            joining.member_id = response.member_id.clone();
            response.error_code.is_none().then_some(response)
        })
        .await;
        let assigned_partitions = vec![TopicPartition { topic: topic.to_owned(), partitions: vec![0] }];
        let assignment = ConsumerProtocolAssignment { assigned_partitions, user_data: None };
        let syncing = SyncGroupRequest {
            group_id: group.to_owned(),
            generation_id: joined.generation_id,
            member_id: joined.member_id.clone(),
            protocol_type: Some("consumer".into()),
            protocol_name: Some("range".into()),
            assignments: vec![SyncGroupRequestAssignment {
                member_id: joined.member_id.clone(),
                assignment: assignment.to_versioned_bytes(3).unwrap(),
            }],
            ..Default::default()
        };
        assert_eq!(coordinator.call(&syncing, TIMEOUT).await.unwrap().error_code, ErrorCode::NONE);
        Self { coordinator, group: group.to_owned(), member_id: joined.member_id, epoch: -1 }
    }

    /// Leaves a classic group.
    pub(crate) async fn leave_classic(self) {
        let members = vec![MemberIdentity { member_id: self.member_id, ..Default::default() }];
        let request = LeaveGroupRequest { group_id: self.group, members, ..Default::default() };
        assert_eq!(self.coordinator.call(&request, TIMEOUT).await.unwrap().error_code, ErrorCode::NONE);
    }
}
