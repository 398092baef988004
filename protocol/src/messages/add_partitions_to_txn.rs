//! AddPartitionsToTxn (key 24, versions 0-5, flexible from 3): makes partitions part of a transaction before anything
//! is written to them. Sent to the transaction coordinator, up to version 3 by producers, since then by brokers for
//! them.
//!
//! Version 2 may answer PRODUCER_FENCED (KIP-588); 4 takes several transactions and can ask without adding (KIP-890); 5
//! may answer TRANSACTION_ABORTABLE (KIP-890).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// The partitions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AddPartitionsToTxnRequest {
    /// The transactions. Since version 4.
    pub transactions: Vec<AddPartitionsToTxnTransaction>,
    /// The transactional id. Up to version 3.
    pub v3_and_below_transactional_id: String,
    /// The producer. Up to version 3.
    pub v3_and_below_producer_id: i64,
    /// The producer's epoch. Up to version 3.
    pub v3_and_below_producer_epoch: i16,
    /// The partitions by topic. Up to version 3.
    pub v3_and_below_topics: Vec<AddPartitionsToTxnTopic>,
}

/// One transaction.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AddPartitionsToTxnTransaction {
    /// The transactional id.
    pub transactional_id: String,
    /// The producer.
    pub producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// Whether only to say if the partitions are part of the transaction.
    pub verify_only: bool,
    /// The partitions by topic.
    pub topics: Vec<AddPartitionsToTxnTopic>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AddPartitionsToTxnTopic {
    /// The topic.
    pub name: String,
    /// Its partitions.
    pub partitions: Vec<i32>,
}

impl Encode for AddPartitionsToTxnRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.required_since(4, "transactions", self.transactions.is_empty(), |w| {
            w.array("transactions", &self.transactions);
        });
        w.required_until(3, "v3AndBelowTransactionalId", self.v3_and_below_transactional_id.is_empty(), |w| {
            w.string("v3AndBelowTransactionalId", &self.v3_and_below_transactional_id);
        });
        w.required_until(3, "v3AndBelowProducerId", self.v3_and_below_producer_id == 0, |w| {
            w.i64("v3AndBelowProducerId", self.v3_and_below_producer_id);
        });
        w.required_until(3, "v3AndBelowProducerEpoch", self.v3_and_below_producer_epoch == 0, |w| {
            w.i16("v3AndBelowProducerEpoch", self.v3_and_below_producer_epoch);
        });
        w.required_until(3, "v3AndBelowTopics", self.v3_and_below_topics.is_empty(), |w| {
            w.array("v3AndBelowTopics", &self.v3_and_below_topics);
        });
    }
}

impl Decode for AddPartitionsToTxnRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            transactions: r.since(4, Vec::new(), |r| r.array("transactions"))?,
            v3_and_below_transactional_id: r.until(3, String::new(), |r| r.string("v3AndBelowTransactionalId"))?,
            v3_and_below_producer_id: r.until(3, 0, |r| r.i64("v3AndBelowProducerId"))?,
            v3_and_below_producer_epoch: r.until(3, 0, |r| r.i16("v3AndBelowProducerEpoch"))?,
            v3_and_below_topics: r.until(3, Vec::new(), |r| r.array("v3AndBelowTopics"))?,
        })
    }
}

impl Encode for AddPartitionsToTxnTransaction {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("transactionalId", &self.transactional_id);
        w.i64("producerId", self.producer_id);
        w.i16("producerEpoch", self.producer_epoch);
        w.bool("verifyOnly", self.verify_only);
        w.array("topics", &self.topics);
    }
}

impl Decode for AddPartitionsToTxnTransaction {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            transactional_id: r.string("transactionalId")?,
            producer_id: r.i64("producerId")?,
            producer_epoch: r.i16("producerEpoch")?,
            verify_only: r.bool("verifyOnly")?,
            topics: r.array("topics")?,
        })
    }
}

impl Encode for AddPartitionsToTxnTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for AddPartitionsToTxnTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.string("name")?, partitions: r.array("partitions")? })
    }
}

impl Message for AddPartitionsToTxnRequest {
    const NAME: &'static str = "AddPartitionsToTxnRequest";
    const KEY: ApiKey = ApiKey::ADD_PARTITIONS_TO_TXN;
    const VERSIONS: RangeInclusive<i16> = 0..=5;
    const FLEXIBLE_FROM: i16 = 3;
}

impl Request for AddPartitionsToTxnRequest {
    type Response = AddPartitionsToTxnResponse;
    const NEWEST_STABLE: i16 = 5;
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AddPartitionsToTxnResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The error of the whole request. Since version 4.
    pub error_code: ErrorCode,
    /// The transactions. Since version 4.
    pub results_by_transaction: Vec<AddPartitionsToTxnResult>,
    /// The partitions by topic. Up to version 3.
    pub results_by_topic_v3_and_below: Vec<AddPartitionsToTxnTopicResult>,
}

/// How it went for one transaction.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AddPartitionsToTxnResult {
    /// The transactional id.
    pub transactional_id: String,
    /// The partitions by topic.
    pub topic_results: Vec<AddPartitionsToTxnTopicResult>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AddPartitionsToTxnTopicResult {
    /// The topic.
    pub name: String,
    /// Its partitions.
    pub results_by_partition: Vec<AddPartitionsToTxnPartitionResult>,
}

/// How it went for one partition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AddPartitionsToTxnPartitionResult {
    /// The partition.
    pub partition_index: i32,
    /// The error of the partition.
    pub partition_error_code: ErrorCode,
}

impl Encode for AddPartitionsToTxnResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.since(4, |w| w.i16("errorCode", self.error_code.0));
        w.required_since(4, "resultsByTransaction", self.results_by_transaction.is_empty(), |w| {
            w.array("resultsByTransaction", &self.results_by_transaction);
        });
        w.required_until(3, "resultsByTopicV3AndBelow", self.results_by_topic_v3_and_below.is_empty(), |w| {
            w.array("resultsByTopicV3AndBelow", &self.results_by_topic_v3_and_below);
        });
    }
}

impl Decode for AddPartitionsToTxnResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.i32("throttleTimeMs")?,
            error_code: r.since(4, ErrorCode::NONE, |r| r.i16("errorCode").map(ErrorCode))?,
            results_by_transaction: r.since(4, Vec::new(), |r| r.array("resultsByTransaction"))?,
            results_by_topic_v3_and_below: r.until(3, Vec::new(), |r| r.array("resultsByTopicV3AndBelow"))?,
        })
    }
}

impl Encode for AddPartitionsToTxnResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("transactionalId", &self.transactional_id);
        w.array("topicResults", &self.topic_results);
    }
}

impl Decode for AddPartitionsToTxnResult {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { transactional_id: r.string("transactionalId")?, topic_results: r.array("topicResults")? })
    }
}

impl Encode for AddPartitionsToTxnTopicResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.array("resultsByPartition", &self.results_by_partition);
    }
}

impl Decode for AddPartitionsToTxnTopicResult {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.string("name")?, results_by_partition: r.array("resultsByPartition")? })
    }
}

impl Encode for AddPartitionsToTxnPartitionResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.i16("partitionErrorCode", self.partition_error_code.0);
    }
}

impl Decode for AddPartitionsToTxnPartitionResult {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            partition_index: r.i32("partitionIndex")?,
            partition_error_code: ErrorCode(r.i16("partitionErrorCode")?),
        })
    }
}

impl Message for AddPartitionsToTxnResponse {
    const NAME: &'static str = "AddPartitionsToTxnResponse";
    const KEY: ApiKey = ApiKey::ADD_PARTITIONS_TO_TXN;
    const VERSIONS: RangeInclusive<i16> = 0..=5;
    const FLEXIBLE_FROM: i16 = 3;
}

impl Response for AddPartitionsToTxnResponse {
    const THROTTLES_SINCE: i16 = 1;

    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
