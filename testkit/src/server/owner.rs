//! The one task that owns the core.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use ackflow_protocol::wire::{ApiKey, ErrorCode, RequestHeader};
use bytes::Bytes;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{Shell, listen};
use crate::core::{Answer, Cluster, ConnectionId, Output};

/// Something to be done with the core.
pub(crate) type Call = Box<dyn FnOnce(&mut Cluster, Instant) + Send>;

/// What connections and helpers ask of the owner.
pub(crate) enum Command {
    /// A peer has connected.
    Connected {
        /// Its name in the core.
        id: ConnectionId,
        /// The node that it has connected to.
        node: i32,
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
    /// Kills a node; the answer comes when its port is closed.
    Kill {
        /// The node.
        node: i32,
        /// How long the cluster takes to notice.
        noticed_after: Duration,
        /// For the answer.
        done: oneshot::Sender<Result<(), NodeError>>,
    },
    /// Starts a node that was killed, on the address that it had.
    Start {
        /// The node.
        node: i32,
        /// For the answer.
        done: oneshot::Sender<Result<(), NodeError>>,
    },
    /// Starts a node that was killed, on another port; the answer is its address.
    StartElsewhere {
        /// The node.
        node: i32,
        /// For the answer.
        done: oneshot::Sender<Result<SocketAddr, NodeError>>,
    },
    /// Does something with the core.
    Call(Call),
}

/// What a connection is told about its request.
#[derive(Debug)]
pub(crate) enum Reply {
    /// Write this.
    Frame(Bytes),
    /// The client has proved who it is; the answer comes behind this.
    LetIn,
    /// Nothing is to be written.
    Silent,
    /// Write this, then close.
    Last(Bytes),
    /// Close; the text says why.
    Close(String),
}

/// Why a node was not killed or started.
#[derive(Debug)]
pub(crate) enum NodeError {
    /// There is no such node.
    Refused(ErrorCode, String),
    /// Its address is taken by somebody else now.
    Listen(SocketAddr, io::Error),
}

/// The port of a node.
#[derive(Debug)]
struct Port {
    addr: SocketAddr,
    /// Who accepts connections, and how to end that; `None` while the node is down.
    listener: Option<(CancellationToken, JoinHandle<()>)>,
}

/// The core, and where its answers go.
#[derive(Debug)]
pub(crate) struct Owner {
    cluster: Cluster,
    shell: Shell,
    ports: BTreeMap<i32, Port>,
    connections: HashMap<ConnectionId, UnboundedSender<Reply>>,
}

impl Owner {
    /// The owner of a core that nobody is connected to.
    pub(crate) fn new(cluster: Cluster, shell: Shell) -> Self {
        Self { cluster, shell, ports: BTreeMap::new(), connections: HashMap::new() }
    }

    /// Lets a node accept connections.
    pub(crate) fn open(&mut self, node: i32, addr: SocketAddr, listener: TcpListener) {
        let stop = self.shell.stop.child_token();
        let task = self.shell.tasks.spawn(listen(listener, node, self.shell.clone(), stop.clone()));
        self.ports.insert(node, Port { addr, listener: Some((stop, task)) });
    }

    /// Serves commands and deadlines until `stop` is cancelled.
    pub(crate) async fn run(mut self, mut commands: UnboundedReceiver<Command>, stop: CancellationToken) {
        loop {
            while let Some(output) = self.cluster.poll(Instant::now()) {
                match output {
                    Output::Reply(id, reply) => self.send(id, Reply::Frame(reply)),
                    Output::Silent(id) => self.send(id, Reply::Silent),
                    Output::Cut(id, bytes) => self.send(id, Reply::Last(bytes)),
                    // A connection whose sender is gone closes its socket.
                    Output::Close(id, reason) => {
                        tracing::debug!(connection = id.0, %reason, "connection cut");
                        self.connections.remove(&id);
                    }
                }
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
            Command::Connected { id, node, peer, replies } => {
                if self.cluster.connected(id, node, peer) {
                    self.connections.insert(id, replies);
                }
            }
            Command::Request { id, header, body } => {
                let answer = self.cluster.handle(now, id, &header, body);
                if header.request_api_key == ApiKey::SASL_AUTHENTICATE && self.cluster.is_let_in(id) {
                    self.send(id, Reply::LetIn);
                }
                match answer {
                    Answer::Reply(frame) => self.send(id, Reply::Frame(frame)),
                    Answer::Parked => {}
                    Answer::Silent => self.send(id, Reply::Silent),
                    Answer::Cut(bytes) => self.send(id, Reply::Last(bytes)),
                    Answer::Close(reason) => self.send(id, Reply::Close(reason)),
                }
            }
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
            Command::Kill { node, noticed_after, done } => self.kill(now, node, noticed_after, done),
            Command::Start { node, done } => {
                // A caller that has gone away wants no answer.
                let _ = done.send(self.start(now, node));
            }
            Command::StartElsewhere { node, done } => {
                let _ = done.send(self.start_elsewhere(now, node));
            }
            Command::Call(call) => call(&mut self.cluster, now),
        }
    }

    fn kill(&mut self, now: Instant, node: i32, noticed_after: Duration, done: oneshot::Sender<Result<(), NodeError>>) {
        let killed = self.cluster.kill_node(now, node, noticed_after);
        let listener = self.ports.get_mut(&node).and_then(|port| port.listener.take());
        self.shell.tasks.spawn(async move {
            if let Some((stop, task)) = listener {
                stop.cancel();
                // It has nothing that could panic, and its end is all that matters.
                let _ = task.await;
            }
            let _ = done.send(killed.map_err(|(code, message)| NodeError::Refused(code, message)));
        });
    }

    fn start(&mut self, now: Instant, node: i32) -> Result<(), NodeError> {
        if let Some(port) = self.ports.get(&node).filter(|port| port.listener.is_none()) {
            let addr = port.addr;
            let listener = bind(addr).map_err(|error| NodeError::Listen(addr, error))?;
            self.open(node, addr, listener);
        }
        self.cluster.start_node(now, node).map_err(|(code, message)| NodeError::Refused(code, message))
    }

    fn start_elsewhere(&mut self, now: Instant, node: i32) -> Result<SocketAddr, NodeError> {
        let refused = |(code, message)| NodeError::Refused(code, message);
        let Some(port) = self.ports.get(&node).filter(|port| port.listener.is_none()) else {
            let message = format!("node {node} does not exist, or still runs");
            return Err(NodeError::Refused(ErrorCode::BROKER_NOT_AVAILABLE, message));
        };
        let any = SocketAddr::new(port.addr.ip(), 0);
        let listener = bind(any).map_err(|error| NodeError::Listen(any, error))?;
        let addr = listener.local_addr().map_err(|error| NodeError::Listen(any, error))?;
        self.open(node, addr, listener);
        self.cluster.set_port(node, addr.port()).map_err(refused)?;
        self.cluster.start_node(now, node).map_err(refused)?;
        Ok(addr)
    }

    fn send(&self, id: ConnectionId, reply: Reply) {
        if let Some(replies) = self.connections.get(&id) {
            // A connection that has just ended will be reported as gone.
            let _ = replies.send(reply);
        }
    }
}

/// Listens on an address at once.
pub(crate) fn bind(addr: SocketAddr) -> io::Result<TcpListener> {
    let listener = std::net::TcpListener::bind(addr)?;
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}
