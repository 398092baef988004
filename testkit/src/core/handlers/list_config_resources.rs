//! ListConfigResources: what has settings (KIP-1142).

use ackflow_protocol::messages::list_config_resources::{
    ConfigResource, ListConfigResourcesRequest, ListConfigResourcesResponse,
};
use ackflow_protocol::wire::ErrorCode;

use super::describe_configs::{BROKER, GROUP, TOPIC};
use crate::core::Cluster;
use crate::core::dispatch::RequestContext;

const BROKER_LOGGER: i8 = 8;
const CLIENT_METRICS: i8 = 16;

/// All kinds that Kafka lists.
const KINDS: [i8; 5] = [TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP];

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: ListConfigResourcesRequest,
) -> ListConfigResourcesResponse {
    // Version 0 is about client metrics alone, which nothing is known of.
    let asked = if cx.version == 0 { vec![CLIENT_METRICS] } else { request.resource_types };
    if asked.iter().any(|kind| !KINDS.contains(kind)) {
        let error_code = ErrorCode::UNSUPPORTED_VERSION;
        return ListConfigResourcesResponse { error_code, ..ListConfigResourcesResponse::default() };
    }
    let kinds = KINDS.into_iter().filter(|kind| asked.is_empty() || asked.contains(kind));
    let config_resources = kinds.flat_map(|resource_type| {
        let names = names(cluster, resource_type).into_iter();
        names.map(move |resource_name| ConfigResource { resource_name, resource_type })
    });
    ListConfigResourcesResponse {
        config_resources: config_resources.collect(),
        ..ListConfigResourcesResponse::default()
    }
}

fn names(cluster: &Cluster, kind: i8) -> Vec<String> {
    match kind {
        TOPIC => cluster.topics.iter().map(|topic| topic.name.to_string()).collect(),
        BROKER | BROKER_LOGGER => cluster.nodes.registered().map(|node| node.id.to_string()).collect(),
        GROUP => cluster.group_configs.iter().filter(|(_, set)| !set.is_empty()).map(|(id, _)| id.clone()).collect(),
        _ => Vec::new(),
    }
}
