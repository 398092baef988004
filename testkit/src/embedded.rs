//! An embedded broker for tests.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::net::SocketAddr;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use ackflow_protocol::records::{BatchBuilder, BatchOptions};
use ackflow_protocol::wire::ErrorCode;
use bytes::Bytes;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::core::{Cluster, ClusterOptions, OptionsError};
use crate::server::listen;
use crate::server::owner::{Command, Owner};

/// Short times, as far as Kafka's bounds let them be: what makes a suite of tests fast.
const FAST: &[(&str, &str)] = &[
    ("group.share.min.heartbeat.interval.ms", "100"),
    ("group.share.heartbeat.interval.ms", "200"),
    ("group.share.min.session.timeout.ms", "1000"),
    ("group.share.session.timeout.ms", "3000"),
    ("group.share.assignment.interval.ms", "0"),
    ("group.share.min.record.lock.duration.ms", "1000"),
];

/// A Kafka broker in this process, on a loopback port.
///
/// It is one node that leads every partition, keeps all data in memory until it stops, and answers what Kafka 4.4.0
/// answers. It serves Produce (idempotent producers included, transactions not), metadata, topics, settings, and
/// everything about share groups but the broker's dead letter queue.
///
/// Dropping it stops it.
#[derive(Debug)]
pub struct EmbeddedBroker {
    addr: SocketAddr,
    commands: UnboundedSender<Command>,
    tasks: TaskTracker,
    stop: CancellationToken,
    started: Instant,
    started_ms: i64,
}

/// What an [`EmbeddedBroker`] is made with.
#[derive(Debug, Clone)]
pub struct EmbeddedBrokerBuilder {
    listen: String,
    topics: Vec<(String, i32)>,
    configs: BTreeMap<String, String>,
    group_configs: BTreeMap<String, BTreeMap<String, String>>,
    share_version: i16,
    fast: bool,
}

/// Why an embedded broker did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A setting or topic is not allowed.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The address cannot be listened on.
    #[error("cannot listen on {addr}: {source}; choose another address, or port 0 for a free one")]
    Listen {
        /// The address.
        addr: String,
        /// What the system says.
        source: io::Error,
    },
}

/// Why a helper of an embedded broker could not do its work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BrokerError {
    /// The broker refuses, with the code that a client would see.
    #[error("{code:?}: {message}")]
    Refused {
        /// The code.
        code: ErrorCode,
        /// What is wrong.
        message: String,
    },
    /// The broker has stopped.
    #[error("the embedded broker has stopped")]
    Stopped,
}

impl From<(ErrorCode, String)> for BrokerError {
    fn from((code, message): (ErrorCode, String)) -> Self {
        Self::Refused { code, message }
    }
}

impl Default for EmbeddedBrokerBuilder {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:0".to_owned(),
            topics: Vec::new(),
            configs: BTreeMap::new(),
            group_configs: BTreeMap::new(),
            share_version: 1,
            fast: false,
        }
    }
}

impl EmbeddedBrokerBuilder {
    /// Adds a topic that exists from the start.
    #[must_use]
    pub fn topic(mut self, name: impl Into<String>, partitions: i32) -> Self {
        self.topics.push((name.into(), partitions));
        self
    }

    /// Listens on this address instead of a free port of 127.0.0.1.
    #[must_use]
    pub fn listen(mut self, addr: impl Into<String>) -> Self {
        self.listen = addr.into();
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

    /// The finalized level of the feature `share.version`: 0 is a broker without share groups.
    #[must_use]
    pub fn share_version(mut self, level: i16) -> Self {
        self.share_version = level;
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
        let Self { listen: addr, topics, mut configs, group_configs, share_version, fast } = self;
        if fast {
            for (name, value) in FAST {
                configs.entry((*name).to_owned()).or_insert_with(|| (*value).to_owned());
            }
        }
        let listen_error = |source| StartError::Listen { addr: addr.clone(), source };
        let listener = TcpListener::bind(&addr).await.map_err(listen_error)?;
        let local = listener.local_addr().map_err(listen_error)?;
        let (started, started_ms) = (Instant::now(), wall_millis());
        let broker = Cluster::new(ClusterOptions {
            // Clients cannot connect to "any address".
            host: if local.ip().is_unspecified() { "localhost".to_owned() } else { local.ip().to_string() },
            port: local.port(),
            share_version,
            configs,
            group_configs,
            topics,
            seed: RandomState::new().build_hasher().finish(),
            ..ClusterOptions::new(started, started_ms)
        })?;
        let max_frame = broker.max_request_bytes();
        let (commands, receiver) = unbounded_channel();
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        tasks.spawn(Owner::new(broker).run(receiver, stop.clone()));
        tasks.spawn(listen(listener, max_frame, commands.clone(), tasks.clone(), stop.clone()));
        Ok(EmbeddedBroker { addr: local, commands, tasks, stop, started, started_ms })
    }
}

impl EmbeddedBroker {
    /// A broker for tests: short times ([`EmbeddedBrokerBuilder::fast`]) and no topics; topics are created when a client
    /// first asks for them. Cancel-safety as [`EmbeddedBrokerBuilder::start`].
    ///
    /// # Errors
    /// [`StartError::Listen`].
    pub async fn start() -> Result<Self, StartError> {
        Self::builder().fast().start().await
    }

    /// A builder with Kafka's own defaults.
    pub fn builder() -> EmbeddedBrokerBuilder {
        EmbeddedBrokerBuilder::default()
    }

    /// `bootstrap.servers` for clients.
    pub fn bootstrap_servers(&self) -> String {
        self.addr.to_string()
    }

    /// The address that is listened on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Stops the broker and waits until its connections are closed. Cancel-safe: it stops all the same.
    pub async fn shutdown(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Cuts every connection, as a broker does that restarts at once: share sessions end, and what their members held
    /// is released. When this returns the sessions have ended. Cancel-safe: the connections are cut all the same.
    ///
    /// # Errors
    /// [`BrokerError::Stopped`].
    pub async fn disconnect_all(&self) -> Result<(), BrokerError> {
        self.commands.send(Command::DisconnectAll).map_err(|_| BrokerError::Stopped)?;
        self.call(|_, _| ()).await
    }

    /// Creates a topic. Cancel-safe: it is created all the same.
    ///
    /// # Errors
    /// [`BrokerError`].
    pub async fn create_topic(&self, name: &str, partitions: i32) -> Result<(), BrokerError> {
        let name = name.to_owned();
        self.call(move |broker, _| broker.create_topic(&name, partitions)).await?.map(|_| ()).map_err(Into::into)
    }

    /// Appends one batch of records with these values and no keys; gives the offset of the first. Cancel-safe: the
    /// batch is appended all the same.
    ///
    /// # Errors
    /// [`BrokerError`]; without a value there is no batch, which is refused as INVALID_RECORD.
    pub async fn produce<V: AsRef<[u8]>>(
        &self,
        topic: &str,
        partition: i32,
        values: impl IntoIterator<Item = V>,
    ) -> Result<i64, BrokerError> {
        let refused = |message: String| BrokerError::Refused { code: ErrorCode::INVALID_RECORD, message };
        let mut builder = BatchBuilder::new(BatchOptions { max_size: usize::MAX, ..BatchOptions::default() });
        let now = self.started_ms + i64::try_from(self.started.elapsed().as_millis()).unwrap_or_default();
        for value in values {
            builder.try_append(now, None, Some(value.as_ref()), []).map_err(|error| refused(error.to_string()))?;
        }
        let batch = builder.build().map_err(|error| refused(error.to_string()))?;
        self.produce_batch(topic, partition, batch).await
    }

    /// Appends one batch as a producer would have sent it, compressed or not; gives the offset of its first record.
    /// Cancel-safe: the batch is appended all the same.
    ///
    /// # Errors
    /// [`BrokerError`].
    pub async fn produce_batch(&self, topic: &str, partition: i32, batch: Bytes) -> Result<i64, BrokerError> {
        let topic = topic.to_owned();
        self.call(move |broker, now| broker.produce(now, &topic, partition, &batch)).await?.map_err(Into::into)
    }

    /// Appends a batch as it stands, unchecked and with the offsets that it names: damaged, compacted or control
    /// batches. Cancel-safe: the batch is appended all the same.
    ///
    /// # Errors
    /// [`BrokerError`], where the batch has no header or begins before the end of the log.
    pub async fn append_raw(&self, topic: &str, partition: i32, batch: Bytes) -> Result<(), BrokerError> {
        let topic = topic.to_owned();
        self.call(move |broker, now| broker.append_raw(now, &topic, partition, batch)).await?.map_err(Into::into)
    }

    /// The records of a partition that a group has not finished with; `None` before its first fetch from there.
    /// Cancel-safe.
    ///
    /// # Errors
    /// [`BrokerError::Stopped`].
    pub async fn group_lag(&self, group: &str, topic: &str, partition: i32) -> Result<Option<i64>, BrokerError> {
        let (group, topic) = (group.to_owned(), topic.to_owned());
        self.call(move |broker, _| broker.group_lag(&group, &topic, partition)).await
    }

    async fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce(&mut Cluster, Instant) -> T + Send + 'static,
    ) -> Result<T, BrokerError> {
        let (sender, receiver) = oneshot::channel();
        // A caller that has gone away wants no answer.
        let call = Box::new(move |broker: &mut Cluster, now: Instant| drop(sender.send(call(broker, now))));
        self.commands.send(Command::Call(call)).map_err(|_| BrokerError::Stopped)?;
        receiver.await.map_err(|_| BrokerError::Stopped)
    }
}

impl Drop for EmbeddedBroker {
    fn drop(&mut self) {
        self.stop.cancel();
        self.tasks.close();
    }
}

fn wall_millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
