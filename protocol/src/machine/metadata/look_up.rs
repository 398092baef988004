//! What is asked of metadata by the name of a topic, and about leader epochs.

use std::sync::Arc;

use super::Metadata;
use crate::{machine::types::TopicIdPartition, wire::Uuid};

impl Metadata {
    /// Id of the topic that has this name now.
    pub(crate) fn topic_id(&self, name: &str) -> Option<Uuid> {
        self.ids.get(name).copied()
    }

    /// The partition's leader and its epoch, where there is a leader; the epoch is -1 where it is not known.
    pub(crate) fn leader_and_epoch(&self, topic_partition: TopicIdPartition) -> Option<(i32, i32)> {
        let leader = self.topics.get(&topic_partition.topic_id)?.leaders.get(&topic_partition.partition)?;
        (leader.node >= 0).then_some((leader.node, leader.epoch))
    }

    /// Whether the topic is there, and its partition.
    pub(crate) fn has_partition(&self, topic_partition: TopicIdPartition) -> bool {
        let topic = self.topics.get(&topic_partition.topic_id);
        topic.is_some_and(|topic| topic.leaders.contains_key(&topic_partition.partition))
    }

    /// The topics to know about, by name.
    pub(crate) fn wanted_topics(&self) -> &[Arc<str>] {
        &self.wanted_topics
    }
}
