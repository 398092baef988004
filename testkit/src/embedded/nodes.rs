//! Nodes, leaders and coordinators of an embedded broker.

use std::net::SocketAddr;
use std::time::Duration;

use ackflow_protocol::wire::{ApiKey, ErrorCode};
use tokio::sync::oneshot;

use super::{BrokerError, EmbeddedBroker};
use crate::server::owner::{Command, NodeError};

impl EmbeddedBroker {
    /// The ids of the nodes, those that are down among them.
    pub fn nodes(&self) -> Vec<i32> {
        self.addrs.keys().copied().collect()
    }

    /// The address of a node, where there is such a node. It stays while the node is down.
    pub fn node_addr(&self, node: i32) -> Option<SocketAddr> {
        self.addrs.get(&node).copied()
    }

    /// The leader of a partition, `None` while none of its replicas is alive. Cancel-safe.
    ///
    /// # Errors
    /// [`BrokerError`].
    pub async fn leader(&self, topic: &str, partition: i32) -> Result<Option<i32>, BrokerError> {
        let topic = topic.to_owned();
        self.call(move |cluster, _| cluster.leader(&topic, partition)).await?.map_err(Into::into)
    }

    /// Makes another node the leader of a partition. What members have acquired there is forgotten, and comes again with
    /// the same delivery count. Clients learn of it as in Kafka: by NOT_LEADER_OR_FOLLOWER, which names the new leader, or by
    /// metadata. Cancel-safe: the leader is moved all the same.
    ///
    /// # Errors
    /// [`BrokerError`].
    pub async fn move_leader(&self, topic: &str, partition: i32, to: i32) -> Result<(), BrokerError> {
        let topic = topic.to_owned();
        self.call(move |cluster, now| cluster.move_leader(now, &topic, partition, to)).await?.map_err(Into::into)
    }

    /// Gives each partition back to the first of its replicas that is alive. Cancel-safe: it is done all the same.
    ///
    /// # Errors
    /// [`BrokerError::Stopped`].
    pub async fn elect_preferred_leaders(&self) -> Result<(), BrokerError> {
        self.call(|cluster, now| cluster.elect_preferred_leaders(now)).await
    }

    /// The node that coordinates a group, `None` while no node is alive. Cancel-safe.
    ///
    /// # Errors
    /// [`BrokerError::Stopped`].
    pub async fn coordinator(&self, group: &str) -> Result<Option<i32>, BrokerError> {
        let group = group.to_owned();
        self.call(move |cluster, _| cluster.coordinator(&group)).await
    }

    /// Makes another node the coordinator of a group. Cancel-safe: it is moved all the same.
    ///
    /// # Errors
    /// [`BrokerError`].
    pub async fn move_coordinator(&self, group: &str, to: i32) -> Result<(), BrokerError> {
        let group = group.to_owned();
        self.call(move |cluster, now| cluster.move_coordinator(now, &group, to)).await?.map_err(Into::into)
    }

    /// Has a node serve no newer version of an API than this from now on, or each node where none is named, as an older Kafka does. Clients
    /// notice when they connect: [`disconnect_all`](Self::disconnect_all) makes them. Cancel-safe: it is done all the same.
    ///
    /// # Errors
    /// [`BrokerError::Stopped`].
    pub async fn limit_version(&self, node: Option<i32>, api: ApiKey, newest: i16) -> Result<(), BrokerError> {
        self.call(move |cluster, _| cluster.limit_version(node, api, newest)).await
    }

    /// Kills a node as SIGKILL does: its port closes, its connections are cut, and what members have acquired there is forgotten.
    /// The cluster notices after `noticed_after` (Kafka: `broker.session.timeout.ms`, 9 s); only then other replicas take
    /// over its partitions and groups. When this returns the port is closed. Cancel-safe: it is killed all the same.
    ///
    /// # Errors
    /// [`BrokerError`].
    pub async fn kill_node(&self, node: i32, noticed_after: Duration) -> Result<(), BrokerError> {
        self.command(|done| Command::Kill { node, noticed_after, done }).await
    }

    /// Starts a node that was killed, on the same address. It leads only partitions that nobody else does, until leaders move.
    /// Cancel-safe: it is started all the same.
    ///
    /// # Errors
    /// [`BrokerError`].
    pub async fn start_node(&self, node: i32) -> Result<(), BrokerError> {
        self.command(|done| Command::Start { node, done }).await
    }

    /// As [`start_node`](Self::start_node), on another port, as when a broker is replaced: metadata names it from then on. Gives its address;
    /// [`node_addr`](Self::node_addr) and [`bootstrap_servers`](Self::bootstrap_servers) go on naming the first one. Cancel-safe: it is started
    /// all the same.
    ///
    /// # Errors
    /// [`BrokerError`], also where the node runs.
    pub async fn start_node_elsewhere(&self, node: i32) -> Result<SocketAddr, BrokerError> {
        self.command(|done| Command::StartElsewhere { node, done }).await
    }

    async fn command<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<Result<T, NodeError>>) -> Command,
    ) -> Result<T, BrokerError> {
        let (done, ended) = oneshot::channel();
        self.commands.send(command(done)).map_err(|_| BrokerError::Stopped)?;
        ended.await.map_err(|_| BrokerError::Stopped)?.map_err(|error| match error {
            NodeError::Refused(code, message) => BrokerError::Refused { code, message },
            NodeError::Listen(addr, error) => BrokerError::Refused {
                code: ErrorCode::BROKER_NOT_AVAILABLE,
                message: format!("the node cannot listen on {addr} again: {error}"),
            },
        })
    }
}
