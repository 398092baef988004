//! A topic and a share group for one scenario.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use ackflow_benches::create_topic;
use ackflow_client::admin::NewTopic;
use ackflow_client::share::{AcknowledgementMode, ShareConsumer, ShareConsumerBuilder, ShareConsumerConfig};
use ackflow_client::{ClientError, Producer, ProducerConfig, ProducerRecord};
use ackflow_protocol::wire::ErrorCode;
use anyhow::{Result, ensure};

use crate::cluster::Cluster;
use crate::ledger::{self, Key, Ledger, Report};

/// How many records a scenario has, unless it says otherwise.
pub(crate) const RECORDS: usize = 2_000;
/// What a scenario waits for comes within this, or does not come.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Stage {
    pub(crate) cluster: Cluster,
    pub(crate) topic: Arc<str>,
    group: Arc<str>,
}

impl Stage {
    /// Creates the topic under a name of its own, and sets up its group: from the start, with room for many deliveries, and these settings.
    pub(crate) async fn new(cluster: &Cluster, mut topic: NewTopic, group_settings: &[(&str, &str)]) -> Result<Self> {
        static STAGES: AtomicU32 = AtomicU32::new(0);
        topic.name = format!("{}-{}", topic.name, STAGES.fetch_add(1, Ordering::Relaxed));
        let name: Arc<str> = topic.name.as_str().into();
        let stage = Self { cluster: cluster.clone(), group: format!("group-{name}").into(), topic: name };
        stage.create(topic).await?;
        let basis = [("share.auto.offset.reset", "earliest")];
        let basis: Vec<_> = basis.iter().chain(group_settings).copied().collect();
        stage.set_up_group(&basis).await?;
        if let Err(error) = stage.set_up_group(&[("share.delivery.count.limit", "10")]).await {
            // Older brokers have no such setting of a group: there the broker's own counts, group.share.delivery.count.limit.
            let code = error.downcast_ref::<ClientError>().and_then(ClientError::code);
            ensure!(code == Some(ErrorCode::INVALID_CONFIG), "{error:#}");
        }
        Ok(stage)
    }

    async fn set_up_group(&self, settings: &[(&str, &str)]) -> Result<()> {
        ackflow_benches::set_up_group(&self.cluster.admin, &self.group, settings).await
    }

    /// Creates a topic, and waits until it has leaders.
    pub(crate) async fn create(&self, topic: NewTopic) -> Result<()> {
        let name = topic.name.clone();
        create_topic(&self.cluster.admin, topic).await?;
        eventually("the leaders of the new topic", async || {
            let described = self.cluster.admin.describe_topics([&name]).await?.remove(&name);
            Ok(described.is_some_and(|d| d.is_ok_and(|d| d.partitions.iter().all(|p| p.leader.is_some()))))
        })
        .await
    }

    /// Writes records with these values, some batches of them, over all partitions.
    pub(crate) async fn produce(
        &self,
        config: impl FnOnce(&mut ProducerConfig),
        records: impl IntoIterator<Item = ProducerRecord>,
    ) -> Result<()> {
        let mut settings = ProducerConfig::new(&self.cluster.bootstrap)?;
        config(&mut settings);
        let producer = Producer::new(settings)?;
        let mut sent = Vec::new();
        for record in records {
            sent.push(producer.send(record).await?);
        }
        for delivery in sent {
            delivery.await?;
        }
        producer.close().await?;
        Ok(())
    }

    /// Writes one record after the other, with a pause between them.
    pub(crate) async fn trickle(
        &self,
        records: impl IntoIterator<Item = ProducerRecord>,
        pause: Duration,
    ) -> Result<()> {
        let producer = Producer::new(ProducerConfig::new(&self.cluster.bootstrap)?)?;
        for record in records {
            // How it went is told by closing.
            drop(producer.send(record).await?);
            tokio::time::sleep(pause).await;
        }
        Ok(producer.close().await?)
    }

    /// Writes the usual records.
    pub(crate) async fn fill(&self) -> Result<()> {
        self.produce(|_| (), self.numbered("n", RECORDS)).await
    }

    /// So many records, each with a value of its own.
    pub(crate) fn numbered(&self, prefix: &str, count: usize) -> impl Iterator<Item = ProducerRecord> {
        let (topic, prefix) = (self.topic.clone(), prefix.to_owned());
        (0..count).map(move |number| ProducerRecord::new(topic.clone(), format!("{prefix}-{number}")))
    }

    /// A member of the group, of the explicit kind, that has subscribed.
    pub(crate) fn member(
        &self,
        config: impl FnOnce(ShareConsumerBuilder) -> ShareConsumerBuilder,
    ) -> Result<ShareConsumer> {
        let builder = ShareConsumerConfig::builder(&self.cluster.bootstrap, &*self.group)
            .acknowledgement_mode(AcknowledgementMode::Explicit);
        let mut consumer = ShareConsumer::new(config(builder).build()?)?;
        consumer.subscribe([&*self.topic])?;
        Ok(consumer)
    }

    /// What the topic holds.
    pub(crate) async fn content(&self) -> Result<BTreeSet<Key>> {
        ledger::content(&self.cluster.program("ReadTopic.java", &[&self.topic]).await?)
    }

    /// Ends the scenario: nothing more may come, and what came must be what the topic holds.
    pub(crate) async fn judge(&self, ledger: Ledger) -> Result<Report> {
        let content = self.content().await?;
        let lag = self.final_lag(&content).await?;
        Ok(ledger.judge(&content, &BTreeSet::new(), lag))
    }

    /// The lag that stays: 0 as soon as it is, else what it is in the end. `None` where brokers do not tell (before 4.2). Of a partition that
    /// has no record, no broker needs to know.
    pub(crate) async fn final_lag(&self, content: &BTreeSet<Key>) -> Result<Option<i64>> {
        let deadline = Instant::now() + Duration::from_secs(10);
        let partitions: BTreeSet<i32> = content.iter().map(|key| key.0).collect();
        loop {
            let offsets = self.cluster.admin.share_group_offsets(&self.group).await?;
            let lag_of = |partition: &i32| {
                offsets.iter().find(|offset| *offset.topic == *self.topic && offset.partition == *partition)?.lag
            };
            let lag = partitions.iter().map(lag_of).sum();
            if lag == Some(0) || Instant::now() > deadline {
                return Ok(lag);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// Looks every 50 ms until something is so.
pub(crate) async fn eventually(what: &str, mut look: impl AsyncFnMut() -> Result<bool>) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !look().await? {
        ensure!(Instant::now() < deadline, "{what} did not come within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}
