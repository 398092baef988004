//! The request.

use std::ops::RangeInclusive;

use super::FetchResponse;
use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, Message, Request, Uuid};

/// Where to read, and how much.
#[derive(Debug, Clone, PartialEq)]
pub struct FetchRequest {
    /// The cluster that a follower means to reach; `None` where it does not say. Since version 12.
    pub cluster_id: Option<String>,
    /// The follower that reads; -1 for a consumer. Up to version 14.
    pub replica_id: i32,
    /// The follower that reads; the default for a consumer. Since version 15.
    pub replica_state: ReplicaState,
    /// The longest that the broker waits for `min_bytes`, in milliseconds.
    pub max_wait_ms: i32,
    /// The bytes to wait for.
    pub min_bytes: i32,
    /// The bytes to fetch at most; the first batch of the first partition that has one comes whole, whatever its size.
    pub max_bytes: i32,
    /// 0: read uncommitted, 1: read committed (records up to the last stable offset, with the aborted transactions).
    pub isolation_level: i8,
    /// The fetch session; 0 for none yet. Since version 7.
    pub session_id: i32,
    /// The session's epoch: 0 opens one, -1 closes it and fetches without one, between them it rises by one a request.
    /// Since version 7.
    pub session_epoch: i32,
    /// The partitions to read; within a session those that are new or have changed.
    pub topics: Vec<FetchTopic>,
    /// The partitions to remove from the session. Since version 7.
    pub forgotten_topics_data: Vec<ForgottenTopic>,
    /// The client's rack; empty where it has none. Since version 11.
    pub rack_id: String,
}

impl Default for FetchRequest {
    fn default() -> Self {
        Self {
            cluster_id: None,
            replica_id: -1,
            replica_state: ReplicaState::default(),
            max_wait_ms: 0,
            min_bytes: 0,
            max_bytes: i32::MAX,
            isolation_level: 0,
            session_id: 0,
            session_epoch: -1,
            topics: Vec::new(),
            forgotten_topics_data: Vec::new(),
            rack_id: String::new(),
        }
    }
}

/// A follower.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplicaState {
    /// The follower; -1 for a consumer.
    pub replica_id: i32,
    /// The follower's broker epoch; -1 where it is not known.
    pub replica_epoch: i64,
}

impl Default for ReplicaState {
    fn default() -> Self {
        Self { replica_id: -1, replica_epoch: -1 }
    }
}

/// Partitions of one topic to read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FetchTopic {
    /// The topic. Up to version 12.
    pub topic: String,
    /// The topic. Since version 13.
    pub topic_id: Uuid,
    /// Its partitions.
    pub partitions: Vec<FetchPartition>,
}

/// One partition to read.
#[derive(Debug, Clone, PartialEq)]
pub struct FetchPartition {
    /// The partition.
    pub partition: i32,
    /// The leader epoch that the client knows; -1 where it knows none. Since version 9.
    pub current_leader_epoch: i32,
    /// The first offset to read.
    pub fetch_offset: i64,
    /// The leader epoch of the last record read; -1 where there is none. Since version 12.
    pub last_fetched_epoch: i32,
    /// The first offset of the follower's log; -1 for a consumer. Since version 5.
    pub log_start_offset: i64,
    /// The bytes to fetch from this partition at most, with the exception of `max_bytes`.
    pub partition_max_bytes: i32,
    /// The follower's directory; zero for a consumer. Since version 17.
    pub replica_directory_id: Uuid,
    /// The high watermark that the follower knows; -1 where it knows none, `i64::MAX` where it does not say. Since
    /// version 18.
    pub high_watermark: i64,
}

impl Default for FetchPartition {
    fn default() -> Self {
        Self {
            partition: 0,
            current_leader_epoch: -1,
            fetch_offset: 0,
            last_fetched_epoch: -1,
            log_start_offset: -1,
            partition_max_bytes: 0,
            replica_directory_id: Uuid::default(),
            high_watermark: i64::MAX,
        }
    }
}

/// Partitions of one topic to remove from the session.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ForgottenTopic {
    /// The topic. Up to version 12.
    pub topic: String,
    /// The topic. Since version 13.
    pub topic_id: Uuid,
    /// Its partitions.
    pub partitions: Vec<i32>,
}

impl Encode for FetchRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.required_until(14, "replicaId", self.replica_id == -1, |w| w.i32("replicaId", self.replica_id));
        w.i32("maxWaitMs", self.max_wait_ms);
        w.i32("minBytes", self.min_bytes);
        w.i32("maxBytes", self.max_bytes);
        w.i8("isolationLevel", self.isolation_level);
        w.since(7, |w| w.i32("sessionId", self.session_id));
        w.since(7, |w| w.i32("sessionEpoch", self.session_epoch));
        w.array("topics", &self.topics);
        w.required_since(7, "forgottenTopicsData", self.forgotten_topics_data.is_empty(), |w| {
            w.array("forgottenTopicsData", &self.forgotten_topics_data);
        });
        w.since(11, |w| w.string("rackId", &self.rack_id));
        w.tags(|w| {
            w.since(12, |w| {
                w.tag(0, self.cluster_id.is_some(), |w| w.nullable_string("clusterId", self.cluster_id.as_deref()));
            });
            let absent = self.replica_state == ReplicaState::default();
            w.required_since(15, "replicaState", absent, |w| {
                w.tag(1, !absent, |w| w.structure("replicaState", &self.replica_state));
            });
        });
    }
}

impl Decode for FetchRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        let mut request = Self {
            cluster_id: None,
            replica_id: r.until(14, -1, |r| r.i32("replicaId"))?,
            replica_state: ReplicaState::default(),
            max_wait_ms: r.i32("maxWaitMs")?,
            min_bytes: r.i32("minBytes")?,
            max_bytes: r.i32("maxBytes")?,
            isolation_level: r.i8("isolationLevel")?,
            session_id: r.since(7, 0, |r| r.i32("sessionId"))?,
            session_epoch: r.since(7, -1, |r| r.i32("sessionEpoch"))?,
            topics: r.array("topics")?,
            forgotten_topics_data: r.since(7, Vec::new(), |r| r.array("forgottenTopicsData"))?,
            rack_id: r.since(11, String::new(), |r| r.string("rackId"))?,
        };
        let known: &[_] = match r.version() {
            ..12 => &[],
            12..15 => &[(0, "clusterId")],
            _ => &[(0, "clusterId"), (1, "replicaState")],
        };
        r.tags(known, |r, tag| {
            match tag {
                0 => request.cluster_id = r.nullable_string("clusterId")?,
                _ => request.replica_state = r.structure("replicaState")?,
            }
            Ok(())
        })?;
        Ok(request)
    }
}

impl Encode for ReplicaState {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("replicaId", self.replica_id);
        w.i64("replicaEpoch", self.replica_epoch);
    }
}

impl Decode for ReplicaState {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { replica_id: r.i32("replicaId")?, replica_epoch: r.i64("replicaEpoch")? })
    }
}

impl Encode for FetchTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.until(12, |w| w.string("topic", &self.topic));
        w.since(13, |w| w.uuid("topicId", self.topic_id));
        w.array("partitions", &self.partitions);
    }
}

impl Decode for FetchTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            topic: r.until(12, String::new(), |r| r.string("topic"))?,
            topic_id: r.since(13, Uuid::default(), |r| r.uuid("topicId"))?,
            partitions: r.array("partitions")?,
        })
    }
}

impl Encode for FetchPartition {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partition", self.partition);
        w.since(9, |w| w.i32("currentLeaderEpoch", self.current_leader_epoch));
        w.i64("fetchOffset", self.fetch_offset);
        w.required_since(12, "lastFetchedEpoch", self.last_fetched_epoch == -1, |w| {
            w.i32("lastFetchedEpoch", self.last_fetched_epoch);
        });
        w.since(5, |w| w.i64("logStartOffset", self.log_start_offset));
        w.i32("partitionMaxBytes", self.partition_max_bytes);
        w.tags(|w| {
            let present = self.replica_directory_id != Uuid::default();
            w.since(17, |w| w.tag(0, present, |w| w.uuid("replicaDirectoryId", self.replica_directory_id)));
            w.since(18, |w| w.tag(1, self.high_watermark != i64::MAX, |w| w.i64("highWatermark", self.high_watermark)));
        });
    }
}

impl Decode for FetchPartition {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        let mut partition = Self {
            partition: r.i32("partition")?,
            current_leader_epoch: r.since(9, -1, |r| r.i32("currentLeaderEpoch"))?,
            fetch_offset: r.i64("fetchOffset")?,
            last_fetched_epoch: r.since(12, -1, |r| r.i32("lastFetchedEpoch"))?,
            log_start_offset: r.since(5, -1, |r| r.i64("logStartOffset"))?,
            partition_max_bytes: r.i32("partitionMaxBytes")?,
            replica_directory_id: Uuid::default(),
            high_watermark: i64::MAX,
        };
        let known: &[_] = match r.version() {
            ..17 => &[],
            17 => &[(0, "replicaDirectoryId")],
            _ => &[(0, "replicaDirectoryId"), (1, "highWatermark")],
        };
        r.tags(known, |r, tag| {
            match tag {
                0 => partition.replica_directory_id = r.uuid("replicaDirectoryId")?,
                _ => partition.high_watermark = r.i64("highWatermark")?,
            }
            Ok(())
        })?;
        Ok(partition)
    }
}

impl Encode for ForgottenTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.until(12, |w| w.string("topic", &self.topic));
        w.since(13, |w| w.uuid("topicId", self.topic_id));
        w.array("partitions", &self.partitions);
    }
}

impl Decode for ForgottenTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            topic: r.until(12, String::new(), |r| r.string("topic"))?,
            topic_id: r.since(13, Uuid::default(), |r| r.uuid("topicId"))?,
            partitions: r.array("partitions")?,
        })
    }
}

impl Message for FetchRequest {
    const NAME: &'static str = "FetchRequest";
    const KEY: ApiKey = ApiKey::FETCH;
    const VERSIONS: RangeInclusive<i16> = 4..=18;
    const FLEXIBLE_FROM: i16 = 12;
}

impl Request for FetchRequest {
    type Response = FetchResponse;
    const NEWEST_STABLE: i16 = 18;
}
