//! A topic and a group for one round, and what was written.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};

use ackflow_benches::{create_topic, set_up_group};
use ackflow_client::admin::NewTopic;
use ackflow_client::share::{ShareConsumerBuilder, ShareConsumerConfig};
use ackflow_client::{Admin, ClientConfig, Producer, ProducerConfig, ProducerRecord};
use anyhow::{Context, Result};
use tokio::task::JoinSet;

use crate::ledger::Key;

const PARTITIONS: i32 = 3;

pub(crate) struct Stage {
    bootstrap: String,
    admin: Admin,
    producer: Producer,
    pub(crate) topic: String,
    group: String,
    writes: JoinSet<Result<Key>>,
}

impl Stage {
    pub(crate) async fn new(bootstrap: &str) -> Result<Self> {
        let id = RandomState::new().hash_one(0);
        let (topic, group) = (format!("cancel-{id:016x}"), format!("cancel-group-{id:016x}"));
        let admin = Admin::new(ClientConfig::new(bootstrap)?);
        let new = NewTopic { replication_factor: Some(1), ..NewTopic::new(&topic, PARTITIONS) };
        create_topic(&admin, new).await?;
        let settings = [("share.auto.offset.reset", "earliest"), ("share.delivery.count.limit", "10")];
        set_up_group(&admin, &group, &settings).await?;
        let producer = Producer::new(ProducerConfig::new(bootstrap)?)?;
        let bootstrap = bootstrap.to_owned();
        Ok(Self { bootstrap, admin, producer, topic, group, writes: JoinSet::new() })
    }

    /// Writes so many records, and does not wait until they are there.
    pub(crate) async fn write(&mut self, records: u64) -> Result<()> {
        for number in 0..records {
            let delivery = self.producer.send(ProducerRecord::new(self.topic.as_str(), format!("{number}"))).await?;
            self.writes.spawn(async move {
                let written = delivery.await?;
                Ok((written.partition, written.offset.context("the broker tells no offset")?))
            });
        }
        Ok(())
    }

    /// What was written, all of it.
    pub(crate) async fn written(&mut self) -> Result<BTreeSet<Key>> {
        let mut written = BTreeSet::new();
        while let Some(key) = self.writes.join_next().await {
            written.insert(key??);
        }
        Ok(written)
    }

    pub(crate) fn config(&self) -> ShareConsumerBuilder {
        ShareConsumerConfig::builder(&self.bootstrap, &self.group)
    }

    /// How many records the group is not done with, of the partitions that have any; `None` while a broker does not know.
    pub(crate) async fn lag(&self, written: &BTreeSet<Key>) -> Result<Option<i64>> {
        let partitions: BTreeSet<i32> = written.iter().map(|key| key.0).collect();
        let offsets = self.admin.share_group_offsets(&self.group).await?;
        let lag_of = |partition: &i32| {
            offsets.iter().find(|offset| offset.topic == self.topic && offset.partition == *partition)?.lag
        };
        Ok(partitions.iter().map(lag_of).sum())
    }
}
