//! The requests of a share consumer.

use ackflow_protocol::machine::{ClientRequest, ClientResponse};
use ackflow_protocol::messages::find_coordinator::FindCoordinatorRequest;
use ackflow_protocol::messages::metadata::MetadataRequest;
use ackflow_protocol::messages::share_acknowledge::ShareAcknowledgeRequest;
use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::messages::share_group_heartbeat::ShareGroupHeartbeatRequest;

use crate::cluster::{self, dialogue};

dialogue! {
    /// What a share consumer says and hears.
    ShareDialogue("share.version"): ClientRequest -> ClientResponse {
        Metadata: MetadataRequest,
        FindCoordinator: FindCoordinatorRequest,
        Heartbeat: ShareGroupHeartbeatRequest,
        ShareFetch: ShareFetchRequest,
        ShareAcknowledge: ShareAcknowledgeRequest,
    }
}

pub(super) type Connections = cluster::Connections<ShareDialogue>;
pub(super) type Done = cluster::Done<ClientResponse>;
pub(super) type Outcome = cluster::Outcome<ClientResponse>;
