//! The requests of a consumer.

use ackflow_protocol::machine::consumer::{ConsumerRequest, ConsumerResponse};
use ackflow_protocol::messages::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;
use ackflow_protocol::messages::fetch::FetchRequest;
use ackflow_protocol::messages::find_coordinator::FindCoordinatorRequest;
use ackflow_protocol::messages::list_offsets::ListOffsetsRequest;
use ackflow_protocol::messages::metadata::MetadataRequest;
use ackflow_protocol::messages::offset_commit::OffsetCommitRequest;
use ackflow_protocol::messages::offset_fetch::OffsetFetchRequest;
use ackflow_protocol::messages::offset_for_leader_epoch::OffsetForLeaderEpochRequest;

use crate::cluster::{self, dialogue};

dialogue! {
    /// What a consumer says and hears.
    ConsumerDialogue("group.version"): ConsumerRequest -> ConsumerResponse {
        Metadata: MetadataRequest,
        FindCoordinator: FindCoordinatorRequest,
        Heartbeat: ConsumerGroupHeartbeatRequest,
        OffsetFetch: OffsetFetchRequest,
        OffsetCommit: OffsetCommitRequest,
        ListOffsets: ListOffsetsRequest,
        OffsetForLeaderEpoch: OffsetForLeaderEpochRequest,
        Fetch: FetchRequest,
    }
}

pub(super) type Connections = cluster::Connections<ConsumerDialogue>;
pub(super) type Done = cluster::Done<ConsumerResponse>;
pub(super) type Outcome = cluster::Outcome<ConsumerResponse>;
