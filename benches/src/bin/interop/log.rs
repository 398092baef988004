//! What is in a partition, batch by batch, as Fetch gives it.

use std::collections::BTreeMap;
use std::time::Duration;

use ackflow_client::ClientConfig;
use ackflow_client::net::Pool;
use ackflow_protocol::messages::fetch::{AbortedTransaction, FetchPartition, FetchRequest, FetchTopic};
use ackflow_protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic};
use ackflow_protocol::records::{Batches, DEFAULT_DECOMPRESSION_LIMIT, RecordBatch};
use ackflow_protocol::wire::Uuid;
use anyhow::Context;

use crate::Isolation;
use crate::lines::Partition;

const TIMEOUT: Duration = Duration::from_secs(30);
/// Little enough that answers end within a batch.
const FETCH_BYTES: i32 = 50_000;

/// The partitions of a cluster.
pub(crate) struct Log {
    pool: Pool,
    /// By topic and partition: the topic's id and the leader.
    leaders: BTreeMap<(String, i32), (Uuid, i32)>,
}

/// What one answer gave.
pub(crate) struct Fetched {
    /// Whole batches, their checksums verified, decompressed.
    pub(crate) batches: Vec<RecordBatch>,
    pub(crate) aborted: Vec<AbortedTransaction>,
    /// Bytes of a batch that was cut off at the end.
    pub(crate) partial: usize,
}

impl Log {
    /// Finds the leaders of the plan's partitions.
    pub(crate) async fn open(bootstrap: &str, plan: &[Partition]) -> anyhow::Result<Self> {
        let pool = Pool::new(ClientConfig::new(bootstrap)?);
        let mut names: Vec<_> = plan.iter().map(|partition| partition.topic.clone()).collect();
        names.dedup();
        let topic = |name| MetadataRequestTopic { name: Some(name), ..Default::default() };
        let topics = Some(names.into_iter().map(topic).collect());
        let metadata = pool.metadata(&MetadataRequest { topics, ..Default::default() }).await?;
        let mut leaders = BTreeMap::new();
        for topic in metadata.topics {
            let name = topic.name.context("a topic has a name")?;
            topic.error_code.ok().with_context(|| name.clone())?;
            for partition in topic.partitions {
                leaders.insert((name.clone(), partition.partition_index), (topic.topic_id, partition.leader_id));
            }
        }
        Ok(Self { pool, leaders })
    }

    /// Fetches from an offset on.
    pub(crate) async fn fetch(&self, from: &Partition, offset: i64, isolation: Isolation) -> anyhow::Result<Fetched> {
        let (topic_id, leader) = *self
            .leaders
            .get(&(from.topic.clone(), from.partition))
            .with_context(|| format!("{}-{} does not exist", from.topic, from.partition))?;
        let partition = FetchPartition {
            partition: from.partition,
            fetch_offset: offset,
            partition_max_bytes: FETCH_BYTES,
            ..Default::default()
        };
        let request = FetchRequest {
            max_wait_ms: 500,
            min_bytes: 1,
            isolation_level: i8::from(isolation == Isolation::Committed),
            topics: vec![FetchTopic { topic_id, partitions: vec![partition], ..Default::default() }],
            ..Default::default()
        };
        let response = self.pool.node(leader).await?.call(&request, TIMEOUT).await?;
        response.error_code.ok()?;
        let partition = response.responses.into_iter().flat_map(|topic| topic.partitions).next();
        let partition = partition.context("an answer holds the partition that was asked for")?;
        partition.error_code.ok().with_context(|| format!("{}-{}", from.topic, from.partition))?;
        let mut walk = Batches::new(partition.records.unwrap_or_default());
        let read = |batch: Result<RecordBatch, _>| {
            let batch = batch?;
            batch.verify_crc()?;
            anyhow::Ok(batch.decompress(DEFAULT_DECOMPRESSION_LIMIT)?)
        };
        let batches = walk.by_ref().map(read).collect::<Result<_, _>>();
        let batches = batches.with_context(|| format!("{}-{}", from.topic, from.partition))?;
        let aborted = partition.aborted_transactions.unwrap_or_default();
        Ok(Fetched { batches, aborted, partial: walk.remaining() })
    }
}
