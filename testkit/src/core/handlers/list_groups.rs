//! ListGroups: the share groups that the node coordinates.

use ackflow_protocol::messages::list_groups::{ListGroupsRequest, ListGroupsResponse, ListedGroup};

use crate::core::Cluster;
use crate::core::dispatch::RequestContext;

const SHARE: &str = "share";

pub(crate) fn handle(cluster: &mut Cluster, cx: &RequestContext<'_>, request: ListGroupsRequest) -> ListGroupsResponse {
    let wanted = |filter: &[String], text: &str| {
        filter.is_empty() || filter.iter().any(|wanted| wanted.eq_ignore_ascii_case(text))
    };
    let groups = cluster
        .groups
        .iter()
        .filter(|(id, _)| cluster.coordinator(id) == Some(cx.node))
        .filter(|(_, group)| wanted(&request.states_filter, group.state()) && wanted(&request.types_filter, SHARE))
        .map(|(id, group)| ListedGroup {
            group_id: id.to_string(),
            protocol_type: SHARE.to_owned(),
            group_state: group.state().to_owned(),
            group_type: SHARE.to_owned(),
        })
        .collect();
    ListGroupsResponse { groups, ..ListGroupsResponse::default() }
}
