//! Partitions of topics: more of them, and who leads them.

use std::collections::BTreeMap;

use ackflow_protocol::messages::create_partitions::{
    CreatePartitionsAssignment, CreatePartitionsRequest, CreatePartitionsTopic,
};
use ackflow_protocol::messages::elect_leaders::{ElectLeadersRequest, TopicPartitions};

use super::leaders::indexes_by_topic;
use super::{Admin, Results, result};
use crate::error::ClientError;
use crate::share::TopicPartition;

/// How many partitions a topic is to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPartitions {
    /// All of them, those that it has included. Never fewer: Kafka takes no partition away.
    pub total: i32,
    /// By new partition, the brokers that hold it, the preferred leader first; empty to let the controller choose.
    pub assignments: Vec<Vec<i32>>,
}

impl NewPartitions {
    /// So many partitions in all, placed by the controller.
    pub fn increase_to(total: i32) -> Self {
        Self { total, assignments: Vec::new() }
    }
}

/// How a leader is elected, with the wire's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum ElectionType {
    /// The first of the replicas becomes leader, if it is in sync.
    Preferred = 0,
    /// Where there is no leader, any replica that is alive becomes one, in sync or not: what it lacks is lost.
    Unclean = 1,
}

impl Admin {
    /// Gives topics more partitions (CreatePartitions). An answer says that the controller has them; a broker may take a moment to learn of them.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer. Partitions may have been created nevertheless.
    pub async fn create_partitions<S: Into<String>>(
        &self,
        topics: impl IntoIterator<Item = (S, NewPartitions)>,
    ) -> Result<Results<String, ()>, ClientError> {
        self.more_partitions(topics.into_iter().map(|(name, new)| (name.into(), new)).collect(), false).await
    }

    /// Says how [`create_partitions`](Self::create_partitions) would go, and creates nothing.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer.
    pub async fn validate_partitions<S: Into<String>>(
        &self,
        topics: impl IntoIterator<Item = (S, NewPartitions)>,
    ) -> Result<Results<String, ()>, ClientError> {
        self.more_partitions(topics.into_iter().map(|(name, new)| (name.into(), new)).collect(), true).await
    }

    async fn more_partitions(
        &self,
        topics: BTreeMap<String, NewPartitions>,
        validate_only: bool,
    ) -> Result<Results<String, ()>, ClientError> {
        let topic = |(name, new): (String, NewPartitions)| CreatePartitionsTopic {
            name,
            count: new.total,
            assignments: (!new.assignments.is_empty()).then(|| {
                new.assignments.into_iter().map(|broker_ids| CreatePartitionsAssignment { broker_ids }).collect()
            }),
        };
        let request = CreatePartitionsRequest {
            topics: topics.into_iter().map(topic).collect(),
            timeout_ms: self.request_timeout_ms(),
            validate_only,
        };
        let (response, connection) = self.ask_any(&request).await?;
        let results = response.results.into_iter().map(|topic| {
            let doing = || format!("adding partitions to topic {}", topic.name);
            let created = result((), doing, &connection, topic.error_code, topic.error_message.as_deref());
            (topic.name, created)
        });
        Ok(results.collect())
    }

    /// Has leaders elected (ElectLeaders): of the given partitions, or of all where `None` is given; then only those that were elected have a result.
    /// A partition that the right replica leads already has the error ELECTION_NOT_NEEDED.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer or the cluster refuses the whole call.
    pub async fn elect_leaders(
        &self,
        election: ElectionType,
        partitions: Option<&[TopicPartition]>,
    ) -> Result<Results<TopicPartition, ()>, ClientError> {
        let by_topic = |partitions| indexes_by_topic(partitions).into_iter();
        let topic = |(topic, partitions)| TopicPartitions { topic, partitions };
        let request = ElectLeadersRequest {
            election_type: election as i8,
            topic_partitions: partitions.map(|partitions| by_topic(partitions).map(topic).collect()),
            timeout_ms: self.request_timeout_ms(),
        };
        let (response, connection) = self.ask_any(&request).await?;
        result((), || "electing leaders".to_owned(), &connection, response.error_code, None)?;
        let mut results = Results::new();
        for topic in response.replica_election_results {
            for partition in topic.partition_result {
                let elected = TopicPartition::new(topic.topic.as_str(), partition.partition_id);
                let doing = || format!("electing a leader of {elected}");
                let outcome = result((), doing, &connection, partition.error_code, partition.error_message.as_deref());
                results.insert(elected, outcome);
            }
        }
        Ok(results)
    }
}
