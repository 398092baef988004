//! ListTransactions (key 66, versions 0-2, flexible): the transactions that a broker coordinates (KIP-664). Sent to
//! every broker to get all of the cluster's.
//!
//! Version 1 adds a filter on the age (KIP-994); 2 a filter on the transactional id (KIP-1152).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// Which transactions to list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListTransactionsRequest {
    /// The states wanted, such as `Ongoing`; empty for all.
    pub state_filters: Vec<String>,
    /// The producers wanted; empty for all.
    pub producer_id_filters: Vec<i64>,
    /// How long a transaction has to be open, in milliseconds; negative for all. Since version 1.
    pub duration_filter: i64,
    /// A regular expression that the transactional id has to match; `None` or empty for all. Since version 2.
    pub transactional_id_pattern: Option<String>,
}

impl Default for ListTransactionsRequest {
    fn default() -> Self {
        Self {
            state_filters: Vec::new(),
            producer_id_filters: Vec::new(),
            duration_filter: -1,
            transactional_id_pattern: None,
        }
    }
}

impl Encode for ListTransactionsRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("stateFilters", &self.state_filters);
        w.array("producerIdFilters", &self.producer_id_filters);
        w.required_since(1, "durationFilter", self.duration_filter == -1, |w| {
            w.i64("durationFilter", self.duration_filter);
        });
        w.required_since(2, "transactionalIdPattern", self.transactional_id_pattern.is_none(), |w| {
            w.nullable_string("transactionalIdPattern", self.transactional_id_pattern.as_deref());
        });
    }
}

impl Decode for ListTransactionsRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            state_filters: r.array("stateFilters")?,
            producer_id_filters: r.array("producerIdFilters")?,
            duration_filter: r.since(1, -1, |r| r.i64("durationFilter"))?,
            transactional_id_pattern: r.since(2, None, |r| r.nullable_string("transactionalIdPattern"))?,
        })
    }
}

impl Message for ListTransactionsRequest {
    const NAME: &'static str = "ListTransactionsRequest";
    const KEY: ApiKey = ApiKey::LIST_TRANSACTIONS;
    const VERSIONS: RangeInclusive<i16> = 0..=2;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Request for ListTransactionsRequest {
    type Response = ListTransactionsResponse;
    const NEWEST_STABLE: i16 = 2;
}

/// The transactions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ListTransactionsResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The error of the whole request.
    pub error_code: ErrorCode,
    /// The states that the broker does not know.
    pub unknown_state_filters: Vec<String>,
    /// The transactions.
    pub transaction_states: Vec<TransactionState>,
}

/// One transaction.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TransactionState {
    /// The transactional id.
    pub transactional_id: String,
    /// The producer.
    pub producer_id: i64,
    /// Its state, such as `Ongoing`.
    pub transaction_state: String,
}

impl Encode for ListTransactionsResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.i16("errorCode", self.error_code.0);
        w.array("unknownStateFilters", &self.unknown_state_filters);
        w.array("transactionStates", &self.transaction_states);
    }
}

impl Decode for ListTransactionsResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.i32("throttleTimeMs")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            unknown_state_filters: r.array("unknownStateFilters")?,
            transaction_states: r.array("transactionStates")?,
        })
    }
}

impl Encode for TransactionState {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("transactionalId", &self.transactional_id);
        w.i64("producerId", self.producer_id);
        w.string("transactionState", &self.transaction_state);
    }
}

impl Decode for TransactionState {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            transactional_id: r.string("transactionalId")?,
            producer_id: r.i64("producerId")?,
            transaction_state: r.string("transactionState")?,
        })
    }
}

impl Message for ListTransactionsResponse {
    const NAME: &'static str = "ListTransactionsResponse";
    const KEY: ApiKey = ApiKey::LIST_TRANSACTIONS;
    const VERSIONS: RangeInclusive<i16> = 0..=2;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Response for ListTransactionsResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
