//! The leaders of partitions.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ackflow_protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponseTopic};
use ackflow_protocol::wire::{ErrorCode, Request};
use tokio::time::Instant;

use super::routed::{Asked, Lookup};
use super::{Admin, Results};
use crate::error::ClientError;
use crate::share::TopicPartition;

/// For how long a topic that no broker knows may just have been created: brokers learn of topics a moment after the controller has made them.
const UNKNOWN_PATIENCE: Duration = Duration::from_secs(2);

/// Finds leaders by metadata.
pub(super) struct Leaders {
    /// Until when what is unknown is asked for again.
    unknown_until: Instant,
}

impl Leaders {
    pub(super) fn new() -> Self {
        Self { unknown_until: Instant::now() + UNKNOWN_PATIENCE }
    }
}

impl Lookup<TopicPartition> for Leaders {
    async fn find(
        &self,
        admin: &Admin,
        keys: &[TopicPartition],
        failed: &mut Vec<(TopicPartition, ClientError)>,
    ) -> Result<BTreeMap<i32, Vec<TopicPartition>>, ClientError> {
        let names: BTreeSet<&str> = keys.iter().map(|key| &*key.topic).collect();
        let by_name = |name: &str| MetadataRequestTopic { name: Some(name.to_owned()), ..Default::default() };
        let topics = Some(names.into_iter().map(by_name).collect());
        let request = MetadataRequest { topics, allow_auto_topic_creation: false, ..Default::default() };
        let topics = admin.pool.metadata(&request).await?.topics;
        let mut nodes: BTreeMap<i32, Vec<TopicPartition>> = BTreeMap::new();
        for key in keys {
            match leader(&topics, key) {
                Ok(node) => nodes.entry(node).or_default().push(key.clone()),
                Err(code) => failed.push((key.clone(), leaderless(key, code))),
            }
        }
        Ok(nodes)
    }

    fn passes(&self, error: &ClientError) -> bool {
        let is_unknown = error.code() == Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
        error.is_retriable() && (!is_unknown || Instant::now() < self.unknown_until)
    }
}

fn leader(topics: &[MetadataResponseTopic], key: &TopicPartition) -> Result<i32, ErrorCode> {
    let named = topics.iter().find(|topic| topic.name.as_deref() == Some(&*key.topic));
    let topic = named.ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    topic.error_code.ok()?;
    let partition = topic.partitions.iter().find(|partition| partition.partition_index == key.partition);
    let partition = partition.ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    if partition.leader_id < 0 { Err(ErrorCode::LEADER_NOT_AVAILABLE) } else { Ok(partition.leader_id) }
}

fn leaderless(key: &TopicPartition, code: ErrorCode) -> ClientError {
    let error = ClientError::broker(format!("looking for the leader of {key}"), code, None);
    match code {
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => error.remedy("check the topic and the number of its partitions"),
        ErrorCode::LEADER_NOT_AVAILABLE => error.remedy("bring a broker back that holds it"),
        _ => error,
    }
}

impl Admin {
    /// Asks the leaders of partitions about them.
    pub(super) async fn at_leaders<I, R, T>(
        &self,
        partitions: impl IntoIterator<Item = (TopicPartition, I)>,
        request: impl Fn(BTreeMap<String, Vec<(i32, &I)>>) -> R + Sync,
        read: impl Fn(&Asked<'_>, R::Response) -> Vec<(TopicPartition, Result<T, ClientError>)> + Sync,
    ) -> Results<TopicPartition, T>
    where
        I: Send + Sync,
        R: Request,
        T: Send,
    {
        let items = partitions.into_iter().collect();
        let request = |_: &Asked<'_>, items: &[(&TopicPartition, &I)]| request(by_topic(items.iter().copied()));
        self.routed(&Leaders::new(), items, i16::MAX, request, read).await
    }
}

/// Sorts by topic, as requests name partitions.
pub(super) fn by_topic<'a, T>(
    items: impl IntoIterator<Item = (&'a TopicPartition, T)>,
) -> BTreeMap<String, Vec<(i32, T)>> {
    let mut topics: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for (partition, item) in items {
        topics.entry(partition.topic.to_string()).or_default().push((partition.partition, item));
    }
    topics
}

/// The same for partitions about which there is nothing to say.
pub(super) fn indexes_by_topic(partitions: &[TopicPartition]) -> BTreeMap<String, Vec<i32>> {
    let alone =
        |(topic, partitions): (String, Vec<(i32, ())>)| (topic, partitions.into_iter().map(|(p, ())| p).collect());
    by_topic(partitions.iter().map(|partition| (partition, ()))).into_iter().map(alone).collect()
}

/// The way back: the partitions that answers name by topic, in their order.
pub(super) fn sorted<'a>(topics: impl IntoIterator<Item = (&'a str, &'a [i32])>) -> Vec<TopicPartition> {
    let of_topic = |(topic, indexes): (&'a str, &'a [i32])| indexes.iter().map(move |p| TopicPartition::new(topic, *p));
    let mut partitions: Vec<_> = topics.into_iter().flat_map(of_topic).collect();
    partitions.sort();
    partitions
}
