//! ConsumerGroupHeartbeat: join, stay, leave.

use std::collections::BTreeMap;
use std::time::Duration;

use ackflow_protocol::messages::consumer_group_heartbeat::{
    Assignment, ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, TopicPartitions,
};
use ackflow_protocol::wire::{ErrorCode, Uuid};

use crate::core::dispatch::RequestContext;
use crate::core::groups::consumer::assignors::ASSIGNORS;
use crate::core::groups::consumer::member::{self, Member};
use crate::core::groups::consumer::{Heartbeat, Heartbeated, JOIN_EPOCH, LEAVE_EPOCH, LEAVE_STATIC_EPOCH};
use crate::core::groups::{GroupError, GroupKind};
use crate::core::topics::TopicIdPartition;
use crate::core::{Cluster, Due};

/// Since this version the client makes its member id.
const OWN_ID_SINCE: i16 = 1;

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    mut request: ConsumerGroupHeartbeatRequest,
) -> ConsumerGroupHeartbeatResponse {
    let answered = check(cluster, cx, &request).and_then(|()| {
        if request.member_id.is_empty() {
            request.member_id = cluster.random.uuid().to_string();
        }
        match request.member_epoch {
            LEAVE_EPOCH | LEAVE_STATIC_EPOCH => leave(cluster, &request),
            _ => heartbeat(cluster, cx, &request),
        }
    });
    answered.unwrap_or_else(|(error_code, message)| ConsumerGroupHeartbeatResponse {
        error_code,
        error_message: Some(message).filter(|message| !message.is_empty()),
        ..ConsumerGroupHeartbeatResponse::default()
    })
}

fn check(
    cluster: &Cluster,
    cx: &RequestContext<'_>,
    request: &ConsumerGroupHeartbeatRequest,
) -> Result<(), GroupError> {
    let is_blank = |text: &Option<String>| text.as_ref().is_some_and(|text| text.trim().is_empty());
    let joins = request.member_epoch == JOIN_EPOCH;
    let message = if request.member_id.trim().is_empty() && (cx.version >= OWN_ID_SINCE || !joins) {
        "MemberId can't be empty."
    } else if request.group_id.trim().is_empty() {
        "GroupId can't be empty."
    } else if is_blank(&request.instance_id) {
        "InstanceId can't be empty."
    } else if is_blank(&request.rack_id) {
        "RackId can't be empty."
    } else if request.member_epoch < LEAVE_STATIC_EPOCH {
        "MemberEpoch is invalid."
    } else if joins && request.rebalance_timeout_ms == -1 {
        "RebalanceTimeoutMs must be provided in first request."
    } else if joins && request.topic_partitions.as_ref().is_none_or(|owned| !owned.is_empty()) {
        "TopicPartitions must be empty when (re-)joining."
    } else if joins && request.subscribed_topic_names.is_none() && request.subscribed_topic_regex.is_none() {
        "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
    } else if request.member_epoch == LEAVE_STATIC_EPOCH && request.instance_id.is_none() {
        "InstanceId can't be null."
    } else if let Some(assignor) = request.server_assignor.as_ref().filter(|name| !is_assignor(name)) {
        let message =
            format!("ServerAssignor {assignor} is not supported. Supported assignors: {}.", ASSIGNORS.join(", "));
        return Err((ErrorCode::UNSUPPORTED_ASSIGNOR, message));
    } else {
        return cluster.check_group_coordinator(cx.node, &request.group_id).map_err(|code| (code, String::new()));
    };
    Err((ErrorCode::INVALID_REQUEST, message.to_owned()))
}

fn is_assignor(name: &str) -> bool {
    ASSIGNORS.contains(&name)
}

fn not_found(group_id: &str, kind: Option<GroupKind>) -> GroupError {
    let message = match kind {
        None => format!("Consumer group {group_id} not found."),
        Some(_) => format!("Group {group_id} is not a consumer group."),
    };
    (ErrorCode::GROUP_ID_NOT_FOUND, message)
}

fn leave(
    cluster: &mut Cluster,
    request: &ConsumerGroupHeartbeatRequest,
) -> Result<ConsumerGroupHeartbeatResponse, GroupError> {
    let kind = cluster.group_kind(&request.group_id);
    let group =
        cluster.consumers.consumer.get_mut(&request.group_id).ok_or_else(|| not_found(&request.group_id, kind))?;
    let (id, epoch) = (&request.member_id, request.member_epoch);
    let member = group.leave(&cluster.topics, &request.group_id, id, request.instance_id.as_deref(), epoch)?;
    if let Some(member) = member {
        cluster.cancel_timers(member);
    }
    Ok(ConsumerGroupHeartbeatResponse {
        member_id: Some(request.member_id.clone()),
        member_epoch: epoch,
        ..ConsumerGroupHeartbeatResponse::default()
    })
}

fn heartbeat(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: &ConsumerGroupHeartbeatRequest,
) -> Result<ConsumerGroupHeartbeatResponse, GroupError> {
    let group_id = &request.group_id;
    let config = cluster.group_config(group_id);
    let (settings, heartbeat_interval_ms) = (config.consumer_membership(), config.consumer_heartbeat_interval_ms());
    let owned = request.topic_partitions.as_ref().map(|owned| owned_partitions(owned));
    let heartbeat = Heartbeat {
        member_id: &request.member_id,
        member_epoch: request.member_epoch,
        instance_id: request.instance_id.as_deref(),
        rack_id: request.rack_id.as_deref(),
        rebalance_timeout: u64::try_from(request.rebalance_timeout_ms).ok().map(Duration::from_millis),
        topics: request.subscribed_topic_names.as_deref(),
        regex: request.subscribed_topic_regex.as_deref(),
        assignor: request.server_assignor.as_deref(),
        owned: owned.as_ref(),
        client_id: cx.client_id,
        client_host: cx.client_host,
    };
    let kind = cluster.group_kind(group_id);
    let classic = cluster.consumers.classic.get(group_id);
    let is_free = match kind {
        None => true,
        // An empty group may change its protocol.
        Some(GroupKind::Classic) => classic.is_none_or(|group| group.members.is_empty() && group.pending_is_empty()),
        Some(GroupKind::Consumer | GroupKind::Share) => false,
    };
    let is_new = is_free && request.member_epoch == JOIN_EPOCH;
    if is_new {
        cluster.consumers.consumer.entry(group_id.clone()).or_default();
    }
    let group = cluster.consumers.consumer.get_mut(group_id).ok_or_else(|| not_found(group_id, kind))?;
    let heartbeated = group.heartbeat(cx.now, group_id, settings, &cluster.topics, &heartbeat);
    match (is_new, &heartbeated) {
        (true, Ok(_)) => cluster.forget_classic(group_id),
        // A join that is refused makes no group.
        (true, Err(_)) => _ = cluster.consumers.consumer.remove(group_id),
        (false, _) => {}
    }
    let Heartbeated { member_epoch, assignment, replaced } = heartbeated?;
    if let Some(replaced) = replaced {
        cluster.cancel_timers(replaced);
    }
    cluster.arm_member(cx.now, group_id, &request.member_id, settings.session_timeout);
    Ok(ConsumerGroupHeartbeatResponse {
        member_id: Some(request.member_id.clone()),
        member_epoch,
        heartbeat_interval_ms,
        assignment: assignment.map(|assignment| Assignment { topic_partitions: by_topic(&assignment) }),
        ..ConsumerGroupHeartbeatResponse::default()
    })
}

fn owned_partitions(owned: &[TopicPartitions]) -> member::Assignment {
    let partitions = owned.iter().flat_map(|topic| {
        let partition = |&partition: &i32| TopicIdPartition { topic_id: topic.topic_id, partition };
        topic.partitions.iter().map(partition)
    });
    partitions.collect()
}

fn by_topic(assignment: &member::Assignment) -> Vec<TopicPartitions> {
    let mut topics: BTreeMap<Uuid, Vec<i32>> = BTreeMap::new();
    for partition in assignment {
        topics.entry(partition.topic_id).or_default().push(partition.partition);
    }
    topics.into_iter().map(|(topic_id, partitions)| TopicPartitions { topic_id, partitions }).collect()
}

impl Cluster {
    fn cancel_timers(&mut self, member: Member) {
        for timer in [member.session_timer, member.rebalance_timer].into_iter().flatten() {
            self.timers.cancel(timer);
        }
    }

    /// Begins a member's session anew, and the time that it has to give up partitions where it has to.
    fn arm_member(&mut self, now: std::time::Instant, group: &str, id: &str, session_timeout: Duration) {
        let Some(member) = self.consumers.consumer.get_mut(group).and_then(|group| group.members.get_mut(id)) else {
            return;
        };
        let due = || Due::ConsumerSession { group: group.to_owned(), member: id.to_owned() };
        if let Some(timer) = member.session_timer.replace(self.timers.schedule(now + session_timeout, due())) {
            self.timers.cancel(timer);
        }
        if !member.has_to_revoke() {
            if let Some(timer) = member.rebalance_timer.take() {
                self.timers.cancel(timer);
            }
        } else if member.rebalance_timer.is_none() {
            member.rebalance_timer = Some(self.timers.schedule(now + member.rebalance_timeout, due()));
        }
    }

    /// A member's session has ended, or it did not give up partitions in time.
    pub(crate) fn fence_member(&mut self, group: &str, id: &str) {
        let group = self.consumers.consumer.get_mut(group);
        if let Some(member) = group.and_then(|group| group.remove(&self.topics, id)) {
            self.cancel_timers(member);
        }
    }
}
