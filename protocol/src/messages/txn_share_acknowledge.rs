//! TxnShareAcknowledge (key 95, version 0, flexible): acknowledges records of a share group as part of a producer's
//! transaction. Sent by the producer to the leader of the partitions, one request a leader; the coordinator ends the
//! transaction as any other.
//!
//! This is the draft of KIP-1289, not a part of Apache Kafka: key and fields may change, and 4.4.0 does not know the
//! API. No version of it is stable, so none is ever negotiated. Feature `unstable-kip-1289`.

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response, Uuid};

/// Acknowledgements that take effect when the transaction commits.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TxnShareAcknowledgeRequest {
    /// The transactional id; brokers refuse `None`.
    pub transactional_id: Option<String>,
    /// The group.
    pub group_id: String,
    /// The producer.
    pub producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// The member that acquired the records.
    pub member_id: String,
    /// The member's epoch, by which one that has lost its place is found.
    pub member_epoch: i32,
    /// What to acknowledge, by topic.
    pub topics: Vec<AcknowledgeTopic>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AcknowledgeTopic {
    /// The topic.
    pub topic_id: Uuid,
    /// Its partitions.
    pub partitions: Vec<AcknowledgePartition>,
}

/// One partition to acknowledge in.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AcknowledgePartition {
    /// The partition.
    pub partition_index: i32,
    /// What to acknowledge: disjoint ranges in ascending order.
    pub acknowledgement_batches: Vec<AcknowledgementBatch>,
}

/// The acknowledgement of a range of offsets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AcknowledgementBatch {
    /// The first offset.
    pub first_offset: i64,
    /// The last offset, inclusive.
    pub last_offset: i64,
    /// One type for the whole range, or one an offset. 0: gap, 1: accept, 3: reject; release and renewal are not part
    /// of transactions.
    pub acknowledge_types: Vec<i8>,
}

impl Encode for TxnShareAcknowledgeRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.nullable_string("transactionalId", self.transactional_id.as_deref());
        w.string("groupId", &self.group_id);
        w.i64("producerId", self.producer_id);
        w.i16("producerEpoch", self.producer_epoch);
        w.string("memberId", &self.member_id);
        w.i32("memberEpoch", self.member_epoch);
        w.array("topics", &self.topics);
    }
}

impl Decode for TxnShareAcknowledgeRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            transactional_id: r.nullable_string("transactionalId")?,
            group_id: r.string("groupId")?,
            producer_id: r.i64("producerId")?,
            producer_epoch: r.i16("producerEpoch")?,
            member_id: r.string("memberId")?,
            member_epoch: r.i32("memberEpoch")?,
            topics: r.array("topics")?,
        })
    }
}

impl Encode for AcknowledgeTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.uuid("topicId", self.topic_id);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for AcknowledgeTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topic_id: r.uuid("topicId")?, partitions: r.array("partitions")? })
    }
}

impl Encode for AcknowledgePartition {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.array("acknowledgementBatches", &self.acknowledgement_batches);
    }
}

impl Decode for AcknowledgePartition {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            partition_index: r.i32("partitionIndex")?,
            acknowledgement_batches: r.array("acknowledgementBatches")?,
        })
    }
}

impl Encode for AcknowledgementBatch {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i64("firstOffset", self.first_offset);
        w.i64("lastOffset", self.last_offset);
        w.array("acknowledgeTypes", &self.acknowledge_types);
    }
}

impl Decode for AcknowledgementBatch {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            first_offset: r.i64("firstOffset")?,
            last_offset: r.i64("lastOffset")?,
            acknowledge_types: r.array("acknowledgeTypes")?,
        })
    }
}

impl Message for TxnShareAcknowledgeRequest {
    const NAME: &'static str = "TxnShareAcknowledgeRequest";
    const KEY: ApiKey = ApiKey::TXN_SHARE_ACKNOWLEDGE;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Request for TxnShareAcknowledgeRequest {
    type Response = TxnShareAcknowledgeResponse;
    const NEWEST_STABLE: i16 = -1;
}

/// How the acknowledgements went. Where one failed, the whole transaction has to be aborted.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TxnShareAcknowledgeResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The error of the whole request.
    pub error_code: ErrorCode,
    /// The partitions by topic.
    pub responses: Vec<TxnShareAcknowledgeTopicResponse>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TxnShareAcknowledgeTopicResponse {
    /// The topic.
    pub topic_id: Uuid,
    /// Its partitions.
    pub partitions: Vec<PartitionData>,
}

/// How the acknowledgements of one partition went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PartitionData {
    /// The partition.
    pub partition_index: i32,
    /// The error of the partition.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
}

impl Encode for TxnShareAcknowledgeResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.i16("errorCode", self.error_code.0);
        w.array("responses", &self.responses);
    }
}

impl Decode for TxnShareAcknowledgeResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.i32("throttleTimeMs")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            responses: r.array("responses")?,
        })
    }
}

impl Encode for TxnShareAcknowledgeTopicResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.uuid("topicId", self.topic_id);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for TxnShareAcknowledgeTopicResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topic_id: r.uuid("topicId")?, partitions: r.array("partitions")? })
    }
}

impl Encode for PartitionData {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
    }
}

impl Decode for PartitionData {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            partition_index: r.i32("partitionIndex")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
        })
    }
}

impl Message for TxnShareAcknowledgeResponse {
    const NAME: &'static str = "TxnShareAcknowledgeResponse";
    const KEY: ApiKey = ApiKey::TXN_SHARE_ACKNOWLEDGE;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Response for TxnShareAcknowledgeResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}

#[cfg(test)]
mod tests {
    //! Kafka's classes do not know this API, so the bytes are worked out by hand from the draft's schema.

    use bytes::Bytes;

    use super::*;

    #[test]
    fn request_bytes_are_those_of_the_draft() {
        let by_hand: Vec<u8> = [
            &[3, b't', b'x'][..],            // transactional id, compact: length + 1
            &[2, b'g'],                      // group id
            &[0, 0, 0, 0, 0, 0, 0x10, 0x01], // producer id 4097
            &[0, 7],                         // producer epoch
            &[3, b'm', b'1'],                // member id
            &[0, 0, 0, 9],                   // member epoch
            &[2],                            // one topic
            &[0xa5; 16],                     // its id
            &[2],                            // one partition
            &[0, 0, 0, 3],                   // its index
            &[3],                            // two ranges
            &[0, 0, 0, 0, 0, 0, 0, 10],      // first offset
            &[0, 0, 0, 0, 0, 0, 0, 19],      // last offset
            &[2, 1, 0],                      // accept all of it; no tags
            &[0, 0, 0, 0, 0, 0, 0, 20],      // first offset
            &[0, 0, 0, 0, 0, 0, 0, 22],      // last offset
            &[4, 1, 0, 3, 0],                // accept, gap, reject; no tags
            &[0, 0, 0],                      // no tags of partition, topic and message
        ]
        .concat();
        let request = TxnShareAcknowledgeRequest {
            transactional_id: Some("tx".into()),
            group_id: "g".into(),
            producer_id: 4097,
            producer_epoch: 7,
            member_id: "m1".into(),
            member_epoch: 9,
            topics: vec![AcknowledgeTopic {
                topic_id: Uuid([0xa5; 16]),
                partitions: vec![AcknowledgePartition {
                    partition_index: 3,
                    acknowledgement_batches: vec![
                        AcknowledgementBatch { first_offset: 10, last_offset: 19, acknowledge_types: vec![1] },
                        AcknowledgementBatch { first_offset: 20, last_offset: 22, acknowledge_types: vec![1, 0, 3] },
                    ],
                }],
            }],
        };
        assert_eq!(request.to_bytes(0).unwrap(), by_hand);
        assert_eq!(TxnShareAcknowledgeRequest::from_bytes(Bytes::from(by_hand), 0).unwrap(), request);
    }

    #[test]
    fn null_transactional_id_is_one_zero_byte() {
        let bytes = TxnShareAcknowledgeRequest::default().to_bytes(0).unwrap();
        let by_hand = [&[0, 1][..], &[0; 8], &[0, 0, 1, 0, 0, 0, 0, 1, 0]].concat();
        assert_eq!(bytes, by_hand);
        assert_eq!(TxnShareAcknowledgeRequest::from_bytes(bytes, 0).unwrap().transactional_id, None);
    }

    #[test]
    fn response_bytes_are_those_of_the_draft() {
        let by_hand: Vec<u8> = [
            &[0, 0, 0, 5][..],         // throttle time
            &[0, 0],                   // no error of the whole request
            &[2],                      // one topic
            &[0xa5; 16],               // its id
            &[3],                      // two partitions
            &[0, 0, 0, 3, 0, 0, 0, 0], // partition 3: no error, message null, no tags
            &[0, 0, 0, 4, 0, 121],     // partition 4: INVALID_RECORD_STATE
            &[5, b'l', b'a', b't', b'e', 0],
            &[0, 0], // no tags of topic and message
        ]
        .concat();
        let refused = PartitionData {
            partition_index: 4,
            error_code: ErrorCode::INVALID_RECORD_STATE,
            error_message: Some("late".into()),
        };
        let response = TxnShareAcknowledgeResponse {
            throttle_time_ms: 5,
            error_code: ErrorCode::NONE,
            responses: vec![TxnShareAcknowledgeTopicResponse {
                topic_id: Uuid([0xa5; 16]),
                partitions: vec![PartitionData { partition_index: 3, ..PartitionData::default() }, refused],
            }],
        };
        assert_eq!(response.to_bytes(0).unwrap(), by_hand);
        assert_eq!(TxnShareAcknowledgeResponse::from_bytes(Bytes::from(by_hand), 0).unwrap(), response);
    }
}
