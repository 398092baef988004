//! Produce (key 0, versions 3-13, flexible from 9): appends record batches. Sent to the leader of the partitions; with
//! acks 0 the broker does not answer.
//!
//! Version 3 brings transactional ids and record batches of format 2; 5 the log's start offset; 7 allows zstd
//! (KIP-110); 8 says which records of a batch were refused (KIP-467); 10 names the new leader (KIP-951); 11 may answer
//! TRANSACTION_ABORTABLE and 12 adds partitions to a transaction by itself (KIP-890); 13 names topics by id (KIP-516).

use std::ops::RangeInclusive;

use bytes::Bytes;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response, Uuid};

/// Record batches to append.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProduceRequest {
    /// The transactional id; `None` outside transactions.
    pub transactional_id: Option<String>,
    /// Who has to have the records before the broker answers: -1 all in-sync replicas, 1 the leader, 0 nobody (and
    /// there is no answer).
    pub acks: i16,
    /// How long the broker waits for the replicas, in milliseconds.
    pub timeout_ms: i32,
    /// The batches by topic.
    pub topic_data: Vec<TopicProduceData>,
}

/// Batches for one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TopicProduceData {
    /// The topic, up to version 12.
    pub name: String,
    /// The topic, since version 13.
    pub topic_id: Uuid,
    /// The batches by partition.
    pub partition_data: Vec<PartitionProduceData>,
}

/// Batches for one partition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PartitionProduceData {
    /// The partition.
    pub index: i32,
    /// The record batch; brokers take exactly one.
    pub records: Option<Bytes>,
}

impl Encode for ProduceRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.nullable_string("transactionalId", self.transactional_id.as_deref());
        w.i16("acks", self.acks);
        w.i32("timeoutMs", self.timeout_ms);
        w.array("topicData", &self.topic_data);
    }
}

impl Decode for ProduceRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            transactional_id: r.nullable_string("transactionalId")?,
            acks: r.i16("acks")?,
            timeout_ms: r.i32("timeoutMs")?,
            topic_data: r.array("topicData")?,
        })
    }
}

impl Encode for TopicProduceData {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.until(12, |w| w.string("name", &self.name));
        w.since(13, |w| w.uuid("topicId", self.topic_id));
        w.array("partitionData", &self.partition_data);
    }
}

impl Decode for TopicProduceData {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            name: r.until(12, String::new(), |r| r.string("name"))?,
            topic_id: r.since(13, Uuid::default(), |r| r.uuid("topicId"))?,
            partition_data: r.array("partitionData")?,
        })
    }
}

impl Encode for PartitionProduceData {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("index", self.index);
        w.records("records", self.records.as_ref());
    }
}

impl Decode for PartitionProduceData {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { index: r.i32("index")?, records: r.records("records")? })
    }
}

impl Message for ProduceRequest {
    const NAME: &'static str = "ProduceRequest";
    const KEY: ApiKey = ApiKey::PRODUCE;
    const VERSIONS: RangeInclusive<i16> = 3..=13;
    const FLEXIBLE_FROM: i16 = 9;
}

impl Request for ProduceRequest {
    type Response = ProduceResponse;
    const NEWEST_STABLE: i16 = 13;
}

/// How the appends went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProduceResponse {
    /// The partitions by topic.
    pub responses: Vec<TopicProduceResponse>,
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// Where the current leaders are that partitions with NOT_LEADER_OR_FOLLOWER name. Since version 10.
    pub node_endpoints: Vec<NodeEndpoint>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TopicProduceResponse {
    /// The topic, up to version 12.
    pub name: String,
    /// The topic, since version 13.
    pub topic_id: Uuid,
    /// Its partitions.
    pub partition_responses: Vec<PartitionProduceResponse>,
}

/// How the append to one partition went.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionProduceResponse {
    /// The partition.
    pub index: i32,
    /// The error.
    pub error_code: ErrorCode,
    /// The offset of the first record.
    pub base_offset: i64,
    /// When the broker appended the records, in milliseconds since 1970; -1 where the topic keeps the producer's time.
    pub log_append_time_ms: i64,
    /// The first offset of the log; -1 where it is unknown. Since version 5.
    pub log_start_offset: i64,
    /// The records for which the batch was refused. Since version 8.
    pub record_errors: Vec<BatchIndexAndErrorMessage>,
    /// What the error was about. Since version 8.
    pub error_message: Option<String>,
    /// The leader that the broker knows of, where the error is about leadership. Since version 10.
    pub current_leader: LeaderIdAndEpoch,
}

impl Default for PartitionProduceResponse {
    fn default() -> Self {
        Self {
            index: 0,
            error_code: ErrorCode::NONE,
            base_offset: 0,
            log_append_time_ms: -1,
            log_start_offset: -1,
            record_errors: Vec::new(),
            error_message: None,
            current_leader: LeaderIdAndEpoch::default(),
        }
    }
}

/// A record for which the batch was refused.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BatchIndexAndErrorMessage {
    /// The record's place in the batch, from 0.
    pub batch_index: i32,
    /// What was wrong with it.
    pub batch_index_error_message: Option<String>,
}

/// A partition's leader.
#[derive(Debug, Clone, PartialEq)]
pub struct LeaderIdAndEpoch {
    /// The broker; -1 where it is unknown.
    pub leader_id: i32,
    /// The leader epoch; -1 where it is unknown.
    pub leader_epoch: i32,
}

impl Default for LeaderIdAndEpoch {
    fn default() -> Self {
        Self { leader_id: -1, leader_epoch: -1 }
    }
}

/// Where a broker listens.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NodeEndpoint {
    /// The broker.
    pub node_id: i32,
    /// Its host name or address.
    pub host: String,
    /// Its port.
    pub port: i32,
    /// Its rack.
    pub rack: Option<String>,
}

impl Encode for ProduceResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("responses", &self.responses);
        w.i32("throttleTimeMs", self.throttle_time_ms);
        let none = self.node_endpoints.is_empty();
        w.required_since(10, "nodeEndpoints", none, |w| {
            w.tags(|w| w.tag(0, !none, |w| w.array("nodeEndpoints", &self.node_endpoints)));
        });
    }
}

impl Decode for ProduceResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        let mut response = Self {
            responses: r.array("responses")?,
            throttle_time_ms: r.i32("throttleTimeMs")?,
            node_endpoints: Vec::new(),
        };
        r.since(10, (), |r| {
            r.tags(&[(0, "nodeEndpoints")], |r, _| {
                response.node_endpoints = r.array("nodeEndpoints")?;
                Ok(())
            })
        })?;
        Ok(response)
    }
}

impl Encode for TopicProduceResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.until(12, |w| w.string("name", &self.name));
        w.since(13, |w| w.uuid("topicId", self.topic_id));
        w.array("partitionResponses", &self.partition_responses);
    }
}

impl Decode for TopicProduceResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            name: r.until(12, String::new(), |r| r.string("name"))?,
            topic_id: r.since(13, Uuid::default(), |r| r.uuid("topicId"))?,
            partition_responses: r.array("partitionResponses")?,
        })
    }
}

impl Encode for PartitionProduceResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("index", self.index);
        w.i16("errorCode", self.error_code.0);
        w.i64("baseOffset", self.base_offset);
        w.i64("logAppendTimeMs", self.log_append_time_ms);
        w.since(5, |w| w.i64("logStartOffset", self.log_start_offset));
        w.since(8, |w| w.array("recordErrors", &self.record_errors));
        w.since(8, |w| w.nullable_string("errorMessage", self.error_message.as_deref()));
        let unknown = self.current_leader == LeaderIdAndEpoch::default();
        w.required_since(10, "currentLeader", unknown, |w| {
            w.tags(|w| w.tag(0, !unknown, |w| w.structure("currentLeader", &self.current_leader)));
        });
    }
}

impl Decode for PartitionProduceResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        let mut response = Self {
            index: r.i32("index")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            base_offset: r.i64("baseOffset")?,
            log_append_time_ms: r.i64("logAppendTimeMs")?,
            log_start_offset: r.since(5, -1, |r| r.i64("logStartOffset"))?,
            record_errors: r.since(8, Vec::new(), |r| r.array("recordErrors"))?,
            error_message: r.since(8, None, |r| r.nullable_string("errorMessage"))?,
            current_leader: LeaderIdAndEpoch::default(),
        };
        r.since(10, (), |r| {
            r.tags(&[(0, "currentLeader")], |r, _| {
                response.current_leader = r.structure("currentLeader")?;
                Ok(())
            })
        })?;
        Ok(response)
    }
}

impl Encode for BatchIndexAndErrorMessage {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("batchIndex", self.batch_index);
        w.nullable_string("batchIndexErrorMessage", self.batch_index_error_message.as_deref());
    }
}

impl Decode for BatchIndexAndErrorMessage {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            batch_index: r.i32("batchIndex")?,
            batch_index_error_message: r.nullable_string("batchIndexErrorMessage")?,
        })
    }
}

impl Encode for LeaderIdAndEpoch {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("leaderId", self.leader_id);
        w.i32("leaderEpoch", self.leader_epoch);
    }
}

impl Decode for LeaderIdAndEpoch {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { leader_id: r.i32("leaderId")?, leader_epoch: r.i32("leaderEpoch")? })
    }
}

impl Encode for NodeEndpoint {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("nodeId", self.node_id);
        w.string("host", &self.host);
        w.i32("port", self.port);
        w.nullable_string("rack", self.rack.as_deref());
    }
}

impl Decode for NodeEndpoint {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            node_id: r.i32("nodeId")?,
            host: r.string("host")?,
            port: r.i32("port")?,
            rack: r.nullable_string("rack")?,
        })
    }
}

impl Message for ProduceResponse {
    const NAME: &'static str = "ProduceResponse";
    const KEY: ApiKey = ApiKey::PRODUCE;
    const VERSIONS: RangeInclusive<i16> = 3..=13;
    const FLEXIBLE_FROM: i16 = 9;
}

impl Response for ProduceResponse {
    const THROTTLES_SINCE: i16 = 6;

    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
