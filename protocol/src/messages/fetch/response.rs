//! The response.

use std::ops::RangeInclusive;

use bytes::Bytes;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Response, Uuid};

/// The record batches.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FetchResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The error of the whole request. Since version 7.
    pub error_code: ErrorCode,
    /// The fetch session; 0 where there is none. Since version 7.
    pub session_id: i32,
    /// The partitions by topic; within a session those that have something to say.
    pub responses: Vec<FetchableTopicResponse>,
    /// Where the current leaders are that partitions with NOT_LEADER_OR_FOLLOWER or FENCED_LEADER_EPOCH name. Since
    /// version 16.
    pub node_endpoints: Vec<NodeEndpoint>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FetchableTopicResponse {
    /// The topic. Up to version 12.
    pub topic: String,
    /// The topic. Since version 13.
    pub topic_id: Uuid,
    /// Its partitions.
    pub partitions: Vec<PartitionData>,
}

/// What one partition gave.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionData {
    /// The partition.
    pub partition_index: i32,
    /// The error of the partition.
    pub error_code: ErrorCode,
    /// The high watermark: the end of what is replicated.
    pub high_watermark: i64,
    /// The offset before which every transaction is decided; -1 where it is not known.
    pub last_stable_offset: i64,
    /// The first offset of the log; -1 where it is not known. Since version 5.
    pub log_start_offset: i64,
    /// Where the logs begin to differ, if the reader's last epoch does not fit; the default otherwise. Since version
    /// 12.
    pub diverging_epoch: EpochEndOffset,
    /// The leader that the broker knows of, where the error is about leadership. Since version 12.
    pub current_leader: LeaderIdAndEpoch,
    /// The snapshot to load instead, for a follower whose offset is before the log's start; the default otherwise.
    /// Since version 12.
    pub snapshot_id: SnapshotId,
    /// The aborted transactions that the records touch; `None` with read uncommitted.
    pub aborted_transactions: Option<Vec<AbortedTransaction>>,
    /// The replica to read from the next time; -1 for the leader. Since version 11.
    pub preferred_read_replica: i32,
    /// Record batches, of which the first may begin before the offset asked for and the last may be cut off. The slice
    /// keeps the whole response in memory.
    pub records: Option<Bytes>,
}

impl Default for PartitionData {
    fn default() -> Self {
        Self {
            partition_index: 0,
            error_code: ErrorCode::NONE,
            high_watermark: 0,
            last_stable_offset: -1,
            log_start_offset: -1,
            diverging_epoch: EpochEndOffset::default(),
            current_leader: LeaderIdAndEpoch::default(),
            snapshot_id: SnapshotId::default(),
            aborted_transactions: None,
            preferred_read_replica: -1,
            records: None,
        }
    }
}

/// The end of a leader epoch.
#[derive(Debug, Clone, PartialEq)]
pub struct EpochEndOffset {
    /// The epoch; -1 for none.
    pub epoch: i32,
    /// The offset after its last record; -1 for none.
    pub end_offset: i64,
}

impl Default for EpochEndOffset {
    fn default() -> Self {
        Self { epoch: -1, end_offset: -1 }
    }
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

/// A snapshot of the metadata log.
#[derive(Debug, Clone, PartialEq)]
pub struct SnapshotId {
    /// The offset after the last record that it holds; -1 for none.
    pub end_offset: i64,
    /// The leader epoch of that record; -1 for none.
    pub epoch: i32,
}

impl Default for SnapshotId {
    fn default() -> Self {
        Self { end_offset: -1, epoch: -1 }
    }
}

/// An aborted transaction, whose records a read-committed consumer passes over.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AbortedTransaction {
    /// The producer.
    pub producer_id: i64,
    /// The transaction's first offset in the partition.
    pub first_offset: i64,
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

impl Encode for FetchResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.since(7, |w| w.i16("errorCode", self.error_code.0));
        w.required_since(7, "sessionId", self.session_id == 0, |w| w.i32("sessionId", self.session_id));
        w.array("responses", &self.responses);
        w.tags(|w| {
            let absent = self.node_endpoints.is_empty();
            w.required_since(16, "nodeEndpoints", absent, |w| {
                w.tag(0, !absent, |w| w.array("nodeEndpoints", &self.node_endpoints));
            });
        });
    }
}

impl Decode for FetchResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        let mut response = Self {
            throttle_time_ms: r.i32("throttleTimeMs")?,
            error_code: r.since(7, ErrorCode::NONE, |r| r.i16("errorCode").map(ErrorCode))?,
            session_id: r.since(7, 0, |r| r.i32("sessionId"))?,
            responses: r.array("responses")?,
            node_endpoints: Vec::new(),
        };
        r.since(16, (), |r| {
            r.tags(&[(0, "nodeEndpoints")], |r, _| {
                response.node_endpoints = r.array("nodeEndpoints")?;
                Ok(())
            })
        })?;
        Ok(response)
    }
}

impl Encode for FetchableTopicResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.until(12, |w| w.string("topic", &self.topic));
        w.since(13, |w| w.uuid("topicId", self.topic_id));
        w.array("partitions", &self.partitions);
    }
}

impl Decode for FetchableTopicResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            topic: r.until(12, String::new(), |r| r.string("topic"))?,
            topic_id: r.since(13, Uuid::default(), |r| r.uuid("topicId"))?,
            partitions: r.array("partitions")?,
        })
    }
}

impl Encode for PartitionData {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.i16("errorCode", self.error_code.0);
        w.i64("highWatermark", self.high_watermark);
        w.i64("lastStableOffset", self.last_stable_offset);
        w.since(5, |w| w.i64("logStartOffset", self.log_start_offset));
        w.nullable_array("abortedTransactions", self.aborted_transactions.as_deref());
        w.required_since(11, "preferredReadReplica", self.preferred_read_replica == -1, |w| {
            w.i32("preferredReadReplica", self.preferred_read_replica);
        });
        w.records("records", self.records.as_ref());
        w.tags(|w| {
            let absent = self.diverging_epoch == EpochEndOffset::default();
            w.required_since(12, "divergingEpoch", absent, |w| {
                w.tag(0, !absent, |w| w.structure("divergingEpoch", &self.diverging_epoch));
            });
            let absent = self.current_leader == LeaderIdAndEpoch::default();
            w.required_since(12, "currentLeader", absent, |w| {
                w.tag(1, !absent, |w| w.structure("currentLeader", &self.current_leader));
            });
            let absent = self.snapshot_id == SnapshotId::default();
            w.required_since(12, "snapshotId", absent, |w| {
                w.tag(2, !absent, |w| w.structure("snapshotId", &self.snapshot_id));
            });
        });
    }
}

impl Decode for PartitionData {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        let mut partition = Self {
            partition_index: r.i32("partitionIndex")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            high_watermark: r.i64("highWatermark")?,
            last_stable_offset: r.i64("lastStableOffset")?,
            log_start_offset: r.since(5, -1, |r| r.i64("logStartOffset"))?,
            diverging_epoch: EpochEndOffset::default(),
            current_leader: LeaderIdAndEpoch::default(),
            snapshot_id: SnapshotId::default(),
            aborted_transactions: r.nullable_array("abortedTransactions")?,
            preferred_read_replica: r.since(11, -1, |r| r.i32("preferredReadReplica"))?,
            records: r.records("records")?,
        };
        r.since(12, (), |r| {
            r.tags(&[(0, "divergingEpoch"), (1, "currentLeader"), (2, "snapshotId")], |r, tag| {
                match tag {
                    0 => partition.diverging_epoch = r.structure("divergingEpoch")?,
                    1 => partition.current_leader = r.structure("currentLeader")?,
                    _ => partition.snapshot_id = r.structure("snapshotId")?,
                }
                Ok(())
            })
        })?;
        Ok(partition)
    }
}

impl Encode for EpochEndOffset {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("epoch", self.epoch);
        w.i64("endOffset", self.end_offset);
    }
}

impl Decode for EpochEndOffset {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { epoch: r.i32("epoch")?, end_offset: r.i64("endOffset")? })
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

impl Encode for SnapshotId {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i64("endOffset", self.end_offset);
        w.i32("epoch", self.epoch);
    }
}

impl Decode for SnapshotId {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { end_offset: r.i64("endOffset")?, epoch: r.i32("epoch")? })
    }
}

impl Encode for AbortedTransaction {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i64("producerId", self.producer_id);
        w.i64("firstOffset", self.first_offset);
    }
}

impl Decode for AbortedTransaction {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { producer_id: r.i64("producerId")?, first_offset: r.i64("firstOffset")? })
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

impl Message for FetchResponse {
    const NAME: &'static str = "FetchResponse";
    const KEY: ApiKey = ApiKey::FETCH;
    const VERSIONS: RangeInclusive<i16> = 4..=18;
    const FLEXIBLE_FROM: i16 = 12;
}

impl Response for FetchResponse {
    const THROTTLES_SINCE: i16 = 8;

    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
