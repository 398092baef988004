//! WriteTxnMarkers (key 27, versions 1-2, flexible): writes the ends of transactions into logs (KIP-98). Sent by
//! transaction coordinators to the leader of the partitions.
//!
//! Version 2 says which protocol the transaction follows (KIP-1228).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response};

/// The ends.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WriteTxnMarkersRequest {
    /// The transactions.
    pub markers: Vec<WritableTxnMarker>,
}

/// The end of one transaction.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WritableTxnMarker {
    /// The producer.
    pub producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// Whether it was committed.
    pub transaction_result: bool,
    /// The partitions by topic.
    pub topics: Vec<WritableTxnMarkerTopic>,
    /// The leader epoch of the coordinator's partition, by which an old coordinator is found.
    pub coordinator_epoch: i32,
    /// The cluster's transaction.version that the transaction follows; 2 is that of KIP-890. Since version 2.
    pub transaction_version: i8,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WritableTxnMarkerTopic {
    /// The topic.
    pub name: String,
    /// Its partitions.
    pub partition_indexes: Vec<i32>,
}

impl Encode for WriteTxnMarkersRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("markers", &self.markers);
    }
}

impl Decode for WriteTxnMarkersRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { markers: r.array("markers")? })
    }
}

impl Encode for WritableTxnMarker {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i64("producerId", self.producer_id);
        w.i16("producerEpoch", self.producer_epoch);
        w.bool("transactionResult", self.transaction_result);
        w.array("topics", &self.topics);
        w.i32("coordinatorEpoch", self.coordinator_epoch);
        w.since(2, |w| w.i8("transactionVersion", self.transaction_version));
    }
}

impl Decode for WritableTxnMarker {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            producer_id: r.i64("producerId")?,
            producer_epoch: r.i16("producerEpoch")?,
            transaction_result: r.bool("transactionResult")?,
            topics: r.array("topics")?,
            coordinator_epoch: r.i32("coordinatorEpoch")?,
            transaction_version: r.since(2, 0, |r| r.i8("transactionVersion"))?,
        })
    }
}

impl Encode for WritableTxnMarkerTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.array("partitionIndexes", &self.partition_indexes);
    }
}

impl Decode for WritableTxnMarkerTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.string("name")?, partition_indexes: r.array("partitionIndexes")? })
    }
}

impl Message for WriteTxnMarkersRequest {
    const NAME: &'static str = "WriteTxnMarkersRequest";
    const KEY: ApiKey = ApiKey::WRITE_TXN_MARKERS;
    const VERSIONS: RangeInclusive<i16> = 1..=2;
    const FLEXIBLE_FROM: i16 = 1;
}

impl Request for WriteTxnMarkersRequest {
    type Response = WriteTxnMarkersResponse;
    const NEWEST_STABLE: i16 = 2;
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WriteTxnMarkersResponse {
    /// The transactions.
    pub markers: Vec<WritableTxnMarkerResult>,
}

/// How it went for one transaction.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WritableTxnMarkerResult {
    /// The producer.
    pub producer_id: i64,
    /// The partitions by topic.
    pub topics: Vec<WritableTxnMarkerTopicResult>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WritableTxnMarkerTopicResult {
    /// The topic.
    pub name: String,
    /// Its partitions.
    pub partitions: Vec<WritableTxnMarkerPartitionResult>,
}

/// How it went for one partition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WritableTxnMarkerPartitionResult {
    /// The partition.
    pub partition_index: i32,
    /// The error of the partition.
    pub error_code: ErrorCode,
}

impl Encode for WriteTxnMarkersResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("markers", &self.markers);
    }
}

impl Decode for WriteTxnMarkersResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { markers: r.array("markers")? })
    }
}

impl Encode for WritableTxnMarkerResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i64("producerId", self.producer_id);
        w.array("topics", &self.topics);
    }
}

impl Decode for WritableTxnMarkerResult {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { producer_id: r.i64("producerId")?, topics: r.array("topics")? })
    }
}

impl Encode for WritableTxnMarkerTopicResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for WritableTxnMarkerTopicResult {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.string("name")?, partitions: r.array("partitions")? })
    }
}

impl Encode for WritableTxnMarkerPartitionResult {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.i16("errorCode", self.error_code.0);
    }
}

impl Decode for WritableTxnMarkerPartitionResult {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { partition_index: r.i32("partitionIndex")?, error_code: ErrorCode(r.i16("errorCode")?) })
    }
}

impl Message for WriteTxnMarkersResponse {
    const NAME: &'static str = "WriteTxnMarkersResponse";
    const KEY: ApiKey = ApiKey::WRITE_TXN_MARKERS;
    const VERSIONS: RangeInclusive<i16> = 1..=2;
    const FLEXIBLE_FROM: i16 = 1;
}

impl Response for WriteTxnMarkersResponse {}
