//! What clients have sent, for tests that judge it.

use std::time::Instant;

use ackflow_protocol::wire::RequestHeader;
use bytes::Bytes;

use super::{Cluster, ConnectionId};

/// A request as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedRequest {
    /// When its turn came: a request behind another one on its connection waits for that one's answer.
    pub at: Instant,
    /// The node that it came to.
    pub node: i32,
    /// The connection that it came on.
    pub connection: ConnectionId,
    /// Its header.
    pub header: RequestHeader,
    /// Its body.
    pub body: Bytes,
}

impl Cluster {
    /// Keeps each request from now on, also those that fault rules meet, until [`take_requests`](Self::take_requests) takes them. Memory grows
    /// meanwhile.
    pub fn keep_requests(&mut self) {
        self.requests.get_or_insert_default();
    }

    /// The requests that were kept, in the order in which they came, and forgets them; it goes on keeping others.
    pub fn take_requests(&mut self) -> Vec<ReceivedRequest> {
        self.requests.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub(super) fn keep_request(&mut self, at: Instant, connection: ConnectionId, header: &RequestHeader, body: &Bytes) {
        let Some(requests) = &mut self.requests else { return };
        if let Some(peer) = self.connections.get(&connection) {
            let (header, body) = (header.clone(), body.clone());
            requests.push(ReceivedRequest { at, node: peer.node, connection, header, body });
        }
    }
}
