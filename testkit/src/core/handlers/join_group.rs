//! JoinGroup: a member of the classic protocol comes, or comes again.

use std::time::Duration;

use ackflow_protocol::messages::join_group::{JoinGroupRequest, JoinGroupResponse};
use ackflow_protocol::wire::ErrorCode;

use crate::core::Cluster;
use crate::core::dispatch::{Answer, RequestContext};
use crate::core::groups::GroupKind;
use crate::core::groups::classic::Waiting;
use crate::core::groups::classic::join::{Join, JoinError};

pub(crate) fn handle(cluster: &mut Cluster, cx: &RequestContext<'_>, request: JoinGroupRequest) -> Answer {
    match join(cluster, cx, request) {
        Ok(()) => cluster.take_answer(cx.connection).map_or(Answer::Parked, Answer::Reply),
        Err((error_code, member_id)) => {
            // Before version 7 there is always a protocol.
            let protocol_name = (cx.version < 7).then(String::new);
            cx.reply(&JoinGroupResponse {
                error_code,
                generation_id: -1,
                protocol_name,
                member_id,
                ..Default::default()
            })
        }
    }
}

fn join(cluster: &mut Cluster, cx: &RequestContext<'_>, request: JoinGroupRequest) -> Result<(), JoinError> {
    let refused = |code| Err((code, request.member_id.clone()));
    if request.group_id.is_empty() {
        return refused(ErrorCode::INVALID_GROUP_ID);
    }
    if let Err(code) = cluster.check_group_coordinator(cx.node, &request.group_id) {
        return refused(code);
    }
    let least = cluster.config.int("group.min.session.timeout.ms");
    let most = cluster.config.int("group.max.session.timeout.ms");
    if !(least..=most).contains(&i64::from(request.session_timeout_ms)) {
        return refused(ErrorCode::INVALID_SESSION_TIMEOUT);
    }
    match cluster.group_kind(&request.group_id) {
        Some(GroupKind::Consumer) => {
            let group = cluster.consumers.consumer.get(&request.group_id);
            if group.is_some_and(|group| !group.members.is_empty()) {
                return refused(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
            }
            // An empty group may change its protocol.
            cluster.consumers.consumer.remove(&request.group_id);
        }
        Some(GroupKind::Share) => return refused(ErrorCode::INCONSISTENT_GROUP_PROTOCOL),
        Some(GroupKind::Classic) | None => {}
    }
    let millis = |ms: i32| Duration::from_millis(u64::try_from(ms).unwrap_or_default());
    let rebalance_timeout_ms =
        if request.rebalance_timeout_ms < 0 { request.session_timeout_ms } else { request.rebalance_timeout_ms };
    let waiting = Waiting { connection: cx.connection, version: cx.version, correlation_id: cx.correlation_id };
    let join = Join {
        group: request.group_id,
        member: request.member_id,
        instance: request.group_instance_id,
        protocol_type: request.protocol_type,
        protocols: request.protocols.into_iter().map(|protocol| (protocol.name, protocol.metadata)).collect(),
        session_timeout: millis(request.session_timeout_ms),
        rebalance_timeout: millis(rebalance_timeout_ms),
        client_id: cx.client_id.to_owned(),
        client_host: cx.client_host.to_owned(),
        waiting,
    };
    cluster.join_classic(cx.now, join)
}
