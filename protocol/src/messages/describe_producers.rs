//! DescribeProducers (key 61, version 0, flexible): the producers that a partition knows (KIP-664). Sent to the leader
//! of the partitions.

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// Which partitions to look at.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DescribeProducersRequest {
    /// The partitions by topic.
    pub topics: Vec<TopicRequest>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TopicRequest {
    /// The topic.
    pub name: String,
    /// Its partitions.
    pub partition_indexes: Vec<i32>,
}

impl Encode for DescribeProducersRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("topics", &self.topics);
    }
}

impl Decode for DescribeProducersRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topics: r.array("topics")? })
    }
}

impl Encode for TopicRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.array("partitionIndexes", &self.partition_indexes);
    }
}

impl Decode for TopicRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.string("name")?, partition_indexes: r.array("partitionIndexes")? })
    }
}

impl Message for DescribeProducersRequest {
    const NAME: &'static str = "DescribeProducersRequest";
    const KEY: ApiKey = ApiKey::DESCRIBE_PRODUCERS;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Request for DescribeProducersRequest {
    type Response = DescribeProducersResponse;
    const NEWEST_STABLE: i16 = 0;
}

/// The producers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DescribeProducersResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The partitions by topic.
    pub topics: Vec<TopicResponse>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TopicResponse {
    /// The topic.
    pub name: String,
    /// Its partitions.
    pub partitions: Vec<PartitionResponse>,
}

/// The producers of one partition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PartitionResponse {
    /// The partition.
    pub partition_index: i32,
    /// The error of the partition.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
    /// The producers.
    pub active_producers: Vec<ProducerState>,
}

/// A producer.
#[derive(Debug, Clone, PartialEq)]
pub struct ProducerState {
    /// The producer.
    pub producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i32,
    /// The sequence number of its last record; -1 for none.
    pub last_sequence: i32,
    /// The time of its last batch, in milliseconds since 1970; -1 for none.
    pub last_timestamp: i64,
    /// The epoch of the coordinator that ended its last transaction.
    pub coordinator_epoch: i32,
    /// The first offset of its open transaction; -1 for none.
    pub current_txn_start_offset: i64,
}

impl Default for ProducerState {
    fn default() -> Self {
        Self {
            producer_id: 0,
            producer_epoch: 0,
            last_sequence: -1,
            last_timestamp: -1,
            coordinator_epoch: 0,
            current_txn_start_offset: -1,
        }
    }
}

impl Encode for DescribeProducersResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.array("topics", &self.topics);
    }
}

impl Decode for DescribeProducersResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { throttle_time_ms: r.i32("throttleTimeMs")?, topics: r.array("topics")? })
    }
}

impl Encode for TopicResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for TopicResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.string("name")?, partitions: r.array("partitions")? })
    }
}

impl Encode for PartitionResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
        w.array("activeProducers", &self.active_producers);
    }
}

impl Decode for PartitionResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            partition_index: r.i32("partitionIndex")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
            active_producers: r.array("activeProducers")?,
        })
    }
}

impl Encode for ProducerState {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i64("producerId", self.producer_id);
        w.i32("producerEpoch", self.producer_epoch);
        w.i32("lastSequence", self.last_sequence);
        w.i64("lastTimestamp", self.last_timestamp);
        w.i32("coordinatorEpoch", self.coordinator_epoch);
        w.i64("currentTxnStartOffset", self.current_txn_start_offset);
    }
}

impl Decode for ProducerState {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            producer_id: r.i64("producerId")?,
            producer_epoch: r.i32("producerEpoch")?,
            last_sequence: r.i32("lastSequence")?,
            last_timestamp: r.i64("lastTimestamp")?,
            coordinator_epoch: r.i32("coordinatorEpoch")?,
            current_txn_start_offset: r.i64("currentTxnStartOffset")?,
        })
    }
}

impl Message for DescribeProducersResponse {
    const NAME: &'static str = "DescribeProducersResponse";
    const KEY: ApiKey = ApiKey::DESCRIBE_PRODUCERS;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Response for DescribeProducersResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
