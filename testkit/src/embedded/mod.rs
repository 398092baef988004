//! An embedded broker for tests.

mod builder;
mod faults;
mod nodes;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Instant;

use ackflow_protocol::records::{BatchBuilder, BatchOptions};
use ackflow_protocol::wire::ErrorCode;
use bytes::Bytes;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::core::Cluster;
use crate::server::owner::Command;
pub use builder::{EmbeddedBrokerBuilder, StartError};

/// A Kafka broker in this process, on a loopback port; or a cluster of several ([`EmbeddedBrokerBuilder::nodes`]).
///
/// It keeps all data in memory until it stops, and answers what Kafka 4.4.0 answers. Clients speak as they are, by TLS or by SASL
/// ([`EmbeddedBrokerBuilder::listen`]). It serves producers (idempotent and
/// transactional), metadata, topics, settings, consumers and their groups (KIP-848, and the classic protocol), and everything about
/// share groups, dead letter queues (KIP-1191) among them.
///
/// A test can move leaders and coordinators, kill nodes and start them again, cut connections, let locks end, and let any
/// request go wrong ([`add_fault`](Self::add_fault)). Dropping it stops it.
#[derive(Debug)]
pub struct EmbeddedBroker {
    /// By node.
    addrs: BTreeMap<i32, SocketAddr>,
    /// In PEM, where there is TLS.
    certificate: Option<String>,
    commands: UnboundedSender<Command>,
    tasks: TaskTracker,
    stop: CancellationToken,
    started: Instant,
    started_ms: i64,
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

    /// `bootstrap.servers` for clients: all nodes, those that are down among them.
    pub fn bootstrap_servers(&self) -> String {
        self.addrs.values().map(SocketAddr::to_string).collect::<Vec<_>>().join(",")
    }

    /// The address of the first node.
    pub fn addr(&self) -> SocketAddr {
        *self.addrs.values().next().expect("a cluster is made with at least one node")
    }

    /// The broker's certificate with its chain, in PEM, where its clients speak TLS. The one that it made for itself is what clients have to
    /// trust (`ssl.truststore.location`, `ssl.truststore.certificates`).
    pub fn certificate(&self) -> Option<&str> {
        self.certificate.as_deref()
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
