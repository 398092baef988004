//! DescribeCluster: one broker, which is the controller.

use ackflow_protocol::messages::describe_cluster::{
    DescribeClusterBroker, DescribeClusterRequest, DescribeClusterResponse,
};
use ackflow_protocol::wire::ErrorCode;

use super::{CLUSTER_OPERATIONS, operations};
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
            controller_id: cluster.node_id,
            brokers: vec![DescribeClusterBroker {
                broker_id: cluster.node_id,
                host: cluster.host.clone(),
                port: cluster.port.into(),
                ..DescribeClusterBroker::default()
            }],
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
