//! FindCoordinator: this broker, for groups and share partitions.

use ackflow_protocol::messages::find_coordinator::{Coordinator, FindCoordinatorRequest, FindCoordinatorResponse};
use ackflow_protocol::wire::{ErrorCode, Uuid};

use crate::core::Cluster;
use crate::core::dispatch::RequestContext;

const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;
const SHARE: i8 = 2;

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: FindCoordinatorRequest,
) -> FindCoordinatorResponse {
    if cx.version >= 4 {
        let kind = request.key_type;
        let coordinators = request.coordinator_keys.into_iter().map(|key| find(cluster, kind, key)).collect();
        return FindCoordinatorResponse { coordinators, ..FindCoordinatorResponse::default() };
    }
    let found = find(cluster, request.key_type, request.key);
    FindCoordinatorResponse {
        error_code: found.error_code,
        error_message: if found.error_code.is_none() { Some("NONE".to_owned()) } else { found.error_message },
        node_id: found.node_id,
        host: found.host,
        port: found.port,
        ..FindCoordinatorResponse::default()
    }
}

fn find(cluster: &Cluster, kind: i8, key: String) -> Coordinator {
    let message = match kind {
        GROUP => None,
        SHARE if is_share_partition(&key) => None,
        TRANSACTION => Some("the embedded broker serves no transactions"),
        _ => Some(ErrorCode::INVALID_REQUEST.meaning()),
    };
    match message {
        None => Coordinator {
            key,
            node_id: cluster.node_id,
            host: cluster.host.clone(),
            port: cluster.port.into(),
            error_code: ErrorCode::NONE,
            error_message: Some(String::new()),
        },
        Some(message) => Coordinator {
            key,
            node_id: -1,
            host: String::new(),
            port: -1,
            error_code: ErrorCode::INVALID_REQUEST,
            error_message: Some(message.to_owned()),
        },
    }
}

/// Whether the key reads `group:topic id:partition`.
fn is_share_partition(key: &str) -> bool {
    let mut parts = key.rsplitn(3, ':');
    let partition = parts.next().is_some_and(|part| part.parse::<u32>().is_ok());
    let topic = parts.next().is_some_and(|part| part.parse::<Uuid>().is_ok());
    partition && topic && parts.next().is_some_and(|group| !group.is_empty())
}
