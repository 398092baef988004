//! How an embedded broker is made.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use ackflow_protocol::wire::ApiKey;
use tokio::net::TcpListener;
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::EmbeddedBroker;
use crate::core::{Cluster, ClusterOptions, NodeOptions, OptionsError, Users};
use crate::server::Shell;
use crate::server::owner::Owner;
use crate::server::security_protocol::SecurityProtocol;
use crate::server::tls::{Acceptor, ClientAuth, TlsOptions};

/// Short times, as far as Kafka's bounds let them be: what makes a suite of tests fast.
const FAST: &[(&str, &str)] = &[
    ("group.initial.rebalance.delay.ms", "0"),
    ("group.min.session.timeout.ms", "100"),
    ("group.consumer.min.heartbeat.interval.ms", "100"),
    ("group.consumer.heartbeat.interval.ms", "200"),
    ("group.consumer.min.session.timeout.ms", "1000"),
    ("group.consumer.session.timeout.ms", "3000"),
    ("group.consumer.assignment.interval.ms", "0"),
    ("group.share.min.heartbeat.interval.ms", "100"),
    ("group.share.heartbeat.interval.ms", "200"),
    ("group.share.min.session.timeout.ms", "1000"),
    ("group.share.session.timeout.ms", "3000"),
    ("group.share.assignment.interval.ms", "0"),
    ("group.share.min.record.lock.duration.ms", "1000"),
];

/// What an [`EmbeddedBroker`] is made with.
#[derive(Clone)]
pub struct EmbeddedBrokerBuilder {
    listen: String,
    identity: Option<String>,
    client_authorities: Option<String>,
    users: Users,
    nodes: u16,
    topics: Vec<(String, i32)>,
    configs: BTreeMap<String, String>,
    group_configs: BTreeMap<String, BTreeMap<String, String>>,
    share_version: i16,
    transaction_version: i16,
    versions: Vec<(Option<i32>, ApiKey, i16)>,
    fast: bool,
}

/// Why an embedded broker did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A setting or topic is not allowed.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The listener has no protocol of Kafka's.
    #[error(
        "listener {0:?}: a listener is HOST:PORT, or one of PLAINTEXT://, SSL://, SASL_PLAINTEXT:// and SASL_SSL:// with HOST:PORT after it"
    )]
    Listener(String),
    /// A file that a setting names cannot be read.
    #[error("{setting}={file}: {error}; name a file in PEM")]
    File {
        /// The setting.
        setting: &'static str,
        /// The file.
        file: String,
        /// What the system says.
        error: io::Error,
    },
    /// There is no TLS with these certificates.
    #[error("TLS: {0}")]
    Tls(String),
    /// The address cannot be listened on.
    #[error("cannot listen on {addr}: {error}; choose another address, or port 0 for a free one")]
    Listen {
        /// The address.
        addr: String,
        /// What the system says.
        error: io::Error,
    },
}

impl Default for EmbeddedBrokerBuilder {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:0".to_owned(),
            identity: None,
            client_authorities: None,
            users: Users::default(),
            nodes: 1,
            topics: Vec::new(),
            configs: BTreeMap::new(),
            group_configs: BTreeMap::new(),
            share_version: 2,
            transaction_version: 2,
            versions: Vec::new(),
            fast: false,
        }
    }
}

impl fmt::Debug for EmbeddedBrokerBuilder {
    /// Without the private key, and without the values of settings, which may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedBrokerBuilder")
            .field("listen", &self.listen)
            .field("identity", &self.identity.as_ref().map(|_| "[hidden]"))
            .field("client_authorities", &self.client_authorities.is_some())
            .field("users", &self.users)
            .field("nodes", &self.nodes)
            .field("topics", &self.topics)
            .field("configs", &self.configs.keys())
            .field("group_configs", &self.group_configs)
            .field("share_version", &self.share_version)
            .field("transaction_version", &self.transaction_version)
            .field("versions", &self.versions)
            .field("fast", &self.fast)
            .finish()
    }
}

impl EmbeddedBrokerBuilder {
    /// Adds a topic that exists from the start.
    #[must_use]
    pub fn topic(mut self, name: impl Into<String>, partitions: i32) -> Self {
        self.topics.push((name.into(), partitions));
        self
    }

    /// Makes a cluster of so many nodes, from id 1 on ([`config`](Self::config)`("node.id", ..)` names another first id). Partitions and
    /// groups are spread over them. Topics have 3 replicas then, or as many as there are nodes (`default.replication.factor`), so that other
    /// nodes can take over.
    #[must_use]
    pub fn nodes(mut self, nodes: u16) -> Self {
        self.nodes = nodes;
        self
    }

    /// Listens on this address instead of a free port of 127.0.0.1. Of several nodes, each has the port after the one before; port 0 gives
    /// each a free one.
    ///
    /// With `SSL://`, `SASL_PLAINTEXT://` or `SASL_SSL://` before it, clients have to speak TLS (feature `tls`), or to prove by SASL that they are
    /// one of the [`user`](Self::user)s, by one of `sasl.enabled.mechanisms` (PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512), and again within
    /// `connections.max.reauth.ms`. Where nothing names a [`certificate`](Self::certificate) the broker makes one, which
    /// [`EmbeddedBroker::certificate`] gives.
    #[must_use]
    pub fn listen(mut self, listener: impl Into<String>) -> Self {
        self.listen = listener.into();
        self
    }

    /// Shows clients this certificate, in PEM: its chain and its private key. `ssl.keystore.location` names a file of them.
    #[must_use]
    pub fn certificate(mut self, pem: impl Into<String>) -> Self {
        self.identity = Some(pem.into());
        self
    }

    /// Has clients show a certificate that one of these authorities has signed, in PEM. `ssl.truststore.location` names a file of them, with
    /// `ssl.client.auth=required` or `requested`.
    #[must_use]
    pub fn client_authorities(mut self, pem: impl Into<String>) -> Self {
        self.client_authorities = Some(pem.into());
        self
    }

    /// Adds a user, who may come in by SASL.
    #[must_use]
    pub fn user(mut self, name: impl Into<String>, password: impl Into<String>) -> Self {
        self.users.add(name, password);
        self
    }

    /// Sets a broker setting by Kafka's name, such as `group.share.record.lock.duration.ms`.
    #[must_use]
    pub fn config(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.configs.insert(name.into(), value.into());
        self
    }

    /// Sets a setting of a group by Kafka's name, such as `share.auto.offset.reset`.
    #[must_use]
    pub fn group_config(mut self, group: impl Into<String>, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.group_configs.entry(group.into()).or_default().insert(name.into(), value.into());
        self
    }

    /// The finalized level of the feature `share.version`: 0 is a broker without share groups, 1 has them, and 2, the default, has dead letter queues
    /// too (`errors.deadletterqueue.topic.name` of a group, KIP-1191). With the feature `unstable-kip-1289`, 3 is one that takes
    /// acknowledgements into transactions, as generation C of the draft KIP-1289 has it; that may change or go in any release.
    #[must_use]
    pub fn share_version(mut self, level: i16) -> Self {
        self.share_version = level;
        self
    }

    /// The finalized level of the feature `transaction.version`: 0, 1, or 2, the default, which is KIP-890. Below 2, producers name the partitions
    /// of a transaction before they write to them.
    #[must_use]
    pub fn transaction_version(mut self, level: i16) -> Self {
        self.transaction_version = level;
        self
    }

    /// Serves no newer version of an API than this, as an older Kafka does: with ShareFetch and ShareAcknowledge at 1, it is one of before
    /// 4.2, which knows neither `record_limit` nor renewed locks. [`EmbeddedBroker::limit_version`] changes it later.
    #[must_use]
    pub fn limit_version(mut self, api: ApiKey, newest: i16) -> Self {
        self.versions.push((None, api, newest));
        self
    }

    /// As [`limit_version`](Self::limit_version), of one node.
    #[must_use]
    pub fn limit_version_of(mut self, node: i32, api: ApiKey, newest: i16) -> Self {
        self.versions.push((Some(node), api, newest));
        self
    }

    /// Makes waits short that a test would have to sit out: heartbeats every 200 ms, sessions of 3 s, assignments at
    /// once, and locks may be set down to 1 s. Settings given by [`config`](Self::config) win.
    #[must_use]
    pub fn fast(mut self) -> Self {
        self.fast = true;
        self
    }

    /// Starts the broker; it serves when this returns. It lives in the tokio runtime that calls this. Not
    /// cancel-safe: a start that is given up may leave nothing behind but a closed port.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start(self) -> Result<EmbeddedBroker, StartError> {
        let Self {
            listen,
            identity,
            client_authorities,
            users,
            nodes,
            topics,
            mut configs,
            group_configs,
            share_version,
            transaction_version,
            versions,
            fast,
        } = self;
        if fast {
            for (name, value) in FAST {
                configs.entry((*name).to_owned()).or_insert_with(|| (*value).to_owned());
            }
        }
        let (protocol, address) = match SecurityProtocol::split(&listen) {
            Some((protocol, address)) => (protocol, address),
            None => return Err(StartError::Listener(listen)),
        };
        let listeners = bind_all(address, nodes).await?;
        let (started, started_ms) = (Instant::now(), wall_millis());
        let mut cluster = Cluster::new(ClusterOptions {
            nodes: listeners.iter().map(|(addr, _)| advertised(*addr)).collect(),
            share_version,
            transaction_version,
            configs,
            group_configs,
            topics,
            sasl: protocol.has_sasl().then_some(users),
            seed: RandomState::new().build_hasher().finish(),
            ..ClusterOptions::new(started, started_ms)
        })?;
        let tls = match protocol.has_tls() {
            true => Some(acceptor(&cluster, identity, client_authorities)?),
            false => None,
        };
        for (node, api, newest) in versions {
            cluster.limit_version(node, api, newest);
        }
        let (commands, receiver) = unbounded_channel();
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let shell = Shell {
            max_frame: cluster.max_request_bytes(),
            max_first_frame: match protocol.has_sasl() {
                true => cluster.max_receive_size_of_login(),
                false => cluster.max_request_bytes(),
            },
            tls: tls.clone(),
            commands: commands.clone(),
            tasks: tasks.clone(),
            stop: stop.clone(),
            next_connection: Arc::default(),
        };
        let ids = cluster.node_ids();
        let mut owner = Owner::new(cluster, shell);
        let mut addrs = BTreeMap::new();
        for (node, (addr, listener)) in ids.into_iter().zip(listeners) {
            addrs.insert(node, addr);
            owner.open(node, addr, listener);
        }
        tasks.spawn(owner.run(receiver, stop.clone()));
        let certificate = tls.map(|tls| tls.chain().to_owned());
        Ok(EmbeddedBroker { addrs, certificate, commands, tasks, stop, started, started_ms })
    }
}

/// TLS as the settings of the broker have it, and what the caller gave in their place.
fn acceptor(
    cluster: &Cluster,
    identity: Option<String>,
    client_authorities: Option<String>,
) -> Result<Acceptor, StartError> {
    let or_file = |given: Option<String>, setting: &'static str| match (given, cluster.broker_config(setting)) {
        (None, "") => Ok(None),
        (None, file) => std::fs::read_to_string(file).map(Some).map_err(|error| StartError::File {
            setting,
            file: file.to_owned(),
            error,
        }),
        (given, _) => Ok(given),
    };
    let client_auth = match cluster.broker_config("ssl.client.auth") {
        "required" => ClientAuth::Required,
        "requested" => ClientAuth::Requested,
        _ if client_authorities.is_some() => ClientAuth::Required,
        _ => ClientAuth::None,
    };
    let identity = or_file(identity, "ssl.keystore.location")?;
    let client_authorities = or_file(client_authorities, "ssl.truststore.location")?;
    Acceptor::new(TlsOptions { identity, client_authorities, client_auth }).map_err(StartError::Tls)
}

/// One listener a node.
async fn bind_all(listen: &str, nodes: u16) -> Result<Vec<(SocketAddr, TcpListener)>, StartError> {
    let error = |addr: &str, error| StartError::Listen { addr: addr.to_owned(), error };
    let mut listeners: Vec<(SocketAddr, TcpListener)> = Vec::new();
    for node in 0..nodes {
        let next = match listeners.first() {
            None => listen.to_owned(),
            Some((first, _)) if listen.ends_with(":0") => SocketAddr::new(first.ip(), 0).to_string(),
            Some((first, _)) => SocketAddr::new(first.ip(), first.port().saturating_add(node)).to_string(),
        };
        let listener = TcpListener::bind(&next).await.map_err(|source| error(&next, source))?;
        let addr = listener.local_addr().map_err(|source| error(&next, source))?;
        listeners.push((addr, listener));
    }
    Ok(listeners)
}

/// What clients are told of a node: they cannot connect to "any address".
fn advertised(addr: SocketAddr) -> NodeOptions {
    let host = if addr.ip().is_unspecified() { "localhost".to_owned() } else { addr.ip().to_string() };
    NodeOptions { host, port: addr.port(), rack: None }
}

fn wall_millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_builder_that_is_printed_shows_no_secret() {
        let builder = EmbeddedBrokerBuilder::default()
            .certificate("-----BEGIN PRIVATE KEY-----")
            .user("alice", "her password")
            .config("ssl.key.password", "its password");
        let shown = format!("{builder:?} {builder:#?}");
        assert!(
            !shown.contains("PRIVATE") && !shown.contains("s password") && !shown.contains("r password"),
            "{shown}"
        );
        assert!(shown.contains("alice") && shown.contains("ssl.key.password"), "{shown}");
    }
}
