//! ListGroups: the groups that the node coordinates.

use ackflow_protocol::messages::list_groups::{ListGroupsRequest, ListGroupsResponse, ListedGroup};

use crate::core::Cluster;
use crate::core::dispatch::RequestContext;
use crate::core::groups::GroupKind;

pub(crate) fn handle(cluster: &mut Cluster, cx: &RequestContext<'_>, request: ListGroupsRequest) -> ListGroupsResponse {
    let wanted = |filter: &[String], text: &str| {
        filter.is_empty() || filter.iter().any(|wanted| wanted.eq_ignore_ascii_case(text))
    };
    let share = cluster.groups.iter().map(|(id, group)| (id.as_ref(), GroupKind::Share, group.state()));
    let consumer = &cluster.consumers.consumer;
    let consumers = consumer.iter().map(|(id, group)| (id.as_str(), GroupKind::Consumer, group.state()));
    let classic = &cluster.consumers.classic;
    let classics = classic.iter().map(|(id, group)| (id.as_str(), GroupKind::Classic, group.state.name()));
    let offsets = cluster.consumers.offsets.keys();
    let offsets = offsets.filter(|id| !consumer.contains_key(*id) && !classic.contains_key(*id));
    let simple = offsets.map(|id| (id.as_str(), GroupKind::Classic, "Empty"));
    let groups = share
        .chain(consumers)
        .chain(classics)
        .chain(simple)
        .filter(|(id, ..)| cluster.coordinator(id) == Some(cx.node))
        .filter(|(_, kind, state)| wanted(&request.states_filter, state) && wanted(&request.types_filter, kind.name()))
        .map(|(id, kind, state)| ListedGroup {
            group_id: id.to_owned(),
            // A group of nothing but offsets speaks no protocol.
            protocol_type: match kind {
                GroupKind::Classic => classic.get(id).and_then(|group| group.protocol_type.clone()).unwrap_or_default(),
                GroupKind::Consumer | GroupKind::Share => kind.name().to_owned(),
            },
            group_state: state.to_owned(),
            group_type: kind.name().to_owned(),
        })
        .collect();
    ListGroupsResponse { groups, ..ListGroupsResponse::default() }
}
