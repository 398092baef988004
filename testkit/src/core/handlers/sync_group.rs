//! SyncGroup: members of the classic protocol hear what they are to do; the leader says it.

use ackflow_protocol::messages::sync_group::{SyncGroupRequest, SyncGroupResponse};

use crate::core::Cluster;
use crate::core::dispatch::{Answer, RequestContext};
use crate::core::groups::classic::Waiting;

pub(crate) fn handle(cluster: &mut Cluster, cx: &RequestContext<'_>, request: SyncGroupRequest) -> Answer {
    let waiting = Waiting { connection: cx.connection, version: cx.version, correlation_id: cx.correlation_id };
    let checked = cluster.check_group_coordinator(cx.node, &request.group_id);
    match checked.and_then(|()| cluster.sync_classic(cx.now, &request, waiting)) {
        Ok(()) => cluster.take_answer(cx.connection).map_or(Answer::Parked, Answer::Reply),
        Err(error_code) => cx.reply(&SyncGroupResponse { error_code, ..SyncGroupResponse::default() }),
    }
}
