//! The topics: names, ids, settings, and the logs of their partitions.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use ackflow_protocol::wire::{ErrorCode, Uuid};

use super::log::PartitionLog;

/// One partition of a topic, by the topic's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TopicIdPartition {
    /// The topic.
    pub(crate) topic_id: Uuid,
    /// The partition.
    pub(crate) partition: i32,
}

/// One partition.
#[derive(Debug)]
pub(crate) struct Partition {
    /// Its records, which all replicas share.
    pub(crate) log: PartitionLog,
    /// The nodes that have it, the preferred leader first.
    pub(crate) replicas: Vec<i32>,
    /// The node that leads it; `None` while no replica is alive.
    pub(crate) leader: Option<i32>,
    /// Rises with each change of the leader.
    pub(crate) leader_epoch: i32,
}

impl Partition {
    /// An empty one that its first replica leads.
    fn new(replicas: Vec<i32>) -> Self {
        let leader = replicas.first().copied();
        Self { log: PartitionLog::default(), replicas, leader, leader_epoch: 0 }
    }
}

/// One topic.
#[derive(Debug)]
pub(crate) struct Topic {
    /// Never used again, not even for a topic of the same name.
    pub(crate) id: Uuid,
    /// The name.
    pub(crate) name: Arc<str>,
    /// The settings that were set on the topic itself.
    pub(crate) configs: BTreeMap<String, String>,
    /// By index.
    pub(crate) partitions: Vec<Partition>,
}

/// All topics.
#[derive(Debug, Default)]
pub(crate) struct Topics {
    by_id: HashMap<Uuid, Topic>,
    by_name: BTreeMap<Arc<str>, Uuid>,
    deleted: HashSet<Uuid>,
}

/// The longest topic name.
const MAX_NAME: usize = 249;

impl Topics {
    /// Adds a topic whose name was checked, with the replicas of each partition.
    pub(crate) fn create(&mut self, id: Uuid, name: &str, replicas: Vec<Vec<i32>>, configs: BTreeMap<String, String>) {
        let name: Arc<str> = name.into();
        let partitions = replicas.into_iter().map(Partition::new).collect();
        self.by_name.insert(name.clone(), id);
        self.by_id.insert(id, Topic { id, name, configs, partitions });
    }

    /// Removes a topic and its records.
    pub(crate) fn delete(&mut self, id: Uuid) -> Option<Topic> {
        let topic = self.by_id.remove(&id)?;
        self.by_name.remove(&topic.name);
        self.deleted.insert(id);
        Some(topic)
    }

    /// Whether a topic of this id existed once.
    pub(crate) fn was_deleted(&self, id: Uuid) -> bool {
        self.deleted.contains(&id)
    }

    /// All topics, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Topic> {
        self.by_name.values().filter_map(|id| self.by_id.get(id))
    }

    /// The topic of this name.
    pub(crate) fn by_name(&self, name: &str) -> Option<&Topic> {
        self.by_name.get(name).and_then(|id| self.by_id.get(id))
    }

    /// The topic of this name.
    pub(crate) fn by_name_mut(&mut self, name: &str) -> Option<&mut Topic> {
        self.by_name.get(name).and_then(|id| self.by_id.get_mut(id))
    }

    /// The topic of this id.
    pub(crate) fn by_id(&self, id: Uuid) -> Option<&Topic> {
        self.by_id.get(&id)
    }

    /// The topic of this id.
    pub(crate) fn by_id_mut(&mut self, id: Uuid) -> Option<&mut Topic> {
        self.by_id.get_mut(&id)
    }

    /// Adds partitions to a topic, with the replicas of each.
    pub(crate) fn add_partitions(&mut self, name: &str, replicas: Vec<Vec<i32>>) {
        if let Some(topic) = self.by_name_mut(name) {
            topic.partitions.extend(replicas.into_iter().map(Partition::new));
        }
    }

    /// All partitions of all topics, by topic name and index.
    pub(crate) fn partition_ids(&self) -> Vec<TopicIdPartition> {
        let mut ids = Vec::new();
        for topic in self.iter() {
            let id = |partition| TopicIdPartition { topic_id: topic.id, partition };
            ids.extend((0..).zip(&topic.partitions).map(|(partition, _)| id(partition)));
        }
        ids
    }

    /// The log of one partition.
    ///
    /// # Errors
    /// As [`partition`](Self::partition).
    pub(crate) fn log(&self, partition: TopicIdPartition) -> Result<&PartitionLog, ErrorCode> {
        self.partition(partition).map(|partition| &partition.log)
    }

    /// Whether the node leads the partition.
    pub(crate) fn is_led_by(&self, partition: TopicIdPartition, node: i32) -> bool {
        self.partition(partition).is_ok_and(|partition| partition.leader == Some(node))
    }

    /// One partition.
    pub(crate) fn partition_mut(&mut self, partition: TopicIdPartition) -> Option<&mut Partition> {
        let topic = self.by_id.get_mut(&partition.topic_id)?;
        usize::try_from(partition.partition).ok().and_then(|index| topic.partitions.get_mut(index))
    }

    /// One partition.
    ///
    /// # Errors
    /// UNKNOWN_TOPIC_ID, or UNKNOWN_TOPIC_OR_PARTITION where only the partition does not exist.
    pub(crate) fn partition(&self, partition: TopicIdPartition) -> Result<&Partition, ErrorCode> {
        let topic = self.by_id.get(&partition.topic_id).ok_or(ErrorCode::UNKNOWN_TOPIC_ID)?;
        usize::try_from(partition.partition)
            .ok()
            .and_then(|index| topic.partitions.get(index))
            .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)
    }

    /// Why a topic of this name cannot be created, in Kafka's words.
    ///
    /// # Errors
    /// TOPIC_ALREADY_EXISTS or INVALID_TOPIC_EXCEPTION, with the message for people.
    pub(crate) fn check_new_name(&self, name: &str) -> Result<(), (ErrorCode, String)> {
        check_name(name).map_err(|message| (ErrorCode::INVALID_TOPIC_EXCEPTION, message))?;
        if self.by_name.contains_key(name) {
            return Err((ErrorCode::TOPIC_ALREADY_EXISTS, format!("Topic '{name}' already exists.")));
        }
        // Names become metric names, in which periods turn into underscores.
        let plain = |name: &str| name.replace('.', "_");
        let collides = |other: &&Arc<str>| plain(other) == plain(name);
        if let Some(other) = self.by_name.keys().find(collides) {
            return Err((
                ErrorCode::INVALID_TOPIC_EXCEPTION,
                format!("Topic '{name}' collides with existing topic: {other}"),
            ));
        }
        Ok(())
    }
}

/// Why a name is not one of a topic, in Kafka's words.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if name.is_empty() {
        return Err("Topic name is invalid: the empty string is not allowed".to_owned());
    }
    if name == "." || name == ".." {
        return Err(format!("Topic name is invalid: '{name}' is not allowed"));
    }
    if name.chars().count() > MAX_NAME {
        return Err(format!(
            "Topic name is invalid: the length of '{name}' is longer than the max allowed length {MAX_NAME}"
        ));
    }
    if !name.chars().all(legal) {
        return Err(format!(
            "Topic name is invalid: '{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
        ));
    }
    Ok(())
}
