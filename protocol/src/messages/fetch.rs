//! Fetch (key 1, versions 4-18, flexible from 12): reads record batches. Sent by consumers to the leader of the
//! partitions, or to a follower that the leader names (KIP-392); followers read from their leader with it.
//!
//! Version 5 adds the log's start offset; 7 fetch sessions (KIP-227); 9 leader epochs, by which a stale client is found
//! (KIP-320); 10 allows zstd (KIP-110); 11 racks and the preferred replica (KIP-392); 12 the epoch of the last record
//! fetched, and hints on a truncated log and on the leader (KIP-595); 13 names topics by id (KIP-516); 14 may answer
//! OFFSET_MOVED_TO_TIERED_STORAGE (KIP-405); 15 moves the follower's id into a tagged field (KIP-903); 16 names the new
//! leader's endpoint (KIP-951); 17 and 18 add a follower's directory (KIP-853) and high watermark (KIP-1166).

mod request;
mod response;

pub use request::{FetchPartition, FetchRequest, FetchTopic, ForgottenTopic, ReplicaState};
pub use response::{
    AbortedTransaction, EpochEndOffset, FetchResponse, FetchableTopicResponse, LeaderIdAndEpoch, NodeEndpoint,
    PartitionData, SnapshotId,
};
