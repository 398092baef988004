//! Batches of transactions, built by the codec and sent as they are.
//!
//! Since transaction.version 2 (KIP-890) the first batch for a partition makes it part of the transaction, and each end gives the
//! producer a new epoch.

use std::collections::BTreeMap;
use std::time::Duration;

use ackflow_client::config::ClientConfig;
use ackflow_client::net::{Connection, Pool};
use ackflow_protocol::messages::end_txn::EndTxnRequest;
use ackflow_protocol::messages::find_coordinator::FindCoordinatorRequest;
use ackflow_protocol::messages::init_producer_id::InitProducerIdRequest;
use ackflow_protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic};
use ackflow_protocol::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use ackflow_protocol::records::{BatchBuilder, BatchOptions, Compression, Header};
use ackflow_protocol::wire::{ErrorCode, Request, Uuid};
use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use tokio::time::{Instant, sleep};

use crate::lines::Record;

const TIMEOUT: Duration = Duration::from_secs(30);
const TRANSACTION_TIMEOUT_MS: i32 = 60_000;
/// What a key of FindCoordinator is: a transactional id.
const TRANSACTION: i8 = 1;

pub(crate) struct Transactional {
    /// The connection to the transaction coordinator.
    coordinator: Connection,
    leaders: BTreeMap<i32, Connection>,
    topic_id: Uuid,
    id: String,
    options: BatchOptions,
    /// By partition, what was not sent yet.
    open: BTreeMap<i32, BatchBuilder>,
    /// By partition, the sequence number of the next record.
    sequences: BTreeMap<i32, i32>,
}

impl Transactional {
    /// Takes the transactional id over from whoever had it.
    pub(crate) async fn open(bootstrap: &str, topic: &str, id: &str, compression: Compression) -> anyhow::Result<Self> {
        let pool = Pool::new(ClientConfig::new(bootstrap)?);
        let (topic_id, leaders) = leaders(&pool, topic).await?;
        let coordinator = coordinator(&pool, id).await?;
        let request = InitProducerIdRequest {
            transactional_id: Some(id.to_owned()),
            transaction_timeout_ms: TRANSACTION_TIMEOUT_MS,
            ..Default::default()
        };
        let started = ask(&coordinator, &request, |response| response.error_code).await?;
        let options = BatchOptions {
            compression,
            max_size: usize::MAX,
            transactional: true,
            producer_id: started.producer_id,
            producer_epoch: started.producer_epoch,
            ..Default::default()
        };
        let (open, sequences) = Default::default();
        Ok(Self { coordinator, leaders, topic_id, id: id.to_owned(), options, open, sequences })
    }

    pub(crate) fn append(&mut self, record: Record) -> anyhow::Result<()> {
        let options = self.options;
        let builder = self.open.entry(record.partition).or_insert_with(|| BatchBuilder::new(options));
        let headers = record.headers.iter().map(|(key, value)| Header::new(key, value.as_deref()));
        let place = builder.try_append(record.timestamp, record.key.as_deref(), record.value.as_deref(), headers)?;
        ensure!(place.is_some(), "the batch is full");
        Ok(())
    }

    /// Sends a batch a partition.
    pub(crate) async fn flush(&mut self) -> anyhow::Result<()> {
        for (partition, mut builder) in std::mem::take(&mut self.open) {
            let count = builder.count();
            let sequence = self.sequences.entry(partition).or_default();
            builder.set_producer_state(self.options.producer_id, self.options.producer_epoch, *sequence);
            *sequence += count;
            self.send(partition, builder.build()?).await?;
        }
        Ok(())
    }

    async fn send(&self, partition: i32, records: Bytes) -> anyhow::Result<()> {
        let partition_data = vec![PartitionProduceData { index: partition, records: Some(records) }];
        let request = ProduceRequest {
            transactional_id: Some(self.id.clone()),
            acks: -1,
            timeout_ms: TRANSACTION_TIMEOUT_MS,
            topic_data: vec![TopicProduceData { topic_id: self.topic_id, partition_data, ..Default::default() }],
        };
        let leader = self.leaders.get(&partition).context("a record has a partition of the topic")?;
        ask(leader, &request, |response| {
            let mut partitions = response.responses.iter().flat_map(|topic| &topic.partition_responses);
            partitions.next().map_or(ErrorCode::UNKNOWN_SERVER_ERROR, |partition| partition.error_code)
        })
        .await?;
        Ok(())
    }

    /// Commits or aborts what was appended since the last end.
    pub(crate) async fn end(&mut self, committed: bool) -> anyhow::Result<()> {
        self.flush().await?;
        let request = EndTxnRequest {
            transactional_id: self.id.clone(),
            producer_id: self.options.producer_id,
            producer_epoch: self.options.producer_epoch,
            committed,
        };
        let ended = ask(&self.coordinator, &request, |response| response.error_code).await?;
        self.options.producer_id = ended.producer_id;
        self.options.producer_epoch = ended.producer_epoch;
        self.sequences.clear();
        Ok(())
    }
}

async fn leaders(pool: &Pool, topic: &str) -> anyhow::Result<(Uuid, BTreeMap<i32, Connection>)> {
    let by_name = MetadataRequestTopic { name: Some(topic.to_owned()), ..Default::default() };
    let metadata = pool.metadata(&MetadataRequest { topics: Some(vec![by_name]), ..Default::default() }).await?;
    let topic = metadata.topics.into_iter().next().context("an answer holds the topic that was asked for")?;
    topic.error_code.ok()?;
    let mut leaders = BTreeMap::new();
    for partition in topic.partitions {
        leaders.insert(partition.partition_index, pool.node(partition.leader_id).await?);
    }
    Ok((topic.topic_id, leaders))
}

async fn coordinator(pool: &Pool, id: &str) -> anyhow::Result<Connection> {
    let request =
        FindCoordinatorRequest { key_type: TRANSACTION, coordinator_keys: vec![id.to_owned()], ..Default::default() };
    let any = pool.any().await?;
    let response = ask(&any, &request, |response| {
        response.coordinators.first().map_or(response.error_code, |coordinator| coordinator.error_code)
    })
    .await?;
    let coordinator = response.coordinators.first().context("an answer holds the coordinator that was asked for")?;
    Ok(pool.node(coordinator.node_id).await?)
}

/// Asks until the error is none that passes.
async fn ask<R: Request>(
    connection: &Connection,
    request: &R,
    error: impl Fn(&R::Response) -> ErrorCode,
) -> anyhow::Result<R::Response> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let response = connection.call(request, TIMEOUT).await?;
        match error(&response).ok() {
            Ok(()) => return Ok(response),
            Err(code) if code.is_retriable() && Instant::now() < deadline => sleep(Duration::from_millis(20)).await,
            Err(code) => bail!("{}: {code}", R::NAME),
        }
    }
}
