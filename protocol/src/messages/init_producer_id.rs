//! InitProducerId (key 22, versions 0-6, flexible from 2): gives a producer its id and epoch, and ends what an earlier
//! producer of the same transactional id left open. Sent to the transaction coordinator; without a transactional id to
//! any broker.
//!
//! Version 3 lets a producer go on after an epoch error; 4 may answer PRODUCER_FENCED; 5 TRANSACTION_ABORTABLE
//! (KIP-890); 6 is unstable and adds two-phase commit (KIP-939).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// Who wants to produce.
#[derive(Debug, Clone, PartialEq)]
pub struct InitProducerIdRequest {
    /// The transactional id; `None` for a producer that is only idempotent.
    pub transactional_id: Option<String>,
    /// After how long without progress the coordinator aborts a transaction, in milliseconds.
    pub transaction_timeout_ms: i32,
    /// The producer's present id, -1 for a new one. Since version 3.
    pub producer_id: i64,
    /// The producer's present epoch, -1 for a new one. Since version 3.
    pub producer_epoch: i16,
    /// Whether transactions are to be part of a two-phase commit. Since version 6.
    pub enable_2pc: bool,
    /// Whether to keep an open transaction instead of aborting it. Since version 6.
    pub keep_prepared_txn: bool,
}

impl Default for InitProducerIdRequest {
    fn default() -> Self {
        Self {
            transactional_id: None,
            transaction_timeout_ms: 0,
            producer_id: -1,
            producer_epoch: -1,
            enable_2pc: false,
            keep_prepared_txn: false,
        }
    }
}

impl Encode for InitProducerIdRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.nullable_string("transactionalId", self.transactional_id.as_deref());
        w.i32("transactionTimeoutMs", self.transaction_timeout_ms);
        w.required_since(3, "producerId", self.producer_id == -1, |w| w.i64("producerId", self.producer_id));
        w.required_since(3, "producerEpoch", self.producer_epoch == -1, |w| {
            w.i16("producerEpoch", self.producer_epoch);
        });
        w.required_since(6, "enable2Pc", !self.enable_2pc, |w| w.bool("enable2Pc", self.enable_2pc));
        w.required_since(6, "keepPreparedTxn", !self.keep_prepared_txn, |w| {
            w.bool("keepPreparedTxn", self.keep_prepared_txn);
        });
    }
}

impl Decode for InitProducerIdRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            transactional_id: r.nullable_string("transactionalId")?,
            transaction_timeout_ms: r.i32("transactionTimeoutMs")?,
            producer_id: r.since(3, -1, |r| r.i64("producerId"))?,
            producer_epoch: r.since(3, -1, |r| r.i16("producerEpoch"))?,
            enable_2pc: r.since(6, false, |r| r.bool("enable2Pc"))?,
            keep_prepared_txn: r.since(6, false, |r| r.bool("keepPreparedTxn"))?,
        })
    }
}

impl Message for InitProducerIdRequest {
    const NAME: &'static str = "InitProducerIdRequest";
    const KEY: ApiKey = ApiKey::INIT_PRODUCER_ID;
    const VERSIONS: RangeInclusive<i16> = 0..=6;
    const FLEXIBLE_FROM: i16 = 2;
}

impl Request for InitProducerIdRequest {
    type Response = InitProducerIdResponse;
    const NEWEST_STABLE: i16 = 5;
}

/// The producer's id and epoch.
#[derive(Debug, Clone, PartialEq)]
pub struct InitProducerIdResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The error of the whole request.
    pub error_code: ErrorCode,
    /// The producer's id; -1 with an error.
    pub producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// The id of the producer whose transaction was kept; -1 where there is none. Since version 6.
    pub ongoing_txn_producer_id: i64,
    /// The epoch of the producer whose transaction was kept; -1 where there is none. Since version 6.
    pub ongoing_txn_producer_epoch: i16,
}

impl Default for InitProducerIdResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode::NONE,
            producer_id: -1,
            producer_epoch: 0,
            ongoing_txn_producer_id: -1,
            ongoing_txn_producer_epoch: -1,
        }
    }
}

impl Encode for InitProducerIdResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.i16("errorCode", self.error_code.0);
        w.i64("producerId", self.producer_id);
        w.i16("producerEpoch", self.producer_epoch);
        let (name, value) = ("ongoingTxnProducerId", self.ongoing_txn_producer_id);
        w.required_since(6, name, value == -1, |w| w.i64(name, value));
        let (name, value) = ("ongoingTxnProducerEpoch", self.ongoing_txn_producer_epoch);
        w.required_since(6, name, value == -1, |w| w.i16(name, value));
    }
}

impl Decode for InitProducerIdResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.i32("throttleTimeMs")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            producer_id: r.i64("producerId")?,
            producer_epoch: r.i16("producerEpoch")?,
            ongoing_txn_producer_id: r.since(6, -1, |r| r.i64("ongoingTxnProducerId"))?,
            ongoing_txn_producer_epoch: r.since(6, -1, |r| r.i16("ongoingTxnProducerEpoch"))?,
        })
    }
}

impl Message for InitProducerIdResponse {
    const NAME: &'static str = "InitProducerIdResponse";
    const KEY: ApiKey = ApiKey::INIT_PRODUCER_ID;
    const VERSIONS: RangeInclusive<i16> = 0..=6;
    const FLEXIBLE_FROM: i16 = 2;
}

impl Response for InitProducerIdResponse {
    const THROTTLES_SINCE: i16 = 1;

    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
