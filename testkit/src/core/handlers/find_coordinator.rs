//! FindCoordinator: of groups, transactional ids and share partitions.

use ackflow_protocol::messages::find_coordinator::{Coordinator, FindCoordinatorRequest, FindCoordinatorResponse};
use ackflow_protocol::wire::{ErrorCode, Uuid};

use super::NO_NODE;
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
    let found = match kind {
        GROUP => Ok(cluster.coordinator(&key)),
        SHARE => match share_group(&key) {
            Some(group) => Ok(cluster.coordinator(group)),
            None => Err((ErrorCode::INVALID_REQUEST, ErrorCode::INVALID_REQUEST.meaning())),
        },
        TRANSACTION => Ok(cluster.transaction_coordinator(&key)),
        _ => Err((ErrorCode::INVALID_REQUEST, ErrorCode::INVALID_REQUEST.meaning())),
    };
    let unavailable = (ErrorCode::COORDINATOR_NOT_AVAILABLE, ErrorCode::COORDINATOR_NOT_AVAILABLE.meaning());
    let found = found.and_then(|node| node.and_then(|node| cluster.nodes.get(node)).ok_or(unavailable));
    match found {
        Ok(node) => Coordinator {
            node_id: node.id,
            host: node.host.clone(),
            port: node.port.into(),
            error_code: ErrorCode::NONE,
            error_message: Some(String::new()),
            key,
        },
        Err((error_code, message)) => Coordinator {
            key,
            node_id: NO_NODE,
            host: String::new(),
            port: -1,
            error_code,
            error_message: Some(message.to_owned()),
        },
    }
}

/// The group of a key that reads `group:topic id:partition`.
fn share_group(key: &str) -> Option<&str> {
    let mut parts = key.rsplitn(3, ':');
    parts.next()?.parse::<u32>().ok()?;
    parts.next()?.parse::<Uuid>().ok()?;
    parts.next().filter(|group| !group.is_empty())
}
