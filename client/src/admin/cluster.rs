//! The cluster and its brokers.

use ackflow_protocol::messages::describe_cluster::{BROKERS, DescribeClusterRequest};
use ackflow_protocol::messages::metadata::MetadataRequest;

use super::{Admin, result};
use crate::error::{ClientError, ErrorKind};

/// What the cluster is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterDescription {
    /// The id that the cluster was formatted with.
    pub cluster_id: String,
    /// The broker that changes go to; `None` where there is none. With KRaft it is any broker, which passes them on.
    pub controller: Option<i32>,
    /// The brokers, by id.
    pub brokers: Vec<Broker>,
}

/// A broker of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broker {
    /// `node.id`.
    pub id: i32,
    /// The host in its `advertised.listeners`.
    pub host: String,
    /// The port in its `advertised.listeners`.
    pub port: u16,
    /// `broker.rack`.
    pub rack: Option<String>,
    /// Whether it is registered, but not serving.
    pub fenced: bool,
}

impl Admin {
    /// Describes the cluster (DescribeCluster).
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer or the broker refuses.
    pub async fn describe_cluster(&self) -> Result<ClusterDescription, ClientError> {
        self.cluster(false).await
    }

    /// The same, brokers that are fenced included: those that are registered, but not serving (KIP-1073, since Kafka 4.0).
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// As [`describe_cluster`](Self::describe_cluster).
    pub async fn describe_cluster_and_fenced(&self) -> Result<ClusterDescription, ClientError> {
        self.cluster(true).await
    }

    async fn cluster(&self, include_fenced_brokers: bool) -> Result<ClusterDescription, ClientError> {
        let request = DescribeClusterRequest { endpoint_type: BROKERS, include_fenced_brokers, ..Default::default() };
        let (response, connection) = self.ask_any(&request).await?;
        let doing = || "describing the cluster".to_owned();
        result((), doing, &connection, response.error_code, response.error_message.as_deref())?;
        let mut brokers: Vec<_> = response
            .brokers
            .into_iter()
            .map(|broker| Broker {
                id: broker.broker_id,
                host: broker.host,
                port: u16::try_from(broker.port).unwrap_or_default(),
                rack: broker.rack,
                fenced: broker.is_fenced,
            })
            .collect();
        brokers.sort_by_key(|broker| broker.id);
        let controller = Some(response.controller_id).filter(|id| *id >= 0);
        Ok(ClusterDescription { cluster_id: response.cluster_id, controller, brokers })
    }

    /// Makes the pool know every broker.
    pub(super) async fn learn_brokers(&self) -> Result<(), ClientError> {
        let about_no_topic = MetadataRequest { topics: Some(Vec::new()), ..Default::default() };
        self.pool.metadata(&about_no_topic).await.map(|_| ())
    }
}

/// How many ids an error names.
const SHOWN_IDS: usize = 20;

/// The error where the cluster has no broker of an id; `ids` are those that it has.
pub(super) fn no_broker(node: i32, ids: &[i32]) -> ClientError {
    let shown: Vec<_> = ids.iter().take(SHOWN_IDS).map(i32::to_string).collect();
    let more = if ids.len() > SHOWN_IDS { format!(" and {} more", ids.len() - SHOWN_IDS) } else { String::new() };
    let reason = format!("the cluster has no broker {node}, it has {}{more}", shown.join(", "));
    ClientError::new(ErrorKind::Invalid, format!("looking for broker {node}"), reason)
        .remedy("name one that it has, or start this one")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_brokers_that_there_are_and_not_thousands() {
        let few = no_broker(77, &[1, 2]).to_string();
        assert!(few.contains("the cluster has no broker 77, it has 1, 2; name one"), "{few}");
        let many = no_broker(77, &(100..2100).collect::<Vec<_>>()).to_string();
        assert!(many.contains("118, 119 and 1980 more; name one"), "{many}");
    }
}
