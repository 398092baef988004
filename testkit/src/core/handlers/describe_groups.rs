//! DescribeGroups: groups of the classic protocol.

use ackflow_protocol::messages::describe_groups::{
    DescribeGroupsRequest, DescribeGroupsResponse, DescribedGroup, DescribedGroupMember,
};
use ackflow_protocol::wire::ErrorCode;

use super::{GROUP_OPERATIONS, operations};
use crate::core::Cluster;
use crate::core::dispatch::RequestContext;
use crate::core::groups::GroupKind;
use crate::core::groups::classic::{ClassicGroup, ClassicState};

/// Since this version a group that is not there is an error.
const NOT_FOUND_SINCE: i16 = 6;

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: DescribeGroupsRequest,
) -> DescribeGroupsResponse {
    let authorized = operations(request.include_authorized_operations, GROUP_OPERATIONS);
    let groups = request.groups.into_iter().map(|id| {
        let group = describe(cluster, cx, &id);
        DescribedGroup { group_id: id, authorized_operations: authorized, ..group }
    });
    DescribeGroupsResponse { groups: groups.collect(), ..DescribeGroupsResponse::default() }
}

fn describe(cluster: &Cluster, cx: &RequestContext<'_>, id: &str) -> DescribedGroup {
    if let Err(error_code) = cluster.check_group_coordinator(cx.node, id) {
        return DescribedGroup { error_code, ..DescribedGroup::default() };
    }
    match (cluster.group_kind(id), cluster.consumers.classic.get(id)) {
        (Some(GroupKind::Classic), Some(group)) => describe_group(group),
        // Offsets that somebody committed, and nothing else.
        (Some(GroupKind::Classic), None) => describe_group(&ClassicGroup::default()),
        (kind, _) if cx.version >= NOT_FOUND_SINCE => {
            let what = if kind.is_some() { "is not a classic group" } else { "not found" };
            let error_message = Some(format!("Group {id} {what}."));
            let (error_code, group_state) = (ErrorCode::GROUP_ID_NOT_FOUND, "Dead".to_owned());
            DescribedGroup { error_code, error_message, group_state, ..DescribedGroup::default() }
        }
        _ => DescribedGroup { group_state: "Dead".to_owned(), ..DescribedGroup::default() },
    }
}

fn describe_group(group: &ClassicGroup) -> DescribedGroup {
    let is_stable = group.state == ClassicState::Stable;
    let protocol = group.protocol.as_ref().filter(|_| is_stable);
    let members = group.members.iter().map(|(id, member)| DescribedGroupMember {
        member_id: id.clone(),
        group_instance_id: member.instance_id.clone(),
        client_id: member.client_id.clone(),
        client_host: member.client_host.clone(),
        member_metadata: member.metadata(protocol),
        member_assignment: if is_stable { member.assignment.clone() } else { Default::default() },
    });
    DescribedGroup {
        group_state: group.state.name().to_owned(),
        protocol_type: group.protocol_type.clone().unwrap_or_default(),
        protocol_data: protocol.cloned().unwrap_or_default(),
        members: members.collect(),
        ..DescribedGroup::default()
    }
}
