//! AddOffsetsToTxn (key 25, versions 0-4, flexible from 3): makes the offsets of a group part of a transaction
//! (KIP-98). Sent to the transaction coordinator, before TxnOffsetCommit to the group's.
//!
//! Version 2 may answer PRODUCER_FENCED (KIP-588); 4 TRANSACTION_ABORTABLE (KIP-890).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// The group.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AddOffsetsToTxnRequest {
    /// The transactional id.
    pub transactional_id: String,
    /// The producer.
    pub producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// The group.
    pub group_id: String,
}

impl Encode for AddOffsetsToTxnRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("transactionalId", &self.transactional_id);
        w.i64("producerId", self.producer_id);
        w.i16("producerEpoch", self.producer_epoch);
        w.string("groupId", &self.group_id);
    }
}

impl Decode for AddOffsetsToTxnRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            transactional_id: r.string("transactionalId")?,
            producer_id: r.i64("producerId")?,
            producer_epoch: r.i16("producerEpoch")?,
            group_id: r.string("groupId")?,
        })
    }
}

impl Message for AddOffsetsToTxnRequest {
    const NAME: &'static str = "AddOffsetsToTxnRequest";
    const KEY: ApiKey = ApiKey::ADD_OFFSETS_TO_TXN;
    const VERSIONS: RangeInclusive<i16> = 0..=4;
    const FLEXIBLE_FROM: i16 = 3;
}

impl Request for AddOffsetsToTxnRequest {
    type Response = AddOffsetsToTxnResponse;
    const NEWEST_STABLE: i16 = 4;
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AddOffsetsToTxnResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The error.
    pub error_code: ErrorCode,
}

impl Encode for AddOffsetsToTxnResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.i16("errorCode", self.error_code.0);
    }
}

impl Decode for AddOffsetsToTxnResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { throttle_time_ms: r.i32("throttleTimeMs")?, error_code: ErrorCode(r.i16("errorCode")?) })
    }
}

impl Message for AddOffsetsToTxnResponse {
    const NAME: &'static str = "AddOffsetsToTxnResponse";
    const KEY: ApiKey = ApiKey::ADD_OFFSETS_TO_TXN;
    const VERSIONS: RangeInclusive<i16> = 0..=4;
    const FLEXIBLE_FROM: i16 = 3;
}

impl Response for AddOffsetsToTxnResponse {
    const THROTTLES_SINCE: i16 = 1;

    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
