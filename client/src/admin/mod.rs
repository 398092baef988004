//! Administration: topics, configurations, groups, the cluster.
//!
//! A call that names several things gives a result for each; the call itself fails only where there is no answer at all.
//! Errors that pass are tried again until `default.api.timeout.ms` is over; a cluster of which no broker was ever reached is
//! given up after 5 s. Every call is cancel-safe in that a dropped
//! future leaves the client as it was; what was asked of the broker may still happen.

mod cluster;
mod configs;
mod groups;
mod share_groups;
mod topics;

use std::collections::BTreeMap;
use std::time::Duration;

use ackflow_protocol::wire::{ErrorCode, Request};

use crate::config::ClientConfig;
use crate::error::ClientError;
use crate::net::{Connection, Pool, Retries};

pub use cluster::{Broker, ClusterDescription};
pub use configs::{ConfigChange, ConfigEntry, ConfigResource, ConfigSource, ResourceKind};
pub use groups::GroupListing;
pub use share_groups::{ShareGroupDescription, ShareGroupMember, SharePartitionOffset};
pub use topics::{CreatedTopic, NewTopic, PartitionDescription, TopicDescription, TopicListing};

/// For each thing that was asked about, what came of it.
pub type Results<K, T> = BTreeMap<K, Result<T, ClientError>>;

/// A client for administration. It is a handle: clones share the connections.
#[derive(Debug, Clone)]
pub struct Admin {
    pool: Pool,
}

impl Admin {
    /// Of the cluster that `config` names. Nothing is connected before the first call.
    pub fn new(config: ClientConfig) -> Self {
        Self { pool: Pool::new(config) }
    }

    /// `bootstrap.servers` as it was given, which names the cluster in messages.
    pub fn bootstrap_servers(&self) -> String {
        self.pool.config().bootstrap_servers.to_string()
    }

    fn retries(&self) -> Retries {
        self.pool.retries()
    }

    fn request_timeout(&self) -> Duration {
        self.pool.config().net.request_timeout
    }

    /// The time that the broker gets for a change: as long as its answer is waited for.
    fn request_timeout_ms(&self) -> i32 {
        i32::try_from(self.request_timeout().as_millis()).unwrap_or(i32::MAX)
    }

    /// Asks any broker, until there is an answer.
    async fn ask_any<R: Request>(&self, request: &R) -> Result<(R::Response, Connection), ClientError> {
        let mut retries = self.retries();
        loop {
            let attempt = async {
                let connection = self.pool.any().await?;
                Ok((connection.call(request, self.request_timeout()).await?, connection))
            };
            if let Some(answer) = retries.attempt(attempt).await? {
                return Ok(answer);
            }
        }
    }

    /// Asks the broker with this id, until there is an answer.
    async fn ask_node<R: Request>(&self, node: i32, request: &R) -> Result<(R::Response, Connection), ClientError> {
        let mut retries = self.retries();
        loop {
            let attempt = async {
                if !self.pool.ids().contains(&node) {
                    self.learn_brokers().await?;
                }
                let connection = self.pool.node(node).await?;
                Ok((connection.call(request, self.request_timeout()).await?, connection))
            };
            if let Some(answer) = retries.attempt(attempt).await? {
                return Ok(answer);
            }
        }
    }
}

/// An item's result from its code and message.
fn result<T>(
    value: T,
    doing: impl FnOnce() -> String,
    connection: &Connection,
    code: ErrorCode,
    message: Option<&str>,
) -> Result<T, ClientError> {
    match code.ok() {
        Ok(()) => Ok(value),
        Err(code) => Err(ClientError::broker(doing(), code, message).at(connection.broker().to_owned())),
    }
}
