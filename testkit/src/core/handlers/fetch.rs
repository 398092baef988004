//! Fetch: opens, keeps and closes a fetch session; reads.

use std::collections::BTreeSet;
use std::time::Duration;

use ackflow_protocol::messages::fetch::{
    AbortedTransaction, EpochEndOffset, FetchRequest, FetchResponse, FetchableTopicResponse, LeaderIdAndEpoch,
    NodeEndpoint, PartitionData,
};
use ackflow_protocol::wire::{ErrorCode, encode_response};
use bytes::Bytes;

use super::NO_NODE;
use crate::core::dispatch::{Answer, RequestContext};
use crate::core::fetch::session::{FINAL_EPOCH, INITIAL_EPOCH, NO_SESSION, PartitionKey, Reads, Told, TopicKey};
use crate::core::fetch::{Asked, Ends, Fetch, Fetched, joined};
use crate::core::log::Isolation;
use crate::core::parked::Waiting;
use crate::core::topics::TopicIdPartition;
use crate::core::{Cluster, Due};

/// Since this version topics are named by id.
const BY_ID_SINCE: i16 = 13;
/// Since this version the new leader is named.
const LEADER_SINCE: i16 = 16;

pub(crate) fn handle(cluster: &mut Cluster, cx: &RequestContext<'_>, request: FetchRequest) -> Answer {
    let wait = Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or_default());
    let fetch = match begin(cluster, cx, request) {
        Ok(fetch) => fetch,
        Err(error_code) => return cx.reply(&FetchResponse { error_code, ..FetchResponse::default() }),
    };
    let fetched = match cx.refused.partitions() {
        Some(code) => Some(fetch.asked.iter().map(|_| Fetched::Error(code)).collect()),
        None => cluster.read(&fetch, wait.is_zero()),
    };
    match fetched {
        Some(fetched) => Answer::Reply(reply(cluster, &fetch, fetched)),
        None => {
            let id = cluster.parked.park(cx.connection, Waiting::Plain(fetch));
            let timer = cluster.timers.schedule(cx.now + wait, Due::Fetch(id));
            if let Some(parked) = cluster.parked.get_mut(id) {
                parked.timer = Some(timer);
            }
            Answer::Parked
        }
    }
}

/// Enters the session.
fn begin(cluster: &mut Cluster, cx: &RequestContext<'_>, request: FetchRequest) -> Result<Fetch, ErrorCode> {
    let by_id = cx.version >= BY_ID_SINCE;
    let named = |name: &str, id| if by_id { TopicKey::Id(id) } else { TopicKey::Name(name.into()) };
    let mut changed = Vec::new();
    for topic in &request.topics {
        let topic_key = named(&topic.topic, topic.topic_id);
        changed.extend(topic.partitions.iter().map(|asked| {
            let reads = Reads {
                offset: asked.fetch_offset,
                max_bytes: asked.partition_max_bytes,
                leader_epoch: asked.current_leader_epoch,
                last_epoch: asked.last_fetched_epoch,
            };
            ((topic_key.clone(), asked.partition), reads)
        }));
    }
    let mut session = request.session_id;
    let is_incremental = !matches!(request.session_epoch, INITIAL_EPOCH | FINAL_EPOCH);
    let reads = if is_incremental {
        let forgotten = request.forgotten_topics_data.iter().flat_map(|topic| {
            let topic_key = named(&topic.topic, topic.topic_id);
            topic.partitions.iter().map(move |index| (topic_key.clone(), *index))
        });
        let sessions = cluster.nodes.fetch_sessions(cx.node);
        let reads = sessions.advance(cx.now, session, request.session_epoch, by_id, changed, forgotten)?;
        if !sessions.contains(session) {
            session = NO_SESSION;
        }
        reads
    } else {
        let id = cluster.random.positive();
        let limit =
            usize::try_from(cluster.config.int("max.incremental.fetch.session.cache.slots")).unwrap_or_default();
        let sessions = cluster.nodes.fetch_sessions(cx.node);
        // A session that a full request names is left behind.
        sessions.close(session);
        session = match request.session_epoch {
            INITIAL_EPOCH => sessions.open(cx.now, id, by_id, limit, &changed).unwrap_or(NO_SESSION),
            _ => NO_SESSION,
        };
        changed
    };
    let most_bytes = i32::try_from(cluster.config.int("fetch.max.bytes")).unwrap_or(i32::MAX);
    Ok(Fetch {
        version: cx.version,
        node: cx.node,
        correlation_id: cx.correlation_id,
        session,
        is_incremental: is_incremental && session != NO_SESSION,
        isolation: Isolation::of(request.isolation_level),
        min_bytes: request.min_bytes,
        max_bytes: request.max_bytes.min(most_bytes),
        asked: reads
            .into_iter()
            .map(|(key, reads)| Asked { id: find(cluster, &key, is_incremental), key, reads })
            .collect(),
    })
}

/// The partition that a client names, where there is its topic. A session remembers a topic that was there when it began.
fn find(cluster: &Cluster, (topic, partition): &PartitionKey, in_session: bool) -> Option<TopicIdPartition> {
    let topic_id = match topic {
        TopicKey::Name(name) => cluster.topics.by_name(name)?.id,
        TopicKey::Id(id) if in_session && cluster.topics.was_deleted(*id) => *id,
        TopicKey::Id(id) => cluster.topics.by_id(*id)?.id,
    };
    Some(TopicIdPartition { topic_id, partition: *partition })
}

/// The answer to a fetch: all partitions that it names, or those of its session that have something new.
pub(crate) fn reply(cluster: &mut Cluster, fetch: &Fetch, fetched: Vec<Fetched>) -> Bytes {
    let mut response = FetchResponse { session_id: fetch.session, ..FetchResponse::default() };
    let mut leaders = BTreeSet::new();
    // What is not there stands last.
    let is_missing = |fetched: &Fetched| matches!(fetched, Fetched::Error(code) if says_missing(*code));
    let mut fetched: Vec<(&Asked, Fetched)> = fetch.asked.iter().zip(fetched).collect();
    fetched.sort_by_key(|(_, fetched)| is_missing(fetched));
    for (asked, fetched) in fetched {
        let data = partition_data(asked.key.1, fetched);
        let told = Told {
            ends: data.error_code.is_none().then_some((data.high_watermark, data.log_start_offset)),
            has_records: data.records.as_ref().is_some_and(|records| !records.is_empty()),
        };
        let is_new = cluster.nodes.fetch_sessions(fetch.node).tell(fetch.session, &asked.key, told);
        if fetch.is_incremental && !is_new && data.diverging_epoch.epoch < 0 {
            continue;
        }
        let data = with_leader(cluster, fetch, asked, data, &mut leaders);
        let (topic, topic_id) = match &asked.key.0 {
            TopicKey::Name(name) => (name.to_string(), Default::default()),
            TopicKey::Id(id) => (String::new(), *id),
        };
        match response.responses.last_mut() {
            Some(last) if last.topic == topic && last.topic_id == topic_id => last.partitions.push(data),
            _ => response.responses.push(FetchableTopicResponse { topic, topic_id, partitions: vec![data] }),
        }
    }
    response.node_endpoints = leaders.into_iter().filter_map(|leader| endpoint(cluster, leader)).collect();
    encode_response(&response, fetch.version, fetch.correlation_id)
        .expect("fetch.max.bytes and socket.request.max.bytes keep the records below the 2 GiB that a frame holds")
}

fn partition_data(partition_index: i32, fetched: Fetched) -> PartitionData {
    let empty = PartitionData { partition_index, records: Some(Bytes::new()), ..PartitionData::default() };
    let with = |ends: Ends| PartitionData {
        high_watermark: ends.high_watermark,
        last_stable_offset: ends.stable,
        log_start_offset: ends.start,
        ..empty.clone()
    };
    match fetched {
        Fetched::Error(error_code) => {
            let aborted_transactions = says_missing(error_code).then(Vec::new);
            PartitionData { error_code, high_watermark: -1, aborted_transactions, ..empty }
        }
        Fetched::Diverging(ends, epoch, end_offset) => {
            PartitionData { diverging_epoch: EpochEndOffset { epoch, end_offset }, ..with(ends) }
        }
        Fetched::Records(ends, pieces, aborted) => {
            let transaction = |(producer_id, first_offset)| AbortedTransaction { producer_id, first_offset };
            let aborted_transactions = aborted.map(|all| all.into_iter().map(transaction).collect());
            PartitionData { aborted_transactions, records: Some(joined(pieces)), ..with(ends) }
        }
    }
}

/// Whether an error is about something that is not there.
fn says_missing(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::UNKNOWN_TOPIC_ID | ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)
}

fn with_leader(
    cluster: &Cluster,
    fetch: &Fetch,
    asked: &Asked,
    data: PartitionData,
    leaders: &mut BTreeSet<i32>,
) -> PartitionData {
    let is_about_leader = matches!(data.error_code, ErrorCode::NOT_LEADER_OR_FOLLOWER | ErrorCode::FENCED_LEADER_EPOCH);
    let found = asked.id.and_then(|id| cluster.topics.partition(id).ok());
    match found.filter(|_| is_about_leader && fetch.version >= LEADER_SINCE) {
        Some(partition) => {
            leaders.extend(partition.leader);
            let leader_id = partition.leader.unwrap_or(NO_NODE);
            PartitionData {
                current_leader: LeaderIdAndEpoch { leader_id, leader_epoch: partition.leader_epoch },
                ..data
            }
        }
        None => data,
    }
}

fn endpoint(cluster: &Cluster, node: i32) -> Option<NodeEndpoint> {
    let node = cluster.nodes.get(node)?;
    Some(NodeEndpoint { node_id: node.id, host: node.host.clone(), port: node.port.into(), rack: node.rack.clone() })
}
