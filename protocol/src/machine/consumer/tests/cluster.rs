//! Brokers of one topic, as far as a consumer notices: a group of one member, offsets, logs, fetch sessions that are held to their epochs.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::{
    machine::consumer::{ConsumerRequest, ConsumerResponse},
    messages::{
        consumer_group_heartbeat::{Assignment, ConsumerGroupHeartbeatResponse, TopicPartitions},
        fetch::{FetchRequest, FetchResponse, FetchableTopicResponse, PartitionData},
        find_coordinator::{Coordinator, FindCoordinatorResponse},
        list_offsets::{ListOffsetsPartitionResponse, ListOffsetsResponse, ListOffsetsTopicResponse},
        metadata::{
            MetadataRequest, MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
        },
        offset_commit::{OffsetCommitResponse, OffsetCommitResponsePartition, OffsetCommitResponseTopic},
        offset_fetch::{
            OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartitions, OffsetFetchResponseTopics,
        },
        offset_for_leader_epoch::{EpochEndOffset, OffsetForLeaderEpochResponse, OffsetForLeaderTopicResult},
    },
    records::{BatchBuilder, BatchOptions, assign_offsets},
    wire::{ErrorCode, Uuid},
};

pub(super) const TOPIC: Uuid = Uuid([1; 16]);
pub(super) const COORDINATOR: i32 = 1;

/// How many records a batch has.
pub(super) const BATCH: i64 = 10;

#[derive(Debug, Clone)]
pub(super) struct Log {
    pub(super) leader: i32,
    pub(super) epoch: i32,
    pub(super) start: i64,
    pub(super) end: i64,
    /// Where the leader says that the epoch asked for ends, if it was cut.
    pub(super) cut: Option<(i32, i64)>,
}

#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) id: i32,
    next: i32,
    reads: BTreeMap<i32, i64>,
}

#[derive(Debug)]
pub(super) struct Cluster {
    /// What the topic's name means; `None` where it was deleted.
    pub(super) topic: Option<Uuid>,
    pub(super) logs: Vec<Log>,
    pub(super) target: Vec<i32>,
    pub(super) epoch: i32,
    told: Option<Vec<i32>>,
    pub(super) committed: BTreeMap<i32, (i64, i32)>,
    pub(super) sessions: BTreeMap<i32, Session>,
    last_session: i32,
}

impl Cluster {
    /// One partition for each leader.
    pub(super) fn new(leaders: &[i32]) -> Self {
        let log = |leader: &i32| Log { leader: *leader, epoch: 5, start: 0, end: 0, cut: None };
        Self {
            topic: Some(TOPIC),
            logs: leaders.iter().map(log).collect(),
            target: (0..leaders.len() as i32).collect(),
            epoch: 0,
            told: None,
            committed: BTreeMap::new(),
            sessions: BTreeMap::new(),
            last_session: 100,
        }
    }

    pub(super) fn reassign(&mut self, target: &[i32]) {
        self.target = target.to_vec();
        self.told = None;
    }

    /// The answer to a request that reached this node; `None` where the broker holds it, which it does not if that `is_due`.
    pub(super) fn answer(&mut self, node: i32, request: &ConsumerRequest, is_due: bool) -> Option<ConsumerResponse> {
        Some(match request {
            ConsumerRequest::Metadata(request) => ConsumerResponse::Metadata(self.metadata(request)),
            ConsumerRequest::FindCoordinator(request) => ConsumerResponse::FindCoordinator(FindCoordinatorResponse {
                coordinators: vec![Coordinator {
                    key: request.coordinator_keys[0].clone(),
                    node_id: COORDINATOR,
                    host: "h".into(),
                    port: 9000 + COORDINATOR,
                    ..Default::default()
                }],
                ..Default::default()
            }),
            ConsumerRequest::Heartbeat(request) => ConsumerResponse::Heartbeat(self.heartbeat(request.member_epoch)),
            ConsumerRequest::OffsetFetch(request) => {
                let topics = request.groups[0].topics.iter().flatten().map(|topic| OffsetFetchResponseTopics {
                    name: topic.name.clone(),
                    topic_id: topic.topic_id,
                    partitions: topic.partition_indexes.iter().map(|index| self.kept(*index)).collect(),
                });
                let group = OffsetFetchResponseGroup { topics: topics.collect(), ..Default::default() };
                ConsumerResponse::OffsetFetch(OffsetFetchResponse { groups: vec![group], ..Default::default() })
            }
            ConsumerRequest::OffsetCommit(request) => {
                let mut topics = Vec::new();
                for topic in &request.topics {
                    let mut partitions = Vec::new();
                    for said in &topic.partitions {
                        let error_code = match self.logs.get(said.partition_index as usize) {
                            _ if self.topic != Some(topic.topic_id) => ErrorCode::UNKNOWN_TOPIC_ID,
                            None => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                            Some(_) => ErrorCode::NONE,
                        };
                        if error_code.is_none() {
                            let kept = (said.committed_offset, said.committed_leader_epoch);
                            self.committed.insert(said.partition_index, kept);
                        }
                        let partition_index = said.partition_index;
                        partitions.push(OffsetCommitResponsePartition { partition_index, error_code });
                    }
                    let (name, topic_id) = (topic.name.clone(), topic.topic_id);
                    topics.push(OffsetCommitResponseTopic { name, topic_id, partitions });
                }
                ConsumerResponse::OffsetCommit(OffsetCommitResponse { topics, ..Default::default() })
            }
            ConsumerRequest::ListOffsets(request) => {
                let topics = request.topics.iter().map(|topic| ListOffsetsTopicResponse {
                    name: topic.name.clone(),
                    partitions: topic
                        .partitions
                        .iter()
                        .map(|asked| self.listed(asked.partition_index, asked.timestamp))
                        .collect(),
                });
                ConsumerResponse::ListOffsets(ListOffsetsResponse { topics: topics.collect(), ..Default::default() })
            }
            ConsumerRequest::OffsetForLeaderEpoch(request) => {
                let topics = request.topics.iter().map(|topic| OffsetForLeaderTopicResult {
                    topic: topic.topic.clone(),
                    partitions: topic
                        .partitions
                        .iter()
                        .map(|asked| {
                            let log = &self.logs[asked.partition as usize];
                            let (leader_epoch, end_offset) = log.cut.unwrap_or((asked.leader_epoch, log.end));
                            EpochEndOffset {
                                partition: asked.partition,
                                leader_epoch,
                                end_offset,
                                ..Default::default()
                            }
                        })
                        .collect(),
                });
                let topics = topics.collect();
                ConsumerResponse::OffsetForLeaderEpoch(OffsetForLeaderEpochResponse { topics, ..Default::default() })
            }
            ConsumerRequest::Fetch(request) => return self.fetch(node, request, is_due),
        })
    }

    /// Of the one topic that there may be, whatever was asked for; of others that they do not exist.
    fn metadata(&self, request: &MetadataRequest) -> MetadataResponse {
        let broker =
            |node| MetadataResponseBroker { node_id: node, host: "h".into(), port: 9000 + node, ..Default::default() };
        let partition = |(index, log): (usize, &Log)| MetadataResponsePartition {
            partition_index: index as i32,
            leader_id: log.leader,
            leader_epoch: log.epoch,
            ..Default::default()
        };
        let others =
            request.topics.iter().flatten().filter_map(|asked| asked.name.clone().filter(|name| name != "topic"));
        let others = others.map(|name| MetadataResponseTopic {
            error_code: ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
            name: Some(name),
            ..Default::default()
        });
        MetadataResponse {
            brokers: (1..=3).map(broker).collect(),
            topics: others
                .chain([MetadataResponseTopic {
                    error_code: self.topic.map_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, |_| ErrorCode::NONE),
                    name: Some("topic".into()),
                    topic_id: self.topic.unwrap_or_default(),
                    partitions: self.logs.iter().enumerate().map(partition).collect(),
                    ..Default::default()
                }])
                .collect(),
            ..Default::default()
        }
    }

    pub(super) fn heartbeat(&mut self, member_epoch: i32) -> ConsumerGroupHeartbeatResponse {
        if member_epoch < 0 {
            self.told = None;
            return ConsumerGroupHeartbeatResponse { member_epoch, ..Default::default() };
        }
        if member_epoch == 0 {
            self.told = None;
        }
        let is_news = self.told.as_ref() != Some(&self.target);
        self.epoch += i32::from(is_news);
        self.told = Some(self.target.clone());
        let assignment =
            Assignment { topic_partitions: vec![TopicPartitions { topic_id: TOPIC, partitions: self.target.clone() }] };
        ConsumerGroupHeartbeatResponse {
            member_id: Some("member".into()),
            member_epoch: self.epoch,
            heartbeat_interval_ms: 5_000,
            assignment: is_news.then_some(assignment),
            ..Default::default()
        }
    }

    fn kept(&self, index: i32) -> OffsetFetchResponsePartitions {
        let (committed_offset, committed_leader_epoch) = self.committed.get(&index).copied().unwrap_or((-1, -1));
        OffsetFetchResponsePartitions {
            partition_index: index,
            committed_offset,
            committed_leader_epoch,
            ..Default::default()
        }
    }

    fn listed(&self, index: i32, timestamp: i64) -> ListOffsetsPartitionResponse {
        let log = &self.logs[index as usize];
        let offset = match timestamp {
            -1 => log.end,
            -2 => log.start,
            // Records have their offsets as their times.
            time if time < log.end => time.max(log.start),
            _ => -1,
        };
        ListOffsetsPartitionResponse { partition_index: index, offset, leader_epoch: log.epoch, ..Default::default() }
    }

    fn fetch(&mut self, node: i32, request: &FetchRequest, is_due: bool) -> Option<ConsumerResponse> {
        let session = self.sessions.entry(node).or_default();
        if request.session_epoch == 0 {
            self.last_session += 1;
            *session = Session { id: self.last_session, next: 0, reads: BTreeMap::new() };
        } else if (request.session_id, request.session_epoch) != (session.id, session.next) {
            let code = match request.session_id == session.id {
                true => ErrorCode::INVALID_FETCH_SESSION_EPOCH,
                false => ErrorCode::FETCH_SESSION_ID_NOT_FOUND,
            };
            return Some(ConsumerResponse::Fetch(FetchResponse { error_code: code, ..Default::default() }));
        }
        let mut reads = session.reads.clone();
        for asked in request.topics.iter().flat_map(|topic| &topic.partitions) {
            reads.insert(asked.partition, asked.fetch_offset);
        }
        for forgotten in request.forgotten_topics_data.iter().flat_map(|topic| &topic.partitions) {
            reads.remove(forgotten);
        }
        let partitions: Vec<PartitionData> =
            reads.iter().filter_map(|(index, offset)| self.read(node, *index, *offset)).collect();
        if partitions.is_empty() && !is_due {
            return None;
        }
        let session = self.sessions.entry(node).or_default();
        session.reads = reads;
        session.next = request.session_epoch + 1;
        let responses = vec![FetchableTopicResponse { topic_id: TOPIC, partitions, ..Default::default() }];
        Some(ConsumerResponse::Fetch(FetchResponse { session_id: session.id, responses, ..Default::default() }))
    }

    /// What a broker has of a partition from an offset on; `None` where nothing is to be said.
    fn read(&self, node: i32, index: i32, offset: i64) -> Option<PartitionData> {
        let log = &self.logs[index as usize];
        let data = PartitionData { partition_index: index, high_watermark: log.end, ..Default::default() };
        if log.leader != node {
            return Some(PartitionData { error_code: ErrorCode::NOT_LEADER_OR_FOLLOWER, ..data });
        }
        if offset < log.start || offset > log.end {
            return Some(PartitionData { error_code: ErrorCode::OFFSET_OUT_OF_RANGE, ..data });
        }
        if offset == log.end {
            return None;
        }
        let base = offset - offset % BATCH;
        let records = batch(base, (base + BATCH).min(log.end) - 1, log.epoch);
        Some(PartitionData { records: Some(records), ..data })
    }
}

/// Records of these offsets in one batch, each with its offset as its value.
pub(super) fn batch(first: i64, last: i64, epoch: i32) -> Bytes {
    let mut builder = BatchBuilder::new(BatchOptions { max_size: 1 << 20, ..BatchOptions::default() });
    for offset in first..=last {
        assert!(builder.try_append(offset, None, Some(offset.to_string().as_bytes()), []).unwrap().is_some());
    }
    let mut batch = builder.build().unwrap().to_vec();
    assign_offsets(&mut batch, first, epoch).unwrap();
    batch.into()
}
