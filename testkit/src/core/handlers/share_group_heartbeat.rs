//! ShareGroupHeartbeat: join, stay, leave.

use std::collections::BTreeMap;

use ackflow_protocol::messages::share_group_heartbeat::{
    Assignment, ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse, TopicPartitions,
};
use ackflow_protocol::wire::{ErrorCode, Uuid};

use crate::core::dispatch::RequestContext;
use crate::core::groups::GroupKind;
use crate::core::share::group::{GroupError, Heartbeat, JOIN_EPOCH, LEAVE_EPOCH};
use crate::core::{Cluster, Due};

/// The longest member id.
const MAX_MEMBER_ID: usize = 36;

/// Whether a member id is one.
pub(crate) fn is_member_id(member_id: &str) -> bool {
    (1..=MAX_MEMBER_ID).contains(&member_id.len())
}

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: ShareGroupHeartbeatRequest,
) -> ShareGroupHeartbeatResponse {
    let answered = check(cluster, cx.node, &request).and_then(|()| match request.member_epoch {
        LEAVE_EPOCH => leave(cluster, &request).map_err(|(code, message)| (code, Some(message))),
        _ => heartbeat(cluster, cx, &request).map_err(|(code, message)| (code, Some(message))),
    });
    answered.unwrap_or_else(|(error_code, error_message)| ShareGroupHeartbeatResponse {
        error_code,
        error_message,
        ..ShareGroupHeartbeatResponse::default()
    })
}

fn check(
    cluster: &Cluster,
    node: i32,
    request: &ShareGroupHeartbeatRequest,
) -> Result<(), (ErrorCode, Option<String>)> {
    if cluster.share_version == 0 {
        return Err((ErrorCode::UNSUPPORTED_VERSION, None));
    }
    let message = if !is_member_id(&request.member_id) {
        None
    } else if request.group_id.trim().is_empty() {
        Some("GroupId can't be empty.")
    } else if request.rack_id.as_ref().is_some_and(|rack| rack.trim().is_empty()) {
        Some("RackId can't be empty.")
    } else if request.member_epoch < LEAVE_EPOCH {
        Some("MemberEpoch is invalid.")
    } else if request.member_epoch == JOIN_EPOCH && request.subscribed_topic_names.as_ref().is_none_or(Vec::is_empty) {
        Some("SubscribedTopicNames must be set in first request.")
    } else {
        return cluster.check_coordinator(node, &request.group_id).map_err(|code| (code, None));
    };
    Err((ErrorCode::INVALID_REQUEST, message.map(str::to_owned)))
}

fn leave(
    cluster: &mut Cluster,
    request: &ShareGroupHeartbeatRequest,
) -> Result<ShareGroupHeartbeatResponse, GroupError> {
    let member = cluster.groups.remove(&request.group_id, &request.member_id)?;
    if let Some(timer) = member.session_timer {
        cluster.timers.cancel(timer);
    }
    Ok(ShareGroupHeartbeatResponse {
        member_id: Some(request.member_id.clone()),
        member_epoch: LEAVE_EPOCH,
        ..ShareGroupHeartbeatResponse::default()
    })
}

fn heartbeat(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: &ShareGroupHeartbeatRequest,
) -> Result<ShareGroupHeartbeatResponse, GroupError> {
    let config = cluster.group_config(&request.group_id);
    let (settings, heartbeat_interval_ms) = (config.membership(), config.heartbeat_interval_ms());
    let heartbeat = Heartbeat {
        member_id: &request.member_id,
        member_epoch: request.member_epoch,
        rack_id: request.rack_id.as_deref(),
        topics: request.subscribed_topic_names.as_deref(),
        client_id: cx.client_id,
        client_host: cx.client_host,
    };
    if let Some(GroupKind::Consumer | GroupKind::Classic) = cluster.group_kind(&request.group_id) {
        let message = format!("Group {} is not a share group.", request.group_id);
        return Err((ErrorCode::GROUP_ID_NOT_FOUND, message));
    }
    let answer = cluster.groups.heartbeat(cx.now, settings, &cluster.topics, &request.group_id, &heartbeat)?;
    if let Some(member) = cluster.groups.member_mut(&request.group_id, &request.member_id) {
        if let Some(timer) = member.session_timer.take() {
            cluster.timers.cancel(timer);
        }
        let due = Due::Session { group: request.group_id.clone(), member: request.member_id.clone() };
        member.session_timer = Some(cluster.timers.schedule(cx.now + settings.session_timeout, due));
    }
    let assignment = answer.assignment.map(|partitions| {
        let mut topics: BTreeMap<Uuid, Vec<i32>> = BTreeMap::new();
        for partition in partitions {
            topics.entry(partition.topic_id).or_default().push(partition.partition);
        }
        let topic_partitions =
            topics.into_iter().map(|(topic_id, partitions)| TopicPartitions { topic_id, partitions }).collect();
        Assignment { topic_partitions }
    });
    Ok(ShareGroupHeartbeatResponse {
        member_id: Some(request.member_id.clone()),
        member_epoch: answer.member_epoch,
        heartbeat_interval_ms,
        assignment,
        ..ShareGroupHeartbeatResponse::default()
    })
}
