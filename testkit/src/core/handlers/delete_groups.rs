//! DeleteGroups: forgets groups without members, of any kind.

use ackflow_protocol::messages::delete_groups::{DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse};
use ackflow_protocol::wire::ErrorCode;

use crate::core::Cluster;
use crate::core::dispatch::RequestContext;
use crate::core::groups::{GroupError, GroupKind};

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: DeleteGroupsRequest,
) -> DeleteGroupsResponse {
    let results = request.groups_names.into_iter().map(|group_id| {
        let (error_code, error_message) = match delete(cluster, cx.node, &group_id) {
            Ok(()) => (ErrorCode::NONE, None),
            Err((code, message)) => (code, Some(message).filter(|message| !message.is_empty())),
        };
        DeletableGroupResult { group_id, error_code, error_message }
    });
    DeleteGroupsResponse { results: results.collect(), ..DeleteGroupsResponse::default() }
}

fn delete(cluster: &mut Cluster, node: i32, group: &str) -> Result<(), GroupError> {
    cluster.check_group_coordinator(node, group).map_err(|code| (code, String::new()))?;
    let is_empty = match cluster.group_kind(group) {
        None => return Err((ErrorCode::GROUP_ID_NOT_FOUND, format!("Group {group} not found."))),
        Some(GroupKind::Consumer) => cluster.consumers.consumer.get(group).is_none_or(|group| group.members.is_empty()),
        Some(GroupKind::Share) => cluster.groups.get(group).is_none_or(|group| group.members.is_empty()),
        Some(GroupKind::Classic) => cluster.consumers.classic.get(group).is_none_or(|group| group.members.is_empty()),
    };
    if !is_empty {
        return Err((ErrorCode::NON_EMPTY_GROUP, format!("Group {group} is not empty.")));
    }
    cluster.consumers.consumer.remove(group);
    cluster.forget_classic(group);
    cluster.consumers.offsets.remove(group);
    cluster.groups.delete(group);
    cluster.share_partitions.remove_group(group);
    Ok(())
}
