//! The brokers of the cluster, as far as they differ from each other.

use std::collections::BTreeMap;

use ackflow_protocol::wire::ApiKey;

use super::fetch::session::FetchSessions;
use super::share::session::ShareSessions;

/// One broker.
#[derive(Debug)]
pub(crate) struct Node {
    /// Its id.
    pub(crate) id: i32,
    /// The host that clients are told.
    pub(crate) host: String,
    /// The port that clients are told.
    pub(crate) port: u16,
    /// Its rack, where it has one.
    pub(crate) rack: Option<String>,
    /// Whether its process runs: only then it takes connections.
    pub(crate) is_running: bool,
    /// Whether the controller takes it for alive: only then it leads and coordinates. A node that was killed is taken
    /// for alive until that is noticed.
    pub(crate) is_registered: bool,
    /// The share sessions with it. They end with its process.
    pub(crate) sessions: ShareSessions,
    /// The fetch sessions with it, which end with its process too.
    pub(crate) fetch_sessions: FetchSessions,
    /// The newest version that it serves of APIs of which it does not serve all.
    pub(crate) newest: BTreeMap<ApiKey, i16>,
}

/// All brokers, by id.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    by_id: BTreeMap<i32, Node>,
}

impl Nodes {
    /// Adds a broker that runs.
    pub(crate) fn add(&mut self, id: i32, host: String, port: u16, rack: Option<String>) {
        let sessions = ShareSessions::default();
        let fetch_sessions = FetchSessions::default();
        let newest = BTreeMap::new();
        let (is_running, is_registered) = (true, true);
        let node = Node { id, host, port, rack, is_running, is_registered, sessions, fetch_sessions, newest };
        self.by_id.insert(id, node);
    }

    /// All of them, also those that are down.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Node> {
        self.by_id.values()
    }

    /// All of them, to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Node> {
        self.by_id.values_mut()
    }

    /// Those that the controller takes for alive.
    pub(crate) fn registered(&self) -> impl Iterator<Item = &Node> {
        self.by_id.values().filter(|node| node.is_registered)
    }

    /// How many the controller takes for alive.
    pub(crate) fn registered_count(&self) -> usize {
        self.registered().count()
    }

    /// The node of this id.
    pub(crate) fn get(&self, id: i32) -> Option<&Node> {
        self.by_id.get(&id)
    }

    /// The node of this id.
    pub(crate) fn get_mut(&mut self, id: i32) -> Option<&mut Node> {
        self.by_id.get_mut(&id)
    }

    /// Whether the controller takes the node for alive.
    pub(crate) fn is_registered(&self, id: i32) -> bool {
        self.get(id).is_some_and(|node| node.is_registered)
    }

    /// Whether the node's process runs.
    pub(crate) fn is_running(&self, id: i32) -> bool {
        self.get(id).is_some_and(|node| node.is_running)
    }

    /// The share sessions with a node that has connections.
    pub(crate) fn sessions(&mut self, id: i32) -> &mut ShareSessions {
        &mut self.connected(id).sessions
    }

    /// The fetch sessions with a node that has connections.
    pub(crate) fn fetch_sessions(&mut self, id: i32) -> &mut FetchSessions {
        &mut self.connected(id).fetch_sessions
    }

    fn connected(&mut self, id: i32) -> &mut Node {
        let node = self.by_id.get_mut(&id);
        node.expect("connections are made only to nodes that exist, and no node is ever removed")
    }
}
