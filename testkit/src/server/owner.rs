//! The one task that owns the core.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Instant;

use ackflow_protocol::wire::RequestHeader;
use bytes::Bytes;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio_util::sync::CancellationToken;

use crate::core::{Answer, Cluster, ConnectionId};

/// Something to be done with the core.
pub(crate) type Call = Box<dyn FnOnce(&mut Cluster, Instant) + Send>;

/// What connections and helpers ask of the owner.
pub(crate) enum Command {
    /// A peer has connected.
    Connected {
        /// Its name in the core.
        id: ConnectionId,
        /// Its address.
        peer: IpAddr,
        /// Where its answers go.
        replies: UnboundedSender<Reply>,
    },
    /// A request came.
    Request {
        /// From whom.
        id: ConnectionId,
        /// Its header.
        header: RequestHeader,
        /// Its body.
        body: Bytes,
    },
    /// A connection is gone.
    Disconnected(ConnectionId),
    /// Cuts all connections.
    DisconnectAll,
    /// Does something with the core.
    Call(Call),
}

/// What a connection is told about its request.
#[derive(Debug)]
pub(crate) enum Reply {
    /// Write this.
    Frame(Bytes),
    /// Nothing is to be written.
    Silent,
    /// Close; the text says why.
    Close(String),
}

/// The core, and where its answers go.
#[derive(Debug)]
pub(crate) struct Owner {
    cluster: Cluster,
    connections: HashMap<ConnectionId, UnboundedSender<Reply>>,
}

impl Owner {
    /// The owner of a core that nobody is connected to.
    pub(crate) fn new(cluster: Cluster) -> Self {
        Self { cluster, connections: HashMap::new() }
    }

    /// Serves commands and deadlines until `stop` is cancelled.
    pub(crate) async fn run(mut self, mut commands: UnboundedReceiver<Command>, stop: CancellationToken) {
        loop {
            while let Some((id, reply)) = self.cluster.poll(Instant::now()) {
                self.send(id, Reply::Frame(reply));
            }
            let deadline = self.cluster.next_deadline();
            let due = async {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                command = commands.recv() => match command {
                    Some(command) => self.execute(command),
                    None => return,
                },
                () = due => {}
            }
        }
    }

    fn execute(&mut self, command: Command) {
        let now = Instant::now();
        match command {
            Command::Connected { id, peer, replies } => {
                self.cluster.connected(id, peer);
                self.connections.insert(id, replies);
            }
            Command::Request { id, header, body } => match self.cluster.handle(now, id, &header, body) {
                Answer::Reply(frame) => self.send(id, Reply::Frame(frame)),
                Answer::Parked => {}
                Answer::Silent => self.send(id, Reply::Silent),
                Answer::Close(reason) => self.send(id, Reply::Close(reason)),
            },
            Command::Disconnected(id) => {
                if self.connections.remove(&id).is_some() {
                    self.cluster.disconnected(now, id);
                }
            }
            Command::DisconnectAll => {
                // A connection whose sender is gone closes its socket.
                for (id, _) in std::mem::take(&mut self.connections) {
                    self.cluster.disconnected(now, id);
                }
            }
            Command::Call(call) => call(&mut self.cluster, now),
        }
    }

    fn send(&self, id: ConnectionId, reply: Reply) {
        if let Some(replies) = self.connections.get(&id) {
            // A connection that has just ended will be reported as gone.
            let _ = replies.send(reply);
        }
    }
}
