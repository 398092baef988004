//! Topics of a case.

use ackflow_protocol::messages::create_topics::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig, CreateTopicsRequest,
};
use ackflow_protocol::messages::list_offsets::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic};
use ackflow_protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use ackflow_protocol::wire::{ErrorCode, Uuid};

use super::{Lab, Link, Outcome, Stop};

/// A topic of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Topic {
    pub(crate) name: String,
    pub(crate) id: Uuid,
    /// The leader of each partition.
    pub(crate) leaders: Vec<i32>,
}

impl Lab {
    /// A new topic, whose leaders lead.
    pub(crate) async fn topic(&self, partitions: i32) -> Outcome<Topic> {
        self.topic_with(partitions, &[]).await
    }

    /// The same, with settings.
    pub(crate) async fn topic_with(&self, partitions: i32, configs: &[(&str, &str)]) -> Outcome<Topic> {
        let name = self.unique("topic");
        self.topic_named(&name, partitions, configs).await
    }

    /// A new topic of one partition that is led by the broker which leads partition 0 of another topic, so that one session has both.
    pub(crate) async fn topic_beside(&self, other: &Topic) -> Outcome<Topic> {
        // Brokers take turns, or are drawn.
        for _ in 0..30 {
            let topic = self.topic(1).await?;
            if topic.leader(0) == other.leader(0) {
                return Ok(topic);
            }
        }
        Err(Stop::NotOffered(format!("broker {} leads none of 30 new topics", other.leader(0))))
    }

    /// The same, of a name. What stands before it in the names of a case's topics tells whose it is.
    pub(crate) async fn topic_named(&self, name: &str, partitions: i32, configs: &[(&str, &str)]) -> Outcome<Topic> {
        let config = |(name, value): &(&str, &str)| CreatableTopicConfig {
            name: (*name).to_owned(),
            value: Some((*value).to_owned()),
        };
        let topic = CreatableTopic {
            name: name.to_owned(),
            num_partitions: partitions,
            // As the broker has it by default.
            replication_factor: -1,
            configs: configs.iter().map(config).collect(),
            ..Default::default()
        };
        self.create(topic, partitions).await
    }

    /// A new topic, all of whose partitions one broker leads.
    pub(crate) async fn topic_together(&self, partitions: i32) -> Outcome<Topic> {
        let nodes = &self.target.info.nodes;
        if partitions == 1 || nodes.len() == 1 {
            return self.topic(partitions).await;
        }
        let assignment = |partition_index| CreatableReplicaAssignment { partition_index, broker_ids: vec![nodes[0]] };
        let topic = CreatableTopic {
            name: self.unique("topic"),
            num_partitions: -1,
            replication_factor: -1,
            assignments: (0..partitions).map(assignment).collect(),
            ..Default::default()
        };
        self.create(topic, partitions).await
    }

    async fn create(&self, topic: CreatableTopic, partitions: i32) -> Outcome<Topic> {
        let name = topic.name.clone();
        let request = CreateTopicsRequest { topics: vec![topic], timeout_ms: 20_000, ..Default::default() };
        self.made().topics.push(name.clone());
        let mut link = self.link().await?.unrecorded();
        for created in link.call(&request).await?.topics {
            self.granted("CreateTopics", created.error_code, created.error_message.as_deref())?;
        }
        self.known_topic(&name, usize::try_from(partitions).unwrap_or_default()).await
    }

    /// Waits until every broker knows the topic and the leaders of its partitions, and these lead.
    async fn known_topic(&self, name: &str, partitions: usize) -> Outcome<Topic> {
        let mut topic = None;
        for node in &self.target.info.nodes {
            let mut link = self.link_to(*node).await?.unrecorded();
            let known = self.eventually("a topic that was created is known to every broker", async || {
                let found = metadata(&mut link, name).await?.topics.pop();
                let found = found.filter(|topic| topic.error_code.is_none() && topic.partitions.len() == partitions);
                Ok(found.filter(|topic| topic.partitions.iter().all(|p| p.error_code.is_none() && p.leader_id >= 0)))
            });
            topic = Some(known.await?);
        }
        let mut found = topic.unwrap_or_default();
        found.partitions.sort_by_key(|partition| partition.partition_index);
        let leaders: Vec<i32> = found.partitions.iter().map(|partition| partition.leader_id).collect();
        let topic = Topic { name: name.to_owned(), id: found.topic_id, leaders };
        for partition in 0..topic.leaders.len() {
            self.end_offset(&topic, partition as i32).await?;
        }
        Ok(topic)
    }

    /// A connection to the leader of a partition.
    pub(crate) async fn leader(&self, topic: &Topic, partition: i32) -> Outcome<Link> {
        self.link_to(topic.leader(partition)).await
    }

    /// The offset that the next record of a partition gets.
    pub(crate) async fn end_offset(&self, topic: &Topic, partition: i32) -> Outcome<i64> {
        let mut link = self.leader(topic, partition).await?.unrecorded();
        let asked = ListOffsetsPartition { partition_index: partition, timestamp: -1, ..Default::default() };
        let topics = vec![ListOffsetsTopic { name: topic.name.clone(), partitions: vec![asked] }];
        let request = ListOffsetsRequest { replica_id: -1, topics, ..Default::default() };
        self.eventually("the leader of a partition tells its end", async || {
            let found = link.call(&request).await?.topics.into_iter().flat_map(|topic| topic.partitions).next();
            Ok(found.filter(|found| found.error_code == ErrorCode::NONE).map(|found| found.offset))
        })
        .await
    }
}

impl Topic {
    /// The broker that leads a partition.
    pub(crate) fn leader(&self, partition: i32) -> i32 {
        usize::try_from(partition).ok().and_then(|at| self.leaders.get(at)).copied().unwrap_or(-1)
    }
}

/// What a broker knows of a topic.
pub(crate) async fn metadata(link: &mut Link, name: &str) -> Outcome<MetadataResponse> {
    let asked = MetadataRequestTopic { name: Some(name.to_owned()), ..Default::default() };
    let request = MetadataRequest { topics: Some(vec![asked]), allow_auto_topic_creation: false, ..Default::default() };
    link.call(&request).await
}
