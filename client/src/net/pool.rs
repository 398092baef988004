//! Connections to the brokers of a cluster, one each, found from `bootstrap.servers`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ackflow_protocol::messages::metadata::{MetadataRequest, MetadataResponse};
use ackflow_protocol::wire::ErrorCode;
use tokio::time::{Instant, sleep_until};

use super::{Address, Backoff, Connection, Identity, NetConfig, Retries, random};
use crate::config::ClientConfig;
use crate::error::{ClientError, ErrorKind};
use crate::heard::said;

/// The brokers of a cluster and the connections to them. It is a handle: clones share the connections.
///
/// Connections are made when they are asked for. A broker that cannot be reached is tried again after a pause that grows.
/// When no broker that metadata named can be reached, the bootstrap servers are resolved and asked again.
#[derive(Clone)]
pub struct Pool(Arc<Inner>);

struct Inner {
    config: ClientConfig,
    bootstrap: Vec<Arc<Node>>,
    /// By id, what the cluster's metadata says; empty before the first.
    nodes: Mutex<BTreeMap<i32, Arc<Node>>>,
    /// The cluster's id, as its metadata says.
    cluster_id: Mutex<Option<Arc<str>>>,
    /// Since when metadata was asked for in vain.
    in_vain_since: Mutex<Option<Instant>>,
    /// Whether a connection to any broker was ever made.
    reached: AtomicBool,
}

/// A broker, and the one connection to it.
struct Node {
    /// Of a broker that metadata named.
    id: Option<i32>,
    address: Address,
    link: tokio::sync::Mutex<Link>,
    /// What `link` holds, to be looked at without waiting for an attempt under way.
    open: Mutex<Option<Connection>>,
}

/// How the attempts to connect go.
#[derive(Default)]
struct Link {
    failures: u32,
    retry_at: Option<Instant>,
}

impl Pool {
    /// Of the cluster that `config` names. Nothing is connected yet.
    pub fn new(config: ClientConfig) -> Self {
        let bootstrap = config.bootstrap_servers.addresses().iter().cloned();
        Self(Arc::new(Inner {
            bootstrap: bootstrap.map(|address| Node::new(None, address)).collect(),
            config,
            nodes: Mutex::default(),
            cluster_id: Mutex::default(),
            in_vain_since: Mutex::default(),
            reached: AtomicBool::new(false),
        }))
    }

    /// What the pool was made with.
    pub fn config(&self) -> &ClientConfig {
        &self.0.config
    }

    /// A connection to any broker: the open one that has least to answer if there is one, else to a broker that metadata named, else to a bootstrap
    /// server, which [`MetadataRecovery::None`](crate::config::MetadataRecovery::None) leaves out once metadata has named brokers. Cancel-safe.
    ///
    /// # Errors
    /// [`ErrorKind::Unreachable`] after every one of them was tried.
    pub async fn any(&self) -> Result<Connection, ClientError> {
        let mut nodes: Vec<_> = self.nodes().values().cloned().collect();
        let open = nodes.iter().chain(&self.0.bootstrap).filter_map(|node| node.open());
        // A broker may hold what is asked, such as Produce until replicas have it, and answers nothing on that connection before.
        if let Some(open) = open.min_by_key(|open| (open.throttled_for(), open.in_flight())) {
            return Ok(open);
        }
        let count = nodes.len().max(1);
        nodes.rotate_left(random() as usize % count);
        let mut errors = Vec::new();
        let known = nodes.len();
        let bootstrap = if known == 0 || self.0.config.rebootstraps() { &self.0.bootstrap[..] } else { &[] };
        for node in nodes.iter().chain(bootstrap) {
            match self.connect(node).await {
                Ok(connection) => {
                    self.0.reached.store(true, Ordering::Relaxed);
                    return Ok(connection);
                }
                Err(error) => errors.push(error),
            }
        }
        Err(self.none_reachable(errors, known))
    }

    /// Connects to a broker, or finds out that it is another one.
    async fn connect(&self, node: &Node) -> Result<Connection, ClientError> {
        let cluster_id = lock(&self.0.cluster_id).clone().filter(|_| self.0.config.checks_cluster());
        let meant = cluster_id.zip(node.id).map(|(cluster_id, node)| Identity { cluster_id, node });
        let connected = node.connect(&self.0.config.net, meant.as_ref()).await;
        connected.map_err(|error| match error.code() {
            Some(ErrorCode::REBOOTSTRAP_REQUIRED) => {
                self.rebootstrap();
                error.of_kind(ErrorKind::Unreachable)
            }
            _ => error,
        })
    }

    fn none_reachable(&self, mut errors: Vec<ClientError>, known: usize) -> ClientError {
        if let Some(at) = errors.iter().position(|error| error.kind() == ErrorKind::Authentication) {
            return errors.swap_remove(at);
        }
        if known > 0 && !self.0.config.rebootstraps() {
            let reasons: Vec<_> = errors.iter().map(|error| error.to_string()).collect();
            let reason = format!("none of the {known} known brokers can be used: {}", reasons.join(" | "));
            return ClientError::new(ErrorKind::Unreachable, "looking for a broker", reason).remedy(NO_RECOVERY);
        }
        match errors.pop() {
            Some(only) if errors.is_empty() => only,
            last => {
                errors.extend(last);
                let reasons: Vec<_> = errors.iter().map(|error| error.to_string()).collect();
                ClientError::new(
                    ErrorKind::Unreachable,
                    "looking for a broker",
                    format!(
                        "none of bootstrap.servers={} can be used: {}",
                        self.0.config.bootstrap_servers,
                        reasons.join(" | ")
                    ),
                )
            }
        }
    }

    /// The connection to the broker with this id. Cancel-safe.
    ///
    /// # Errors
    /// [`ErrorKind::Unreachable`], also where metadata does not know the id.
    pub async fn node(&self, id: i32) -> Result<Connection, ClientError> {
        let node = self.nodes().get(&id).cloned();
        match node {
            Some(node) => self.connect(&node).await,
            None => Err(ClientError::new(ErrorKind::Unreachable, "connecting", format!("no broker has id {id}"))),
        }
    }

    /// Takes over the address of one broker, as an answer that names a leader or coordinator gives it.
    pub fn learn(&self, id: i32, address: Address) {
        let mut nodes = self.nodes();
        if nodes.get(&id).is_none_or(|node| node.address != address) {
            nodes.insert(id, Node::new(Some(id), address));
        }
    }

    /// Takes over the brokers that metadata names; the connections to those that are gone close. A list without brokers
    /// is what a broker says that is just starting: it changes nothing.
    pub fn learn_all(&self, metadata: &MetadataResponse) {
        let named = metadata.brokers.iter().filter_map(|b| Some((b.node_id, address(&b.host, b.port)?)));
        let named: BTreeMap<_, _> = named.collect();
        if named.is_empty() {
            return;
        }
        *lock(&self.0.cluster_id) = metadata.cluster_id.as_deref().map(Arc::from);
        self.nodes().retain(|id, _| named.contains_key(id));
        for (id, address) in named {
            self.learn(id, address);
        }
    }

    /// The ids of the brokers that are known.
    pub fn ids(&self) -> Vec<i32> {
        self.nodes().keys().copied().collect()
    }

    /// Asks any broker for metadata, and takes over what it says about brokers. Cancel-safe.
    ///
    /// # Errors
    /// Those of [`Pool::any`] and [`Connection::call`], and the broker's answer for the whole request.
    pub async fn metadata(&self, request: &MetadataRequest) -> Result<MetadataResponse, ClientError> {
        let began = Instant::now();
        let answer = self.ask_for_metadata(request).await;
        let mut in_vain_since = lock(&self.0.in_vain_since);
        if answer.is_ok() {
            *in_vain_since = None;
        } else if *in_vain_since.get_or_insert(began) + self.0.config.rebootstrap_trigger <= Instant::now()
            && self.0.config.rebootstraps()
            && !self.nodes().is_empty()
        {
            *in_vain_since = None;
            tracing::warn!("no known broker gives metadata: starting again from bootstrap.servers");
            self.rebootstrap();
        }
        answer
    }

    async fn ask_for_metadata(&self, request: &MetadataRequest) -> Result<MetadataResponse, ClientError> {
        let connection = self.any().await?;
        let response = connection.call(request, self.0.config.net.request_timeout).await?;
        if response.error_code == ErrorCode::REBOOTSTRAP_REQUIRED && self.0.config.rebootstraps() {
            self.rebootstrap();
            // The next attempt asks the bootstrap servers.
            return Err(ClientError::new(
                ErrorKind::Unreachable,
                "asking for metadata",
                response.error_code.to_string(),
            )
            .at(connection.broker().to_owned()));
        }
        if let Err(code) = response.error_code.ok() {
            return Err(ClientError::broker("asking for metadata", code, None).at(connection.broker().to_owned()));
        }
        self.learn_all(&response);
        match response.brokers.is_empty() {
            false => Ok(response),
            true => {
                let reason = "the broker does not know the brokers of its cluster yet";
                Err(ClientError::new(ErrorKind::Unreachable, "asking for metadata", reason)
                    .at(connection.broker().to_owned()))
            }
        }
    }

    /// Attempts at one call that needs the cluster.
    pub(crate) fn retries(&self) -> Retries {
        Retries::new(&self.0.config).reached(self.was_reached())
    }

    /// How long of `within` to wait for the cluster: not all of it for one that was never reached.
    pub(crate) fn patience(&self, within: Duration) -> Duration {
        if self.was_reached() { within } else { within.min(self.0.config.unreached_patience()) }
    }

    /// Whether any broker was ever connected to.
    pub(crate) fn was_reached(&self) -> bool {
        self.0.reached.load(Ordering::Relaxed)
    }

    /// Closes all connections and forgets what metadata said.
    pub fn rebootstrap(&self) {
        let nodes = std::mem::take(&mut *self.nodes());
        *lock(&self.0.cluster_id) = None;
        for node in nodes.values().chain(&self.0.bootstrap) {
            if let Some(connection) = node.lock_open().take() {
                connection.close();
            }
        }
    }

    fn nodes(&self) -> MutexGuard<'_, BTreeMap<i32, Arc<Node>>> {
        lock(&self.0.nodes)
    }
}

/// What to do about brokers that are lost for good.
pub(crate) const NO_RECOVERY: &str = "bring one back, or set metadata.recovery.strategy=rebootstrap to start again from \
                                      bootstrap.servers";

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code that holds a lock can panic halfway through a change.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("config", &self.0.config).field("nodes", &self.ids()).finish()
    }
}

/// The address in an answer; `None` where there is none. Errors show it, so a host that would do something to a terminal is none.
pub(crate) fn address(host: &str, port: i32) -> Option<Address> {
    let port = u16::try_from(port).ok().filter(|port| *port > 0)?;
    (!host.is_empty() && said(host) == host).then(|| Address { host: host.to_owned(), port })
}

impl Node {
    fn new(id: Option<i32>, address: Address) -> Arc<Self> {
        Arc::new(Self { id, address, link: Default::default(), open: Mutex::default() })
    }

    fn lock_open(&self) -> MutexGuard<'_, Option<Connection>> {
        lock(&self.open)
    }

    fn open(&self) -> Option<Connection> {
        self.lock_open().clone().filter(|connection| !connection.is_closed())
    }

    /// The open connection, or a new one after the pause that the last failures call for. Who comes while another one
    /// connects gets the same.
    async fn connect(&self, config: &NetConfig, meant: Option<&Identity>) -> Result<Connection, ClientError> {
        if let Some(open) = self.open() {
            return Ok(open);
        }
        let mut link = self.link.lock().await;
        if let Some(open) = self.open() {
            return Ok(open);
        }
        if let Some(retry_at) = link.retry_at {
            sleep_until(retry_at).await;
        }
        let config = NetConfig { connect_timeout: setup_timeout(config, link.failures), ..config.clone() };
        match Connection::connect_to(&self.address.host, self.address.port, &config, meant).await {
            Ok(connection) => {
                *link = Link::default();
                *self.lock_open() = Some(connection.clone());
                Ok(connection)
            }
            Err(error) => {
                link.failures = link.failures.saturating_add(1);
                let backoff = Backoff::new(config.reconnect_backoff, config.reconnect_backoff_max);
                link.retry_at = Some(Instant::now() + backoff.pause(link.failures, random()));
                Err(error)
            }
        }
    }
}

/// `socket.connection.setup.timeout.ms`, doubled with each failure up to its maximum.
fn setup_timeout(config: &NetConfig, failures: u32) -> Duration {
    let max = config.connect_timeout_max.max(config.connect_timeout);
    config.connect_timeout.saturating_mul(1 << failures.min(31)).min(max)
}

#[cfg(test)]
mod tests;
