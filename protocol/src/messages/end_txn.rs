//! EndTxn (key 26, versions 0-5, flexible from 3): commits or aborts a transaction (KIP-98). Sent to the transaction
//! coordinator.
//!
//! Version 2 may answer PRODUCER_FENCED (KIP-588); 4 TRANSACTION_ABORTABLE; 5 gives the producer a new epoch for each
//! transaction (KIP-890).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// How the transaction ends.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EndTxnRequest {
    /// The transactional id.
    pub transactional_id: String,
    /// The producer.
    pub producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// Whether to commit.
    pub committed: bool,
}

impl Encode for EndTxnRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("transactionalId", &self.transactional_id);
        w.i64("producerId", self.producer_id);
        w.i16("producerEpoch", self.producer_epoch);
        w.bool("committed", self.committed);
    }
}

impl Decode for EndTxnRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            transactional_id: r.string("transactionalId")?,
            producer_id: r.i64("producerId")?,
            producer_epoch: r.i16("producerEpoch")?,
            committed: r.bool("committed")?,
        })
    }
}

impl Message for EndTxnRequest {
    const NAME: &'static str = "EndTxnRequest";
    const KEY: ApiKey = ApiKey::END_TXN;
    const VERSIONS: RangeInclusive<i16> = 0..=5;
    const FLEXIBLE_FROM: i16 = 3;
}

impl Request for EndTxnRequest {
    type Response = EndTxnResponse;
    const NEWEST_STABLE: i16 = 5;
}

/// How it went.
#[derive(Debug, Clone, PartialEq)]
pub struct EndTxnResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The error.
    pub error_code: ErrorCode,
    /// The producer id to go on with; -1 with an error. Since version 5.
    pub producer_id: i64,
    /// The epoch to go on with; -1 with an error. Since version 5.
    pub producer_epoch: i16,
}

impl Default for EndTxnResponse {
    fn default() -> Self {
        Self { throttle_time_ms: 0, error_code: ErrorCode::NONE, producer_id: -1, producer_epoch: -1 }
    }
}

impl Encode for EndTxnResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.i16("errorCode", self.error_code.0);
        w.since(5, |w| w.i64("producerId", self.producer_id));
        w.since(5, |w| w.i16("producerEpoch", self.producer_epoch));
    }
}

impl Decode for EndTxnResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.i32("throttleTimeMs")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            producer_id: r.since(5, -1, |r| r.i64("producerId"))?,
            producer_epoch: r.since(5, -1, |r| r.i16("producerEpoch"))?,
        })
    }
}

impl Message for EndTxnResponse {
    const NAME: &'static str = "EndTxnResponse";
    const KEY: ApiKey = ApiKey::END_TXN;
    const VERSIONS: RangeInclusive<i16> = 0..=5;
    const FLEXIBLE_FROM: i16 = 3;
}

impl Response for EndTxnResponse {
    const THROTTLES_SINCE: i16 = 1;

    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
