//! Topics: create, delete, describe, list.

use std::collections::BTreeMap;

use ackflow_protocol::messages::create_topics::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig, CreateTopicsRequest,
};
use ackflow_protocol::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest};
use ackflow_protocol::messages::metadata::{
    MetadataRequest, MetadataRequestTopic, MetadataResponsePartition, MetadataResponseTopic,
};
use ackflow_protocol::wire::{ErrorCode, Uuid};

use super::{Admin, Results, result};
use crate::error::ClientError;

/// A topic to be created.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewTopic {
    /// Its name.
    pub name: String,
    /// How many partitions; `None` for the broker's `num.partitions`. Left out where `assignments` says it.
    pub partitions: Option<i32>,
    /// How many replicas each has; `None` for the broker's `default.replication.factor`.
    pub replication_factor: Option<i16>,
    /// By partition, the brokers that hold it, the preferred leader first; empty to let the controller choose.
    pub assignments: Vec<Vec<i32>>,
    /// Settings that differ from the broker's.
    pub configs: BTreeMap<String, String>,
}

impl NewTopic {
    /// A topic with so many partitions, and the broker's defaults otherwise.
    pub fn new(name: impl Into<String>, partitions: i32) -> Self {
        Self { name: name.into(), partitions: Some(partitions), ..Self::default() }
    }

    /// With one setting more.
    #[must_use]
    pub fn config(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.configs.insert(key.into(), value.into());
        self
    }
}

/// A topic as it was created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedTopic {
    /// Its id.
    pub id: Uuid,
    /// How many partitions it has; -1 where the broker does not say.
    pub partitions: i32,
    /// How many replicas each has; -1 where the broker does not say.
    pub replication_factor: i16,
}

/// What the cluster knows about a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicDescription {
    /// Its id.
    pub id: Uuid,
    /// Whether it is Kafka's own, such as `__share_group_state`.
    pub internal: bool,
    /// Its partitions, by index.
    pub partitions: Vec<PartitionDescription>,
}

/// What the cluster knows about a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionDescription {
    /// Its index, from 0.
    pub partition: i32,
    /// The broker that leads it, if there is one just now.
    pub leader: Option<i32>,
    /// Counts the changes of leader; -1 where the broker does not say.
    pub leader_epoch: i32,
    /// The brokers that hold it, the preferred leader first.
    pub replicas: Vec<i32>,
    /// Those of them that are in sync.
    pub in_sync: Vec<i32>,
}

/// A topic in the list of topics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicListing {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: Uuid,
    /// Whether it is Kafka's own.
    pub internal: bool,
}

impl Admin {
    /// Creates topics (CreateTopics). An answer says that the controller has them; a broker may take a moment to learn
    /// of them.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer. A topic may have been created nevertheless.
    pub async fn create_topics(
        &self,
        topics: impl IntoIterator<Item = NewTopic>,
    ) -> Result<Results<String, CreatedTopic>, ClientError> {
        self.new_topics(topics, false).await
    }

    /// Says how [`create_topics`](Self::create_topics) would go, and creates nothing; the topics have no id.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer.
    pub async fn validate_topics(
        &self,
        topics: impl IntoIterator<Item = NewTopic>,
    ) -> Result<Results<String, CreatedTopic>, ClientError> {
        self.new_topics(topics, true).await
    }

    async fn new_topics(
        &self,
        topics: impl IntoIterator<Item = NewTopic>,
        validate_only: bool,
    ) -> Result<Results<String, CreatedTopic>, ClientError> {
        let request = CreateTopicsRequest {
            topics: topics.into_iter().map(creatable).collect(),
            timeout_ms: self.request_timeout_ms(),
            validate_only,
        };
        let (response, connection) = self.ask_any(&request).await?;
        let results = response.topics.into_iter().map(|topic| {
            let created = CreatedTopic {
                id: topic.topic_id,
                partitions: topic.num_partitions,
                replication_factor: topic.replication_factor,
            };
            let doing = || format!("creating topic {}", topic.name);
            let created = result(created, doing, &connection, topic.error_code, topic.error_message.as_deref());
            (topic.name, created)
        });
        Ok(results.collect())
    }

    /// Deletes topics by name (DeleteTopics).
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer. A topic may have been deleted nevertheless.
    pub async fn delete_topics<S: Into<String>>(
        &self,
        names: impl IntoIterator<Item = S>,
    ) -> Result<Results<String, ()>, ClientError> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let by_name = |name: &String| DeleteTopicState { name: Some(name.clone()), ..Default::default() };
        let request = DeleteTopicsRequest {
            topics: names.iter().map(by_name).collect(),
            // The same, for versions before 6.
            topic_names: names.clone(),
            timeout_ms: self.request_timeout_ms(),
        };
        let (response, connection) = self.ask_any(&request).await?;
        let results = response.responses.into_iter().filter_map(|topic| {
            let name = topic.name?;
            let doing = || format!("deleting topic {name}");
            let deleted = result((), doing, &connection, topic.error_code, topic.error_message.as_deref());
            Some((name, deleted))
        });
        Ok(results.collect())
    }

    /// Describes topics (Metadata). A topic that does not exist is an error of its own, and is not created.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer.
    pub async fn describe_topics<S: Into<String>>(
        &self,
        names: impl IntoIterator<Item = S>,
    ) -> Result<Results<String, TopicDescription>, ClientError> {
        let by_name = |name: S| MetadataRequestTopic { name: Some(name.into()), ..Default::default() };
        let topics = self.topics_metadata(Some(names.into_iter().map(by_name).collect())).await?;
        let results = topics.into_iter().filter_map(|mut topic| {
            let name = topic.name.take()?;
            let described = match topic.error_code.ok() {
                Ok(()) => Ok(described(topic)),
                Err(code) => Err(undescribed(&name, code)),
            };
            Some((name, described))
        });
        Ok(results.collect())
    }

    /// Lists all topics that this client may see, Kafka's own among them (Metadata), by name.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer.
    pub async fn list_topics(&self) -> Result<Vec<TopicListing>, ClientError> {
        let topics = self.topics_metadata(None).await?;
        let listing = |topic: MetadataResponseTopic| {
            let listing = TopicListing { name: topic.name?, id: topic.topic_id, internal: topic.is_internal };
            topic.error_code.is_none().then_some(listing)
        };
        let mut topics: Vec<_> = topics.into_iter().filter_map(listing).collect();
        topics.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(topics)
    }

    async fn topics_metadata(
        &self,
        topics: Option<Vec<MetadataRequestTopic>>,
    ) -> Result<Vec<MetadataResponseTopic>, ClientError> {
        let request = MetadataRequest { topics, allow_auto_topic_creation: false, ..Default::default() };
        let mut retries = self.retries();
        loop {
            if let Some(metadata) = retries.attempt(self.pool.metadata(&request)).await? {
                return Ok(metadata.topics);
            }
        }
    }
}

fn creatable(topic: NewTopic) -> CreatableTopic {
    let assigned = |(partition, brokers)| CreatableReplicaAssignment {
        partition_index: i32::try_from(partition).unwrap_or(i32::MAX),
        broker_ids: brokers,
    };
    let has_assignments = !topic.assignments.is_empty();
    // -1 stands for the broker's default, and goes with assignments, which say it themselves.
    CreatableTopic {
        name: topic.name,
        num_partitions: topic.partitions.filter(|_| !has_assignments).unwrap_or(-1),
        replication_factor: topic.replication_factor.filter(|_| !has_assignments).unwrap_or(-1),
        assignments: topic.assignments.into_iter().enumerate().map(assigned).collect(),
        configs: topic
            .configs
            .into_iter()
            .map(|(name, value)| CreatableTopicConfig { name, value: Some(value) })
            .collect(),
    }
}

fn described(topic: MetadataResponseTopic) -> TopicDescription {
    let partition = |p: MetadataResponsePartition| PartitionDescription {
        partition: p.partition_index,
        leader: Some(p.leader_id).filter(|id| *id >= 0),
        leader_epoch: p.leader_epoch,
        replicas: p.replica_nodes,
        in_sync: p.isr_nodes,
    };
    let mut partitions: Vec<_> = topic.partitions.into_iter().map(partition).collect();
    partitions.sort_by_key(|partition| partition.partition);
    TopicDescription { id: topic.topic_id, internal: topic.is_internal, partitions }
}

fn undescribed(name: &str, code: ErrorCode) -> ClientError {
    let error = ClientError::broker(format!("describing topic {name}"), code, None);
    match code {
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => error.remedy("check the name, or create the topic"),
        _ => error,
    }
}
