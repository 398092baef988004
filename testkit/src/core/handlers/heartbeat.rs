//! Heartbeat: a member of the classic protocol lives.

use ackflow_protocol::messages::heartbeat::{HeartbeatRequest, HeartbeatResponse};
use ackflow_protocol::wire::ErrorCode;

use crate::core::Cluster;
use crate::core::dispatch::RequestContext;

pub(crate) fn handle(cluster: &mut Cluster, cx: &RequestContext<'_>, request: HeartbeatRequest) -> HeartbeatResponse {
    let (group, member) = (&request.group_id, &request.member_id);
    let instance = request.group_instance_id.as_deref();
    let lives = cluster
        .check_group_coordinator(cx.node, group)
        .and_then(|()| cluster.heartbeat_classic(cx.now, group, member, instance, request.generation_id));
    HeartbeatResponse { error_code: lives.err().unwrap_or(ErrorCode::NONE), ..HeartbeatResponse::default() }
}
