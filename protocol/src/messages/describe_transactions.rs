//! DescribeTransactions (key 65, version 0, flexible): the state of transactions (KIP-664). Sent to the transaction
//! coordinator.

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// Which transactions to describe.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DescribeTransactionsRequest {
    /// The transactional ids.
    pub transactional_ids: Vec<String>,
}

impl Encode for DescribeTransactionsRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("transactionalIds", &self.transactional_ids);
    }
}

impl Decode for DescribeTransactionsRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { transactional_ids: r.array("transactionalIds")? })
    }
}

impl Message for DescribeTransactionsRequest {
    const NAME: &'static str = "DescribeTransactionsRequest";
    const KEY: ApiKey = ApiKey::DESCRIBE_TRANSACTIONS;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Request for DescribeTransactionsRequest {
    type Response = DescribeTransactionsResponse;
    const NEWEST_STABLE: i16 = 0;
}

/// The transactions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DescribeTransactionsResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The transactions.
    pub transaction_states: Vec<TransactionState>,
}

/// One transaction.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TransactionState {
    /// The error of the transaction.
    pub error_code: ErrorCode,
    /// The transactional id.
    pub transactional_id: String,
    /// Its state, such as `Ongoing`.
    pub transaction_state: String,
    /// After how long the coordinator aborts it, in milliseconds.
    pub transaction_timeout_ms: i32,
    /// When it began, in milliseconds since 1970; -1 where none is open.
    pub transaction_start_time_ms: i64,
    /// The producer.
    pub producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// The partitions that are part of it, by topic; while it ends, those that have no marker yet.
    pub topics: Vec<TopicData>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TopicData {
    /// The topic.
    pub topic: String,
    /// Its partitions.
    pub partitions: Vec<i32>,
}

impl Encode for DescribeTransactionsResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.array("transactionStates", &self.transaction_states);
    }
}

impl Decode for DescribeTransactionsResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { throttle_time_ms: r.i32("throttleTimeMs")?, transaction_states: r.array("transactionStates")? })
    }
}

impl Encode for TransactionState {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i16("errorCode", self.error_code.0);
        w.string("transactionalId", &self.transactional_id);
        w.string("transactionState", &self.transaction_state);
        w.i32("transactionTimeoutMs", self.transaction_timeout_ms);
        w.i64("transactionStartTimeMs", self.transaction_start_time_ms);
        w.i64("producerId", self.producer_id);
        w.i16("producerEpoch", self.producer_epoch);
        w.array("topics", &self.topics);
    }
}

impl Decode for TransactionState {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            error_code: ErrorCode(r.i16("errorCode")?),
            transactional_id: r.string("transactionalId")?,
            transaction_state: r.string("transactionState")?,
            transaction_timeout_ms: r.i32("transactionTimeoutMs")?,
            transaction_start_time_ms: r.i64("transactionStartTimeMs")?,
            producer_id: r.i64("producerId")?,
            producer_epoch: r.i16("producerEpoch")?,
            topics: r.array("topics")?,
        })
    }
}

impl Encode for TopicData {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("topic", &self.topic);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for TopicData {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topic: r.string("topic")?, partitions: r.array("partitions")? })
    }
}

impl Message for DescribeTransactionsResponse {
    const NAME: &'static str = "DescribeTransactionsResponse";
    const KEY: ApiKey = ApiKey::DESCRIBE_TRANSACTIONS;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Response for DescribeTransactionsResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
