//! Moves of partitions between brokers.

use std::collections::BTreeMap;

use ackflow_protocol::messages::alter_partition_reassignments::{
    AlterPartitionReassignmentsRequest, ReassignablePartition, ReassignableTopic,
};
use ackflow_protocol::messages::list_partition_reassignments::{
    ListPartitionReassignmentsRequest, ListPartitionReassignmentsTopics,
};

use super::leaders::{by_topic, indexes_by_topic};
use super::{Admin, Results, result};
use crate::error::ClientError;
use crate::share::TopicPartition;

/// The move of a partition that is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionReassignment {
    /// The brokers that hold it, old and new.
    pub replicas: Vec<i32>,
    /// Those of them that are to hold it and do not have all of it yet.
    pub adding: Vec<i32>,
    /// Those of them that are to let go of it.
    pub removing: Vec<i32>,
}

impl Admin {
    /// Moves partitions to the brokers that are given, the preferred leader first, or stops a move where `None` is given
    /// (AlterPartitionReassignments). An answer says that a move has begun; [`list_partition_reassignments`](Self::list_partition_reassignments) says
    /// when it has ended.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer or the cluster refuses the whole call. Moves may have begun nevertheless.
    pub async fn alter_partition_reassignments(
        &self,
        moves: impl IntoIterator<Item = (TopicPartition, Option<Vec<i32>>)>,
    ) -> Result<Results<TopicPartition, ()>, ClientError> {
        let moves: BTreeMap<_, _> = moves.into_iter().collect();
        let partition = |(partition_index, replicas): (i32, &Option<Vec<i32>>)| ReassignablePartition {
            partition_index,
            replicas: replicas.clone(),
        };
        let topic = |(name, partitions): (String, Vec<_>)| ReassignableTopic {
            name,
            partitions: partitions.into_iter().map(partition).collect(),
        };
        let request = AlterPartitionReassignmentsRequest {
            timeout_ms: self.request_timeout_ms(),
            topics: by_topic(&moves).into_iter().map(topic).collect(),
            ..Default::default()
        };
        let (response, connection) = self.ask_any(&request).await?;
        let doing = || "moving partitions".to_owned();
        result((), doing, &connection, response.error_code, response.error_message.as_deref())?;
        let mut results = Results::new();
        for topic in response.responses {
            for partition in topic.partitions {
                let moved = TopicPartition::new(topic.name.as_str(), partition.partition_index);
                let doing = || format!("moving {moved}");
                let outcome = result((), doing, &connection, partition.error_code, partition.error_message.as_deref());
                results.insert(moved, outcome);
            }
        }
        Ok(results)
    }

    /// The moves that are under way (ListPartitionReassignments): of the given partitions, or of all where `None` is given.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer or the cluster refuses.
    pub async fn list_partition_reassignments(
        &self,
        partitions: Option<&[TopicPartition]>,
    ) -> Result<BTreeMap<TopicPartition, PartitionReassignment>, ClientError> {
        let by_topic = |partitions| indexes_by_topic(partitions).into_iter();
        let topic = |(name, partition_indexes)| ListPartitionReassignmentsTopics { name, partition_indexes };
        let request = ListPartitionReassignmentsRequest {
            timeout_ms: self.request_timeout_ms(),
            topics: partitions.map(|partitions| by_topic(partitions).map(topic).collect()),
        };
        let (response, connection) = self.ask_any(&request).await?;
        let doing = || "listing moves of partitions".to_owned();
        result((), doing, &connection, response.error_code, response.error_message.as_deref())?;
        let mut moves = BTreeMap::new();
        for topic in response.topics {
            for partition in topic.partitions {
                let moving = TopicPartition::new(topic.name.as_str(), partition.partition_index);
                let (adding, removing) = (partition.adding_replicas, partition.removing_replicas);
                moves.insert(moving, PartitionReassignment { replicas: partition.replicas, adding, removing });
            }
        }
        Ok(moves)
    }
}
