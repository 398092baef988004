//! The connections of one consumer, and the calls under way on them.
//!
//! A broker ties a share session to the connection that opened it, and answers nothing else on a connection while it holds a fetch, so each
//! broker that is fetched from has a connection of its own for that. The coordinator and everything else have theirs.

use std::collections::HashMap;
use std::future::{pending, poll_fn};
use std::time::{Duration, Instant};

use ackflow_protocol::machine::{BrokerAddress, Destination, RequestId};
use ackflow_protocol::wire::ErrorCode;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};

use super::alarm::Alarm;
use super::brokers::{Brokers, CONNECTING};
use super::dialogue::{Dialogue, Reader};
use crate::config::ClientConfig;
use crate::error::{ClientError, ErrorKind};
use crate::net::{Address, Answer, Connection, Inbox};

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    /// Metadata and the search for the coordinator; any broker will do.
    Any,
    /// Heartbeats to the coordinator on this node.
    Coordinator(i32),
    /// The session of fetches with this node.
    Session(i32),
    /// Questions to the leaders on this node.
    Leader(i32),
}

/// What the driver has to know of.
#[derive(Debug)]
pub(crate) enum Outcome<R> {
    /// A request has its answer, or will have none.
    Answered(RequestId, Result<R, Failed>),
    /// An attempt to connect, begun at the instant, ended: with the finalized feature of the cluster that the dialogue takes.
    Connected(Role, Instant, Result<Option<i16>, ClientError>),
    /// The connection of the session with this node is gone.
    SessionLost(i32),
}

/// Why a request has no answer.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) error: ClientError,
    /// The version of the API that its connection speaks, where there is a connection and the broker offers the API.
    pub(crate) speaks: Option<i16>,
}

/// A request, and the version that it takes.
#[derive(Debug)]
struct Wanted<R> {
    id: RequestId,
    request: R,
    least_version: i16,
}

/// The end of something that was begun.
#[derive(Debug)]
pub(crate) enum Done<R> {
    Connected { role: Role, began: Instant, result: Result<Connection, ClientError> },
    Answered { role: Role, generation: u64, id: RequestId, result: Result<R, Failed> },
    Ended { role: Role, generation: u64 },
}

/// The connections. Those that are not in `slots` are closed.
#[derive(Debug)]
pub(crate) struct Connections<D: Dialogue> {
    config: ClientConfig,
    slots: HashMap<Role, Slot<D::Request>>,
    /// Counts connections, so that the end of an old one is not taken for the end of its successor.
    generation: u64,
    brokers: Brokers,
    tasks: JoinSet<Done<D::Response>>,
    /// What waits for an answer, in the order in which it was sent.
    calls: Vec<Call<D::Response>>,
    inbox: (Inbox, mpsc::UnboundedReceiver<(u64, Answer)>),
    alarm: Alarm,
}

#[derive(Debug)]
struct Call<R> {
    id: RequestId,
    role: Role,
    generation: u64,
    connection: Connection,
    version: i16,
    answer: Reader<R>,
    deadline: Instant,
}

#[derive(Debug)]
enum Slot<R> {
    Connecting { waiting: Vec<Wanted<R>> },
    Open(Open),
}

#[derive(Debug)]
struct Open {
    connection: Connection,
    generation: u64,
    /// Calls that have no answer yet.
    calls: usize,
    /// Whether the connection has ended by itself.
    is_over: bool,
}

impl<D: Dialogue> Connections<D> {
    pub(crate) fn new(config: ClientConfig) -> Self {
        Self {
            config,
            slots: HashMap::new(),
            generation: 0,
            brokers: Brokers::default(),
            tasks: JoinSet::new(),
            calls: Vec::new(),
            inbox: mpsc::unbounded_channel(),
            alarm: Alarm::default(),
        }
    }

    /// How long a cluster that was never reached is tried before that is an error.
    pub(crate) fn unreached_patience(&self) -> Duration {
        self.config.unreached_patience()
    }

    /// Whether the consumer starts again from `bootstrap.servers` when all known brokers are lost.
    pub(crate) fn rebootstraps(&self) -> bool {
        self.config.rebootstraps()
    }

    /// What names the cluster in an error that is no single broker's.
    pub(crate) fn cluster(&self) -> String {
        format!("of bootstrap.servers={}", self.config.bootstrap_servers)
    }

    /// Sends a request, over a connection that may have to be made first; where that speaks a version below the one that it takes, nothing is
    /// sent. [`Outcome::Answered`] follows exactly once.
    pub(crate) fn send(&mut self, id: RequestId, to: Destination, request: D::Request, least_version: i16) {
        let wanted = Wanted { id, request, least_version };
        let (role, address) = match to {
            Destination::Any => (Role::Any, None),
            Destination::Coordinator(address) => (Role::Coordinator(address.node), Some(address)),
            Destination::Session(address) => (Role::Session(address.node), Some(address)),
            Destination::Leader(address) => (Role::Leader(address.node), Some(address)),
        };
        if D::asks_metadata(&wanted.request) && self.brokers.asked(Instant::now(), &self.config) {
            tracing::warn!("no known broker gives metadata: starting again from bootstrap.servers");
            self.rebootstrap();
        }
        match self.slots.get_mut(&role) {
            Some(Slot::Connecting { waiting }) => waiting.push(wanted),
            // The session that an ended connection had must be reported as lost before another one is opened.
            Some(Slot::Open(open)) if !open.connection.is_closed() || matches!(role, Role::Session(_)) => {
                open.calls += 1;
                let (connection, generation) = (open.connection.clone(), open.generation);
                self.call(role, generation, connection, wanted);
            }
            _ => {
                self.connect(role, address);
                self.slots.insert(role, Slot::Connecting { waiting: vec![wanted] });
            }
        }
    }

    /// Waits for something to end. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Done<D::Response> {
        loop {
            let due = self.next_due().map(|at| self.calls[at].deadline);
            let done = tokio::select! {
                Some((id, answer)) = self.inbox.1.recv() => self.answered(id, answer),
                Some(ended) = self.tasks.join_next() => match ended.map_err(JoinError::try_into_panic) {
                    Ok(done) => Some(done),
                    Err(Ok(panic)) => std::panic::resume_unwind(panic),
                    // The runtime is shutting down.
                    Err(Err(_)) => pending().await,
                },
                () = ring(&mut self.alarm, due) => self.overdue(),
            };
            if let Some(done) = done {
                return done;
            }
        }
    }

    /// What follows from it.
    pub(crate) fn handle(&mut self, done: Done<D::Response>, outcomes: &mut Vec<Outcome<D::Response>>) {
        match done {
            Done::Connected { role, began, result } => self.connected(role, began, result, outcomes),
            Done::Ended { role, generation } => {
                // A call under way fails with the reason, which counts for more than the bare end.
                if let Some(open) = self.open(role, generation) {
                    open.is_over = true;
                    if open.calls == 0 {
                        self.end(role, generation, outcomes);
                    }
                }
            }
            Done::Answered { role, generation, id, result } => {
                match result.as_ref().ok().and_then(D::metadata) {
                    Some(metadata) if metadata.error_code == REBOOTSTRAP => self.rebootstrap(),
                    Some(metadata) => self.brokers.learn(metadata),
                    None => {}
                }
                let mut is_over =
                    result.as_ref().is_err_and(|failed| failed.error.kind() != ErrorKind::UnsupportedVersion);
                outcomes.push(Outcome::Answered(id, result));
                if let Some(open) = self.open(role, generation) {
                    open.calls -= 1;
                    is_over |= open.is_over && open.calls == 0;
                }
                if is_over {
                    self.end(role, generation, outcomes);
                }
            }
        }
    }

    /// The connection of this generation, where it is still in use.
    fn open(&mut self, role: Role, wanted: u64) -> Option<&mut Open> {
        match self.slots.get_mut(&role) {
            Some(Slot::Open(open)) if open.generation == wanted => Some(open),
            _ => None,
        }
    }

    fn connected(
        &mut self,
        role: Role,
        began: Instant,
        result: Result<Connection, ClientError>,
        outcomes: &mut Vec<Outcome<D::Response>>,
    ) {
        let Some(Slot::Connecting { waiting }) = self.slots.remove(&role) else {
            return;
        };
        match result {
            Ok(connection) => {
                outcomes.push(Outcome::Connected(role, began, Ok(connection.finalized_feature(D::FEATURE))));
                self.generation += 1;
                let generation = self.generation;
                let open = Open { connection: connection.clone(), generation, calls: waiting.len(), is_over: false };
                self.slots.insert(role, Slot::Open(open));
                for wanted in waiting {
                    self.call(role, generation, connection.clone(), wanted);
                }
                self.tasks.spawn(async move {
                    connection.closed().await;
                    Done::Ended { role, generation }
                });
            }
            Err(error) => {
                if error.code() == Some(REBOOTSTRAP) {
                    self.rebootstrap();
                }
                let failed = || Failed { error: error.clone(), speaks: None };
                outcomes.extend(waiting.into_iter().map(|wanted| Outcome::Answered(wanted.id, Err(failed()))));
                outcomes.push(Outcome::Connected(role, began, Err(error)));
            }
        }
    }

    /// A connection is of no more use. What is still under way on it fails by itself.
    fn end(&mut self, role: Role, ended: u64, outcomes: &mut Vec<Outcome<D::Response>>) {
        let Some(open) = self.open(role, ended) else { return };
        open.connection.close();
        self.slots.remove(&role);
        if let Role::Session(node) = role {
            outcomes.push(Outcome::SessionLost(node));
        }
    }

    /// Closes the connections of all sessions, with nothing said. What is still under way on them fails by itself.
    pub(crate) fn end_sessions(&mut self) {
        self.slots.retain(|role, slot| {
            let is_session = matches!(role, Role::Session(_));
            if let Slot::Open(open) = slot
                && is_session
            {
                open.connection.close();
            }
            !is_session
        });
    }

    fn call(&mut self, role: Role, generation: u64, connection: Connection, wanted: Wanted<D::Request>) {
        let Wanted { id, request, least_version } = wanted;
        let (posted, answer) = D::post(&request, &connection, least_version, &self.inbox.0, id.0);
        let version = posted.unwrap_or_else(|error| {
            self.inbox.0.send((id.0, Err(error))).expect("its other end is beside it");
            0
        });
        // What waits because the broker throttles this client has its time afterwards.
        let deadline = Instant::now() + connection.throttled_for() + self.config.net.request_timeout;
        self.calls.push(Call { id, role, generation, connection, version, answer, deadline });
    }

    /// The call that an answer is for; `None` where it has come too late.
    fn answered(&mut self, id: u64, answer: Answer) -> Option<Done<D::Response>> {
        let at = self.calls.iter().position(|call| call.id.0 == id)?;
        let Call { id, role, generation, connection, version, answer: Reader { key, read, .. }, .. } =
            self.calls.remove(at);
        let result = answer.and_then(|frame| read(&connection, frame, version));
        let result = result.map_err(|error| Failed { error, speaks: connection.version(key) });
        Some(Done::Answered { role, generation, id, result })
    }

    /// The call whose answer has to come first.
    fn next_due(&self) -> Option<usize> {
        (0..self.calls.len()).min_by_key(|at| self.calls[*at].deadline)
    }

    /// The first call whose answer is overdue.
    fn overdue(&mut self) -> Option<Done<D::Response>> {
        let at = self.next_due().filter(|at| self.calls[*at].deadline <= Instant::now())?;
        let Call { id, role, generation, connection, answer: Reader { give_up, .. }, .. } = self.calls.remove(at);
        let error = give_up(&connection, self.config.net.request_timeout);
        let result = Err(Failed { error, speaks: None });
        Some(Done::Answered { role, generation, id, result })
    }

    fn connect(&mut self, role: Role, address: Option<BrokerAddress>) {
        let net = self.config.net.clone();
        let began = Instant::now();
        match address {
            Some(BrokerAddress { node, host, port }) => {
                let meant = self.brokers.identity(&self.config, node);
                self.tasks.spawn(async move {
                    let result = Connection::connect_to(&host, port, &net, meant.as_ref()).await;
                    let result = result.map_err(|error| match error.kind() {
                        ErrorKind::Unreachable => error.remedy(ADVERTISED),
                        _ => error,
                    });
                    Done::Connected { role, began, result }
                });
            }
            None => {
                let candidates = self.brokers.candidates(&self.config);
                let unreachable = self.brokers.unreachable(&self.config);
                self.tasks.spawn(async move {
                    let mut failed = ClientError::new(ErrorKind::Unreachable, CONNECTING, "there is no address");
                    for (Address { host, port }, meant) in &candidates {
                        match Connection::connect_to(host, *port, &net, meant.as_ref()).await {
                            Ok(connection) => return Done::Connected { role, began, result: Ok(connection) },
                            // It stands whatever the others say: brokers of a cluster mostly agree on who may come.
                            Err(_) if failed.kind() == ErrorKind::Authentication => {}
                            Err(error) => failed = error,
                        }
                    }
                    let failed = if failed.kind() == ErrorKind::Authentication { failed } else { unreachable(&failed) };
                    Done::Connected { role, began, result: Err(failed) }
                });
            }
        }
    }

    /// Forgets the brokers that metadata named, and the connection to one of them that any would do for. Sessions and the coordinator have theirs
    /// until metadata and the search for the coordinator say otherwise.
    fn rebootstrap(&mut self) {
        if !self.config.rebootstraps() {
            return;
        }
        self.brokers.forget();
        if let Some(Slot::Open(open)) = self.slots.get(&Role::Any) {
            // What is under way on it fails by itself.
            open.connection.close();
            self.slots.remove(&Role::Any);
        }
    }
}

/// Completes when it is `due`, or earlier.
async fn ring(alarm: &mut Alarm, due: Option<Instant>) {
    match due {
        Some(due) => poll_fn(|cx| alarm.poll(cx, due)).await,
        None => pending().await,
    }
}

/// What a broker answers that knows that its client has to start again from `bootstrap.servers`.
const REBOOTSTRAP: ErrorCode = ErrorCode::REBOOTSTRAP_REQUIRED;

const ADVERTISED: &str = "the cluster names this address as the broker's advertised.listeners: check that the broker runs and that this \
                          host can reach the address";
