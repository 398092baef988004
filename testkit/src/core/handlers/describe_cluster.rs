//! DescribeCluster: the brokers, of which the first is the controller.

use ackflow_protocol::messages::describe_cluster::{
    DescribeClusterBroker, DescribeClusterRequest, DescribeClusterResponse,
};
use ackflow_protocol::wire::ErrorCode;

use super::{CLUSTER_OPERATIONS, NO_NODE, operations};
use crate::core::Cluster;
use crate::core::dispatch::RequestContext;

const BROKERS: i8 = 1;
const CONTROLLERS: i8 = 2;

pub(crate) fn handle(
    cluster: &mut Cluster,
    _: &RequestContext<'_>,
    request: DescribeClusterRequest,
) -> DescribeClusterResponse {
    let refused = |error_code, message: String| DescribeClusterResponse {
        error_code,
        error_message: Some(message),
        ..DescribeClusterResponse::default()
    };
    match request.endpoint_type {
        BROKERS => DescribeClusterResponse {
            cluster_id: cluster.cluster_id.to_string(),
            controller_id: cluster.nodes.registered().next().map_or(NO_NODE, |node| node.id),
            brokers: cluster
                .nodes
                .registered()
                .map(|node| DescribeClusterBroker {
                    broker_id: node.id,
                    host: node.host.clone(),
                    port: node.port.into(),
                    rack: node.rack.clone(),
                    ..DescribeClusterBroker::default()
                })
                .collect(),
            cluster_authorized_operations: operations(
                request.include_cluster_authorized_operations,
                CLUSTER_OPERATIONS,
            ),
            ..DescribeClusterResponse::default()
        },
        CONTROLLERS => refused(
            ErrorCode::MISMATCHED_ENDPOINT_TYPE,
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
                .to_owned(),
        ),
        other => refused(ErrorCode::UNSUPPORTED_ENDPOINT_TYPE, format!("Unsupported endpoint type {other}")),
    }
}
