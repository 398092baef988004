//! ShareFetch: opens, keeps and closes a share session; acknowledges; acquires.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ackflow_protocol::messages::share_fetch::{
    AcquiredRecords, LeaderIdAndEpoch, NodeEndpoint, PartitionData, ShareFetchRequest, ShareFetchResponse,
    ShareFetchableTopicResponse,
};
use ackflow_protocol::wire::{ErrorCode, Uuid, encode_response};
use bytes::Bytes;

use super::NO_NODE;
use super::acknowledgements::{self, AcknowledgeRules};
use super::share_acknowledge::session_key;
use crate::core::dispatch::{Answer, RequestContext};
use crate::core::parked::Waiting;
use crate::core::share::fetch::{AcknowledgeOutcome, Fetched, ShareFetch};
use crate::core::share::partition::AcquireMode;
use crate::core::share::session::{FINAL_EPOCH, INITIAL_EPOCH, SessionKey};
use crate::core::topics::TopicIdPartition;
use crate::core::{Cluster, Due};

pub(crate) fn handle(cluster: &mut Cluster, cx: &RequestContext<'_>, request: ShareFetchRequest) -> Answer {
    let wait = Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or_default());
    match begin(cluster, cx, &request) {
        Ok(mut fetch) => {
            if fetch.max_records <= 0 || fetch.max_bytes <= 0 {
                fetch.partitions.clear();
            }
            if let Some(code) = cx.refused.partitions() {
                let refused = fetch.partitions.iter().map(|partition| (*partition, Fetched::Error(code))).collect();
                return Answer::Reply(reply(cluster, &fetch, refused));
            }
            match cluster.fetch(cx.now, &fetch, wait.is_zero()) {
                Some(fetched) => Answer::Reply(reply(cluster, &fetch, fetched)),
                None => {
                    let id = cluster.parked.park(cx.connection, Waiting::Share(fetch));
                    let timer = cluster.timers.schedule(cx.now + wait, Due::Fetch(id));
                    if let Some(parked) = cluster.parked.get_mut(id) {
                        parked.timer = Some(timer);
                    }
                    Answer::Parked
                }
            }
        }
        // A client that finds no room for its session is held back, so that it does not ask again at once.
        Err(code @ ErrorCode::SHARE_SESSION_LIMIT_REACHED) if !wait.is_zero() => {
            let reply = encode(cx.version, cx.correlation_id, &refusal(code));
            cluster.timers.schedule(cx.now + wait, Due::Reply(cx.connection, reply));
            Answer::Parked
        }
        Err(code) => cx.reply(&refusal(code)),
    }
}

fn refusal(error_code: ErrorCode) -> ShareFetchResponse {
    ShareFetchResponse { error_code, ..ShareFetchResponse::default() }
}

/// Does what comes before fetching: checks, session, acknowledgements.
fn begin(cluster: &mut Cluster, cx: &RequestContext<'_>, request: &ShareFetchRequest) -> Result<ShareFetch, ErrorCode> {
    if cluster.share_version == 0 {
        return Err(ErrorCode::UNSUPPORTED_VERSION);
    }
    let key = session_key(request.group_id.as_deref(), request.member_id.as_deref())?;
    let mode = match request.share_acquire_mode {
        0 => AcquireMode::BatchOptimized,
        1 => AcquireMode::RecordLimit,
        _ => return Err(ErrorCode::UNKNOWN_SERVER_ERROR),
    };
    check_renewal(request)?;
    let partitions = enter_session(cluster, cx, request, &key)?;
    cluster.load_share_partitions(cx.now, cx.node, &key.group, &partitions);
    let acknowledged = acknowledge(cluster, cx, request, &key);
    if request.share_session_epoch == FINAL_EPOCH
        && let Some(partitions) = cluster.nodes.sessions(cx.node).close(&key)
    {
        cluster.release(cx.node, &key.group, &key.member, partitions);
    }
    let most_bytes = i32::try_from(cluster.config.int("fetch.max.bytes")).unwrap_or(i32::MAX);
    Ok(ShareFetch {
        version: cx.version,
        node: cx.node,
        opens_session: request.share_session_epoch == INITIAL_EPOCH,
        correlation_id: cx.correlation_id,
        key,
        mode,
        max_records: request.max_records,
        batch_size: request.batch_size,
        min_bytes: request.min_bytes,
        max_bytes: request.max_bytes.min(most_bytes),
        partitions: rotated(partitions, request.share_session_epoch),
        acknowledged,
    })
}

/// A request with renewals fetches nothing, so that its answer is prompt.
fn check_renewal(request: &ShareFetchRequest) -> Result<(), ErrorCode> {
    let asks = [request.max_bytes, request.min_bytes, request.max_records, request.max_wait_ms];
    if request.is_renew_ack && asks.iter().any(|&asked| asked > 0) {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    Ok(())
}

/// Opens or goes on with the session; gives the partitions to fetch from, none where it ends.
fn enter_session(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: &ShareFetchRequest,
    key: &SessionKey,
) -> Result<Vec<TopicIdPartition>, ErrorCode> {
    let named = request.topics.iter().flat_map(|topic| {
        let partition = |index| TopicIdPartition { topic_id: topic.topic_id, partition: index };
        topic.partitions.iter().map(move |asked| partition(asked.partition_index))
    });
    match request.share_session_epoch {
        FINAL_EPOCH if !cluster.nodes.sessions(cx.node).contains(key) => Err(ErrorCode::SHARE_SESSION_NOT_FOUND),
        FINAL_EPOCH => Ok(Vec::new()),
        INITIAL_EPOCH => {
            let mut asked = request.topics.iter().flat_map(|topic| &topic.partitions);
            if asked.any(|partition| !partition.acknowledgement_batches.is_empty()) {
                return Err(ErrorCode::INVALID_REQUEST);
            }
            let partitions: BTreeSet<TopicIdPartition> = named.collect();
            let limit = usize::try_from(cluster.config.int("group.share.max.share.sessions")).unwrap_or(usize::MAX);
            cluster.nodes.sessions(cx.node).open(key.clone(), cx.connection, partitions.clone(), limit)?;
            Ok(partitions.into_iter().collect())
        }
        epoch => {
            let forgotten = request.forgotten_topics_data.iter().flat_map(|topic| {
                let partition = |&index: &i32| TopicIdPartition { topic_id: topic.topic_id, partition: index };
                topic.partitions.iter().map(partition)
            });
            cluster
                .nodes
                .sessions(cx.node)
                .advance(key, epoch, named, forgotten)
                .map(|all| all.iter().copied().collect())
        }
    }
}

fn acknowledge(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: &ShareFetchRequest,
    key: &SessionKey,
) -> BTreeMap<TopicIdPartition, AcknowledgeOutcome> {
    let rules = AcknowledgeRules { version: cx.version, is_renew_ack: request.is_renew_ack };
    let mut outcomes = BTreeMap::new();
    for topic in &request.topics {
        for asked in topic.partitions.iter().filter(|asked| !asked.acknowledgement_batches.is_empty()) {
            let partition = TopicIdPartition { topic_id: topic.topic_id, partition: asked.partition_index };
            let ranges: Vec<_> = asked.acknowledgement_batches.iter().map(Into::into).collect();
            let outcome =
                acknowledgements::acknowledge(cluster, cx, &key.group, &key.member, partition, &ranges, rules);
            outcomes.insert(partition, outcome);
        }
    }
    outcomes
}

/// Each fetch of a session begins at another partition, so that none starves.
fn rotated(mut partitions: Vec<TopicIdPartition>, epoch: i32) -> Vec<TopicIdPartition> {
    if let (Ok(epoch), false) = (usize::try_from(epoch), partitions.is_empty()) {
        let middle = epoch % partitions.len();
        partitions.rotate_left(middle);
    }
    partitions
}

/// The answer to a fetch: partitions with records, errors or acknowledgements.
pub(crate) fn reply(cluster: &Cluster, fetch: &ShareFetch, fetched: BTreeMap<TopicIdPartition, Fetched>) -> Bytes {
    let mut partitions: BTreeMap<TopicIdPartition, PartitionData> = BTreeMap::new();
    let mut leaders = BTreeSet::new();
    for (partition, outcome) in &fetch.acknowledged {
        let data = partitions.entry(*partition).or_insert_with(|| empty(*partition));
        if let Err((code, message)) = outcome {
            data.acknowledge_error_code = *code;
            data.acknowledge_error_message.clone_from(message);
        }
    }
    for (partition, fetched) in fetched {
        match fetched {
            Fetched::Error(code) => {
                let data = partitions.entry(partition).or_insert_with(|| empty(partition));
                data.error_code = code;
                if matches!(code, ErrorCode::NOT_LEADER_OR_FOLLOWER | ErrorCode::FENCED_LEADER_EPOCH)
                    && let Ok(partition) = cluster.topics.partition(partition)
                {
                    let leader_id = partition.leader.unwrap_or(NO_NODE);
                    data.current_leader = LeaderIdAndEpoch { leader_id, leader_epoch: partition.leader_epoch };
                    leaders.extend(partition.leader);
                }
            }
            Fetched::Records(records, acquired) if fetch.opens_session || !acquired.is_empty() => {
                let data = partitions.entry(partition).or_insert_with(|| empty(partition));
                data.records = Some(records);
                data.acquired_records = acquired
                    .iter()
                    .map(|range| AcquiredRecords {
                        first_offset: range.first,
                        last_offset: range.last,
                        delivery_count: range.delivery_count,
                    })
                    .collect();
            }
            Fetched::Records(..) => {}
        }
    }
    let mut by_topic: BTreeMap<Uuid, Vec<PartitionData>> = BTreeMap::new();
    for (partition, data) in partitions {
        by_topic.entry(partition.topic_id).or_default().push(data);
    }
    let lock_duration = cluster.group_config(&fetch.key.group).limits().lock_duration;
    let response = ShareFetchResponse {
        acquisition_lock_timeout_ms: i32::try_from(lock_duration.as_millis()).unwrap_or(i32::MAX),
        responses: by_topic
            .into_iter()
            .map(|(topic_id, partitions)| ShareFetchableTopicResponse { topic_id, partitions })
            .collect(),
        node_endpoints: leaders.into_iter().filter_map(|leader| endpoint(cluster, leader)).collect(),
        ..ShareFetchResponse::default()
    };
    encode(fetch.version, fetch.correlation_id, &response)
}

fn endpoint(cluster: &Cluster, node: i32) -> Option<NodeEndpoint> {
    let node = cluster.nodes.get(node)?;
    Some(NodeEndpoint { node_id: node.id, host: node.host.clone(), port: node.port.into(), rack: node.rack.clone() })
}

fn empty(partition: TopicIdPartition) -> PartitionData {
    PartitionData {
        partition_index: partition.partition,
        // Kafka writes zeros where there is no error.
        current_leader: LeaderIdAndEpoch { leader_id: 0, leader_epoch: 0 },
        records: Some(Bytes::new()),
        ..PartitionData::default()
    }
}

fn encode(version: i16, correlation_id: i32, response: &ShareFetchResponse) -> Bytes {
    encode_response(response, version, correlation_id)
        .expect("fetch.max.bytes and socket.request.max.bytes keep the records below the 2 GiB that a frame holds")
}
