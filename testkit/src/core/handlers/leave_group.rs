//! LeaveGroup: members of the classic protocol leave.

use ackflow_protocol::messages::leave_group::{LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse};
use ackflow_protocol::wire::ErrorCode;

use crate::core::Cluster;
use crate::core::dispatch::RequestContext;

/// Since this version several members leave at once.
const SEVERAL_SINCE: i16 = 3;

pub(crate) fn handle(cluster: &mut Cluster, cx: &RequestContext<'_>, request: LeaveGroupRequest) -> LeaveGroupResponse {
    if let Err(error_code) = cluster.check_group_coordinator(cx.node, &request.group_id) {
        return LeaveGroupResponse { error_code, ..LeaveGroupResponse::default() };
    }
    let mut leave = |member: &MemberIdentity| {
        let instance = member.group_instance_id.as_deref();
        let left = cluster.leave_classic(cx.now, &request.group_id, &member.member_id, instance);
        left.err().unwrap_or(ErrorCode::NONE)
    };
    if cx.version < SEVERAL_SINCE {
        let error_code = leave(&MemberIdentity { member_id: request.member_id, ..MemberIdentity::default() });
        return LeaveGroupResponse { error_code, ..LeaveGroupResponse::default() };
    }
    let members = request.members.into_iter().map(|member| MemberResponse {
        error_code: leave(&member),
        member_id: member.member_id,
        group_instance_id: member.group_instance_id,
    });
    LeaveGroupResponse { members: members.collect(), ..LeaveGroupResponse::default() }
}
