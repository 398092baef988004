//! Administration: topics and their partitions, configurations, groups and their offsets, rules of access, SCRAM users, transactions, the cluster.
//!
//! A call that names several things gives a result for each; the call itself fails only where there is no answer at all.
//! Errors that pass are tried again until `default.api.timeout.ms` is over; a cluster of which no broker was ever reached is
//! given up after 5 s. Every call is cancel-safe in that a dropped
//! future leaves the client as it was; what was asked of the broker may still happen.

mod acl;
mod acls;
mod api_versions;
mod classic_groups;
mod cluster;
mod config_resources;
mod configs;
mod consumer_group_offsets;
mod consumer_groups;
mod coordinators;
mod features;
mod groups;
mod leaders;
mod offsets;
mod partitions;
mod producers;
mod reassignments;
mod records;
mod remedies;
mod routed;
mod scram;
mod scram_password;
mod share_group_offsets;
mod share_groups;
#[cfg(test)]
mod tests;
mod topics;
mod transactions;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ackflow_protocol::wire::{ErrorCode, Request};

use crate::config::ClientConfig;
use crate::error::ClientError;
use crate::metrics::{self, Metrics};
use crate::net::{Connection, Pool, Retries};
use routed::Asked;

pub use acl::{AclBinding, AclBindingFilter, AclOperation, AclPatternType, AclPermission, AclResourceType};
pub use api_versions::ApiSupport;
pub use cluster::{Broker, ClusterDescription};
pub use config_resources::{ConfigResource, ResourceKind};
pub use configs::{ConfigChange, ConfigEntry, ConfigSource};
pub use consumer_group_offsets::{CommittedOffset, ConsumerGroupLag};
pub use consumer_groups::{ConsumerGroupDescription, ConsumerGroupMember};
pub use features::{FeatureMetadata, FeatureUpdate, UpgradeType};
pub use groups::GroupListing;
pub use offsets::{IsolationLevel, ListedOffset, OffsetSpec};
pub use partitions::{ElectionType, NewPartitions};
pub use producers::ProducerState;
pub use reassignments::PartitionReassignment;
pub use records::RecordsToDelete;
pub use scram::{ScramCredentialChange, ScramMechanism};
pub use share_group_offsets::SharePartitionOffset;
pub use share_groups::{ShareGroupDescription, ShareGroupMember};
pub use topics::{CreatedTopic, NewTopic, PartitionDescription, TopicDescription, TopicListing};
pub use transactions::{HangingTransaction, TransactionDescription, TransactionFilter, TransactionListing};

pub use crate::share::TopicPartition;

/// For how long a broker that metadata does not name may just be restarting.
const ABSENT_PATIENCE: Duration = Duration::from_secs(5);

/// For each thing that was asked about, what came of it.
pub type Results<K, T> = BTreeMap<K, Result<T, ClientError>>;

/// A client for administration. It is a handle: clones share the connections.
#[derive(Debug, Clone)]
pub struct Admin {
    pool: Pool,
    metrics: Metrics,
}

impl Admin {
    /// Of the cluster that `config` names. Nothing is connected before the first call.
    pub fn new(mut config: ClientConfig) -> Self {
        let metrics = metrics::watch_admin(&mut config);
        Self { pool: Pool::new(config), metrics }
    }

    /// What it measures of its connections, by Kafka's names.
    pub fn metrics(&self) -> Metrics {
        self.metrics.clone()
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

    /// Asks every broker, until all have answered, for what `read` takes out of the answer of each.
    async fn ask_all<R: Request, T>(
        &self,
        request: &R,
        read: impl Fn(&Asked<'_>, R::Response) -> Result<Vec<T>, ClientError>,
    ) -> Result<Vec<T>, ClientError> {
        let mut retries = self.retries();
        loop {
            let attempt = async {
                self.learn_brokers().await?;
                let mut all = Vec::new();
                for node in self.pool.ids() {
                    let connection = self.pool.node(node).await?;
                    let response = connection.call(request, self.request_timeout()).await?;
                    all.extend(read(&Asked { node, connection: &connection }, response)?);
                }
                Ok(all)
            };
            if let Some(all) = retries.attempt(attempt).await? {
                return Ok(all);
            }
        }
    }

    /// Asks the broker with this id, until there is an answer. One that metadata does not name is waited for a little, since brokers restart.
    async fn ask_node<R: Request>(&self, node: i32, request: &R) -> Result<(R::Response, Connection), ClientError> {
        let mut retries = self.retries();
        let mut absent_since = None;
        loop {
            let attempt = async {
                if !self.pool.ids().contains(&node) {
                    self.learn_brokers().await?;
                    let ids = self.pool.ids();
                    let since = *absent_since.get_or_insert_with(Instant::now);
                    if !ids.contains(&node) && since.elapsed() >= ABSENT_PATIENCE {
                        return Err(cluster::no_broker(node, &ids));
                    }
                }
                let connection = self.pool.node(node).await?;
                Ok((connection.call(request, self.request_timeout()).await?, connection))
            };
            if let Some(answer) = retries.attempt(attempt).await? {
                return Ok(answer);
            }
            // A cluster that answers is there, though this broker of it is not.
            retries = if self.pool.was_reached() { retries.reached(true) } else { retries };
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
        Err(code) => {
            let error = ClientError::broker(doing(), code, message).at(connection.broker().to_owned());
            Err(error.remedy(remedies::remedy(code)))
        }
    }
}
